package node

import (
	"context"

	"sotto/agent"
	"sotto/config"
	"sotto/node/checkpoint"
	"sotto/node/frame"
	"sotto/node/mailbox"
	"sotto/topology"
)

// graphs are those of the rounds: one for all, or those of a schedule.
type graphs struct {
	*topology.Recent
	steady bool   // one is that of every round
	last   uint64 // after all rounds
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

func newGraphs(c *Config) graphs {
	from := c.Graphs
	if from == nil {
		from = topology.Static(c.Graph)
	}
	return graphs{Recent: &topology.Recent{Schedule: from}, steady: !c.changing(), last: c.Rounds}
}

// hears reports whether agent i, which hears j in some round, does in this one. After the
// last round nobody does, where graphs change.
func (r *graphs) hears(i, j agent.ID, round uint64) bool {
	return r.steady || round < r.last && r.At(round).Weight(i, j) != 0
}

// ties are what differs between the graphs that a run in rounds may have: how a node
// knows how far those are that hear it, and which messages they may still lack.
type ties interface {
	// behind reports whether a neighbor that hears this node has not reached, or stored,
	// the round without which what it was sent must be kept. Node.mu is held.
	behind(l *link) bool
	// judge says what becomes of a frame of a round, while another is present.
	judge(m *mailbox.Box, round, present uint64) mailbox.Verdict
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

func (t twoWay) judge(m *mailbox.Box, round, present uint64) mailbox.Verdict {
	return m.Judge(round, present, t.p.n.cfg.Missing == Wait)
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
		l.drop(frame.Progress)
		l.push(n.frame(frame.Progress, n.check.Round, nil))
	}
}
