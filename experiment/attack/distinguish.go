package attack

import (
	"context"
	"math"

	"sotto/agent"
	"sotto/privacy"
	"sotto/privacy/account"
	"sotto/privacy/audit"
	"sotto/privacy/ledger"
	"sotto/rng"
	"sotto/tensor"
)

// given is the oracle of an auditor: a value of its own making, released as claimed.
type given struct {
	value tensor.Vec
	norm  account.Norm
}

// Describe implements privacy.Oracle: a value whose neighbors are one unit apart, says
// the claim.
func (g given) Describe(*agent.Query) (account.Release, error) {
	return account.Release{
		Oracle:    "given",
		Adjacency: account.ZeroOut,
		Unit:      account.Record(),
		Sampler:   account.Sampler{Kind: account.FullBatch},
		Parts:     []account.Part{{Name: "given", Clip: 1, Shift: 1, Norm: g.norm, Dim: len(g.value)}},
		Scale:     1,
	}, nil
}

// Evaluate implements privacy.Oracle.
func (g given) Evaluate(dst *privacy.Value, _ *agent.Query, _ *rng.Stream) { copy(dst.Float, g.value) }

// distinguisher observes releases of two values by a mechanism of this program, through a
// gate, and scores them. answers releases make one score.
type distinguisher struct {
	mechanism privacy.Mechanism
	in, out   tensor.Vec
	norm      account.Norm
	answers   int
	score     func(released []tensor.Vec) float64
}

func (d *distinguisher) observe(ctx context.Context, n int, seed uint64) (*audit.Scores, error) {
	s := &audit.Scores{In: make([]float64, n), Out: make([]float64, n)}
	released := make([]tensor.Vec, max(1, d.answers))
	for k := range released {
		released[k] = make(tensor.Vec, len(d.in))
	}
	for i := range 2 * n {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		value, into := d.out, s.Out
		if i%2 == 1 {
			value, into = d.in, s.In
		}
		g := privacy.NewSimulatedGate(ledger.NewMemory(nil), d.mechanism,
			map[string]privacy.Oracle{"given": given{value, d.norm}},
			rng.Public(seed, "audit claim", uint64(i)).Uint64(), 0)
		for _, r := range released {
			if err := g.Answer(&agent.Query{Oracle: "given", At: tensor.Vec{0}}, r); err != nil {
				return nil, err
			}
		}
		into[i/2] = d.score(released)
	}
	return s, nil
}

// anyBound is the Clopper-Pearson bound at a threshold that a fifth of the observations
// choose.
func (d *distinguisher) anyBound(ctx context.Context, n int, seed uint64, beta, delta float64) (audit.Bound,
	error) {
	s, err := d.observe(ctx, n, seed)
	if err != nil {
		return audit.Bound{}, err
	}
	return s.ByClopperPearson(audit.Rule{Kind: audit.Split, Part: .2}, beta, delta), nil
}

// unitVector has norm length, all coordinates alike.
func unitVector(dim int, length float64) tensor.Vec {
	v := make(tensor.Vec, dim)
	for i := range v {
		v[i] = float32(length / math.Sqrt(float64(dim)))
	}
	return v
}

// sum scores by the first coordinates of all answers.
func sum(released []tensor.Vec) float64 {
	x := 0.
	for _, r := range released {
		x += float64(r[0])
	}
	return x
}

// gaussianDistinguisher releases two values on a line.
func gaussianDistinguisher(noise, in, out float64, answers int) (*distinguisher, error) {
	m, err := privacy.NewGaussian(noise)
	return &distinguisher{
		mechanism: m,
		in:        tensor.Vec{float32(in)},
		out:       tensor.Vec{float32(out)},
		norm:      account.L2,
		answers:   answers,
		score:     sum,
	}, err
}

// twoAnswers are both gradients of a round: scores are 0 or 2 in the mean, of noise √2
// times that of one.
func twoAnswers(noise float64) func() (*distinguisher, float64, error) {
	return func() (*distinguisher, float64, error) {
		d, err := gaussianDistinguisher(noise, 1, 0, 2)
		return d, 1, err
	}
}

// replaced has the record's gradient against its opposite, both of norm clip.
func replaced(noise float64) func() (*distinguisher, float64, error) {
	return func() (*distinguisher, float64, error) {
		d, err := gaussianDistinguisher(noise, 1, -1, 1)
		return d, 0, err
	}
}

// composedBound excludes a mu of one release at the threshold halfway, fixed beforehand,
// and composes it over the run by PLD.
func composedBound(make func() (*distinguisher, float64, error), a account.Adjacency, rate float64, steps int,
	delta float64) claimAttack {
	return func(ctx context.Context, n int, seed uint64, beta float64) (audit.Bound, error) {
		d, halfway, err := make()
		if err != nil {
			return audit.Bound{}, err
		}
		s, err := d.observe(ctx, n, seed)
		if err != nil {
			return audit.Bound{}, err
		}
		b := s.ByGDP(audit.Rule{Kind: audit.Fixed, At: halfway}, beta, delta)
		b.Epsilon = 0
		if b.Mu > 0 {
			p := account.DPSGD(a, rate, steps)
			p.NoiseMultiplier = account.ClipShift(a) / b.Mu
			i, err := account.Epsilon(p, delta)
			if err != nil {
				return b, err
			}
			b.Epsilon = i.Lower
		}
		b.Valid = "normal noise; the excluded mu of one release on a drawn record, composed over the run " +
			"by PLD"
		return b, nil
	}
}

