package exposure

import (
	"sotto/experiment/rundir"
	"sotto/internal/jsonfloat"
	"sotto/privacy/account/network"
)

// Averaging computes the views of all observers of values that are released once and then
// averaged. mu is the GDP parameter of one release against who sees it.
func Averaging(g *network.Gossip, mu, delta float64) (*rundir.NetworkFigures, error) {
	views, err := g.Views(observers(g.Agents))
	if err != nil {
		return nil, err
	}
	n := &rundir.NetworkFigures{
		Adversary:   "any one agent, with what it is sent",
		Rounds:      len(g.Rounds),
		Leak:        -1,
		Delta:       delta,
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
			eps := view.Epsilon(u, mu, delta)
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
	n.MeanEpsilon = jsonfloat.Float(mean)
	against := local(mu, delta)
	n.Local = rundir.NewBounds(against.Lower, against.Upper)
	return n, nil
}
