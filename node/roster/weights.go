package roster

import (
	"fmt"

	"sotto/agent"
	"sotto/config"
	"sotto/topology"
)

// Weigh writes the rows of g, which has as many agents as the roster members, into the
// members. All signatures fall.
func (r *Roster) Weigh(g *topology.Graph) {
	if g.Agents() != len(r.Members) {
		panic(fmt.Sprintf("node: a graph of %d agents for %d members", g.Agents(), len(r.Members)))
	}
	r.Graph = g.Name()
	for i := range r.Members {
		m := &r.Members[i]
		m.SelfWeight, m.Weights, m.Signature = g.SelfWeight(agent.ID(i)), nil, ""
		for _, nb := range g.In(agent.ID(i)) {
			if m.Weights == nil { // without neighbors nil, as in a roster that was read
				m.Weights = map[string]float64{}
			}
			m.Weights[r.Members[nb.ID].Name] = nb.Weight
		}
	}
}

// Topology returns the graph of the weights. It must be connected, and doubly stochastic
// or, where nobody has a weight on itself, of an objective that draws neighbors' models
// together (symmetric), or for push-sum such that columns sum to 1.
func (r *Roster) Topology() (*topology.Graph, error) {
	if !r.Complete() {
		return nil, config.Bad("member", len(r.Members),
			fmt.Sprintf("%d, the size of the experiment", r.Size))
	}
	number := map[string]agent.ID{}
	for i := range r.Members {
		number[r.Members[i].Name] = agent.ID(i)
	}
	self, rows := make([]float64, r.Size), make([][]agent.Neighbor, r.Size)
	for i := range r.Members {
		self[i] = r.Members[i].SelfWeight
		for name, w := range r.Members[i].Weights {
			j, ok := number[name]
			if !ok {
				return nil, config.Bad(fmt.Sprintf("member[%d].weights", i), name, "names of members")
			}
			rows[i] = append(rows[i], agent.Neighbor{ID: j, Weight: w})
		}
	}
	g, err := topology.FromRows(r.Graph, self, rows)
	if err != nil {
		return nil, err
	}
	err = topology.Validate(g, topology.Claims{Connected: true, DoublyStochastic: true})
	for _, other := range []topology.Claims{{Connected: true, Objective: true},
		{Connected: true, ColumnStochastic: true}} {
		if err != nil && topology.Validate(g, other) == nil {
			err = nil
		}
	}
	return g, err
}
