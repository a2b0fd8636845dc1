package node

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"sotto/agent"
	"sotto/config"
	"sotto/node/checkpoint"
	"sotto/node/courier"
	"sotto/node/frame"
	"sotto/node/mailbox"
	"sotto/node/mark"
	"sotto/node/meter"
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
	return max(mark.MaxAttestation, frame.MaxAmendment,
		messagesPerFrame*agent.MessageSize(0)+4*messageValues*dim)
}

// Histograms are those of what this process of a node waits for: all, or those that
// follow from nothing private.
func Histograms(n *Node, all bool) prometheus.Collector {
	if all {
		return n.meter
	}
	return n.meter.Public()
}

// Node is a running peer. Run drives it; Status may be called from any goroutine.
type Node struct {
	cfg    Config
	limits limits
	events chan struct{} // capacity 1: something has changed
	pace   pacer
	stepper

	mu    sync.Mutex
	check checkpoint.Checkpoint // Round and Counts are current, the rest as stored
	peers
	process
	words
}

// words are what members say of themselves, and of each other.
type words struct {
	standing
	witness
}

// limits are what a frame may hold. length is the number of values of each message that
// the algorithm sends in rounds and at wakes; 0: it sends none.
type limits struct{ payload, values, length int }

// peers are the neighbors in either direction.
type peers struct {
	links   map[agent.ID]*link
	order   []*link // by number
	unknown bool    // a member that is no neighbor has sent something
}

// process is what this process has seen of the run, in contrast to those before it.
type process struct {
	resumed  bool // it goes on from a checkpoint
	started  bool // it knows where it is, and steps
	began    time.Time
	progress meter.Steps
	failure  string
	last     time.Time // when the last step of this process was complete
	meter    *meter.Meter
	change
	seeker
}

// New makes a node that goes on from what its store holds, or starts.
// checkpoint.ErrState: the store belongs to another roster or member, or is damaged;
// ledger.ErrRollback: the ledger lacks charges that the store knows of; or what
// Config.Recover returns.
func New(cfg Config) (*Node, error) {
	if err := cmp.Or(cfg.fill(), cfg.checkParts()); err != nil {
		return nil, err
	}
	n := &Node{cfg: cfg, limits: limits{MaxPayload(cfg.Dim), messageValues * cfg.Dim, 0},
		events: make(chan struct{}, 1), stepper: stepper{answer: make(tensor.Vec, cfg.Dim)}}
	n.standing.n, n.witness.n, n.change.n, n.seeker.n = n, n, n, n
	n.known = make([]acquaintance, cfg.Graph.Agents())
	n.claim = mark.Claim{Sent: mark.NoRound, Earlier: mark.NoRound}
	n.nonce, n.courier = mark.Process(), courier.New()
	n.connect()
	n.meter = meter.New()
	var err error
	if n.pace, err = newPacer(n); err != nil {
		return nil, err
	}
	if cfg.Since != nil || cfg.Next != nil {
		if err := n.possible(); err != nil {
			return nil, err
		}
	}
	c, err := cfg.Store.Load()
	if err != nil {
		return nil, err
	}
	n.check = checkpoint.Checkpoint{Run: cfg.Run, Self: cfg.Self}
	if c != nil {
		if err := n.resume(c); err != nil {
			return nil, err
		}
	}
	if c == nil && cfg.Book != nil {
		n.book = cfg.Book()
		n.lineage.Begin(0, &n.book)
	}
	if err := n.intend(cfg.Next); err != nil {
		return nil, err
	}
	if cfg.Recover != nil {
		err = cfg.Recover(c != nil)
	}
	if err == nil && c == nil && cfg.Remembers && n.book.Charges > 0 {
		err = fmt.Errorf("%w: the ledger has charges of this run, and its state is gone; allowed: the "+
			"newest state, because no round of this run can be left out, or a new roster", ErrBehind)
	}
	return n, err
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
			l.mail, in = new(mailbox.Box), in[1:]
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
func (n *Node) resume(c *checkpoint.Checkpoint) error {
	_, total, known := n.pace.counts()
	switch {
	case n.cfg.Since != nil && c.Run == n.cfg.Since.Previous:
		return n.carry(c)
	case c.Run != n.cfg.Run:
		return fmt.Errorf("%w: it follows roster %x, this node %x", checkpoint.ErrState, c.Run[:4],
			n.cfg.Run[:4])
	case c.Self != n.cfg.Self || known && c.Round > total:
		return fmt.Errorf("%w: member %d at round %d, allowed: member %d and at most %d rounds",
			checkpoint.ErrState, c.Self, c.Round, n.cfg.Self, n.cfg.Rounds)
	}
	every := func(i uint64) (int, bool) { return int(i), i < uint64(len(n.known)) }
	if err := n.restore(c, every); err != nil {
		return err
	}
	if err := n.pace.resume(c); err != nil || c.Finished || !n.cfg.marks() {
		return err
	}
	// The next process is to know of this one, whatever it says before it steps.
	c.Marks = n.encodeMarks(c)
	return n.cfg.Store.Save(c)
}

// restore takes over what does not depend on the pace. place gives the present number of
// a member of the roster that c is of; false: it has none.
func (n *Node) restore(c *checkpoint.Checkpoint, place func(i uint64) (int, bool)) error {
	if n.cfg.Head != nil {
		if head := n.cfg.Head(); head.Seq < c.Head.Seq {
			return fmt.Errorf("%w: record %d, the stored state knows of %d", ledger.ErrRollback, head.Seq,
				c.Head.Seq)
		}
	}
	if err := n.cfg.Algorithm.LoadState(c.State); err != nil {
		return fmt.Errorf("%w: %w", checkpoint.ErrState, err)
	}
	n.check, n.resumed = *c, true
	n.check.State, n.check.Heard = nil, nil // made anew when the next checkpoint is
	var err error
	if c.Claims, err = n.decodeMarks(c.Marks, place); err != nil {
		return err
	}
	if n.claim = c.Claims[checkpoint.Kept-1]; n.cfg.Book != nil {
		n.book = n.cfg.Book()
		n.lineage.Begin(n.former, &n.book)
	}
	return nil
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
			return fmt.Errorf("%w: %w", checkpoint.ErrState, err)
		}
		b = b[size:]
	}
	return nil
}

