package network

import (
	"fmt"
	"math"

	"gonum.org/v1/gonum/floats"

	"sotto/config"
	"sotto/privacy/account"
)

// WalkMixture is the loss of private SGD by a random walk, of agent u's contributions against observer v who sees the token when it comes by and
// does not know its path (Li et al. 2025, arXiv 2510.19934). It holds under the conditions below and is refused without them; it is
// then never above the loss against everyone.
type WalkMixture struct {
	Agents int
	Hops   *Matrix // row i: the probabilities of the agent after i
	Steps  int     // of the walk, at least 1: no hit later than this
	// Visits bounds the contributions of u to all tokens, and is enforced by the algorithm (N_max); not their mean.
	Visits int
	Mu     float64 // sensitivity of one update over its noise, in (0, inf)

	// Conditions.
	Convex      bool    // every loss is convex
	Smoothness  float64 // and has gradients of this Lipschitz constant
	StepSize    float64 // at most 2/Smoothness
	SecretHops  bool    // each hop is drawn from a secret stream of the holder
	Contraction float64 // c in (0, 1] of one update: 1 where losses are convex only
	LocalSteps  int     // J updates a visit, at least 1
}

func (w *WalkMixture) validate() error {
	switch {
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
		missing = fmt.Sprintf("the step size %g is not known to be at most 2 over the smoothness %g", w.StepSize, w.Smoothness)
	case !w.SecretHops:
		missing = "the path of the token is public"
	default:
		return nil
	}
	return fmt.Errorf("%w: amplification by a random walk: %s; supported: the composition of all contributions against everyone", account.ErrUnsupported, missing)
}

// FirstHits returns the probability that the token is at v for the first time t = 1, 2, ... hops after it was at u, up to Steps or until less than
// 1e-12 of the mass is left, and that rest.
func (w *WalkMixture) FirstHits(u, v int) (hits []float64, rest float64) {
	p := make([]float64, w.Agents)
	p[u] = 1
	o := (&Gossip{Agents: w.Agents}).operator(w.Hops)
	rest = 1
	for t := 0; t < w.Steps && rest > 1e-12; t++ {
		p = o.apply(p)
		hits = append(hits, p[v])
		p[v] = 0
		rest = floats.Sum(p)
	}
	return hits, rest
}

// loss is mu of a contribution that v first sees t hops later. At c < 1: (1+c)/(1-c) (1-c^J)^2/(1-c^{2Jt}), at c = 1 its limit J/t.
func (w *WalkMixture) loss(t int) float64 {
	j, c := float64(w.LocalSteps), w.Contraction
	if c == 1 {
		return w.Mu * math.Sqrt(j/float64(t))
	}
	up := -math.Expm1(j * math.Log(c))
	down := -math.Expm1(2 * j * float64(t) * math.Log(c))
	return w.Mu * up * math.Sqrt((1+c)/((1-c)*down))
}

// grain is how far apart, relative, two losses may lie that are counted as the larger one.
const grain = 1.01

// Epsilon returns epsilon at delta of u's contributions against v, u != v. Each is a mixture of Gaussian mechanisms over the time until v is hit, which v
// may be told; Visits of them are composed. The lower end is 0.
func (w *WalkMixture) Epsilon(u, v int, delta float64) (account.Interval, error) {
	if err := w.validate(); err != nil {
		return account.Interval{}, err
	}
	if u < 0 || v < 0 || u >= w.Agents || v >= w.Agents || u == v {
		return account.Interval{}, config.Bad("pair", fmt.Sprint(u, " ", v), fmt.Sprintf("two agents of 0 to %d", w.Agents-1))
	}
	if err := w.conditions(); err != nil {
		return account.Interval{}, err
	}
	hits, rest := w.FirstHits(u, v)
	if len(hits) < w.Steps { // stopped early: the rest is counted at the next step
		hits, rest = append(hits, rest), 0
	}
	var weights, mus []float64
	for k, p := range hits {
		mu := w.loss(k + 1)
		if n := len(mus); n > 0 && mu*grain >= mus[n-1] {
			weights[n-1] += p
			continue
		}
		weights, mus = append(weights, p), append(mus, mu)
	}
	i, err := account.RevealedMixture(weights, mus, w.Visits, delta)
	local := account.GaussianEpsilon(w.Mu*math.Sqrt(float64(w.Visits*w.LocalSteps)), delta) * (1 + 1e-12)
	return account.Interval{Upper: math.Min(i.Upper, local)}, err
}

// WalkMethod of the mixture, for statements, and where it is from.
const (
	WalkMethod   = "mixture of Gaussian losses over first hitting times, composed over visits by pld"
	WalkCitation = "Li et al. 2025, arXiv 2510.19934"
)

// WalkAssumptions of the mixture, for statements.
var WalkAssumptions = []string{"losses are convex and smooth, with steps of at most 2 over the smoothness", "the token is the only channel",
	"hops come from the holders' secret streams, and the observer does not learn who sent the token"}

// Statement is the figure of u's contributions against v, for a privacy statement.
func (w *WalkMixture) Statement(u, v int, delta float64) (account.AdversaryStatement, error) {
	i, err := w.Epsilon(u, v, delta)
	return account.AdversaryStatement{Adversary: "agent " + Observer(v).String(), Method: fmt.Sprintf("%s (%s, %s)", WalkMethod, Proved, WalkCitation),
		Epsilon: account.StatedInterval(i)}, err
}
