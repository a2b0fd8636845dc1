package network

import "gonum.org/v1/gonum/floats"

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
