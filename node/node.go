package node

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"sotto/agent"
	"sotto/config"
	"sotto/privacy/ledger"
	"sotto/tensor"
)

// messageValues and messagesPerFrame bound what a neighbor may send in a round: so many
// times the model's dimension.
const (
	messageValues    = 4
	messagesPerFrame = 16
)

// MaxPayload is the largest payload of a frame in a run whose model has dim parameters;
// transports are made with it.
func MaxPayload(dim int) int {
	return max(maxClaim, messagesPerFrame*agent.MessageSize(0)+4*messageValues*dim)
}

// Node is a running peer. Run drives it; Status may be called from any goroutine.
type Node struct {
	cfg        Config
	log        *slog.Logger
	maxPayload int
	maxValues  int
	events     chan struct{} // capacity 1: something has changed

	mu        sync.Mutex
	check     Checkpoint // Round and Counts are current, the rest as stored
	kept      [keptRounds]sent
	links     map[agent.ID]*link
	order     []*link // by number
	began     time.Time
	rounds    time.Duration // that this process has spent in rounds
	completed uint64        // by this process
	failure   string
	strangers bool

	graphs recent // of Config.Graphs
	// neighbors are told the round by frames of their own, and waited for, see
	// Config.Graphs
	marks    bool
	sparse   bool        // rounds without a neighbor are passed, see chance.go
	asked    bool        // there was a query since the last round that was stored
	turns    *turns      // nil but for recorded wakes
	clock    *clock      // nil but for a clock
	walks    *walks      // nil but for tokens
	pending  meeting     // that the stored offer is of
	undo     []byte      // the algorithm's state before the meeting in progress
	table    table       // in pairs
	replying *link       // whose offer is answered, while the reply is being stored
	newest   []byte      // that reply
	values   int         // of each message that the algorithm sends; 0: it sends none
	in       agent.Input // of the goroutine in Run
	out      agent.Output
	answer   tensor.Vec
	present  []agent.Neighbor
	inbox    []agent.Message
	resuming bool
}

// New makes a node that goes on from what its store holds, or starts. ErrState: the store
// belongs to another roster or member, or is damaged; ledger.ErrRollback: the ledger
// lacks charges that the store knows of; or what Config.Recover returns.
func New(cfg Config) (*Node, error) {
	if err := cfg.fill(); err != nil {
		return nil, err
	}
	n := &Node{cfg: cfg, log: cfg.Log, maxPayload: MaxPayload(cfg.Dim), maxValues: messageValues * cfg.Dim,
		events: make(chan struct{}, 1), links: map[agent.ID]*link{}, answer: make(tensor.Vec, cfg.Dim)}
	n.graphs.from, n.sparse = cfg.Graphs, cfg.sparse()
	n.marks = cfg.oneWay() && !n.sparse && cfg.Wakes == nil && cfg.Interval == 0
	n.connect()
	if cfg.Wakes != nil {
		t, err := newTurns(cfg.Wakes, cfg.Graph, cfg.Self)
		if err == nil && t.own != cfg.Rounds {
			err = config.Bad("rounds", cfg.Rounds, fmt.Sprintf("%d, this agent's wakes in the list", t.own))
		}
		if err != nil {
			return nil, err
		}
		n.turns = t
	}
	if cfg.Interval > 0 {
		n.clock = newClock(cfg.Interval)
	}
	if cfg.Holders != nil {
		n.walks = newWalks(&n.cfg)
	}
	c, err := cfg.Store.Load()
	if err != nil {
		return nil, err
	}
	n.check = Checkpoint{Run: cfg.Run, Self: cfg.Self}
	if c != nil {
		if err := n.resume(c); err != nil {
			return nil, err
		}
	}
	if cfg.Recover != nil {
		return n, cfg.Recover(c != nil)
	}
	return n, nil
}

// connect makes a link for each neighbor in either direction, in order.
func (n *Node) connect() {
	in, out := n.cfg.Graph.In(n.cfg.Self), n.cfg.Graph.Out(n.cfg.Self)
	for i := range agent.ID(n.cfg.Graph.Agents()) {
		hears := len(in) > 0 && in[0].ID == i
		heard := len(out) > 0 && out[0].ID == i
		if !hears && !heard {
			continue
		}
		l := &link{id: i, out: heard, poke: make(chan struct{}, 1)}
		if hears {
			l.mail, in = new(mailbox), in[1:]
		}
		if heard {
			out = out[1:]
		}
		if int(i) < len(n.cfg.Claims) {
			l.claim = n.cfg.Claims[i]
		}
		n.links[i], n.order = l, append(n.order, l)
	}
}

