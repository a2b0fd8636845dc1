package finishing

import (
	"context"
	"math"
	"slices"

	"sotto/data"
	"sotto/model"
	"sotto/tensor"
)

// Network is what one owner has of a model that is no linear one of one output.
type Network struct {
	Model        model.Model
	Init, Shared tensor.Vec // where all began, public, and the parameters that all have trained
	Data         *data.Dataset
	Rows         []int32 // of Data: the owner's training records
	Seed         uint64  // public: of folds and batches
}

// How networks are trained; constants that no result depends on finely.
const (
	mostEpochs = 60
	patience   = 6 // epochs without a smaller held-out loss that end a training
	batchRows  = 32
	adamStep   = .005
)

// FitNetwork is Fit for models of several layers, or several outputs. Models are trained
// by Adam in batches of 32, of the whole model from Init for the one alone, and from the
// shared one for the personal, of its last layer or of all by p.Layers, with λ |θ -
// shared|² for a prior that counts as 2 λ n records. The number of epochs, 60 at most,
// and the strength are those with the smallest loss on held-out records, in the mean over
// folds; the model is then trained on all records for that many.
//
// Outputs of networks are not linear in parameters, so that no network is the mean of
// their outputs: Theta is the one candidate with the smallest loss on held-out records,
// of equal ones the first. Where outputs are linear, as those of softmax regression, it
// is the mixture as in Fit.
func FitNetwork(ctx context.Context, o *Network, p Params) (*Model, error) {
	p.Fill(true)
	shared := slices.Clone(o.Shared)
	m := &Model{Theta: shared, Candidates: [3]tensor.Vec{shared, shared, shared},
		Weights: [3]float64{0, 1, 0}}
	own := Own{Data: o.Data, Rows: o.usable(), Seed: o.Seed}
	folds := own.folds(&p.Folds)
	if folds == nil {
		return m, nil
	}
	t := &trial{ctx: ctx, folds: folds, n: p.Folds, seed: o.Seed, m: o.Model, x: o.batch(own.Rows)}
	_, linear := model.TableOf(o.Model)
	prior := o.Init
	if linear {
		prior = make(tensor.Vec, len(o.Init))
	}
	strengths := []float64{0}
	if linear {
		strengths = p.Strengths
	}
	alone, err := t.best(prior, strengths)
	if err != nil {
		return nil, err
	}
	personal, err := o.finish(t, p)
	if err != nil {
		return nil, err
	}
	everything := t.copies(shared)
	m.Candidates[0], m.Candidates[2] = alone.theta, personal.theta
	m.Strengths = [2]float64{alone.strength, personal.strength}
	m.Losses = [4]float64{alone.loss, t.heldOut(everything), personal.loss, math.Inf(1)}
	m.choose(t, [3][]tensor.Vec{alone.folds, everything, personal.folds}, linear)
	return m, nil
}

// usable are the rows whose features, and target or label, are numbers that the model
// knows.
func (o *Network) usable() []int32 {
	var rows []int32
	for _, r := range o.Rows {
		ok := o.Data.X.Row(int(r)).Finite()
		if ls := o.Data.Labels; ls != nil {
			ok = ok && ls[r] >= 0 && int(ls[r]) < o.Data.Classes
		} else {
			ok = ok && tensor.Vec{o.Data.Targets[r]}.Finite()
		}
		if ok {
			rows = append(rows, r)
		}
	}
	return rows
}

func (o *Network) batch(rows []int32) *model.Batch {
	all := &model.Batch{X: o.Data.X, Labels: o.Data.Labels, Targets: o.Data.Targets}
	return picked(all, rows)
}

// finish trains from the shared model: of its last layer the body's features are taken
// once.
func (o *Network) finish(t *trial, p Params) (fitted, error) {
	body, head, err := model.SplitHead(o.Model, 1)
	if p.Layers == "all" || err != nil { // there is one layer
		return t.best(o.Shared, p.Strengths)
	}
	fixed, last := o.Shared[:body.Dim()], o.Shared[body.Dim():]
	features := *t.x
	features.X = tensor.NewMat(t.x.Len(), body.Features())
	body.Apply(features.X, fixed, t.x.X, &t.w)
	of := *t
	of.m, of.x = head, &features
	best, err := of.best(last, p.Strengths)
	if err != nil {
		return best, err
	}
	best.theta = slices.Concat(fixed, best.theta)
	for f := range best.folds {
		best.folds[f] = slices.Concat(fixed, best.folds[f])
	}
	return best, nil
}

// choose sets weights, and the model that they make.
func (m *Model) choose(t *trial, thetas [3][]tensor.Vec, linear bool) {
	tenths := 1
	if linear {
		tenths = 10
	}
	for i := tenths; i >= 0; i-- {
		for j := tenths - i; j >= 0; j-- {
			w := [3]float64{float64(i), float64(j), float64(tenths - i - j)}
			mixed := make([]tensor.Vec, t.n)
			for c := range w {
				w[c] /= float64(tenths)
			}
			for f := range mixed {
				mixed[f] = mixture(w, [3]tensor.Vec{thetas[0][f], thetas[1][f], thetas[2][f]})
			}
			if l := t.heldOut(mixed); l < m.Losses[3] {
				m.Losses[3], m.Weights = l, w
			}
		}
	}
	m.Theta = mixture(m.Weights, m.Candidates)
}

// mixture is the candidates by their weights.
func mixture(w [3]float64, of [3]tensor.Vec) tensor.Vec {
	out := make(tensor.Vec, len(of[0]))
	for i := range out {
		x := 0.
		for c := range w {
			if w[c] > 0 { // what has no weight need not be finite
				x += w[c] * float64(of[c][i])
			}
		}
		out[i] = float32(x)
	}
	return out
}
