package oracle

import (
	"cmp"
	"fmt"
	"math"

	"sotto/agent"
	"sotto/config"
	"sotto/model"
	"sotto/privacy"
	"sotto/privacy/account"
	"sotto/rng"
	"sotto/tensor"
)

var _ privacy.GridOracle = (*Full)(nil)

// Full is the oracle "grad-full", or with norm L1 "grad-full-l1": over all of the owner's
// records, the sum of per-record gradients of the loss at the query's point, each scaled
// to norm at most ClipNorm. The gate adds noise to the sum and divides by Normaliser. No
// record is left out, so that nothing is amplified; under replace-one the mean of m
// records has the sensitivity 2 ClipNorm/m (spec: 1/m is missing in some publications).
type Full struct {
	Model      model.Model // not nil
	Records    Records
	Normaliser float64      // public, > 0, finite: the record count under replace-one and zero-out
	ClipNorm   float64      // C > 0; +Inf switches clipping off, for runs that are not private
	Norm       account.Norm // L1 or L2, of ClipNorm
	Adjacency  account.Adjacency
	Unit       account.Unit // record
	Pool       *Pool
	Sums       Sums

	described account.Release // without a clip of the query's own
}

// Names of the oracles.
const (
	FullName   = "grad-full"
	FullL1Name = "grad-full-l1"
	FitName    = "fit"
)

// Validate names the first field that cannot be used. It looks at the number of records.
func (g *Full) Validate() error {
	if err := checkPositive("batch_size", g.Normaliser); err != nil {
		return err
	}
	if err := cmp.Or(checkModel(g.Model), checkClip(g.ClipNorm)); err != nil {
		return err
	}
	switch {
	case g.Norm != account.L1 && g.Norm != account.L2:
		return config.Bad("norm", g.Norm, "l1 or l2")
	case g.Unit != account.Record():
		return config.Bad("unit", g.Unit, "record: per-record clipping bounds the contribution of one record")
	}
	if err := g.Sums.check(len(g.Records.Index)); err != nil {
		return err
	}
	g.described = g.release(g.ClipNorm)
	return nil
}

func (g *Full) name() string {
	if g.Norm == account.L1 {
		return FullL1Name
	}
	return FullName
}

func (g *Full) release(clip float64) account.Release {
	part := account.Part{Name: "gradient", Clip: clip, Shift: shift(g.Adjacency), Norm: g.Norm,
		Dim: g.Model.Dim()}
	r := fullBatch(g.name(), g.Adjacency, g.Unit, part, 1/g.Normaliser)
	if !g.Sums.Exact {
		g.Sums.charge(&r, g.SumError(clip))
	}
	return r
}

// layout is how the sum is cut.
func (g *Full) layout() layout { return g.Sums.laidOut(g.cut) }

func (g *Full) cut() layout {
	public := g.Adjacency != account.AddRemove
	return newLayout(g.Model, g.Normaliser, public, public && !g.Sums.Moving, 1, g.Sums)
}

func (g *Full) inPlaces() bool { return g.Norm == account.L2 && g.Sums.inPlaces(g.cut) }

// SumError bounds by how much more than the clip, over it, rounding lets one record move
// the sum. In L1 all is summed in double precision.
func (g *Full) SumError(clip float64) float64 {
	if g.Norm == account.L1 {
		return 2 * g.Sums.wide()
	}
	return g.Sums.sumError(g.layout(), g.Model, shift(g.Adjacency), clip)
}

// Describe states the release. A query's own public clip takes the place of ClipNorm. The
// parts must not be changed. Fields that were set after Validate are refused.
func (g *Full) Describe(q *agent.Query) (account.Release, error) {
	if err := seen(&g.described, g.ClipNorm, 1/g.Normaliser, g.Norm, g.Adjacency, g.Unit); err != nil {
		return account.Release{}, err
	}
	if q.Clip > 0 {
		return g.release(q.Clip), checkPoint(q, g.Model.Dim())
	}
	return g.described, checkPoint(q, g.Model.Dim())
}

