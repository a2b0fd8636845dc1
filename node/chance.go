package node

import (
	"context"
	"fmt"
	"sync"

	"sotto/agent"
	"sotto/topology"
)

// Where chance draws the links of every round, from the public seed, each in both
// directions, most nodes may have no neighbor in a round, as when agents average in
// pairs. A node passes such rounds at once: it steps its algorithm through them in
// memory, and stores nothing and waits for nobody, because it makes the same steps again
// after a crash. A round with neighbors needs their frames alone, so that members may be
// far apart.
//
// Whoever hears a node says by a frame of progress that it has stored what came of that
// round. The node keeps what it sent for its last two rounds with neighbors, and
// completes the later one when all who hear it in the earlier one have said so: a crash
// at either end loses nothing. Nobody waits for another in a circle, because each round
// waits for what is said after an earlier one.

// recentGraphs is of how many rounds a node remembers the graph: the present one, the one
// before whose frames it keeps, and those that frames are of.
const recentGraphs = 4

// recent remembers the graphs of the rounds that were asked for last.
type recent struct {
	from topology.Schedule

	mu     sync.Mutex
	rounds [recentGraphs]uint64
	graphs [recentGraphs]*topology.Graph
	next   int // to be forgotten
}

func (r *recent) at(round uint64) *topology.Graph {
	r.mu.Lock()
	defer r.mu.Unlock()
	for k, g := range r.graphs {
		if g != nil && r.rounds[k] == round {
			return g
		}
	}
	g := r.make(round)
	r.rounds[r.next], r.graphs[r.next] = round, g
	r.next = (r.next + 1) % recentGraphs
	return g
}

// make is at for rounds that are asked for once.
func (r *recent) make(round uint64) *topology.Graph {
	g, err := r.from.At(round)
	if err != nil {
		panic("node: no graph of a round: " + err.Error()) // see Config.Graphs
	}
	return g
}

// sitOut steps the algorithm through the rounds from round on in which it has no
// neighbor, up to the first query, whose charge makes the round one to be stored. It
// returns the round that comes next, and adds to reports where there was a query.
func (n *Node) sitOut(ctx context.Context, round uint64, reports []RoundReport) (uint64, []RoundReport,
	error) {
	i := n.cfg.Self
	for n.sparse && !n.asked && round < n.cfg.Rounds {
		if err := ctx.Err(); err != nil {
			return round, reports, err
		}
		g := n.graphs.make(round)
		if g.Degree(i) > 0 {
			break
		}
		report := RoundReport{Round: round}
		n.cfg.Gate.Begin(round, nil)
		n.in = agent.Input{Kind: agent.Round, Round: round, View: &agent.View{SelfWeight: g.SelfWeight(i)}}
		if err := n.settle(&report); err != nil {
			return round, reports, fmt.Errorf("round %d: %w", round, err)
		}
		if n.asked {
			reports = append(reports, report)
		}
		round++
	}
	return round, reports, nil
}

// previous returns the round for which a node sent before round: the last one in which
// somebody hears it, or the first of all.
func (n *Node) previous(round uint64) uint64 {
	for round > 0 {
		if round--; n.graphs.make(round).Degree(n.cfg.Self) > 0 {
			break
		}
	}
	return round
}

// nearest says what becomes of a frame where members are far apart: of later rounds the
// first one counts, because frames of a link come in order, and others are to be sent
// again.
func (m *mailbox) nearest(round, present uint64) verdict {
	switch {
	case round < present:
		return stale
	case round == present && m.now.full, m.later.full && m.later.round == round:
		return replay
	case round > present && m.later.full && round > m.later.round:
		return ahead
	}
	return take
}
