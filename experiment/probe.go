package experiment

import (
	"math"

	"sotto/experiment/rundir"
	"sotto/model"
	"sotto/tensor"
)

// probe holds the training records whose losses and gradients the simulation looks at:
// [evaluate] gradients of them, evenly spaced among those of all agents.
func (e *Experiment) probe() []int32 {
	var all []int32
	for _, part := range e.Task.Parts {
		all = append(all, part...)
	}
	chosen := evenly(len(all), min(len(all), e.File.Evaluate.Gradients))
	rows := make([]int32, len(chosen))
	for k, i := range chosen {
		rows[k] = all[i]
	}
	return rows
}

// gradients looks at the probe's records at the mean x̄ of all agents' models:
//
//	train_loss     mean loss
//	gradient_norm  ‖∇f(x̄)‖, of the mean gradient
//	gradient_rms   root of the mean of ‖∇f(x̄; ξ)‖² over records ξ
//	gradient_max   the largest ‖∇f(x̄; ξ)‖
//
// Records without a finite gradient are left out.
func (e *Experiment) gradients(w *world, round uint64, epsilon, delta float64) []rundir.Row {
	if e.File.Evaluate.Gradients == 0 {
		return nil
	}
	var (
		d       = e.Task.Model.Dim()
		center  = make(tensor.Vec, d)
		one     = make(tensor.Vec, d)
		sum     = make([]float64, d)
		scratch model.Workspace

		loss, squares, most float64
		count               int
	)
	for k, x := range e.meanModel(w) {
		center[k] = float32(x)
	}
	rows := e.probe()
	for k := range rows {
		clear(one)
		s := e.Task.Model.ClippedGradientSum(one, center, BatchOf(w.trained.Select(rows[k:k+1])), math.Inf(1),
			&scratch)
		if s.NonFinite > 0 {
			continue
		}
		count++
		loss += s.Loss
		norm := one.Norm()
		squares, most = squares+float64(norm*norm), max(most, norm)
		for j, g := range one {
			sum[j] += float64(g)
		}
	}
	n, norm := float64(max(1, count)), 0.
	for _, g := range sum {
		norm += float64(g / n * (g / n))
	}
	var out []rundir.Row
	for _, m := range []struct {
		name  string
		value float64
	}{{"train_loss", loss / n}, {"gradient_norm", math.Sqrt(norm)}, {"gradient_rms", math.Sqrt(squares / n)},
		{"gradient_max", most}} {
		out = append(out, rundir.Row{
			Round:   round,
			Agent:   "all",
			Metric:  m.name,
			Value:   m.value,
			Epsilon: epsilon,
			Delta:   delta,
		})
	}
	return out
}
