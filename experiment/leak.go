package experiment

import (
	"sotto/experiment/rundir"
	"sotto/privacy/account"
	"sotto/privacy/account/network"
)

// maxObservers bounds the agents of a run whose every observer's view is computed.
const maxObservers = 256

// networkFigures computes the views of all observers.
func (e *Experiment) networkFigures() (*rundir.NetworkFigures, error) {
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
	n := &rundir.NetworkFigures{
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
					rundir.NewBounds(eps.Lower, eps.Upper)
			}
		}
	}
	if g.Agents == 1 {
		n.Leak = 0
	}
	n.MeanEpsilon = Figure(mean)
	local := account.GaussianEpsilon(mu, p.TargetDelta)
	n.Local = rundir.NewBounds(local*(1-1e-12), local*(1+1e-12))
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
