package network

import (
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/floats"

	"sotto/config"
	"sotto/privacy/account"
	"sotto/privacy/account/gdp"
)

// WalkMixture is the loss of private SGD by a random walk, of agent u's contributions
// against observer v who sees the token when it comes by and does not know its path (Li
// et al. 2025, arXiv 2510.19934). It holds under the conditions below and is refused
// without them; it is then never above the loss against everyone.
type WalkMixture struct {
	Agents int
	Hops   *Matrix // row i: the probabilities of the agent after i
	Steps  int     // of the walk, at least 1: no hit later than this
	// Visits bounds the contributions of u to all tokens, and is enforced by the
	// algorithm (N_max); not their mean.
	Visits int
	Mu     float64 // sensitivity of one update over its noise, in (0, inf)

	Conditions
	Contraction float64 // c in (0, 1] of one update: 1 where losses are convex only
	LocalSteps  int     // J updates a visit, at least 1
}

// Conditions are what a mixture rests on.
type Conditions struct {
	Convex     bool    // every loss is convex
	Smoothness float64 // and has gradients of this Lipschitz constant
	StepSize   float64 // at most 2/Smoothness
	SecretHops bool    // each hop is drawn from a secret stream of the holder
}

func (w *WalkMixture) validate() error {
	switch {
	case w.Hops == nil:
		return config.Bad("hops", "nothing", "a matrix")
	case w.Agents < 2 || w.Agents > maxAgents || w.Hops.largest() >= w.Agents:
		return config.Bad("agents", w.Agents, fmt.Sprintf("2 to %d, all that the hops name", maxAgents))
	case w.Steps < 1:
		return config.Bad("steps", w.Steps, "at least 1")
	case w.Visits < 0:
		return config.Bad("visits", w.Visits, "at least 0")
	case !(w.Mu > 0) || math.IsInf(w.Mu, 1):
		return config.Bad("mu", w.Mu, "finite numbers above 0")
	case !(w.Contraction > 0 && w.Contraction <= 1):
		return config.Bad("contraction", w.Contraction, "above 0 and at most 1")
	case w.LocalSteps < 1:
		return config.Bad("local_steps", w.LocalSteps, "at least 1")
	}
	for _, r := range w.Hops.rows {
		sum, least := r.Self.Value, r.Self.Value
		for _, l := range r.In {
			sum, least = sum+l.Weight.Value, math.Min(least, l.Weight.Value)
		}
		if least < 0 || math.Abs(sum-1) > 1e-9 {
			return config.Bad(fmt.Sprintf("row[%d]", r.Agent), sum, "probabilities that sum to 1")
		}
	}
	return nil
}

// conditions refuses walks that the theorem does not cover.
func (w *WalkMixture) conditions() error {
	missing := ""
	switch {
	case !w.Convex:
		missing = "losses are not known to be convex"
	case !(w.Smoothness > 0) || !(w.StepSize > 0) || w.StepSize*w.Smoothness > 2:
		missing = fmt.Sprintf("the step size %g is not known to be at most 2 over the smoothness %g",
			w.StepSize, w.Smoothness)
	case !w.SecretHops:
		missing = "the path of the token is public"
	default:
		return nil
	}
	return fmt.Errorf("%w: amplification by a random walk: %s; supported: the composition of all "+
		"contributions against everyone", account.ErrUnsupported, missing)
}

// FirstHits returns the probability that the token is at v for the first time t = 1, 2,
// ... hops after it was at u, and what is left. Where u contributes more than once it is
// the first time at v or back at u, as if v were shown the token there: contributions
// that v has not seen yet share their noise, and losses of such do not compose as those
// of separate releases do (two in a row cost mu^2 = 2, and not 1 + 1/2). It ends after
// Steps hops, when less than 1e-12 is left, or when longer is not worth its work.
func (w *WalkMixture) FirstHits(u, v int) (hits []float64, rest float64) {
	q, size := w.quotient(u, v)
	ends := func(c int) bool { return c == classOfV || c == classOfU && w.Visits > 1 }
	p := make([]float64, len(q))
	for c, row := range q {
		for _, s := range row {
			if ends(s.to) {
				p[c] += s.p
			}
		}
	}
	rest = 1
	for steps := min(w.Steps, max(1, maxWork/size)); len(hits) < steps && rest > 1e-12; {
		hits = append(hits, p[classOfU])
		rest = math.Max(0, rest-p[classOfU])
		next := make([]float64, len(q))
		for c, row := range q {
			for _, s := range row {
				if !ends(s.to) {
					next[c] += s.p * p[s.to]
				}
			}
		}
		p = next
	}
	return hits, rest
}

