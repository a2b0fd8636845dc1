package forecast

import (
	"math"

	"sotto/experiment"
	"sotto/experiment/exposure"
	"sotto/experiment/rundir"
	"sotto/internal/jsonfloat"
	"sotto/privacy/account/network"
	"sotto/topology"
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

// Gossip describes the run to the network accountant. Noise is in units of that of a sum:
// an owner's is what its release divides the sum by, which of answers is nothing.
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
		r, err := e.Plans[i].Release(0)
		if err != nil {
			return nil, err
		}
		g.Noise = append(g.Noise, r.Scale)
	}
	return g, nil
}

// smallGap is above what rounding makes of two eigenvalues that are equal.
const smallGap = 1e-9

// Graph describes the graph of the first round, and counts the links of all rounds.
func Graph(e *experiment.Experiment) rundir.Graph {
	nan := jsonfloat.Float(math.NaN())
	g := rundir.Graph{
		Name:        e.File.Topology.Graph,
		Links:       e.Graphs.Spectrum.Links,
		SpectralGap: nan,
		Fiedler:     nan,
		NotComputed: e.Graphs.Spectrum.NotComputed,
	}
	if e.Graphs.Spectrum.Computed {
		g.SpectralGap, g.Fiedler = jsonfloat.Float(e.Graphs.Spectrum.Gap),
			jsonfloat.Float(e.Graphs.Spectrum.NormalizedFiedler)
		least := jsonfloat.Float(e.Graphs.Spectrum.AbsoluteGap)
		if least < g.SpectralGap-smallGap && e.File.Topology.Weights != "objective" { // which do not mix
			g.AbsoluteGap = &least
		}
	}
	if f := e.File; f.Topology.Dropout > 0 || f.Topology.Directed() {
		if all, err := topology.Union(e.Graphs.Schedule); err == nil && all.Links() != g.Links {
			g.AllLinks = all.Links()
		}
	}
	return g
}
