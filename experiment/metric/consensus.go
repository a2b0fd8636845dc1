package metric

import (
	"math"

	"sotto/tensor"
)

// Consensus is the root mean square distance of the honest agents' parameters from their
// mean.
const Consensus = "consensus_distance"

var consensus = probe{
	name: Consensus,
	on:   always,
	measure: func(s *Scene, out *Rows) {
		mean, sum := s.MeanModel(), 0.
		for _, i := range s.Tests.Honest {
			sum += distance2(s.Sim.Model(i), mean)
		}
		out.all(Consensus, math.Sqrt(sum/float64(len(s.Tests.Honest))))
	},
}

// MeanModel is the mean of the honest agents' models.
func (s *Scene) MeanModel() []float64 {
	mean := make([]float64, s.Model.Dim())
	for _, i := range s.Tests.Honest {
		for k, x := range s.Sim.Model(i) {
			mean[k] += float64(x)
		}
	}
	for k := range mean {
		mean[k] /= float64(len(s.Tests.Honest))
	}
	return mean
}

func distance2(x tensor.Vec, y []float64) float64 {
	s := 0.
	for k, v := range x {
		d := float64(v) - y[k]
		s += d * d
	}
	return s
}

// parameterNorm is the length of each tested agent's model: it shows divergence before
// the loss does.
var parameterNorm = probe{
	name: "parameter_norm",
	measure: func(s *Scene, out *Rows) {
		norms := make([]float64, len(s.Tests.Tested))
		for k, i := range s.Tests.Tested {
			norms[k] = math.Sqrt(distance2(s.Sim.Model(i), make([]float64, s.Model.Dim())))
		}
		out.add("parameter_norm", s.Tests.Tested, norms)
	},
}