// loss is mu of a contribution that v first sees t hops later. At c < 1: (1+c)/(1-c)
// (1-c^J)^2/(1-c^{2Jt}), at c = 1 its limit J/t.
func (w *WalkMixture) loss(t int) float64 {
	j, c := float64(w.LocalSteps), w.Contraction
	if c == 1 {
		return w.Mu * math.Sqrt(j/float64(t))
	}
	up := -math.Expm1(j * math.Log(c))
	down := -math.Expm1(2 * j * float64(t) * math.Log(c))
	return w.Mu * up * math.Sqrt((1+c)/((1-c)*down))
}

// grain is how far apart, relative, two losses may lie that are counted as the larger
// one.
const grain = 1.03

// mixture is that of one contribution of u against v.
func (w *WalkMixture) mixture(u, v int) (weights, mus []float64) {
	hits, rest := w.FirstHits(u, v)
	if len(hits) < w.Steps { // stopped early: the rest is counted at the next step
		hits, rest = append(hits, rest), 0
	}
	for k, p := range hits {
		mu := w.loss(k + 1)
		if n := len(mus); n > 0 && mu*grain >= mus[n-1] {
			weights[n-1] += p
			continue
		}
		weights, mus = append(weights, p), append(mus, mu)
	}
	return weights, mus
}

// compose is epsilon of Visits copies, at most that of all against everyone.
func (w *WalkMixture) compose(weights, mus []float64, delta float64) (account.Interval, error) {
	i, err := account.RevealedMixture(weights, mus, w.Visits, delta)
	local := gdp.Epsilon(w.Mu*math.Sqrt(float64(w.Visits)*float64(w.LocalSteps)), delta) * (1 + 1e-12)
	return account.Interval{Upper: math.Min(i.Upper, local)}, err
}

// Pairs returns epsilon at delta, for pairs {u, v} of u != v, of u's contributions
// against v. Each is a mixture of Gaussian mechanisms over the time until v sees it,
// which v may be told (see FirstHits); Visits of them are composed. Mixtures that are
// alike are composed once.
func (w *WalkMixture) Pairs(pairs [][2]int, delta float64) ([]float64, error) {
	type composed struct{ weights, mus []float64 }
	var known []composed
	var upper []float64
	out := make([]float64, len(pairs))
	for k, p := range pairs {
		if err := w.check(p[0], p[1]); err != nil {
			return nil, err
		}
		weights, mus := w.mixture(p[0], p[1])
		at := slices.IndexFunc(known, func(c composed) bool {
			return floats.EqualApprox(c.weights, weights, 1e-13) && slices.Equal(c.mus, mus)
		})
		if at < 0 {
			i, err := w.compose(weights, mus, delta)
			if err != nil {
				return nil, err
			}
			at, known, upper = len(known), append(known, composed{weights, mus}), append(upper, i.Upper)
		}
		out[k] = upper[at]
	}
	return out, nil
}

// check refuses pairs and walks that the mixture does not cover.
func (w *WalkMixture) check(u, v int) error {
	if err := w.validate(); err != nil {
		return err
	}
	if u < 0 || v < 0 || u >= w.Agents || v >= w.Agents || u == v {
		return config.Bad("pair", fmt.Sprint(u, " ", v), fmt.Sprintf("two agents of 0 to %d", w.Agents-1))
	}
	return w.conditions()
}

// WalkMethod of the mixture, for statements, and where it is from.
const (
	WalkMethod = "mixture of Gaussian losses over the first time at the observer or back at the owner, " +
		"composed over visits by pld"
	WalkCitation = "Li et al. 2025, arXiv 2510.19934"
)

// WalkAssumptions of the mixture, for statements.
var WalkAssumptions = []string{"losses are convex and smooth, with steps of at most 2 over the smoothness",
	"the token is the only channel",
	"hops come from the holders' secret streams, and the observer does not learn who sent the token",
	"no step but the last is shown: the observer sees a token when it holds it, and is not told the model " +
		"that the walk ends with"}
