package topology

import (
	"fmt"

	"sotto/agent"
	"sotto/config"
)

// Recording says, in a run whose wakes are recorded beforehand, which broadcast of each
// neighbor a wake takes in. Broadcast v of an agent is that of its wake number v, counted
// from 1, and 0 that of its start. Where the graph has both directions of every link, no
// neighbor can send a later one before this agent has taken its own turn: the list is a
// barrier as tight as rounds.
type Recording struct {
	Own   uint64                // wakes of this agent
	Needs map[agent.ID][]uint64 // by neighbor: the broadcast that each of this agent's wakes takes in
	asked map[agent.ID][]bool   // by neighbor: whether it takes in each of this agent's broadcasts
}

// NewRecording reads the list of who wakes, in order, for one agent of the graph.
func NewRecording(wakes []agent.ID, g *Graph, self agent.ID) (*Recording, error) {
	if g == nil {
		return nil, config.Bad("graph", "none", "one")
	}
	if g.Directed() {
		return nil, config.Bad("graph", g.Name(), "links in both directions, where wakes are recorded")
	}
	if int(self) >= g.Agents() {
		return nil, config.Bad("self", self, fmt.Sprintf("0 to %d", g.Agents()-1))
	}
	t := &Recording{Needs: map[agent.ID][]uint64{}, asked: map[agent.ID][]bool{}}
	count := make([]uint64, g.Agents())
	mark := func(i agent.ID, v uint64) {
		for uint64(len(t.asked[i])) <= v {
			t.asked[i] = append(t.asked[i], false)
		}
		t.asked[i][v] = true
	}
	for k, i := range wakes {
		if int(i) >= len(count) {
			return nil, config.Bad(fmt.Sprintf("wakes[%d]", k), i, fmt.Sprintf("0 to %d", len(count)-1))
		}
		if i == self {
			for _, nb := range g.In(self) {
				t.Needs[nb.ID] = append(t.Needs[nb.ID], count[nb.ID])
			}
		} else if g.Weight(i, self) != 0 {
			mark(i, count[self])
		}
		count[i]++
	}
	t.Own = count[self]
	return t, nil
}

// Asks reports whether a neighbor takes in broadcast v.
func (t *Recording) Asks(i agent.ID, v uint64) bool {
	return v < uint64(len(t.asked[i])) && t.asked[i][v]
}
