package node

import (
	"context"
	"errors"
	"fmt"
	"time"

	"sotto/agent"
	"sotto/privacy"
	"sotto/topology"
)

// graph is that of a round.
func (n *Node) graph(round uint64) *topology.Graph {
	if n.cfg.Graphs == nil {
		return n.cfg.Graph
	}
	return n.graphs.at(round)
}

// start makes the first outbox and stores it.
func (n *Node) start() error {
	g, i := n.graph(0), n.cfg.Self
	n.in = agent.Input{Kind: agent.Start,
		View: &agent.View{SelfWeight: g.SelfWeight(i), In: g.In(i), Out: g.Out(i)}}
	if n.turns != nil || n.clock != nil {
		n.cfg.Gate.Begin(0, g.In(i))
	}
	var r RoundReport
	if err := n.settle(&r); err != nil {
		return err
	}
	if n.walks != nil {
		return n.begin()
	}
	if len(n.out.Outbox) > 0 {
		n.values = len(n.out.Outbox[0].Body)
	}
	if n.cfg.Pairs { // messages are exchanged at wakes
		return n.keep(0, sent{})
	}
	n.check.Done = n.clock != nil && n.out.Done
	return n.commit(0)
}

// round completes one round, and those after it that need no neighbor and no answer:
// collect, step, store, send.
func (n *Node) round(ctx context.Context) error {
	switch {
	case n.walks != nil:
		return n.visit(ctx)
	case n.cfg.Pairs:
		return n.meet(ctx)
	case n.clock != nil:
		return n.ring(ctx)
	}
	jump, err := n.collect(ctx)
	if err != nil {
		return err
	}
	k := n.check.Round
	switch {
	case jump > k:
		return n.skip(jump)
	case n.turns != nil:
		return n.turn()
	}
	reports := []RoundReport{{Round: k}}
	view := n.view(&reports[0])
	n.cfg.Gate.Begin(k, view.In)
	n.in, n.asked = agent.Input{Kind: agent.Round, Round: k, View: view, Inbox: n.inbox}, false
	if err := n.settle(&reports[0]); err != nil {
		return fmt.Errorf("round %d: %w", k, err)
	}
	// after an answer, in a round without a neighbor
	if n.sparse && !n.asked && n.graph(k).Degree(n.cfg.Self) == 0 {
		reports = nil
	}
	next, reports, err := n.sitOut(ctx, k+1, reports)
	if err != nil {
		return err
	}
	if err := n.commit(next); err != nil {
		return fmt.Errorf("round %d: %w", next-1, err)
	}
	if n.cfg.OnRound != nil {
		for _, r := range reports {
			n.cfg.OnRound(r)
		}
	}
	return nil
}

// collect waits for the frames of the present round. jump, if not 0, is the round to skip
// to: every neighbor has left the present one behind for good, so that nothing of it can
// come any more.
func (n *Node) collect(ctx context.Context) (jump uint64, err error) {
	timer := time.NewTimer(n.cfg.Deadline)
	defer timer.Stop()
	for deadlines := 0; ; {
		if err := ctx.Err(); err != nil {
			return 0, err
		}
		n.mu.Lock()
		waiting := n.waiting(deadlines)
		jump := n.passed()
		n.mu.Unlock()
		if waiting == 0 || jump > 0 {
			return jump, nil
		}
		select {
		case <-ctx.Done():
			return 0, ctx.Err()
		case <-n.events:
		case <-timer.C:
			if deadlines++; deadlines == 1 {
				n.late()
				timer.Reset(n.cfg.Deadline)
			}
		}
	}
}

// waiting counts the neighbors whose frame of the present round is still waited for after
// so many deadlines, and those who are behind. Under Proceed a neighbor that has taken
// this node's frame of the round is given a second one, because it may itself be waiting
// for somebody; and one that was missing before and has sent nothing since is not waited
// for, unless nobody else is there. Node.mu is held.
func (n *Node) waiting(deadlines int) int {
	missing, hopeful, there := 0, 0, 0
	for _, l := range n.order {
		if n.behind(l) {
			missing++
		}
		switch {
		case l.mail == nil || n.silent(l):
		case l.mail.now.full:
			there++
		default:
			missing++
			if !l.absent && (deadlines == 0 || deadlines == 1 && l.taken > n.check.Round) {
				hopeful++
			}
		}
	}
	if n.cfg.Missing == Wait || deadlines == 0 && there == 0 {
		return missing
	}
	return hopeful
}

