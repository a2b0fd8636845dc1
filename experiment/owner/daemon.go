package owner

import (
	"context"
	"crypto/ed25519"
	"errors"
	"path/filepath"
	"sync"
	"time"

	"sotto/node"
	"sotto/node/checkpoint"
	"sotto/node/pad"
	"sotto/node/roster"
	"sotto/node/wire"
	"sotto/privacy/ledger"
)

// Overrides are what an owner accepts that would be refused; the ledger records it.
type Overrides struct {
	Volatile bool // file systems may lose what was synced
	Anew     bool // the people are others than those of ledgers of their population, see ledger.OpenFor
}

// A Daemon takes part as a member.
type Daemon struct {
	*Membership
	State string // directory of this run's state and results
	Look
	Reload  Reload
	Capture string // file that every frame is appended to before it is sent; "": none
	// Pad is how long every answer of the data takes at least, below the deadline of a
	// round; 0: as long as it takes.
	Pad time.Duration
	Overrides
	Baseline bool // at the end, train on the own records alone too
	// Dial opens the network as the member with this key, for payloads up to a size.
	Dial func(key ed25519.PrivateKey, maxPayload int) (node.Transport, error)
}

// Outcome is what a daemon has come to.
type Outcome struct {
	Status node.Status
	Result *Result // nil: stopped before the end
	Ledger string  // its directory
}

// process is a daemon that runs.
type process struct {
	*Daemon
	ledger *ledger.File
	fresh  bool // nothing of this run is stored
	asking sync.Once
	padded *pad.Gate

	mu    sync.Mutex
	heads headBook
	seen  memory
	// former are processes of members, see formerly.
	former map[uint64]bool
	costs  costs
}

// Run opens state, ledger and network, and runs the node to its end or until ctx is done.
// There may be an error beside an outcome, where something cannot be closed.
// node.ErrChange: the members have changed; join again with the same files, and run that.
// node.ErrRemoved comes with the outcome: the run goes on without this member. So does
// privacy.ErrRefused of a policy that was read again when the node had finished.
func (d *Daemon) Run(ctx context.Context) (out *Outcome, err error) {
	if err := d.CheckPad(d.Pad); err != nil {
		return nil, err
	}
	p := &process{Daemon: d}
	d.from.State = d.State
	c := d.Node
	fsys := ledger.OS{AllowVolatile: d.Volatile}
	if c.Store, err = checkpoint.Open(d.State, fsys); err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, c.Store.Close()) }()
	if err := p.openLedger(c.Store, fsys); err != nil {
		return nil, err
	}
	defer func() {
		// a ledger that could not be written says why, once
		if closed := p.ledger.Close(); !errors.Is(err, ledger.ErrPoisoned) ||
			!errors.Is(closed, ledger.ErrPoisoned) {
			err = errors.Join(err, closed)
		}
	}()
	if err := introduce(p); err != nil {
		return nil, err
	}
	if p.seen, err = readMemory(d.Policy.Ledger); err != nil {
		if err = aside(filepath.Join(d.Policy.Ledger, membersFile), c.Log, err); err != nil {
			return nil, err
		}
		p.seen = memory{}
	}
	gate, err := d.Gate(p.ledger, d.run())
	if err != nil {
		return nil, err
	}
	defer d.Erase()
	if p.fresh {
		if err := d.limited.spentBefore(d.plan(), d.run()); err != nil {
			return nil, err
		}
	}
	p.padded = &pad.Gate{Gate: gate, MinAnswerTime: d.Pad}
	c.Gate, c.Head = p.padded, p.ledger.Head
	c.Recover = func(resumed bool) error { return d.Recover(p.ledger, d.run(), resumed) }
	c.OnRound, c.Spent = p.record, p.spending
	c.Attest, c.OnAttestation, c.Keys = p.claim, p.keepClaim, d.Roster.Keys()
	c.Sign = func(message []byte) []byte { return ed25519.Sign(d.keys.held, message) }
	c.Book, c.OnRollback, c.OnProof = p.book, p.rolledBack, p.keepProof
	c.DropLiars, c.Remembers = d.Policy.Liars == roster.DropLiars, whole(d.Owner)
	c.Shares = d.limited.shared
	if c.Attestations, err = p.readClaims(); err != nil {
		return nil, err
	}
	if err := p.epochs(&c); err != nil {
		return nil, err
	}
	if c.Transport, err = d.Dial(d.keys.held, node.MaxPayload(c.Dim)); err != nil {
		return nil, err
	}
	hangUp := sync.OnceValue(c.Transport.Close)
	defer func() { err = errors.Join(err, hangUp()) }()
	if d.Capture != "" {
		w, err := wire.AppendTo(d.Capture)
		if err != nil {
			return nil, err
		}
		defer w.Close()
		c.Transport = wire.NewCaptured(c.Transport, w)
	}
	n, err := node.New(c)
	if err != nil {
		return nil, err
	}
	if p.history.given != nil {
		p.follow(n)
	}
	return p.attend(ctx, n, hangUp)
}

// attend runs the node, hangs up and leaves its results.
func (p *process) attend(ctx context.Context, n *node.Node, hangUp func() error) (*Outcome, error) {
	done, err := p.report(n)
	if err != nil {
		return nil, err
	}
	running, stop := context.WithCancelCause(ctx)
	var obeys sync.WaitGroup
	obeys.Go(func() { p.obey(running, n, stop) })
	err = n.Run(running)
	stop(nil)
	obeys.Wait()
	why := context.Cause(running)
	refused := err != nil && ctx.Err() == nil && !errors.Is(why, context.Canceled)
	if refused {
		err = why
		p.Node.Log.Error("stopped", "error", err)
	}
	s := n.Status()
	if fork := splitBy(err, &s); fork != nil {
		err = fork
		p.Node.Log.Error("stopped", "error", err)
	}
	done(err)
	out := &Outcome{Status: n.Status(), Ledger: p.ledger.Dir()}
	if ctx.Err() != nil && errors.Is(err, ctx.Err()) {
		if !out.Status.Finished {
			return out, nil
		}
		err = nil // it had only to serve neighbors still
		ctx = context.WithoutCancel(ctx)
	}
	if err != nil && !errors.Is(err, node.ErrRemoved) && !(refused && out.Status.Finished) {
		return nil, err
	}
	// How long it takes to finish depends on private records: nobody is to see it.
	ended := err
	_ = hangUp() // Run says what went wrong
	if out.Result, err = p.finish(ctx, n); err != nil {
		return nil, err
	}
	return out, ended
}
