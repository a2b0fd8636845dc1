package experiment

import (
	"math"

	"sotto/config"
	"sotto/experiment/rundir"
)

// estimationMetric is the distance of models from the hidden vector.
const estimationMetric = rundir.EstimationRMSE

// checkEstimation refuses data and models without a hidden vector to compare with.
func (e *Experiment) checkEstimation() error {
	if !e.File.Evaluate.Estimation {
		return nil
	}
	if h := e.Task.Split.Hidden; h.Rows != 1 || h.Cols != e.Task.Model.Dim() {
		return e.File.At("evaluate", config.Bad("estimation", true,
			"false: only generated data with one hidden vector, and models of as many parameters, have "+
				"one to compare with"))
	}
	return nil
}

// estimate returns the tested agents' distances and that of the mean of all agents'
// models.
func (e *Experiment) estimate(w *world) (own []float64, mean float64) {
	truth := widened(e.Task.Split.Hidden.Row(0))
	d := float64(len(truth))
	for _, i := range e.Task.Tested {
		own = append(own, math.Sqrt(distance2(w.Sim.Model(i), truth)/d))
	}
	for k, x := range e.meanModel(w) {
		mean += (x - truth[k]) * (x - truth[k])
	}
	return own, math.Sqrt(mean / d)
}

// noiseFreeMetric is estimationMetric of the mean of all agents' iterates without noise,
// which a published form puts out.
const noiseFreeMetric = "estimation_rmse_noise_free"

// noiseFree is estimationMetric of what the published form puts out; false where nothing
// is.
func (e *Experiment) noiseFree(w *world) (float64, bool) {
	if !e.Setup.NoiseFree {
		return 0, false
	}
	truth := widened(e.Task.Split.Hidden.Row(0))
	mean := make([]float64, len(truth))
	for _, p := range w.parties {
		x := p.iterate()
		if x == nil { // nothing was asked so far
			x = widened(e.Task.Init)
		}
		read, _ := p.bare.(interface{ ReadOut(x float64) float64 })
		for c, v := range x {
			if read != nil {
				v = read.ReadOut(v)
			}
			mean[c] += v / float64(len(w.parties))
		}
	}
	sum := 0.
	for c, v := range mean {
		sum += (v - truth[c]) * (v - truth[c])
	}
	return math.Sqrt(sum / float64(len(truth))), true
}

// iterate is the one without noise that a publication puts out; nil before the first
// answer.
func (p *Party) iterate() []float64 {
	for _, o := range p.Oracles {
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
