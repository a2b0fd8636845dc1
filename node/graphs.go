package node

import (
	"context"
	"sync"

	"sotto/agent"
	"sotto/config"
	"sotto/node/checkpoint"
	"sotto/topology"
)

// recentGraphs is of how many rounds a node remembers the graph: the present one, the one
// before whose frames it keeps, and those that frames are of.
const recentGraphs = 4

// graphs are those of the rounds: one for all, or those of a schedule, of which the ones
// asked for last are remembered.
type graphs struct {
	one *topology.Graph // has all links that there ever are
	// nil: one is that of every round
	from topology.Schedule
	last uint64 // after all rounds

	mu     sync.Mutex
	rounds [recentGraphs]uint64
	recent [recentGraphs]*topology.Graph
	next   int // to be forgotten
}

// changing reports whether the graph is not one for all rounds.
func (c *Config) changing() bool { return c.Graphs != nil }

// checkGraphs refuses graphs of rounds where there are none.
func (c *Config) checkGraphs() error {
	if c.changing() && c.byWakes() {
		return config.Bad("graphs", "graphs of rounds", "none, where agents wake by a clock or a list")
	}
	return nil
}

// oneWay reports whether links have one direction or change. Frames of messages then do
// not tell both ends how far the other is.
func (c *Config) oneWay() bool {
	return c.Graphs != nil && len(topology.Period(c.Graphs)) != 1 || c.Graph.Directed()
}

func newGraphs(c *Config) graphs { return graphs{one: c.Graph, from: c.Graphs, last: c.Rounds} }

// at is the graph of a round.
func (r *graphs) at(round uint64) *topology.Graph {
	if r.from == nil {
		return r.one
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	for k, g := range r.recent {
		if g != nil && r.rounds[k] == round {
			return g
		}
	}
	g := r.make(round)
	r.rounds[r.next], r.recent[r.next] = round, g
	r.next = (r.next + 1) % recentGraphs
	return g
}

// make is at for rounds of a schedule that are asked for once.
func (r *graphs) make(round uint64) *topology.Graph {
	g, err := r.from.At(round)
	if err != nil {
		panic("node: no graph of a round: " + err.Error()) // see Config.Graphs
	}
	return g
}

// hears reports whether agent i, which hears j in some round, does in this one. After the
// last round nobody does, where graphs change.
func (r *graphs) hears(i, j agent.ID, round uint64) bool {
	return r.from == nil || round < r.last && r.at(round).Weight(i, j) != 0
}

// ties are what differs between the graphs that a run in rounds may have: how a node
// knows how far those are that hear it, and which messages they may still lack.
type ties interface {
	// behind reports whether a neighbor that hears this node has not reached, or stored,
	// the round without which what it was sent must be kept. Node.mu is held.
	behind(l *link) bool
	// judge says what becomes of a frame of a round, while another is present.
	judge(m *mailbox, round, present uint64) verdict
	// heard reports whether anybody takes in what this node sends for a round.
	heard(round uint64) bool
	// keep says what is kept when out is sent for a round: before, and last, which is out
	// unless nobody hears it. It notes in c what becomes of before.
	keep(c *checkpoint.Checkpoint, kept [checkpoint.Kept]sent, out sent) (before, last sent)
	// previous is the round before c.Sent for which the node has sent.
	previous(c *checkpoint.Checkpoint) uint64
	// stored is called when the round was is complete and stored, and hello when a
	// neighbor has said hello: where frames of messages do not tell the neighbor how far
	// this node is, a mark of progress does. Node.mu is held.
	stored(l *link, was uint64)
	hello(l *link)
	// pass steps through rounds from round on that need neither a neighbor nor an answer.
	// It returns the round that comes next, and the reports of those so far, as far as
	// there is something to report.
	pass(ctx context.Context, round uint64, reports []RoundReport) (uint64, []RoundReport, error)
}

// newTies chooses those of the run's graphs.
func newTies(p *barrier) ties {
	switch c := &p.n.cfg; {
	case c.sparse():
		return sparse{twoWay{p}}
	case c.oneWay():
		return oneWay{twoWay{p}}
	}
	return twoWay{p}
}

// twoWay: every link has both directions in every round. A frame of the next round says
// that the neighbor has this node's of the present one.
type twoWay struct{ p *barrier }

func (t twoWay) behind(*link) bool    { return false }
func (t twoWay) heard(uint64) bool    { return true }
func (t twoWay) stored(*link, uint64) {}
func (t twoWay) hello(*link)          {}

func (t twoWay) judge(m *mailbox, round, present uint64) verdict {
	return m.judge(round, present, t.p.n.cfg.Missing == Wait)
}

func (t twoWay) keep(c *checkpoint.Checkpoint, kept [checkpoint.Kept]sent, out sent) (before, last sent) {
	before, was := sent{round: out.round - 1}, &kept[checkpoint.Kept-1]
	if out.round > 0 && was.round+1 == out.round {
		before, c.Barrier = *was, t.p.n.cfg.Missing == Wait
	}
	return before, out
}

func (t twoWay) previous(c *checkpoint.Checkpoint) uint64 { return c.Round - 1 }

func (t twoWay) pass(_ context.Context, round uint64, reports []RoundReport) (uint64, []RoundReport,
	error) {
	return round, reports, nil
}

// oneWay: links have one direction, or change by a known period. Nodes tell those whom
// they hear which round they have reached.
type oneWay struct{ twoWay }

func (t oneWay) behind(l *link) bool      { return l.out && l.round < t.p.n.check.Round }
func (t oneWay) stored(l *link, _ uint64) { t.hello(l) }
func (t oneWay) hello(l *link)            { l.mark(t.p.n) }

// mark tells a neighbor that this node hears which round it has reached. Node.mu is held.
func (l *link) mark(n *Node) {
	if l.mail != nil {
		l.drop(Progress)
		l.push(n.frame(Progress, n.check.Round, nil))
	}
}

// steady reports whether all rounds have the same links.
func (c *Config) steady() bool { return c.Graphs == nil }
