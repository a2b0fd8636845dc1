package oracle

import (
	"cmp"
	"math"

	"sotto/agent"
	"sotto/model"
	"sotto/privacy"
	"sotto/privacy/account"
	"sotto/rng"
	"sotto/tensor"
)

var _ privacy.GridOracle = (*OwnerGradient)(nil)

// OwnerGradName is the name of the oracle OwnerGradient.
const OwnerGradName = "user-grad"

// OwnerGradient is the oracle "user-grad": the mean gradient of the loss over all of the
// owner's records, scaled to L2 norm at most ClipNorm as a whole. What it protects is the
// owner: all records may change at once, so that the value moves by 2 ClipNorm under
// replace-one and by ClipNorm under zero-out and add-remove. An owner without records
// answers zero. Nothing is divided by a private number after the clip.
type OwnerGradient struct {
	Model     model.Model // not nil
	Records   Records
	ClipNorm  float64 // C > 0; +Inf switches clipping off, for runs that are not private
	Adjacency account.Adjacency
	Pool      *Pool

	described account.Release // without a clip of the query's own
}

// Validate names the first field that cannot be used. It reads no records.
func (g *OwnerGradient) Validate() error {
	if err := cmp.Or(checkModel(g.Model), checkClip(g.ClipNorm)); err != nil {
		return err
	}
	g.described = g.release(g.ClipNorm)
	return nil
}

func (g *OwnerGradient) release(clip float64) account.Release {
	part := account.Part{Name: "gradient", Clip: clip, Shift: shift(g.Adjacency), Norm: account.L2,
		Dim: g.Model.Dim()}
	return fullBatch(OwnerGradName, g.Adjacency, account.Owner(), part, 1)
}

// Describe states the release. A query's own public clip takes the place of ClipNorm. The
// parts must not be changed. Fields that were set after Validate are refused.
func (g *OwnerGradient) Describe(q *agent.Query) (account.Release, error) {
	if err := seen(&g.described, g.ClipNorm, 1, account.L2, g.Adjacency, account.Owner()); err != nil {
		return account.Release{}, err
	}
	if q.Clip > 0 {
		return g.release(q.Clip), checkPoint(q, g.Model.Dim())
	}
	return g.described, checkPoint(q, g.Model.Dim())
}

// Evaluate writes the clipped mean.
func (g *OwnerGradient) Evaluate(dst *privacy.Value, q *agent.Query, _ *rng.Stream) {
	g.sum(dst.Float, q)
	f := g.factor(dst.Float, clipNorm(q, g.ClipNorm))
	for i, x := range dst.Float {
		dst.Float[i] = float32(f * float64(x))
	}
}

// EvaluateGrid is Evaluate in integers: the clipped mean is truncated toward zero, which
// does not lengthen it.
func (g *OwnerGradient) EvaluateGrid(dst []int64, q *agent.Query, _ *rng.Stream) {
	s := g.Pool.get()
	v := s.vector(len(dst))
	v.Zero()
	g.sum(v, q)
	clip := clipNorm(q, g.ClipNorm)
	f := g.factor(v, clip) / privacy.GridStep(clip)
	for i, x := range v {
		dst[i] = int64(f * float64(x))
	}
	v.Zero()
	g.Pool.put(s)
}

// sum adds the gradients of all records; a record without a finite gradient adds zero.
func (g *OwnerGradient) sum(dst tensor.Vec, q *agent.Query) {
	g.Pool.sum(g.Model, &g.Records, dst, q.At, math.Inf(1))
	finite(dst, math.Inf(1))
}

// factor makes the clipped mean of a finite sum: 1/m and the clip in one, with room for
// the rounding of the norm and of every product.
func (g *OwnerGradient) factor(sum tensor.Vec, clip float64) float64 {
	if len(g.Records.Index) == 0 {
		return 0
	}
	f := 1 / float64(len(g.Records.Index))
	if norm, bound := f*sum.Norm(), clip*(1-1e-6); norm > bound {
		return f * (bound / norm)
	}
	return f
}
