package forecast

import (
	"math"

	"sotto/experiment"
	"sotto/experiment/exposure"
	"sotto/experiment/rundir"
	"sotto/internal/jsonfloat"
	"sotto/privacy/account/network"
)

// Network computes the views of all observers, where the run asks for them; nil
// elsewhere.
func Network(e *experiment.Experiment) (*rundir.NetworkFigures, error) {
	if !e.File.Evaluate.Network {
		return nil, nil
	}
	g, err := Gossip(e)
	if err != nil {
		return nil, err
	}
	most := 0.
	for i := range e.Plans {
		m, err := e.Plans[i].Movement()
		if err != nil {
			return nil, err
		}
		most = max(most, m)
	}
	return exposure.Averaging(g, most/e.Plans[0].Noise, e.Setup.Target.Delta)
}

// Gossip describes the run to the network accountant. Every owner's noise is in units of
// the clip over its normaliser.
func Gossip(e *experiment.Experiment) (*network.Gossip, error) {
	matrices, err := exposure.Mixing(e.Graphs.Schedule, int(e.File.Steps))
	if err != nil {
		return nil, err
	}
	// in round 0 nothing has been sent
	g := &network.Gossip{Agents: e.File.Topology.Agents, Rounds: matrices[1:]}
	if g.Method, err = e.Recursion(); err != nil {
		return nil, err
	}
	for i := range e.Plans {
		g.Noise = append(g.Noise, 1/e.Plans[i].Public.ExpectedBatchSize)
	}
	return g, nil
}

// Graph describes the graph of the first round.
func Graph(e *experiment.Experiment) rundir.Graph {
	nan := jsonfloat.Float(math.NaN())
	g := rundir.Graph{
		Name:        e.File.Topology.Graph,
		Links:       e.Graphs.Spectrum.Links,
		SpectralGap: nan,
		Fiedler:     nan,
	}
	if e.Graphs.Spectrum.Computed {
		g.SpectralGap, g.Fiedler = jsonfloat.Float(e.Graphs.Spectrum.Gap),
			jsonfloat.Float(e.Graphs.Spectrum.NormalizedFiedler)
	}
	return g
}
