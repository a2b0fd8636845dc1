package algo

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"math"

	"sotto/agent"
	"sotto/config"
	"sotto/tensor"
)

// Clipping says how the clip norm of gradients changes from round to round, under any
// algorithm. C_k is always public: made of constants, or of what the gate has released
// already. The noise of a query is the noise multiplier times its C_k.
//
//	constant  C_k = C_0
//	schedule  C_k = max(C_min, C_0 r^k)
//	quantile  C_{k+1} = clamp(C_k exp(-η_C (b̃_k - γ)), C_min, C_max),
//	          b̃_k a released noisy share of records with gradients within C_k, of the
//	          same batch and charged with it (Andrew, Thakkar, McMahan, Ramaswamy 2021)
//	released  C_{k+1} = clamp(κ E_k, C_min, C_0), E_k a running mean of
//	          r_k = sqrt(max(0, ‖g̃_k‖² - d s_k²)), s_k the noise of the answer g̃_k:
//	          free, and of no use where d s_k² dominates
//
// They are the sound forms of what "Sensitivity-Aware Differentially Private
// Decentralized Learning with Adaptive Noise" intends; its own noise follows the private
// gradient. κ, the mean and the bounds are ours.
type Clipping struct {
	// Kind says how the clip changes from round to round: "constant" (default),
	// "schedule", "quantile" (follows a quantile of gradient norms), or "released"
	// (follows the norms of released answers).
	Kind  string  `toml:"clipping,omitempty"`
	Least float64 `toml:"clip_min,omitempty"`      // the least clip, above 0; default max_grad_norm/1000
	Most  float64 `toml:"clip_max,omitempty"`      // quantile: the largest clip; default 1000 max_grad_norm
	Decay float64 `toml:"clip_decay,omitempty"`    // schedule: factor in each round, in (0, 1]
	Rate  float64 `toml:"clip_rate,omitempty"`     // quantile: how fast the clip follows, above 0; default .2
	Share float64 `toml:"clip_quantile,omitempty"` // quantile: which quantile, in (0, 1); default .5
	// quantile: standard deviation of the noise on the number of records within the clip,
	// above 0; default a twentieth of the expected batch
	Count float64 `toml:"clip_count_std,omitempty"`
	// released: clip divided by the norm of answers, above 0; default 2
	Factor float64 `toml:"clip_factor,omitempty"`
	// released: weight of E_{k-1} in E_k, in (0, 1); default .9
	Average float64 `toml:"clip_average,omitempty"`
}

// Complete checks c for the initial clip C_0 and the expected batch and fills in what
// zero values stand for.
func (c *Clipping) Complete(initial, batch float64) error {
	switch c.Kind {
	case "", "constant", "schedule", "quantile", "released":
	default:
		return config.Bad("clipping", c.Kind, "one of constant, quantile, released, schedule")
	}
	if c.Adaptive() && !positive(initial) {
		return config.Bad("max_grad_norm", initial, "above 0 and finite with clipping "+c.Kind)
	}
	if c.Kind == "schedule" && c.Decay == 0 {
		return config.Bad("clip_decay", "nothing", "above 0 and at most 1 with clipping schedule")
	}
	if c.Kind == "quantile" && c.Count == 0 && batch == 0 {
		return config.Bad("clip_count_std", "nothing", "above 0, or batch_size, of which it is a twentieth")
	}
	for _, p := range []struct {
		key       string
		value     *float64
		kind      string // "" is all but constant
		otherwise float64
		ok        func(x float64) bool
		allowed   string
	}{
		{"clip_min", &c.Least, "", initial / 1000, func(x float64) bool {
			return x > 0 && x <= initial
		}, "above 0 and at most max_grad_norm"},
		{"clip_max", &c.Most, "quantile", initial * 1000, func(x float64) bool {
			return positive(x) && x >= initial
		}, "at least max_grad_norm and finite"},
		{"clip_decay", &c.Decay, "schedule", 0, func(x float64) bool {
			return x > 0 && x <= 1
		}, "above 0 and at most 1"},
		{"clip_rate", &c.Rate, "quantile", .2, func(x float64) bool {
			return x > 0 && x <= 10
		}, "above 0 and at most 10"},
		{"clip_quantile", &c.Share, "quantile", .5, func(x float64) bool {
			return x > 0 && x < 1
		}, "above 0 and below 1"},
		{"clip_count_std", &c.Count, "quantile", batch / 20, positive, "above 0 and finite"},
		{"clip_factor", &c.Factor, "released", 2, positive, "above 0 and finite"},
		{"clip_average", &c.Average, "released", .9, func(x float64) bool {
			return x >= 0 && x < 1
		}, "at least 0 (0: 0.9) and below 1"},
	} {
		if !c.Adaptive() || p.kind != "" && p.kind != c.Kind {
			if *p.value != 0 {
				return config.Bad(p.key, *p.value, "no value with clipping "+cmp.Or(c.Kind, "constant"))
			}
			continue
		}
		if *p.value == 0 {
			*p.value = p.otherwise
		}
		if !p.ok(*p.value) {
			return config.Bad(p.key, *p.value, p.allowed)
		}
	}
	return nil
}

