package metric

import "sotto/agent"

// vectors is how many vectors have been sent where there are no rounds to count.
var vectors = probe{
	name:    "vectors_sent",
	on:      func(s *Scene) bool { return s.Run.Pacing != agent.PacingRounds },
	measure: func(s *Scene, out *Rows) { out.all("vectors_sent", s.Sim.Stats().Vectors) },
}
