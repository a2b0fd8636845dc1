package exposure

import (
	"fmt"
	"math"
	"slices"

	"sotto/agent"
	"sotto/experiment/rundir"
	"sotto/internal/jsonfloat"
	"sotto/privacy/account"
	"sotto/privacy/account/network"
	"sotto/topology"
)

// Of larger graphs whose agents are not known to be alike, so many observers and, of
// each, its neighbors and others are looked at for the mean; up to mostWalkers the worst
// is that of all pairs.
const fewWalkers, someObservers, someObserved, mostWalkers = 12, 2, 6, 64

// walkSurvey is what is looked at of a walk.
type walkSurvey struct {
	*rundir.WalkFigures
	pairs [][2]int    // of an agent and an observer
	times [][]float64 // by observer: how many agents each pair stands for
	whole bool        // the worst is that of all pairs
}

// Walk looks at a walk w on graph g. local is epsilon of all contributions of an
// agent against who sees every message.
func Walk(g *topology.Graph, w *network.WalkMixture, delta float64,
	local account.Interval) (*rundir.WalkFigures, error) {
	s := &walkSurvey{WalkFigures: &rundir.WalkFigures{
		Adversary:   "any one agent, which sees the tokens that it holds",
		Delta:       delta,
		MeanLabel:   network.MeanLabel,
		Local:       rundir.NewBounds(local.Lower, local.Upper),
		Method:      network.WalkMethod,
		Provenance:  network.Proved,
		Assumptions: network.WalkAssumptions,
		Citations:   []string{network.WalkCitation},
	}}
	s.examine(g)
	upper, err := w.Pairs(s.pairs, delta)
	if err != nil {
		return nil, err
	}
	for k := range upper {
		upper[k] = math.Min(upper[k], local.Upper)
	}
	s.fill(upper)
	if err := s.worst(w, local.Upper); err != nil {
		return nil, err
	}
	if !g.Symmetric() { // the closed form is for symmetric matrices
		return s.WalkFigures, nil
	}
	return s.WalkFigures, s.reference(w)
}

// examine chooses pairs. On the complete graph all are alike and on the hypercube those
// at one distance; small graphs are looked at whole.
func (s *walkSurvey) examine(g *topology.Graph) {
	n := g.Agents()
	switch name := g.Name(); {
	case name == "complete":
		s.Examined = "one, which all others are like"
		s.pairs, s.times = [][2]int{{1, 0}}, [][]float64{{float64(n - 1)}}
	case name == "hypercube":
		s.Examined = "one at each distance, which all others are like"
		s.times = [][]float64{nil}
		stands := 1.
		for far, u := 1, 1; u < n; far, u = far+1, 2*u+1 {
			stands *= float64(bits(n) - far + 1)
			stands /= float64(far)
			s.pairs, s.times[0] = append(s.pairs, [2]int{u, 0}), append(s.times[0], stands)
		}
	case n <= fewWalkers:
		s.Examined = "all"
		for v := range n {
			s.observe(v, everyone(n))
		}
	default:
		s.Examined = fmt.Sprintf("%d observers with %d agents each, neighbors first", someObservers,
			someObserved)
		if s.whole = n <= mostWalkers; s.whole {
			s.Examined = "all for the worst; the mean is of " + s.Examined
		}
		for _, v := range spaced(n, someObservers) {
			var agents []int
			for _, nb := range g.In(agent.ID(v)) {
				agents = append(agents, int(nb.ID))
			}
			agents = agents[:min(len(agents), someObserved/2)]
			for _, u := range everyone(n) {
				if len(agents) < someObserved && u != v && !slices.Contains(agents, u) &&
					u%(n/someObserved) == 0 {
					agents = append(agents, u)
				}
			}
			s.observe(v, agents)
		}
	}
}

// worst replaces the worst of the pairs that were looked at by that of all, where the
// graph is small enough.
func (s *walkSurvey) worst(w *network.WalkMixture, most float64) error {
	if !s.whole {
		return nil
	}
	var pairs [][2]int
	for v := range w.Agents {
		for u := range w.Agents {
			if u != v {
				pairs = append(pairs, [2]int{u, v})
			}
		}
	}
	k, epsilon, err := w.Worst(pairs, s.Delta)
	if err == nil {
		s.Epsilon, s.Agent, s.Observer = jsonfloat.Float(math.Min(epsilon, most)), pairs[k][0], pairs[k][1]
	}
	return err
}

// bits is log2 of a power of two.
func bits(n int) int { return int(math.Round(math.Log2(float64(n)))) }

// observe adds pairs of an observer, each of which stands for itself.
func (s *walkSurvey) observe(v int, agents []int) {
	var times []float64
	for _, u := range agents {
		if u != v {
			s.pairs, times = append(s.pairs, [2]int{u, v}), append(times, 1)
		}
	}
	s.times = append(s.times, times)
}

// fill takes the pairs' figures.
func (s *walkSurvey) fill(upper []float64) {
	at, sum, all := 0, 0., 0.
	for _, times := range s.times {
		o := rundir.WalkObserver{Observer: s.pairs[at][1], Worst: -1}
		mine, count := 0., 0.
		for _, stands := range times {
			eps := upper[at]
			mine, count = mine+stands*eps, count+stands
			if jsonfloat.Float(eps) > o.Worst {
				o.Worst, o.Agent = jsonfloat.Float(eps), s.pairs[at][0]
			}
			at++
		}
		o.Mean = jsonfloat.Float(mine / count)
		sum, all = sum+mine, all+count
		if len(s.Observers) == 0 || o.Worst > s.Epsilon {
			s.Epsilon, s.Observer, s.Agent = o.Worst, o.Observer, o.Agent
		}
		s.Observers = append(s.Observers, o)
	}
	s.MeanEpsilon = jsonfloat.Float(sum / all)
}

// reference adds the published closed form where the graph mixes fast enough for it.
func (s *walkSurvey) reference(w *network.WalkMixture) error {
	r := &rundir.WalkReference{Label: "published closed form, not a bound here", Provenance: network.Claimed,
		Citation: "Cyffers, Bellet, Upadhyay 2024, arXiv 2402.07471"}
	sum, count := 0., 0
	for _, o := range s.Observers {
		c, ok, err := network.WalkPrintedObserver(w.Hops, w.Agents, o.Observer, 1/w.Mu, w.Steps)
		if err != nil || !ok {
			return err
		}
		for u, x := range c {
			if u != o.Observer {
				eps := network.PrintedEpsilon(x, s.Delta)
				sum += eps
				count++
				r.Worst = max(r.Worst, jsonfloat.Float(eps))
			}
		}
	}
	r.Mean = jsonfloat.Float(sum / float64(count))
	s.Printed = r
	return nil
}

// WalkStatement is the figure for a privacy statement: that of the worst pair, which
// covers all that were looked at.
func WalkStatement(s *rundir.WalkFigures) account.AdversaryStatement {
	return account.AdversaryStatement{Adversary: fmt.Sprintf("%s (pairs looked at: %s)", s.Adversary,
		s.Examined),
		Method:  fmt.Sprintf("%s (%s, %s)", s.Method, s.Provenance, s.Citations[0]),
		Epsilon: account.StatedInterval{Upper: float64(s.Epsilon)}}
}

// everyone lists 0 .. n-1.
func everyone(n int) []int { return spaced(n, n) }

// spaced returns k of 0 .. n-1 with even gaps.
func spaced(n, k int) []int {
	at := make([]int, k)
	for j := range at {
		at[j] = j * n / k
	}
	return at
}