// replacedOnce is replaced, for one release.
func replacedOnce(noise float64) claimAttack {
	return func(ctx context.Context, n int, seed uint64, beta float64) (audit.Bound, error) {
		d, at, err := replaced(noise)()
		if err != nil {
			return audit.Bound{}, err
		}
		s, err := d.observe(ctx, n, seed)
		if err != nil {
			return audit.Bound{}, err
		}
		return s.ByGDP(audit.Rule{Kind: audit.Fixed, At: at}, beta, 1e-5), nil
	}
}

// l1l2 releases two vectors of p = 100 with an L2 distance of 1, and an L1 distance of
// 10, under Laplace noise of scale 1.
func l1l2(ctx context.Context, n int, seed uint64, beta float64) (audit.Bound, error) {
	m := privacy.Laplace{Scale: 1, Gridding: privacy.Gridding{Quantise: true}}
	d := &distinguisher{mechanism: m, in: unitVector(100, 1), out: unitVector(100, 0), norm: account.L1}
	d.score = func(r []tensor.Vec) float64 { return laplaceRatio(r[0], d.in, math.Inf(1)) }
	return d.anyBound(ctx, n, seed, beta, 0)
}

// laplaceRatio is the log-likelihood ratio of a vector against the null vector under
// Laplace noise of scale 1; noise beyond bound is impossible.
func laplaceRatio(x, shift tensor.Vec, bound float64) float64 {
	ratio := 0.
	for i, v := range x {
		here, there := math.Abs(float64(v)), math.Abs(float64(v)-float64(shift[i]))
		ratio += here - there + impossible(here, there, bound)
	}
	return ratio
}

// impossible decides for the world in which noise stays within the bound.
func impossible(here, there, bound float64) float64 {
	const sure = 1e9
	switch {
	case here > bound*(1+1e-6):
		return sure
	case there > bound*(1+1e-6):
		return -sure
	}
	return 0
}

// proportional releases gradients under noise that follows the value's norm, or a fixed
// norm to which nothing is clipped.
func proportional(norm float64) claimAttack {
	return func(ctx context.Context, n int, seed uint64, beta float64) (audit.Bound, error) {
		m, err := privacy.New("proportional", func(p any) error {
			q := p.(*privacy.DataDependent)
			q.NoiseMultiplier, q.Norm = .05, norm
			return nil
		})
		if err != nil {
			return audit.Bound{}, err
		}
		d := &distinguisher{
			mechanism: m,
			in:        tensor.Vec{10, 0, 0, 0},
			out:       tensor.Vec{0, 0, 0, 0},
			norm:      account.L2,
		}
		d.score = func(r []tensor.Vec) float64 {
			if r[0].Norm() == 0 {
				return -1 // no noise at all
			}
			return float64(r[0][0])
		}
		return d.anyBound(ctx, n, seed, beta, 1e-5)
	}
}

// iteration releases vectors that differ by shift in each of dim coordinates under a
// published noise for sensitivity 1.
func iteration(noise privacy.PaperNoise, shift float64, dim int) claimAttack {
	return func(ctx context.Context, n int, seed uint64, beta float64) (audit.Bound, error) {
		m, err := publishedMechanism(noise)
		if err != nil {
			return audit.Bound{}, err
		}
		scale, bound := m.Law()
		d := &distinguisher{
			mechanism: m,
			in:        make(tensor.Vec, dim),
			out:       make(tensor.Vec, dim),
			norm:      account.L2,
		}
		for i := range d.in {
			d.in[i] = float32(shift)
		}
		d.score = func(r []tensor.Vec) float64 {
			ratio := 0.
			for i, v := range r[0] {
				here, there := math.Abs(float64(v)), math.Abs(float64(v)-float64(d.in[i]))
				switch noise.Family {
				case "laplace", "truncated-laplace":
					ratio += (here - there) / scale
				case "truncated-generalized":
					ratio += math.Pow(here/scale, noise.Shape) - math.Pow(there/scale, noise.Shape)
				default:
					ratio += here*here - there*there
				}
				ratio += impossible(here, there, bound)
			}
			return ratio
		}
		if dim > 1 {
			n *= 5 // many coordinates tell little each
		}
		return d.anyBound(ctx, n, seed, beta, noise.Delta)
	}
}

// exposed puts two values out as they are.
func exposed(ctx context.Context, n int, seed uint64, beta float64) (audit.Bound, error) {
	d := &distinguisher{
		mechanism: privacy.None{},
		in:        tensor.Vec{1},
		out:       tensor.Vec{0},
		norm:      account.L2,
		score:     sum,
	}
	return d.anyBound(ctx, n, seed, beta, 1e-3)
}

// clippedAfterNoise releases gradients 2√2 apart with normal noise 5.871, clipped to .4.
func clippedAfterNoise(ctx context.Context, n int, seed uint64, beta float64) (audit.Bound, error) {
	m, err := privacy.NewGaussian(5.871)
	if err != nil {
		return audit.Bound{}, err
	}
	d := &distinguisher{mechanism: m, in: make(tensor.Vec, 9), out: make(tensor.Vec, 9), norm: account.L2}
	d.in[0], d.out[0] = math.Sqrt2, -math.Sqrt2
	d.score = func(r []tensor.Vec) float64 {
		x := r[0]
		x.Scale(min(1, .4/max(x.Norm(), 1e-30)), x)
		return float64(x[0])
	}
	return d.anyBound(ctx, 5*n, seed, beta, 1e-6/12)
}
