package metric

// clips are the clips of those tested agents whose clips change.
var clips = probe{
	name: "clip",
	on:   always,
	measure: func(s *Scene, out *Rows) {
		var with []int
		var values []float64
		for _, i := range s.Tests.Tested {
			if i >= len(s.Agents) { // a token
				return
			}
			if a, ok := s.Agents[i].Algorithm.(interface{ Clip() float64 }); ok {
				with, values = append(with, i), append(values, a.Clip())
			}
		}
		if values != nil {
			out.add("clip", with, values)
		}
	},
}
