package node

import (
	"context"
	"fmt"
	"sync"
	"time"

	"sotto/agent"
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
	return max(maxAttestation, messagesPerFrame*agent.MessageSize(0)+4*messageValues*dim)
}

// Node is a running peer. Run drives it; Status may be called from any goroutine.
type Node struct {
	cfg    Config
	limits limits
	events chan struct{} // capacity 1: something has changed
	pace   pacer
	stepper

	mu    sync.Mutex
	check Checkpoint // Round and Counts are current, the rest as stored
	peers
	process
}

// limits are what a frame may hold.
type limits struct{ payload, values int }

// peers are the neighbors in either direction.
type peers struct {
	links   map[agent.ID]*link
	order   []*link // by number
	unknown bool    // a member that is no neighbor has sent something
}

// process is what this process has seen of the run, in contrast to those before it.
type process struct {
	resumed  bool // it goes on from a checkpoint
	began    time.Time
	progress progress
	failure  string
}

// New makes a node that goes on from what its store holds, or starts. ErrState: the store
// belongs to another roster or member, or is damaged; ledger.ErrRollback: the ledger
// lacks charges that the store knows of; or what Config.Recover returns.
func New(cfg Config) (*Node, error) {
	if err := cfg.fill(); err != nil {
		return nil, err
	}
	n := &Node{cfg: cfg, limits: limits{MaxPayload(cfg.Dim), messageValues * cfg.Dim},
		events: make(chan struct{}, 1), stepper: stepper{answer: make(tensor.Vec, cfg.Dim)}}
	n.connect()
	var err error
	if n.pace, err = newPacer(n); err != nil {
		return nil, err
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
	n.links = map[agent.ID]*link{}
	in, out := n.cfg.Graph.In(n.cfg.Self), n.cfg.Graph.Out(n.cfg.Self)
	for i := range agent.ID(n.cfg.Graph.Agents()) {
		hears := len(in) > 0 && in[0].ID == i
		heard := len(out) > 0 && out[0].ID == i
		if !hears && !heard {
			continue
		}
		l := &link{id: i, out: heard, line: line{poke: make(chan struct{}, 1)}}
		if hears {
			l.mail, in = new(mailbox), in[1:]
		}
		if heard {
			out = out[1:]
		}
		if int(i) < len(n.cfg.Attestations) {
			l.attestation = n.cfg.Attestations[i]
		}
		n.links[i], n.order = l, append(n.order, l)
	}
}

// resume takes over a stored checkpoint.
func (n *Node) resume(c *Checkpoint) error {
	_, total, known := n.pace.counts()
	switch {
	case c.Run != n.cfg.Run:
		return fmt.Errorf("%w: it follows roster %x, this node %x", ErrState, c.Run[:4], n.cfg.Run[:4])
	case c.Self != n.cfg.Self || known && c.Round > total:
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
	n.check, n.resumed = *c, true
	n.check.State, n.check.Heard = nil, nil // made anew when the next checkpoint is
	return n.pace.resume(c)
}

// recall reads stored messages, and hands each to put with its encoded form; false: it is
// nobody's here.
func (n *Node) recall(b []byte, put func(m agent.Message, encoded []byte) bool) error {
	for len(b) > 0 {
		var m agent.Message
		size, err := agent.DecodeMessage(b, n.limits.values, &m)
		if err == nil && !put(m, b[:size:size]) {
			err = RefusedSender
		}
		if err != nil {
			return fmt.Errorf("%w: %w", ErrState, err)
		}
		b = b[size:]
	}
	return nil
}

func (n *Node) name(i agent.ID) string { return n.cfg.Names[i] }

// save makes c the checkpoint, durably, with the algorithm's state, the ledger's head
// and, when the node has just finished, what it attests of its ledger.
func (n *Node) save(c *Checkpoint) (finished bool, err error) {
	c.State = n.cfg.Algorithm.AppendState(n.check.State[:0])
	if n.cfg.Head != nil {
		c.Head = n.cfg.Head()
	}
	if finished = c.Finished && !n.check.Finished; finished && n.cfg.Attest != nil {
		if c.Attestation, err = n.cfg.Attest().encode(); err != nil {
			return finished, err
		}
	}
	if err := n.cfg.Store.Save(c); err != nil {
		return finished, fmt.Errorf("storing the state: %w", err)
	}
	return finished, nil
}

// current makes a stored checkpoint the present one. Node.mu is held.
func (n *Node) current(c *Checkpoint) {
	c.Counts = n.check.Counts // handlers have counted on
	n.check = *c
}

// finish queues the word that this node has finished, if it has. Node.mu is held.
func (l *link) finish(n *Node) {
	if n.check.Finished {
		l.push(n.frame(Finished, n.check.Round, n.check.Attestation))
	}
}

// report calls Config.OnRound.
func (n *Node) report(r *RoundReport) {
	if n.cfg.OnRound != nil {
		n.cfg.OnRound(*r)
	}
}

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
		n.cfg.Log.Error("stopped", "error", err)
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
	if !n.resumed {
		if err := n.pace.start(); err != nil {
			return err
		}
	} else {
		n.cfg.Log.Info("goes on from its stored state", "round", n.check.Round)
	}
	n.cfg.Transport.Serve(n.receive)
	n.mu.Lock()
	for _, l := range n.order {
		l.push(n.frame(Hello, n.check.Round, nil))
		n.pace.resend(l, false)
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
		if err := n.pace.next(ctx); err != nil {
			return err
		}
		n.mu.Lock()
		n.progress.add(time.Since(began), n.check.Round-from)
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
		if came, err := n.pace.attend(); err != nil {
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
			n.cfg.Log.Warn("leaves although not every neighbor has finished", "neighbors", waiting)
			return nil
		case <-n.events:
		}
	}
}