// Adaptive reports whether clips change.
func (c *Clipping) Adaptive() bool { return c.Kind != "" && c.Kind != "constant" }

// FollowsAnswers reports whether clips follow the answers' own length, noise included.
func (c *Clipping) FollowsAnswers() bool { return c.Kind == "released" }

// Extra is the number of values that an answer has behind the gradient: the noisy count
// of quantile, over the expected batch and times C_k/C_0.
func (c *Clipping) Extra() int {
	if c.Kind == "quantile" {
		return 1
	}
	return 0
}

// Clipped lets inner ask its queries with clips of c, which Complete has checked; with
// constant clipping it is inner. initial is C_0; noise is the standard deviation of an
// answer's coordinate over the query's clip, z/L, 0 without noise; dim is the number of
// parameters. Queries that name a clip of their own keep it.
func (c Clipping) Clipped(inner agent.Algorithm, initial, noise float64, dim int) agent.Algorithm {
	if !c.Adaptive() {
		return inner
	}
	return &clipped{Algorithm: inner, c: c, initial: initial, noise: noise, dim: dim, clip: initial}
}

// clipped is an algorithm whose queries have adaptive clips. Its state is public as the
// algorithm's is.
type clipped struct {
	agent.Algorithm
	c              Clipping
	initial, noise float64
	dim            int

	clip float64 // C_k
	mean float64 // E_k of released; 0 before the first answer
	own  bool    // the query that is out has a clip of the algorithm's own
}

// Step passes in on, without the count behind an answer, and sets the clip of the query.
func (a *clipped) Step(in *agent.Input, out *agent.Output) error {
	passed := *in
	if in.Kind == agent.Answer {
		if !a.own {
			a.learn(in.Answer)
		}
		passed.Answer = in.Answer[:a.dim]
	}
	if err := a.Algorithm.Step(&passed, out); err != nil || out.Query == nil {
		return err
	}
	if a.own = out.Query.Clip > 0; a.own {
		return nil
	}
	if a.c.Kind == "schedule" {
		a.clip = max(a.c.Least, a.initial*math.Pow(a.c.Decay, float64(in.Round)))
	}
	out.Query.Clip = a.clip
	return nil
}

// Lend implements agent.Lender where the algorithm within does: messages are its own.
func (a *clipped) Lend(out *agent.Output) bool {
	l, ok := a.Algorithm.(agent.Lender)
	return ok && l.Lend(out)
}

// Mixed implements agent.Mixer where the algorithm within does.
func (a *clipped) Mixed() tensor.Vec {
	if m, ok := a.Algorithm.(agent.Mixer); ok {
		return m.Mixed()
	}
	return nil
}

// Clip returns C_k, the clip of the last query, or of the next one where an answer has
// changed it. It is public.
func (a *clipped) Clip() float64 { return a.clip }

// learn takes a released answer into the next clip.
func (a *clipped) learn(answer tensor.Vec) {
	switch a.c.Kind {
	case "quantile":
		within := float64(answer[a.dim])*a.initial/a.clip + .5 // answers come in units of C_k/C_0
		a.clip = clamp(a.clip*math.Exp(-a.c.Rate*(within-a.c.Share)), a.c.Least, a.c.Most)
	case "released":
		s := a.noise * a.clip
		r := math.Sqrt(max(0, answer.Dot(answer)-float64(a.dim)*s*s))
		if a.mean == 0 {
			a.mean = r
		} else {
			a.mean = float64(a.c.Average*a.mean) + float64((1-a.c.Average)*r)
		}
		a.clip = clamp(a.c.Factor*a.mean, a.c.Least, a.initial)
	}
}

func clamp(x, low, high float64) float64 { return max(low, min(high, x)) }

const clippedTag = "clipped/1"

// AppendState writes C_k and E_k in front of the algorithm's state.
func (a *clipped) AppendState(b []byte) []byte {
	b = agent.AppendTag(b, clippedTag)
	own := uint64(0)
	if a.own {
		own = 1
	}
	for _, v := range []uint64{math.Float64bits(a.clip), math.Float64bits(a.mean), own} {
		b = binary.LittleEndian.AppendUint64(b, v)
	}
	at := len(b)
	b = a.Algorithm.AppendState(binary.LittleEndian.AppendUint64(b, 0))
	binary.LittleEndian.PutUint64(b[at:], uint64(len(b)-at-8))
	return b
}

// LoadState reads AppendState's bytes.
func (a *clipped) LoadState(b []byte) error {
	s := agent.ReadState(b, clippedTag)
	clip, mean, own := math.Float64frombits(s.Uint64()), math.Float64frombits(s.Uint64()), s.Uint64() == 1
	inner := s.Block()
	if err := s.Close(); err != nil {
		return err
	}
	if !positive(clip) || !notNegative(mean) {
		return fmt.Errorf("%w: clip %v", agent.ErrState, clip)
	}
	a.clip, a.mean, a.own = clip, mean, own
	return a.Algorithm.LoadState(inner)
}
