package network

import (
	"fmt"
	"math"
	"slices"

	"sotto/config"
)

const (
	maxAgents = 1 << 13
	maxRounds = 1 << 20
)

// Gossip is one private release of every agent's value, followed by averaging over public
// matrices.
type Gossip struct {
	Agents int // 1 to 8,192
	// Rounds holds W_1 .. W_K. Before round k agent i's value goes to all who have i in
	// their row of W_k; links that lost their message are absent from it. A graph that
	// stays the same is the same pointer K times, which costs far less.
	Rounds []*Matrix
	Method Method // the zero Method is plain
	// Noise is the standard deviation of each agent's noise, in one unit, above 0; nil:
	// the same for all.
	Noise []float64
	// SecureSum: each agent gets the weighted sum of a round's messages to it, and
	// nothing else of them.
	SecureSum bool
}

// View is what one adversary learns from a [Gossip].
type View struct {
	Adversary Adversary
	// Leak is the share of the local privacy loss mu^2 of each agent's value that the
	// adversary's view carries, in [0, 1]; 1 for members.
	Leak []float64
	Rank int // of the view without what the members know themselves: the leaks of the others add up to it
	// Decided says how the rank was decided: see the Decided constants.
	Decided string
	margin  float64
}

// How the rank of a view was decided.
const (
	// DecidedFull: every row was independent or the rank is full, so that nothing can be
	// missing.
	DecidedFull = "every row independent, or full rank"
	// DecidedModular: fractions, and the rank modulo two primes is not larger.
	DecidedModular = "orthogonalisation, and no larger rank modulo two primes"
	// DecidedExact: leaks are those of fractions.
	DecidedExact = "exact arithmetic: orthogonalisation found another rank"
	// DecidedWorst: every agent of which anything arrives leaks fully.
	DecidedWorst = "worst case: orthogonalisation missed a direction, or may have"
	// DecidedInexact: every direction above the cut counts.
	DecidedInexact = "orthogonalisation with cut 1e-12: weights are not fractions"
)

const (
	// largestExact is the number of agents up to which exact arithmetic is tried where a
	// direction is missing.
	largestExact = 128
	// largestTrimmed is the same where orthogonalisation took rounding for a direction,
	// which only overstates leaks.
	largestTrimmed = 32
	// suspicious is the distance, relative, below which a row that was taken may be
	// rounding of those before it.
	suspicious = 1e-6
)

// method returns the method with its default.
func (g *Gossip) method() Method {
	if g.Method.Step == nil {
		return Plain()
	}
	return g.Method
}

// static reports one matrix in all rounds.
func (g *Gossip) static() bool {
	for _, m := range g.Rounds {
		if m != g.Rounds[0] {
			return false
		}
	}
	return true
}

// exact reports that the row space is that of a matrix of fractions. With one matrix, the
// rows of polynomials of degrees 0 .. K-1 span what those of its powers span, whatever
// their coefficients.
func (g *Gossip) exact() bool {
	for _, m := range g.Rounds {
		if !m.exact {
			return false
		}
	}
	return g.static() || g.method().plain
}

// noise returns the noise of an agent.
func (g *Gossip) noise(agent int) float64 {
	if g.Noise == nil {
		return 1
	}
	return g.Noise[agent]
}

func (g *Gossip) validate() error {
	if g.Agents < 1 || g.Agents > maxAgents {
		return config.Bad("agents", g.Agents, fmt.Sprintf("1 to %d", maxAgents))
	}
	if len(g.Rounds) > maxRounds {
		return config.Bad("rounds", len(g.Rounds), fmt.Sprintf("0 to %d", maxRounds))
	}
	if g.Noise != nil && len(g.Noise) != g.Agents {
		return config.Bad("noise", len(g.Noise),
			fmt.Sprintf("%d standard deviations, one an agent", g.Agents))
	}
	for _, s := range g.Noise {
		if !(s > 0) || math.IsInf(s, 1) {
			return config.Bad("noise", s, "finite numbers above 0")
		}
	}
	var last *Matrix
	for k, m := range g.Rounds {
		if m == nil {
			return config.Bad(fmt.Sprintf("round[%d]", k), "nothing", "a matrix")
		}
		if m == last {
			continue
		}
		if last = m; m.largest() >= g.Agents {
			return config.Bad(fmt.Sprintf("round[%d]", k), m.largest(),
				fmt.Sprintf("agents 0 to %d", g.Agents-1))
		}
	}
	return nil
}

// View returns what one adversary learns; see [Gossip.Views].
func (g *Gossip) View(a Adversary) (*View, error) {
	v, err := g.Views([]Adversary{a})
	if err != nil {
		return nil, err
	}
	return v[0], nil
}

