package owner

import (
	"context"
	"crypto/ed25519"
	"errors"
	"os"
	"sync"
	"time"

	"sotto/node"
	"sotto/privacy/ledger"
)

// A Daemon takes part as a member.
type Daemon struct {
	*Membership
	State   string // directory of this run's state and results
	HTTP    string // loopback address for the status; "": none
	Capture string // file that every frame is appended to before it is sent; "": none
	// Pad is how long every answer of the data takes at least; 0: as long as it takes.
	Pad      time.Duration
	Volatile bool // file systems may lose what was synced, which the ledger records
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
	padded *node.ConstantTimeGate

	mu    sync.Mutex
	heads []Head
	spent *node.Spent
	asked time.Time
}

// Run opens state, ledger and network, and runs the node to its end or until ctx is done.
// There may be an error beside an outcome, where something cannot be closed.
func (d *Daemon) Run(ctx context.Context) (out *Outcome, err error) {
	p := &process{Daemon: d}
	c := d.Node
	fsys := ledger.OS{AllowVolatile: d.Volatile}
	if c.Store, err = node.OpenStore(d.State, fsys); err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, c.Store.Close()) }()
	if err := p.openLedger(c.Store, fsys); err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, p.ledger.Close()) }()
	gate, err := d.Gate(p.ledger, d.run())
	if err != nil {
		return nil, err
	}
	defer d.Erase()
	p.padded = &node.ConstantTimeGate{Gate: gate, MinAnswerTime: d.Pad}
	c.Gate, c.Head = p.padded, p.ledger.Head
	c.Recover = func(resumed bool) error { return d.Recover(p.ledger, d.run(), resumed) }
	c.OnRound, c.Spent = p.record, p.spending
	c.Attest, c.OnAttestation, c.Keys = p.claim, p.keepClaim, d.Roster.Keys()
	if c.Attestations, err = p.readClaims(); err != nil {
		return nil, err
	}
	if c.Transport, err = d.Dial(d.key, node.MaxPayload(c.Dim)); err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, c.Transport.Close()) }()
	if d.Capture != "" {
		w, err := os.OpenFile(d.Capture, os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o600)
		if err != nil {
			return nil, err
		}
		defer w.Close()
		c.Transport = node.NewCaptured(c.Transport, w)
	}
	n, err := node.New(c)
	if err != nil {
		return nil, err
	}
	return p.attend(ctx, n)
}

// attend runs the node and leaves its results.
func (p *process) attend(ctx context.Context, n *node.Node) (*Outcome, error) {
	done, err := p.report(n)
	if err != nil {
		return nil, err
	}
	err = n.Run(ctx)
	done()
	out := &Outcome{Status: n.Status(), Ledger: p.ledger.Dir()}
	if ctx.Err() != nil && errors.Is(err, ctx.Err()) {
		return out, nil
	}
	if err != nil {
		return nil, err
	}
	if out.Result, err = p.finish(n); err != nil {
		return nil, err
	}
	return out, nil
}
