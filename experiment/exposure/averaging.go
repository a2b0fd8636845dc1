package exposure

import (
	"sotto/experiment/rundir"
	"sotto/internal/jsonfloat"
	"sotto/privacy/account"
	"sotto/privacy/account/network"
)

// Averaging computes the views of all observers of values that are released once and then
// averaged. mu is the GDP parameter of one release against who sees it.
func Averaging(g *network.Gossip, mu, delta float64) (*rundir.NetworkFigures, error) {
	all := make([]network.Adversary, g.Agents)
	for v := range all {
		all[v] = network.Observer(v)
	}
	views, err := g.Views(all)
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
	local := account.GaussianEpsilon(mu, delta)
	n.Local = rundir.NewBounds(local*(1-1e-12), local*(1+1e-12))
	return n, nil
}