// behind reports whether a neighbor that hears this node has not reached, or stored, the
// round without which what it was sent must be kept. Node.mu is held.
func (n *Node) behind(l *link) bool {
	if n.sparse {
		k := &n.kept[0]
		return k.messages != nil && l.round <= k.round && n.hears(l, k.round)
	}
	return n.marks && l.out && l.round < n.check.Round
}

// silent reports whether the neighbor sends nothing to this node in the present round,
// whose graph lacks that link. Node.mu is held.
func (n *Node) silent(l *link) bool {
	return n.cfg.Graphs != nil && n.graph(n.check.Round).Weight(n.cfg.Self, l.id) == 0
}

// passed finds the round to skip to: 0 unless every neighbor has left the present one
// behind. Node.mu is held.
func (n *Node) passed() (jump uint64) {
	if n.cfg.Missing == Wait {
		return 0
	}
	for _, l := range n.order {
		if l.mail == nil || l.absent {
			continue
		}
		// A frame of the next round may come while that of this one is still on its way;
		// later ones cannot.
		later := &l.mail.later
		if l.mail.now.full || !later.full || later.round <= n.check.Round+1 {
			return 0
		}
		if jump == 0 || later.round < jump {
			jump = later.round
		}
	}
	return min(jump, n.cfg.Rounds)
}

// late names the neighbors whose frame has not come by the deadline.
func (n *Node) late() {
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, l := range n.order {
		absent := l.mail != nil && !l.mail.now.full && !n.silent(l)
		if (absent || n.behind(l)) && l.state != Gone {
			l.turn(n, Late)
		}
	}
}

// view is the row of the mixing matrix that holds in this round: the weight of missing
// neighbors is on self. It fills n.inbox, sorted by sender.
func (n *Node) view(r *RoundReport) *agent.View {
	g, i := n.graph(n.check.Round), n.cfg.Self
	v := &agent.View{SelfWeight: g.SelfWeight(i), Out: g.Out(i)}
	n.inbox, n.present = n.inbox[:0], n.present[:0]
	lost := 0.
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, nb := range g.In(i) {
		l := n.links[nb.ID]
		before := len(n.inbox)
		if l.mail.now.full {
			n.inbox = append(n.inbox, l.mail.now.msgs...)
		}
		if len(n.inbox) > before {
			n.present = append(n.present, nb)
			continue
		}
		lost += nb.Weight
		v.Missing++
		if l.mail.now.full { // it came and holds nothing
			continue
		}
		r.Missing = append(r.Missing, nb.ID)
		l.absent = true
		n.check.Counts.Missing++
		if l.out && l.taken > r.Round {
			r.OneSided++
			n.check.Counts.OneSided++
		}
	}
	v.In = n.present
	if v.Missing > 0 {
		v.SelfWeight += lost
	}
	return v
}

// settle steps the algorithm with n.in and with the answers to its queries until it has
// none left.
func (n *Node) settle(r *RoundReport) error {
	for {
		n.out.Reset()
		if err := n.cfg.Algorithm.Step(&n.in, &n.out); err != nil {
			return err
		}
		if n.out.Query == nil {
			return nil
		}
		n.asked = true
		n.in.Kind, n.in.Answer, n.in.Inbox = agent.Answer, n.answer, nil
		err := privacy.ErrExhausted
		if !n.check.Exhausted || n.walks != nil { // who holds a token asks for noise alone from then on
			err = n.cfg.Gate.Answer(n.out.Query, n.answer)
		}
		switch {
		case errors.Is(err, privacy.ErrAbstain): // the algorithm does without, as when the budget is spent
			n.in.Kind, n.in.Answer = agent.Exhausted, nil
			n.log.Warn("no answer in the round of a crash: noise that is shared with neighbors serves once",
				"round", n.check.Round)
		case errors.Is(err, privacy.ErrExhausted):
			n.in.Kind, n.in.Answer = agent.Exhausted, nil
			n.exhaust(r)
		case err != nil:
			return err
		}
	}
}