// Evaluate adds the clipped gradients of all records.
func (g *Full) Evaluate(dst *privacy.Value, q *agent.Query, sample *rng.Stream) {
	clip := clipNorm(q, g.ClipNorm)
	if g.Norm == account.L1 {
		sum := dst.Widen(len(dst.Float))
		g.each(q.At, func(gradient tensor.Vec) {
			f := clipL1(gradient, clip)
			for i, x := range gradient {
				sum[i] += float64(f * float64(x))
			}
		})
		return
	}
	s := g.Pool.get()
	a := adder{scratch: s, model: g.Model, at: q.At, clip: clip, stats: func(model.Stats) {},
		batch: func(rows []int32) *model.Batch {
			return s.gather(g.Records.Data, rows, &Augmentation{}, nil)
		}}
	a.add(dst, len(dst.Float), g.layout(), g.Records.Index, sample)
	g.Pool.put(s)
}

// sum adds the gradients of all records at a point, each scaled to norm at most clip; one
// that is not finite adds zero.
func (p *Pool) sum(m model.Model, r *Records, dst, at tensor.Vec, clip float64) {
	s := p.get()
	s.blocks(r, func(b *model.Batch) { m.ClippedGradientSum(dst, at, b, clip, &s.work) })
	p.put(s)
}

// finite bounds a sum that overflowed, which only a clip beyond 1e20 allows.
func finite(v tensor.Vec, clip float64) {
	if clip <= 1e20 || v.Finite() {
		return
	}
	for i, x := range v {
		if x-x != 0 {
			v[i] = float32(math.Copysign(math.MaxFloat32, float64(x)))
		}
	}
}

// narrowed is x in single precision, cut to its range: rounding and cutting move two
// values no further apart.
func narrowed(x float64) float32 {
	return float32(min(max(x, -math.MaxFloat32), math.MaxFloat32))
}

// EvaluateGrid is Evaluate in exact integers: each clipped gradient is truncated to the
// grid on its own.
func (g *Full) EvaluateGrid(dst []int64, q *agent.Query, _ *rng.Stream) {
	clip := clipNorm(q, g.ClipNorm)
	step := privacy.GridStep(clip)
	if g.Norm == account.L1 {
		g.each(q.At, func(gradient tensor.Vec) {
			f := clipL1(gradient, clip) / step
			for i, x := range gradient {
				dst[i] += int64(f * float64(x)) // toward zero: the L1 norm in steps stays at most clip/step
			}
		})
		return
	}
	m, ok := g.Model.(model.GridModel)
	if !ok {
		return
	}
	s := g.Pool.get()
	s.blocks(&g.Records, func(b *model.Batch) { m.ClippedGradientGrid(dst, q.At, b, clip, step, &s.work) })
	g.Pool.put(s)
}

// clipL1 is the factor that brings a gradient to an L1 norm of at most clip, with room
// for the rounding of every product and of the norm; 0 for a gradient without a finite
// norm.
func clipL1(gradient tensor.Vec, clip float64) float64 {
	norm := 0.
	for _, x := range gradient {
		norm += math.Abs(float64(x))
	}
	if norm-norm != 0 {
		return 0
	}
	if bound := clip * (1 - 1e-5); norm > bound {
		return bound / norm
	}
	return 1
}

// each calls f with every record's own gradient, which is valid during the call. What has
// no finite gradient gives zeros.
func (g *Full) each(theta tensor.Vec, f func(gradient tensor.Vec)) {
	s := g.Pool.get()
	defer g.Pool.put(s)
	v := s.vector(len(theta))
	for k := range g.Records.Index {
		one := Records{Data: g.Records.Data, Index: g.Records.Index[k : k+1]}
		s.blocks(&one, func(b *model.Batch) {
			v.Zero()
			g.Model.ClippedGradientSum(v, theta, b, math.Inf(1), &s.work)
			f(v)
		})
	}
	v.Zero()
}

// blocks hands out all records.
func (s *scratch) blocks(r *Records, f func(b *model.Batch)) {
	for lo := 0; lo < len(r.Index); lo += chunk {
		f(s.gather(r.Data, r.Index[lo:min(lo+chunk, len(r.Index))], &Augmentation{}, nil))
	}
}

// ErrNotLinear says that a model is no generalized linear model, which a fit needs.
var ErrNotLinear = fmt.Errorf("%w: oracle fit needs model logistic with two classes, least-squares or huber",
	privacy.ErrRefused)