// Views returns what each adversary learns, exactly: the leverage scores of the columns
// of its view (see the package). Ranks are decided pessimistically. Orthogonalisation in
// double precision drops a row whose distance to the others is below 1e-12 of its length;
// where it has dropped any, or taken one that is close to the others, and weights are
// fractions, the rank is computed modulo two primes as well. If that is larger the leaks
// come from exact arithmetic (up to 128 agents) or are 1 for every agent of which
// anything arrives; if it is smaller, leaks are overstated, and exact up to 32 agents.
// Where weights are no fractions and noises differ by more than a thousand they are 1 as
// soon as a row was dropped.
func (g *Gossip) Views(adversaries []Adversary) ([]*View, error) {
	if err := g.validate(); err != nil {
		return nil, err
	}
	views := make([]*View, len(adversaries))
	var doubtful []int
	spread := spreadOf(g.Noise)
	for i, a := range adversaries {
		if err := a.validate(g.Agents); err != nil {
			return nil, err
		}
		b := newBasis(g.Agents, a.members)
		if g.static() {
			g.krylov(a, b)
		} else {
			g.running(a, b)
		}
		views[i] = b.view(a)
		if views[i].margin > 0 {
			views[i].margin = math.Max(views[i].margin, 1e-12*spread)
		}
		left := b.dropped > 0 && !b.full() // out, and may be missing
		switch {
		case g.exact() && (left || b.least < suspicious):
			views[i].Decided = DecidedModular
			doubtful = append(doubtful, i)
		case left && spread > widestSpread:
			g.worst(views[i])
		case left:
			views[i].Decided = DecidedInexact
		default:
			views[i].Decided = DecidedFull
		}
	}
	if len(doubtful) > 0 {
		g.check(views, doubtful)
	}
	return views, nil
}

// check compares the ranks of views with those modulo primes and replaces the leaks of
// views that missed a direction.
func (g *Gossip) check(views []*View, doubtful []int) {
	asked := make([]Adversary, len(doubtful))
	for k, i := range doubtful {
		asked[k] = views[i].Adversary
	}
	ranks := make([]int, len(doubtful))
	for _, p := range g.primes() {
		for k, rank := range p.ranks(g, asked) {
			ranks[k] = max(ranks[k], rank)
		}
	}
	for k, i := range doubtful {
		if v := views[i]; ranks[k] > v.Rank || ranks[k] < v.Rank && g.Agents <= largestTrimmed {
			g.replace(v)
		}
	}
}

// widestSpread is the ratio of two agents' noise up to which a row that was dropped is
// one of the others' space: that of an agent with little noise is short among theirs.
const widestSpread = 1e3

// spreadOf is the ratio of the most to the least noise.
func spreadOf(noise []float64) float64 {
	if noise == nil {
		return 1
	}
	return slices.Max(noise) / slices.Min(noise)
}

// replace computes the view anew in exact arithmetic, or in the worst case.
func (g *Gossip) replace(v *View) {
	if g.Agents <= largestExact {
		e := g.exactView(v.Adversary)
		v.Leak, v.Rank, v.Decided, v.margin = e.leaks(), e.rank, DecidedExact, 0
		return
	}
	g.worst(v)
}

// worst is the view where every agent of which anything arrives leaks fully.
func (g *Gossip) worst(v *View) {
	v.Decided, v.margin = DecidedWorst, 0
	for u, seen := range g.touched(v.Adversary) {
		if seen {
			v.Leak[u] = 1
		}
	}
	v.Rank = 0
	for u, l := range v.Leak {
		if l == 1 && !v.Adversary.has(u) {
			v.Rank++
		}
	}
}

// observed calls f with each row that the adversary receives in round k, as weights of
// the senders' values: one sender with weight 1, or under secure sums all senders of one
// receiver. Messages of members to members are left out.
func (g *Gossip) observed(a Adversary, k int, f func(sum []Link)) {
	m := g.Rounds[k]
	one := Fraction(1, 1)
	seen := make([]bool, g.Agents)
	receive := func(r Row) {
		if g.SecureSum {
			if len(r.In) > 0 {
				f(r.In)
			}
			return
		}
		for _, l := range r.In {
			if !seen[l.From] && !a.has(l.From) {
				seen[l.From] = true
				f([]Link{{l.From, one}})
			}
		}
	}
	if a.kind != members {
		for _, r := range m.rows {
			receive(r)
		}
		return
	}
	for _, v := range a.members {
		if r, ok := m.row(v); ok {
			receive(r)
		}
	}
}

// touched marks the agents whose noise enters any row that the adversary receives.
func (g *Gossip) touched(a Adversary) []bool {
	// reach[i] is the set of agents that i's current value depends on, by words of 64.
	words := (g.Agents + 63) / 64
	reach := make([][]uint64, g.Agents)
	for i := range reach {
		reach[i] = make([]uint64, words)
		reach[i][i/64] |= 1 << (i % 64)
	}
	all := make([]uint64, words)
	join := func(into, from []uint64) {
		for w := range into {
			into[w] |= from[w]
		}
	}
	for k, m := range g.Rounds {
		g.observed(a, k, func(sum []Link) {
			for _, l := range sum {
				join(all, reach[l.From])
			}
		})
		next := make([][]uint64, len(m.rows))
		for i, r := range m.rows {
			next[i] = append([]uint64(nil), reach[r.Agent]...)
			for _, l := range r.In {
				join(next[i], reach[l.From])
			}
		}
		for i, r := range m.rows {
			reach[r.Agent] = next[i]
		}
	}
	out := make([]bool, g.Agents)
	for u := range out {
		out[u] = all[u/64]>>(u%64)&1 == 1
	}
	return out
}
