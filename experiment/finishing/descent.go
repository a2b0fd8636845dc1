package finishing

import (
	"context"
	"math"
	"slices"

	"sotto/model"
	"sotto/rng"
	"sotto/tensor"
)

// trial is an owner's records in folds, and a model for them. Trainings end with ctx.
type trial struct {
	ctx   context.Context
	m     model.Model
	x     *model.Batch
	folds []int // of each record
	n     int
	seed  uint64
	w     model.Workspace
}

// fitted is the best of several trainings.
type fitted struct {
	strength float64
	epochs   int
	loss     float64      // on the records held out, in the mean
	folds    []tensor.Vec // trained without each fold
	theta    tensor.Vec   // trained on all records
}

// best trains from start under each strength, and stops where held-out losses grow.
func (t *trial) best(start tensor.Vec, strengths []float64) (fitted, error) {
	best := fitted{loss: math.Inf(1), folds: t.copies(start), theta: slices.Clone(start)}
	for _, s := range strengths {
		runs := make([]*descent, t.n)
		now := make([]tensor.Vec, t.n)
		for f := range runs {
			runs[f] = t.descent(start, s, f)
			now[f] = runs[f].theta
		}
		least, at := math.Inf(1), 0
		for e := 1; e <= mostEpochs && e-at <= patience; e++ {
			for _, r := range runs {
				if err := t.ctx.Err(); err != nil {
					return best, err
				}
				r.epoch(&t.w)
			}
			l := t.heldOut(now)
			if l < least {
				least, at = l, e
			}
			if l < best.loss {
				best.loss, best.strength, best.epochs = l, s, e
				for f, theta := range now {
					copy(best.folds[f], theta)
				}
			}
		}
	}
	whole := t.descent(start, best.strength, -1)
	for range best.epochs {
		if err := t.ctx.Err(); err != nil {
			return best, err
		}
		whole.epoch(&t.w)
	}
	if whole.theta.Finite() {
		best.theta = whole.theta
	}
	return best, nil
}

// copies are as many of a vector as there are folds.
func (t *trial) copies(v tensor.Vec) []tensor.Vec {
	all := make([]tensor.Vec, t.n)
	for f := range all {
		all[f] = slices.Clone(v)
	}
	return all
}

// heldOut is the mean loss of each fold's records under that fold's parameters.
func (t *trial) heldOut(thetas []tensor.Vec) float64 {
	total := 0.
	for f, theta := range thetas {
		b := picked(t.x, t.rows(func(k int) bool { return t.folds[k] == f }))
		total += float64(b.Len()) * t.m.Loss(theta, b, &t.w)
	}
	return total / float64(t.x.Len())
}

// rows are the records that in selects.
func (t *trial) rows(in func(k int) bool) []int32 {
	var rows []int32
	for k := range t.folds {
		if in(k) {
			rows = append(rows, int32(k))
		}
	}
	return rows
}

// descent is a training by Adam (Kingma, Ba 2015, Algorithm 1) with its usual constants,
// on the mean loss and λ |θ - prior|², 2 λ n = strength.
type descent struct {
	m            model.Model
	x            *model.Batch
	rows         []int32
	order        *rng.Stream
	prior, theta tensor.Vec
	pull         float64 // strength/n
	gradient     tensor.Vec
	moments
}

// moments are Adam's, with β1^t and β2^t.
type moments struct {
	first, second  []float64
	decay1, decay2 float64
}

// descent starts a training without the records of a fold.
func (t *trial) descent(start tensor.Vec, strength float64, fold int) *descent {
	d := &descent{m: t.m, x: t.x, rows: t.rows(func(k int) bool { return t.folds[k] != fold }), prior: start,
		theta: slices.Clone(start), gradient: make(tensor.Vec, len(start)),
		moments: moments{make([]float64, len(start)), make([]float64, len(start)), 1, 1},
		order:   rng.Public(t.seed, "order of an owner's records")}
	d.pull = strength / float64(max(1, len(d.rows)))
	return d
}

// epoch takes all records once.
func (d *descent) epoch(w *model.Workspace) {
	for k := len(d.rows) - 1; k > 0; k-- {
		j := int(d.order.Below(uint64(k + 1)))
		d.rows[k], d.rows[j] = d.rows[j], d.rows[k]
	}
	for lo := 0; lo < len(d.rows); lo += batchRows {
		d.step(picked(d.x, d.rows[lo:min(lo+batchRows, len(d.rows))]), w)
	}
}

func (d *descent) step(b *model.Batch, w *model.Workspace) {
	const beta1, beta2, epsilon = .9, .999, 1e-8
	d.gradient.Zero()
	d.m.ClippedGradientSum(d.gradient, d.theta, b, math.Inf(1), w)
	d.decay1 *= beta1
	d.decay2 *= beta2
	for i, g := range d.gradient {
		g := float64(g)/float64(b.Len()) + float64(d.pull*(float64(d.theta[i])-float64(d.prior[i])))
		d.first[i] = float64(beta1*d.first[i]) + float64((1-beta1)*g)
		d.second[i] = float64(beta2*d.second[i]) + float64((1-beta2)*float64(g*g))
		size := math.Sqrt(d.second[i]/(1-d.decay2)) + epsilon
		d.theta[i] = float32(float64(d.theta[i]) - adamStep*d.first[i]/((1-d.decay1)*size))
	}
}

// picked copies rows of a batch.
func picked(b *model.Batch, rows []int32) *model.Batch {
	out := &model.Batch{X: tensor.NewMat(len(rows), b.X.Cols)}
	for k, r := range rows {
		copy(out.X.Row(k), b.X.Row(int(r)))
		if b.Labels != nil {
			out.Labels = append(out.Labels, b.Labels[r])
		} else {
			out.Targets = append(out.Targets, b.Targets[r])
		}
	}
	return out
}
