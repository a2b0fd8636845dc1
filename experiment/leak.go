package experiment

import (
	"sotto/experiment/exposure"
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
	mu := account.ClipShift(e.Setup.Target.Adjacency) / e.Plans[0].Noise
	return exposure.Averaging(g, mu, e.Setup.Target.Delta)
}

// Gossip describes the run to the network accountant. Every owner's noise is in units of
// the clip over its normaliser.
func (e *Experiment) Gossip() (*network.Gossip, error) {
	matrices, err := exposure.Mixing(e.Graphs.Schedule, int(e.File.Steps))
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
