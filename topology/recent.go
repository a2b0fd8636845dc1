package topology

import "sync"

// recentGraphs is of how many rounds Recent remembers the graph.
const recentGraphs = 4

// Recent gives the graphs of a schedule, of which it remembers those that were asked for
// last. At and Make may be used concurrently.
type Recent struct {
	Schedule Schedule
	mu       sync.Mutex
	rounds   [recentGraphs]uint64
	graphs   [recentGraphs]*Graph
	next     int // to be forgotten
}

// At is the graph of a round. It panics where the schedule has none.
func (r *Recent) At(round uint64) *Graph {
	r.mu.Lock()
	defer r.mu.Unlock()
	for k, g := range r.graphs {
		if g != nil && r.rounds[k] == round {
			return g
		}
	}
	g := r.Make(round)
	r.rounds[r.next], r.graphs[r.next] = round, g
	r.next = (r.next + 1) % recentGraphs
	return g
}

// Make is At for rounds that are asked for once.
func (r *Recent) Make(round uint64) *Graph {
	g, err := r.Schedule.At(round)
	if err != nil {
		panic("topology: no graph of a round: " + err.Error())
	}
	return g
}