func (n *Node) name(i agent.ID) string { return n.cfg.Names[i] }

// save makes c the checkpoint, durably, with the algorithm's state, the ledger's head
// and, when the node has just finished, what it attests of its ledger.
func (n *Node) save(c *checkpoint.Checkpoint) (finished bool, err error) {
	c.State = n.cfg.Algorithm.AppendState(n.check.State[:0])
	if n.cfg.Head != nil {
		c.Head = n.cfg.Head()
	}
	n.mu.Lock()
	c.Marks = n.encodeMarks(c)
	n.mu.Unlock()
	if finished = c.Finished && !n.check.Finished; finished && n.cfg.Attest != nil {
		if c.Attestation, err = n.cfg.Attest().Encode(); err != nil {
			return finished, err
		}
	}
	defer n.meter.Store.Since(time.Now())
	if err := n.cfg.Store.Save(c); err != nil {
		return finished, fmt.Errorf("storing the state: %w", err)
	}
	return finished, nil
}

// current makes a stored checkpoint the present one. Node.mu is held.
func (n *Node) current(c *checkpoint.Checkpoint) {
	c.Counts = n.check.Counts // handlers have counted on
	n.check, n.signed = *c, nil
	if n.cfg.Book != nil {
		n.book = n.cfg.Book()
	}
}

// finish queues the word that this node has finished, if it has. Node.mu is held.
func (l *link) finish(n *Node) {
	if n.check.Finished {
		l.push(n.frame(frame.Finished, n.check.Round, n.check.Attestation))
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
// Linger has passed. When ctx ends it stops between two steps with ctx's error; another
// Node, of this process or a later one, goes on from the store. A Node runs once. The
// transport is the caller's to close.
func (n *Node) Run(ctx context.Context) error {
	n.mu.Lock()
	again := !n.began.IsZero()
	n.began = time.Now()
	n.mu.Unlock()
	if again {
		return config.Bad("run", "a second one of this node", "a node of New, which goes on from the store")
	}
	err := n.run(ctx)
	if err != nil && ctx.Err() == nil && !errors.Is(err, ErrChange) {
		n.mu.Lock()
		n.failure = err.Error()
		n.mu.Unlock()
		n.cfg.Log.Error("stopped", "error", err)
	}
	return err
}

func (n *Node) run(ctx context.Context) error {
	n.mu.Lock()
	for _, l := range n.order {
		l.since, l.last = n.began, n.began
	}
	n.mu.Unlock()
	if n.resumed {
		n.cfg.Log.Info("goes on from its stored state", "round", n.check.Round)
	} else if !n.cfg.marks() { // nobody will tell it that it was here before
		if err := n.begin(); err != nil {
			return err
		}
	}
	n.greeting = !n.resumed && !n.started
	waitsOutside(n)
	n.cfg.Transport.Serve(n.receive)
	n.mu.Lock()
	for _, l := range n.order {
		l.hail(n)
		l.announce(n)
		if !n.greeting {
			n.pace.resend(l, false)
		}
	}
	n.mu.Unlock()

	sending, stop := context.WithCancel(ctx)
	var senders sync.WaitGroup
	for _, l := range n.order {
		senders.Go(func() { l.run(sending, n) })
	}
	senders.Go(func() { n.courier.Run(sending, n.cfg.Transport.Send) })
	senders.Go(func() { n.seek(sending) })
	err := n.rest(ctx)
	stop()
	senders.Wait()
	if ctx.Err() != nil {
		if err := n.keepMarks(); err != nil {
			n.cfg.Log.Warn("what was heard since the last stored state is not kept", "error", err)
		}
	}
	return err
}

// rest completes the rounds that are left and lets the neighbors finish.
func (n *Node) rest(ctx context.Context) error {
	waiting, impatient := context.WithCancelCause(ctx)
	defer impatient(nil)
	timer := time.AfterFunc(n.cfg.Patience, func() { impatient(ErrStalled) })
	defer timer.Stop()
	why := func(err error) error {
		if errors.Is(err, errOnward) {
			return n.ends()
		}
		if ctx.Err() == nil && errors.Is(context.Cause(waiting), ErrStalled) {
			return n.stalled()
		}
		return err
	}
	if err := n.orient(waiting); err != nil {
		return why(err)
	}
	for !n.check.Finished {
		if n.paused() {
			return why(n.part(waiting))
		}
		began, from := time.Now(), n.check.Round
		err := n.pace.next(waiting)
		if errors.Is(err, errLost) {
			err = n.rejoin()
		}
		if err != nil {
			return why(err)
		}
		timer.Reset(n.cfg.Patience)
		n.mu.Lock()
		n.last = time.Now()
		n.progress.Add(n.last.Sub(began), n.check.Round-from)
		n.mu.Unlock()
	}
	return n.linger(ctx)
}
