package experiment

import (
	"fmt"
	"math"
	"strconv"

	"sotto/algo"
	"sotto/config"
	"sotto/privacy/account"
	"sotto/privacy/account/network"
	"sotto/sim"
)

// mostObservers bounds the agents of a run whose every observer's view is computed.
const mostObservers = 256

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

// validateNetwork refuses runs whose views no accountant describes exactly.
func (f *File) validateNetwork() error {
	if !f.eval.Network {
		return nil
	}
	bad := func(allowed string) error {
		return f.at("evaluate", config.Bad("network", true, "false: "+allowed))
	}
	switch {
	case !f.averages():
		return bad("only values that are released once and then averaged (algorithm " + averageAlgorithm +
			") have an exact view; with others every agent's later answers react to messages that an " +
			"observer never saw")
	case f.priv.Mechanism != "gaussian":
		return bad("only normal noise of each agent's own has an exact view")
	case f.flts != sim.DefaultFaults() || f.adv.Text() != "":
		return bad("with faults, or with agents that attack, mixing is not what was planned")
	case f.topo.Agents > mostObservers:
		return bad(fmt.Sprintf("more than %d agents; sotto account network computes single observers",
			mostObservers))
	case f.repl.switches() != "":
		return bad("no switch of [replication]")
	}
	return nil
}

// networkFigures computes the views of all observers.
func (e *Experiment) networkFigures() (*NetworkFigures, error) {
	if !e.file.eval.Network {
		return nil, nil
	}
	g, err := e.gossip()
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
	p := &e.file.priv
	mu := account.ClipShift(p.adjacency) / e.plans[0].noiseMultiplier
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

// gossip describes the run to the network accountant. Every owner's noise is in units of
// the clip over its normaliser.
func (e *Experiment) gossip() (*network.Gossip, error) {
	matrices, err := Mixing(e.schedule, int(e.file.steps))
	if err != nil {
		return nil, err
	}
	g := &network.Gossip{Agents: e.file.topo.Agents, Rounds: matrices[1:]} // in round 0 nothing has been sent
	if g.Method, err = e.averaging(); err != nil {
		return nil, err
	}
	for i := range e.plans {
		g.Noise = append(g.Noise, 1/e.plans[i].batch)
	}
	return g, nil
}

// averaging is the algorithm's own recursion.
func (e *Experiment) averaging() (network.Method, error) {
	alg, err := e.factory(e.env(0))
	if err != nil {
		return network.Method{}, err
	}
	return network.Averaging(e.file.alg.Name, alg.(*algo.GossipAverage).Coefficients(int(e.file.steps))), nil
}

// text is what a person reads.
func (n *NetworkFigures) text() string {
	return fmt.Sprintf("%s upper, against any one agent: the worst of all pairs, agent %d seen by %d, "+
		"which learns %s of the local loss; mean %s (%s)", formatEpsilon(float64(n.Epsilon.Upper)), n.Agent,
		n.Observer,
		strconv.FormatFloat(math.Round(1e4*n.Leak)/1e4, 'g', -1, 64), formatEpsilon(float64(n.MeanEpsilon)),
		"no guarantee for any single agent")
}
