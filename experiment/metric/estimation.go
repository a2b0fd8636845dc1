package metric

import (
	"math"

	"sotto/config"
	"sotto/experiment/rundir"
	"sotto/privacy"
	"sotto/tensor"
)

// CheckHidden refuses data and models without a hidden vector to compare with.
func (p *Params) CheckHidden(hidden tensor.Mat, dim int) error {
	if p.Estimation && (hidden.Rows != 1 || hidden.Cols != dim) {
		return config.Bad("estimation", true,
			"false: only generated data with one hidden vector, and models of as many parameters, have "+
				"one to compare with")
	}
	return nil
}

// estimation is the distance of the tested agents' models from the hidden vector of
// generated data, and that of the mean of all agents' models.
var estimation = probe{
	name:  rundir.EstimationRMSE,
	asked: func(p *Params) bool { return p.Estimation },
	measure: func(s *Scene, out *Rows) {
		truth := s.truth()
		d := float64(len(truth))
		var own []float64
		for _, i := range s.Tests.Tested {
			own = append(own, math.Sqrt(distance2(s.Sim.Model(i), truth)/d))
		}
		mean := 0.
		for k, x := range s.MeanModel() {
			mean += (x - truth[k]) * (x - truth[k])
		}
		out.add(rundir.EstimationRMSE, s.Tests.Tested, own)
		out.all(rundir.EstimationRMSE, math.Sqrt(mean/d))
		if s.Run.NoiseFree {
			out.all(rundir.EstimationNoiseFree, s.noiseFree(truth))
		}
	},
}

func (s *Scene) truth() []float64 { return widened(s.Records.Split.GroundTruth.Row(0)) }

// noiseFree is the distance of what the published form puts out.
func (s *Scene) noiseFree(truth []float64) float64 {
	mean := make([]float64, len(truth))
	for _, a := range s.Agents {
		x := iterate(a.Oracles)
		if x == nil { // nothing was asked so far
			x = widened(s.Init)
		}
		read, _ := a.Bare.(interface{ ReadOut(x float64) float64 })
		for c, v := range x {
			if read != nil {
				v = read.ReadOut(v)
			}
			mean[c] += v / float64(len(s.Agents))
		}
	}
	sum := 0.
	for c, v := range mean {
		sum += (v - truth[c]) * (v - truth[c])
	}
	return math.Sqrt(sum / float64(len(truth)))
}

// iterate is the one without noise that a publication puts out; nil before the first
// answer.
func iterate(oracles map[string]privacy.Oracle) []float64 {
	for _, o := range oracles {
		if s, ok := o.(interface{ Iterate() []float64 }); ok {
			return s.Iterate()
		}
	}
	return nil
}

func widened(v []float32) []float64 {
	out := make([]float64, len(v))
	for i, x := range v {
		out[i] = float64(x)
	}
	return out
}
