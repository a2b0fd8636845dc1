package network

import (
	"fmt"
	"math"

	"gonum.org/v1/gonum/floats"

	"sotto/config"
)

// MuffliatoPrinted is the published pairwise loss of plain gossip (Cyffers, Even, Bellet,
// Massoulie 2022), of every agent u against observer v, in units of a D^2/(2 s^2) like a
// leak:
//
//	f(u,v) = sum_{k<K} sum_{w in N(v)} (W^k)_{wu}^2 / ||(W^k)_w||^2.
//
// It is claimed, and for comparison only: it adds messages as if each had noise of its
// own. It is neither above nor below the exact leak (see the package), and it is not a
// bound. Methods other than plain, unequal noise and secure sums do not enter it.
func (g *Gossip) MuffliatoPrinted(v int) ([]float64, error) {
	if err := g.validate(); err != nil {
		return nil, err
	}
	a := Observer(v)
	if err := a.validate(g.Agents); err != nil {
		return nil, err
	}
	plain := Gossip{Agents: g.Agents, Rounds: g.Rounds}
	sum := make([]float64, g.Agents)
	message := func(x []float64) {
		size := floats.Dot(x, x)
		for u, y := range x {
			sum[u] += y * y / size
		}
	}
	if g.static() {
		printedStatic(&plain, a, message)
	} else {
		printedRunning(&plain, a, message)
	}
	return sum, nil
}

// MuffliatoWalkPrinted is the second line of the same theorem, which the first never
// exceeds, of every agent u against observer v, in units of a D^2/(2 s^2):
//
//	f(u,v) <= n max_{w in N(v)} W_{vw}^-2 sum_{1<=k<=K} P(X^k = v | X^0 = u)^2,
//
// X the random walk with transitions W. It is claimed, and for comparison only: like the
// first line it may lie below the exact leak, and it is not a bound. It takes one matrix
// in all rounds, symmetric, at least 0, with rows that sum to 1; an observer who hears
// nobody has 0.
func (g *Gossip) MuffliatoWalkPrinted(v int) ([]float64, error) {
	if err := g.validate(); err != nil {
		return nil, err
	}
	if err := Observer(v).validate(g.Agents); err != nil {
		return nil, err
	}
	sum := make([]float64, g.Agents)
	if len(g.Rounds) == 0 {
		return sum, nil
	}
	if !g.static() {
		return nil, config.Bad("rounds", "several matrices", "one matrix in all rounds")
	}
	m := g.Rounds[0]
	if err := m.gossips(); err != nil {
		return nil, err
	}
	row, _ := m.row(v)
	most := 0.
	for _, l := range row.In {
		if l.Weight.Value > 0 {
			most = math.Max(most, 1/(l.Weight.Value*l.Weight.Value))
		}
	}
	w := (&Gossip{Agents: g.Agents}).operator(m)
	x := make([]float64, g.Agents) // P(X^k = v | X^0 = u), by u
	x[v] = 1
	for range g.Rounds {
		x = w.apply(x)
		for u, p := range x {
			sum[u] += p * p
		}
	}
	floats.Scale(float64(g.Agents)*most, sum)
	return sum, nil
}

// gossips refuses what is no gossip matrix: symmetric, at least 0, rows that sum to 1.
func (m *Matrix) gossips() error {
	weights := map[[2]int]float64{}
	for _, r := range m.rows {
		for _, l := range r.In {
			weights[[2]int{r.Agent, l.From}] = l.Weight.Value
		}
	}
	for _, r := range m.rows {
		key, sum := fmt.Sprintf("row[%d]", r.Agent), r.Self.Value
		for _, l := range r.In {
			w, back := l.Weight.Value, weights[[2]int{l.From, r.Agent}]
			if sum += w; w < 0 || w != back {
				return config.Bad(key, w, fmt.Sprintf("at least 0, and the weight back, %g", back))
			}
		}
		if r.Self.Value < 0 || math.Abs(sum-1) > 1e-9 {
			return config.Bad(key, sum, "weights of at least 0 that sum to 1")
		}
	}
	return nil
}

// printedStatic calls f with the rows of powers of W that the observer receives.
func printedStatic(g *Gossip, a Adversary, f func(x []float64)) {
	if len(g.Rounds) == 0 {
		return
	}
	w := g.operator(g.Rounds[0])
	g.observed(a, 0, func(sum []Link) {
		x := g.combine(sum)
		f(x)
		for range len(g.Rounds) - 1 {
			x = w.apply(x)
			f(x)
		}
	})
}

// printedRunning calls f with the rows of the running product that the observer receives.
func printedRunning(g *Gossip, a Adversary, f func(x []float64)) {
	r := g.unlearned(make([]bool, g.Agents), Plain())
	for k, m := range g.Rounds {
		g.observed(a, k, func(sum []Link) { f(r.now[sum[0].From]) })
		r.mix(m, Plain(), k, 0)
	}
}
