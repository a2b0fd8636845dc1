package experiment

import (
	"fmt"
	"math"
	"strconv"

	"sotto/privacy/account"
	"sotto/privacy/account/network"
)

// maxObservers bounds the agents of a run whose every observer's view is computed.
const maxObservers = 256

// NetworkFigures say what one agent's view of a private average tells of another's value:
// less than its messages would alone, because most of what it sees is mixed already. It
// is exact for values that are released once and then only averaged.
type NetworkFigures struct {
	Adversary   string   `json:"adversary"`
	Rounds      int      `json:"rounds_of_averaging"`
	Observer    int      `json:"worst_observer"`
	Agent       int      `json:"worst_agent"` // whose value it learns most of
	Leak        float64  `json:"worst_leak"`  // share of the local loss mu², in [0, 1]
	Epsilon     Bounds   `json:"worst_epsilon"`
	Local       Bounds   `json:"local_epsilon"` // against who sees every message
	MeanLeak    float64  `json:"mean_leak"`
	MeanEpsilon Figure   `json:"mean_epsilon"`
	MeanLabel   string   `json:"mean_label"`
	Delta       float64  `json:"delta"`
	Method      string   `json:"method"`
	Assumptions []string `json:"assumptions"`
	Citations   []string `json:"citations"`
}

// networkFigures computes the views of all observers.
func (e *Experiment) networkFigures() (*NetworkFigures, error) {
	if !e.File.Evaluate.Network {
		return nil, nil
	}
	g, err := e.Gossip()
	if err != nil {
		return nil, err
	}
	all := make([]network.Adversary, g.Agents)
	for v := range all {
		all[v] = network.Observer(v)
	}
	views, err := g.Views(all)
	if err != nil {
		return nil, err
	}
	p := &e.File.Privacy
	mu := account.ClipShift(p.adjacency) / e.Plans[0].Noise
	n := &NetworkFigures{
		Adversary:   "any one agent, with what it is sent",
		Rounds:      len(g.Rounds),
		Leak:        -1,
		Delta:       p.TargetDelta,
		MeanLabel:   network.MeanLabel,
		Method:      network.ViewMethod,
		Assumptions: network.Assumptions,
		Citations:   network.Citations,
	}
	mean := 0.
	for v, view := range views {
		for u, leak := range view.Leak {
			if u == v {
				continue
			}
			pairs := float64(g.Agents * (g.Agents - 1))
			n.MeanLeak += leak / pairs
			eps := view.Epsilon(u, mu, p.TargetDelta)
			mean += eps.Upper / pairs
			if leak > n.Leak {
				n.Leak, n.Observer, n.Agent, n.Epsilon = leak, v, u,
					Bounds{Figure(eps.Lower), Figure(eps.Upper)}
			}
		}
	}
	if g.Agents == 1 {
		n.Leak = 0
	}
	n.MeanEpsilon = Figure(mean)
	local := account.GaussianEpsilon(mu, p.TargetDelta)
	n.Local = Bounds{Figure(local * (1 - 1e-12)), Figure(local * (1 + 1e-12))}
	return n, nil
}

// Gossip describes the run to the network accountant. Every owner's noise is in units of
// the clip over its normaliser.
func (e *Experiment) Gossip() (*network.Gossip, error) {
	matrices, err := Mixing(e.Graphs.Schedule, int(e.File.Steps))
	if err != nil {
		return nil, err
	}
	// in round 0 nothing has been sent
	g := &network.Gossip{Agents: e.File.Topology.Agents, Rounds: matrices[1:]}
	if g.Method, err = e.averaging(); err != nil {
		return nil, err
	}
	for i := range e.Plans {
		g.Noise = append(g.Noise, 1/e.Plans[i].Public.ExpectedBatch)
	}
	return g, nil
}

// averager is an algorithm that releases one value and then averages.
type averager interface{ Coefficients(rounds int) [][3]float64 }

// averaging is the algorithm's own recursion.
func (e *Experiment) averaging() (network.Method, error) {
	alg, err := e.Factory(e.Env(0))
	if err != nil {
		return network.Method{}, err
	}
	return network.Averaging(e.File.Algorithm.Name, alg.(averager).Coefficients(int(e.File.Steps))), nil
}

// checkRecursion refuses recursions for one matrix where agents meet in pairs.
func (e *Experiment) checkRecursion() error {
	if e.File.Topology.Wake != pairWake {
		return nil
	}
	if m, err := e.averaging(); err == nil && m.Name != network.Plain().Name {
		return e.File.Refuse("algorithm.acceleration", "an accelerated one",
			"plain where agents wake in pairs: the others are for one matrix")
	}
	return nil
}

// text is what a person reads.
func (n *NetworkFigures) text() string {
	return fmt.Sprintf("%s upper, against any one agent: the worst of all pairs, agent %d seen by %d, "+
		"which learns %s of the local loss; mean %s (%s)", FormatEpsilon(float64(n.Epsilon.Upper)), n.Agent,
		n.Observer,
		strconv.FormatFloat(math.Round(1e4*n.Leak)/1e4, 'g', -1, 64), FormatEpsilon(float64(n.MeanEpsilon)),
		"no guarantee for any single agent")
}