// exhaust notes that the budget is spent. The gate is not asked again, by this process or
// a later one.
func (n *Node) exhaust(r *RoundReport) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if !n.check.Exhausted {
		n.log.Warn("the privacy budget is spent: from now on this node mixes only", "round", n.check.Round)
	}
	n.check.Exhausted, r.Exhausted = true, true
	n.check.Counts.Exhausted++
}

// commit stores what the steps so far have led to, and then sends it: round is the next
// one.
func (n *Node) commit(round uint64) error {
	out, err := n.pack(n.out.Outbox, round)
	if err != nil {
		return err
	}
	return n.keep(round, out)
}

// skip goes on with a later round, without a step: the models of the rounds between are
// gone, and a gradient that nobody mixes is not worth its charge. What was sent last is
// sent as this round's.
func (n *Node) skip(to uint64) error {
	n.log.Warn("the neighbors have moved on", "round", n.check.Round, "to", to)
	out := sent{round: to}
	if to < n.cfg.Rounds {
		out = n.again(to)
	}
	from := n.check.Round
	n.mu.Lock()
	n.check.Counts.Skipped += to - from
	n.mu.Unlock()
	if err := n.keep(to, out); err != nil {
		return err
	}
	if n.cfg.OnRound != nil {
		for k := from; k < to; k++ {
			n.cfg.OnRound(RoundReport{Round: k, Skipped: true})
		}
	}
	return nil
}

// keep stores the node's state at the beginning of round with the messages that it sends
// for it, and queues them. Nothing leaves before it is stored, and the charges behind it
// were durable before that.
func (n *Node) keep(round uint64, out sent) error {
	n.mu.Lock()
	c, was, kept := n.check, n.check.Round, n.kept
	n.mu.Unlock()
	c.Round, c.Finished, c.barrier = round, round == n.cfg.Rounds, false
	before, last := sent{round: round - 1}, &kept[keptRounds-1]
	switch {
	case n.clock != nil:
		c.Finished, c.Heard = c.Finished || c.Done, n.heard()
	case n.sparse && out.messages == nil: // nobody hears it: what was sent before may still be needed
		before, out = kept[0], *last
	case n.sparse:
		before.round, before.messages, c.barrier = last.round, last.messages, true
	case round > 0 && last.round+1 == round:
		before.messages, c.barrier = last.messages, n.cfg.Missing == Wait && n.turns == nil
	}
	c.Before, c.Sent, c.Outbox = before.messages, out.round, out.messages
	news, err := n.save(&c)
	if err != nil {
		return err
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	c.Counts = n.check.Counts // handlers count on
	n.check = c
	n.kept = [keptRounds]sent{before, out}
	for _, l := range n.order {
		if l.mail != nil {
			l.mail.advance(n.expected(l, round))
		}
		if !n.cfg.Pairs {
			n.enqueue(l, round)
		} else if news {
			l.push(n.parcel(Finished, round, c.Claim))
		}
		if n.marks || n.sparse && round > was && n.graph(was).Weight(n.cfg.Self, l.id) != 0 { // it was heard
			n.mark(l)
		}
	}
	return nil
}

// save stores c with the algorithm's state, the ledger's head and, when the node has just
// finished, what it says about its ledger.
func (n *Node) save(c *Checkpoint) (news bool, err error) {
	c.State = n.cfg.Algorithm.AppendState(n.check.State[:0])
	if n.cfg.Head != nil {
		c.Head = n.cfg.Head()
	}
	if news = c.Finished && !n.check.Finished; news && n.cfg.Claim != nil {
		if c.Claim, err = n.cfg.Claim().encode(); err != nil {
			return news, err
		}
	}
	if err := n.cfg.Store.Save(c); err != nil {
		return news, fmt.Errorf("storing the state: %w", err)
	}
	return news, nil
}

// mark tells a neighbor that this node hears which round it has reached, where frames of
// messages do not. Node.mu is held.
func (n *Node) mark(l *link) {
	if (n.marks || n.sparse) && l.mail != nil {
		l.drop(Progress)
		l.push(n.parcel(Progress, n.check.Round, nil))
	}
}