// resume takes over a stored checkpoint.
func (n *Node) resume(c *Checkpoint) error {
	switch {
	case c.Run != n.cfg.Run:
		return fmt.Errorf("%w: it follows roster %x, this node %x", ErrState, c.Run[:4], n.cfg.Run[:4])
	case c.Self != n.cfg.Self || c.Round > n.cfg.Rounds && n.walks == nil:
		return fmt.Errorf("%w: member %d at round %d, allowed: member %d and at most %d rounds", ErrState,
			c.Self, c.Round, n.cfg.Self, n.cfg.Rounds)
	}
	if n.cfg.Head != nil {
		if head := n.cfg.Head(); head.Seq < c.Head.Seq {
			return fmt.Errorf("%w: record %d, the stored state knows of %d", ledger.ErrRollback, head.Seq,
				c.Head.Seq)
		}
	}
	if err := n.cfg.Algorithm.LoadState(c.State); err != nil {
		return fmt.Errorf("%w: %w", ErrState, err)
	}
	n.check = *c
	if n.walks != nil {
		n.resuming, n.check.State, n.check.Outbox = true, nil, nil
		return n.walks.decode(c.Outbox, c.Self, n.cfg.Graph.Agents(), n.cfg.Dim)
	}
	if c.Round > 0 {
		n.kept[0] = sent{round: c.Round - 1, messages: c.Before}
	}
	if n.sparse {
		n.kept[0].round = n.previous(c.Sent)
	}
	n.kept[1] = sent{round: c.Sent, messages: c.Outbox}
	if n.values = bodyLength(c.Outbox); n.values == 0 {
		n.values = bodyLength(c.Before)
	}
	if err := n.recall(c.Heard); err != nil {
		return fmt.Errorf("%w: %w", ErrState, err)
	}
	if len(c.Undo) > 0 {
		to, _, err := agent.MessageHead(c.Outbox)
		if err != nil || n.links[to] == nil {
			return fmt.Errorf("%w: a meeting without an offer", ErrState)
		}
		n.pending = meeting{to, c.Sent}
		n.table.awaits, n.table.busy = &n.pending, true
	}
	n.check.State, n.check.Heard = nil, nil
	n.resuming = true
	return nil
}

func (n *Node) name(i agent.ID) string { return n.cfg.Names[i] }

// signal tells the goroutine in Run that something has changed.
func (n *Node) signal() {
	select {
	case n.events <- struct{}{}:
	default:
	}
}

// Params returns the current model. It may be called from OnRound and when Run has
// returned.
func (n *Node) Params() tensor.Vec { return n.cfg.Algorithm.Params() }

// Run takes part until all rounds are complete and every neighbor has what it needs, or
// Linger has passed. When ctx ends it stops between two steps with ctx's error; a later
// process goes on from the store. The transport is the caller's to close.
func (n *Node) Run(ctx context.Context) error {
	err := n.run(ctx)
	if err != nil && ctx.Err() == nil {
		n.mu.Lock()
		n.failure = err.Error()
		n.mu.Unlock()
		n.log.Error("stopped", "error", err)
	}
	return err
}

func (n *Node) run(ctx context.Context) error {
	n.mu.Lock()
	n.began = time.Now()
	for _, l := range n.order {
		l.since, l.last = n.began, n.began
	}
	n.mu.Unlock()
	if !n.resuming {
		if err := n.start(); err != nil {
			return err
		}
	} else {
		n.log.Info("goes on from its stored state", "round", n.check.Round)
	}
	n.cfg.Transport.Serve(n.receive)
	n.mu.Lock()
	for _, l := range n.order {
		l.push(n.parcel(Hello, n.check.Round, nil))
		n.enqueue(l, 0)
	}
	n.mu.Unlock()

	sending, stop := context.WithCancel(ctx)
	var senders sync.WaitGroup
	for _, l := range n.order {
		senders.Go(func() { l.run(sending, n) })
	}
	err := n.rest(ctx)
	stop()
	senders.Wait()
	return err
}

// rest completes the rounds that are left and lets the neighbors finish.
func (n *Node) rest(ctx context.Context) error {
	for !n.check.Finished {
		began, from := time.Now(), n.check.Round
		if err := n.round(ctx); err != nil {
			return err
		}
		n.mu.Lock()
		n.rounds += time.Since(began)
		n.completed += n.check.Round - from
		n.mu.Unlock()
	}
	return n.linger(ctx)
}

// left is how many attempts to reach a neighbor that has finished must fail before it
// counts as having left: its answer to the last frame may be lost, and nobody is there to
// give another.
const left = 5

// linger serves neighbors until none needs anything more.
func (n *Node) linger(ctx context.Context) error {
	timer := time.NewTimer(n.cfg.Linger)
	defer timer.Stop()
	for {
		if came, err := n.answerOffer(); err != nil {
			return err
		} else if came { // neighbors still meet this node
			continue
		}
		n.mu.Lock()
		waiting := 0
		for _, l := range n.order {
			if !l.finished || len(l.queue) > 0 && l.failed < left {
				waiting++
			}
		}
		n.mu.Unlock()
		if waiting == 0 {
			return nil
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-timer.C:
			n.log.Warn("leaves although not every neighbor has finished", "neighbors", waiting)
			return nil
		case <-n.events:
		}
	}
}
