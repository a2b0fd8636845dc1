package topology

import (
	"encoding/json"
	"fmt"

	"sotto/agent"
	"sotto/config"
)

// wire is the form of a graph in a run's topology.json: edges are [i, j, w_ij], pairs
// with i < j when the matrix is symmetric, otherwise every entry off the diagonal with i
// the receiver.
type wire struct {
	Agents    int          `json:"agents"`
	Graph     string       `json:"graph"`
	Symmetric bool         `json:"symmetric"`
	Edges     [][3]float64 `json:"edges"`
	// EveryPair is the weight of all pairs of a complete graph of many agents, whose
	// edges are then not listed.
	EveryPair float64   `json:"every_pair,omitempty"`
	Self      []float64 `json:"self"`
}

// maxCompact is the largest number of agents of a complete graph that is written by its
// one weight.
const maxCompact = 1 << 20

// everyPair is the one weight of all pairs of a complete graph; 0 where there are
// several, or too few or too many agents.
func everyPair(g *Graph) float64 {
	if n := g.Agents(); n < fewestImplicit || n > maxCompact {
		return 0
	}
	return g.every
}

// MarshalJSON writes the graph so that [Graph.UnmarshalJSON] gives back the same bits.
func (g *Graph) MarshalJSON() ([]byte, error) {
	w := wire{
		Agents:    g.Agents(),
		Graph:     g.name,
		Symmetric: g.symmetric,
		Edges:     [][3]float64{},
		EveryPair: everyPair(g),
		Self:      g.self,
	}
	if w.EveryPair != 0 {
		return json.Marshal(w)
	}
	for e := range g.Edges() {
		w.Edges = append(w.Edges, [3]float64{float64(e.I), float64(e.J), e.Weight})
	}
	return json.Marshal(w)
}

// UnmarshalJSON reads what [Graph.MarshalJSON] wrote. It checks the form as [FromRows]
// does, not the weights: see [Validate].
func (g *Graph) UnmarshalJSON(b []byte) error {
	var w wire
	if err := json.Unmarshal(b, &w); err != nil {
		return fmt.Errorf("topology: %w", err)
	}
	if w.Agents != len(w.Self) {
		return config.Bad("agents", w.Agents, fmt.Sprintf("%d, the number of self weights", len(w.Self)))
	}
	rows := make([][]agent.Neighbor, w.Agents)
	if w.EveryPair != 0 {
		if w.Agents > maxCompact || len(w.Edges) > 0 || !w.Symmetric {
			return config.Bad("every_pair", w.EveryPair,
				fmt.Sprintf("0, or a symmetric graph of at most %d agents without edges", maxCompact))
		}
		if read := completeGraph(w.Graph, w.Self, w.EveryPair); len(w.Self) >= fewestImplicit {
			*g = *read
			return nil
		}
		for i := range rows {
			for j := range rows {
				if j != i {
					rows[i] = append(rows[i], agent.Neighbor{ID: agent.ID(j), Weight: w.EveryPair})
				}
			}
		}
	}
	for k, e := range w.Edges {
		var id [2]agent.ID
		for c := range id {
			if !(e[c] >= 0 && e[c] < float64(w.Agents)) || e[c] != float64(int(e[c])) {
				return config.Bad(fmt.Sprintf("edges[%d]", k), e[c],
					fmt.Sprintf("agents 0 to %d", w.Agents-1))
			}
			id[c] = agent.ID(e[c])
		}
		rows[id[0]] = append(rows[id[0]], agent.Neighbor{ID: id[1], Weight: e[2]})
		if w.Symmetric {
			rows[id[1]] = append(rows[id[1]], agent.Neighbor{ID: id[0], Weight: e[2]})
		}
	}
	read, err := FromRows(w.Graph, w.Self, rows)
	if err != nil {
		return err
	}
	*g = *read
	return nil
}
