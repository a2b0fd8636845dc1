package main

import (
	"context"
	"crypto/ed25519"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"sotto/agent"
	"sotto/config"
	"sotto/experiment"
	"sotto/experiment/owner"
	"sotto/node"
	"sotto/node/p2p"
	"sotto/privacy/account"
	"sotto/privacy/ledger"
	"sotto/topology"
)

type nodeFlags struct {
	rosterFlags
	key, data, policy, state string
	listen, http, capture    string
	missing                  string
	deadline, linger, send   time.Duration
	pad                      time.Duration
	iUnderstand              []string
	alone, check, quiet      bool
	mdns                     bool

	// Of sotto plan alone:
	unsigned bool   // the roster may lack signatures
	member   string // in place of a key
}

// overrideVolatile accepts a file system that may lose what was synced; the ledger
// records it.
const overrideVolatile = "volatile"

func newNode() *cobra.Command {
	var f nodeFlags
	c := &cobra.Command{
		Use: "node --key FILE --data FILE --policy FILE --state DIR",
		Short: "Take part in an experiment as one member of a signed roster, with your own data, key and " +
			"ledger",
		Long: `Take part in an experiment as one member of a signed roster, with your own data, key and ledger.

What the policy does not allow is refused. Every answer of the data is charged to the owner's durable ledger before it is
computed. A node that was stopped, killed or cut off goes on from its state directory when it is started again.`,
		Example: `  sotto node --roster roster.toml --key hospital-a.key --data a.csv --policy policy.toml --state state --check
  sotto node --roster roster.toml --key hospital-a.key --data a.csv --policy policy.toml --state state --http 127.0.0.1:7070`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return f.run(cmd) },
	}
	f.registerBoth(c)
	fl := c.Flags()
	fl.StringVar(&f.key, "key", "", "the member's key file")
	fl.StringVar(&f.data, "data", "", "the owner's records")
	fl.StringVar(&f.policy, "policy", "", "what the owner allows")
	fl.StringVar(&f.state, "state", "", "directory of this run's state and results, on a local disk")
	fl.StringVar(&f.listen, "listen", "",
		"host:port to listen on; default: the member's address of the roster")
	fl.BoolVar(&f.mdns, "mdns", false,
		"announce this node in the local network, and look there for members who are not at their "+
			"roster's address")
	fl.StringVar(&f.http, "http", "", "loopback host:port for /status, /metrics and /healthz; default: none")
	fl.StringVar(&f.capture, "capture", "",
		"append every frame to this file before it is sent, for sotto audit wire")
	fl.StringVar(&f.missing, "missing", node.Wait,
		"peers that miss a round's deadline: wait for them, or proceed with their weight on self")
	fl.DurationVar(&f.deadline, "deadline", time.Minute, "of a round")
	fl.DurationVar(&f.linger, "linger", 10*time.Minute,
		"how long to serve slower neighbors after the last round")
	fl.DurationVar(&f.send, "send-timeout", time.Minute,
		"of one attempt to send; raise it for large models on slow links")
	fl.DurationVar(&f.pad, "pad", 0,
		"how long every answer of the data takes at least, so that times of messages do not tell the "+
			"sizes of batches; default: as long as it takes")
	fl.StringSliceVar(&f.iUnderstand, "i-understand", nil,
		"override a refusal, recorded in the ledger: volatile (a file system that may lose what was synced)")
	fl.BoolVar(&f.alone, "alone", false,
		"at the end, also train on the own records alone, without noise, to compare; nothing of it leaves")
	fl.BoolVar(&f.check, "check", false,
		"say what would happen and what it would cost, and stop; nothing leaves")
	fl.BoolVar(&f.quiet, "quiet", false, "log warnings and errors only")
	return c
}

func (f *nodeFlags) validate() error {
	for _, p := range []struct {
		name, value string
	}{{"key", f.key}, {"data", f.data}, {"policy", f.policy}, {"state", f.state}} {
		if p.value == "" {
			return usageError{fmt.Errorf("--%s: found nothing, allowed: a path", p.name)}
		}
	}
	for _, o := range f.iUnderstand {
		if o != overrideVolatile {
			return usageError{fmt.Errorf("--i-understand: found %q, allowed: %s", o, overrideVolatile)}
		}
	}
	if f.missing != node.Wait && f.missing != node.Proceed {
		return usageError{fmt.Errorf("--missing: found %q, allowed: %s, %s", f.missing, node.Wait,
			node.Proceed)}
	}
	if f.pad < 0 || f.pad > node.MaxPad {
		return usageError{fmt.Errorf("--pad: found %v, allowed: 0 to %v", f.pad, node.MaxPad)}
	}
	if f.http != "" {
		return node.CheckLocal(f.http)
	}
	return nil
}

func (f *nodeFlags) volatile() bool { return len(f.iUnderstand) > 0 }

// peer is a member's node with all that belongs to it.
type peer struct {
	f      *nodeFlags
	log    *slog.Logger
	roster *node.Roster
	self   agent.ID
	key    ed25519.PrivateKey
	owner  *owner.Owner
	facts  owner.Facts
	budget node.DatasetPolicy
	policy *node.Policy
	config node.Config
	ledger *ledger.File
	store  *node.Store
	padded *node.ConstantTimeGate

	mu     sync.Mutex
	claims []peerClaim
	spent  *node.Spent
	asked  time.Time
}

func (f *nodeFlags) run(cmd *cobra.Command) error {
	if err := f.validate(); err != nil {
		return err
	}
	p, err := f.load(cmd.ErrOrStderr())
	if err != nil {
		return err
	}
	if f.check {
		return p.preflight(cmd.OutOrStdout())
	}
	for _, w := range p.facts.Warnings {
		p.log.Warn(w)
	}
	return p.takePart(cmd.Context(), cmd.OutOrStdout())
}

// load reads and checks everything that the owner was asked for, and asks the policy.
func (f *nodeFlags) load(stderr io.Writer) (*peer, error) {
	level := slog.LevelInfo
	if f.quiet {
		level = slog.LevelWarn
	}
	p := &peer{f: f, log: slog.New(slog.NewTextHandler(stderr, &slog.HandlerOptions{Level: level}))}
	var err error
	var file *experiment.File
	if p.roster, file, err = f.read(); err != nil {
		return nil, err
	}
	if !f.unsigned {
		if err := p.roster.Verify(); err != nil {
			return nil, fmt.Errorf("%s: %w", f.roster, err)
		}
	}
	graph, graphs, err := checkGraph(p.roster, file)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", f.roster, err)
	}
	if p.policy, err = node.ReadPolicy(f.policy); err != nil {
		return nil, err
	}
	if err := p.identify(); err != nil {
		return nil, err
	}
	if p.owner, err = owner.New(file, owner.Options{
		Member: experiment.Member{Self: p.self, Data: f.data, Graphs: graphs, Seed: p.roster.Seed()},
		Secret: p.shared,
	}); err != nil {
		return nil, err
	}
	if p.facts, err = p.owner.Facts(); err != nil {
		return nil, err
	}
	var events []account.Event
	for _, c := range p.facts.Costs {
		events = append(events, c.Event)
	}
	p.budget, err = p.policy.Allow(node.Request{
		Algorithm:  p.facts.Algorithm,
		Dataset:    p.facts.Dataset,
		Batch:      p.facts.Batch,
		Members:    p.roster.Keys(),
		Self:       p.roster.Keys()[p.self],
		Provenance: p.facts.Provenance,
		Curious:    p.facts.Curious,
		Events:     events,
	})
	if err != nil {
		return nil, fmt.Errorf("%s: %w", f.policy, err)
	}
	p.config = node.Config{
		Self:        p.self,
		Run:         p.roster.Digest(),
		Names:       p.roster.Names(),
		Graph:       graph,
		Rounds:      p.facts.Rounds,
		Holders:     p.facts.Holders,
		Interval:    p.facts.Interval,
		Pairs:       p.facts.Pairs,
		Mass:        p.facts.Push,
		BF16:        p.facts.BF16,
		Dim:         p.facts.Dim + p.facts.Extra,
		Missing:     f.missing,
		Deadline:    f.deadline,
		Linger:      f.linger,
		SendTimeout: f.send,
		Log:         p.log,
		Spent:       p.spending,
	}
	if len(topology.Period(graphs)) != 1 {
		p.config.Graphs = graphs
	}
	if err := p.config.Check(); err != nil {
		return nil, err
	}
	p.config.Algorithm, err = p.owner.Algorithm()
	return p, err
}

// shared is what the owner shares with another member and nobody else.
func (p *peer) shared(member agent.ID) []byte {
	return node.PairSecret(p.key, p.roster.Keys()[member], p.roster.Digest())
}

// identify finds out which member the owner is: that of the key; without one, which only
// a plan may do, the named member, or the one that the policy does not list among the
// peers.
func (p *peer) identify() (err error) {
	if p.f.key != "" {
		if p.key, err = node.ReadKey(p.f.key); err != nil {
			return err
		}
		if p.self, err = p.roster.Find(p.key.Public().(ed25519.PublicKey)); err != nil {
			return fmt.Errorf("%s: %w", p.f.roster, err)
		}
		return nil
	}
	var found []agent.ID
	for i := range p.roster.Members {
		m := &p.roster.Members[i]
		if m.Name == p.f.member || p.f.member == "" && !slices.Contains(p.policy.Peers, m.ID) {
			found = append(found, agent.ID(i))
		}
	}
	switch {
	case len(found) == 1:
		p.self = found[0]
		return nil
	case p.f.member != "":
		return usageError{fmt.Errorf("--member: found %q, allowed: %s", p.f.member,
			strings.Join(p.roster.Names(), ", "))}
	}
	return usageError{fmt.Errorf("--member: found nothing, and %d members are no peers of %s; allowed: %s",
		len(found), p.f.policy, strings.Join(p.roster.Names(), ", "))}
}

// takePart opens state, ledger and network, and runs the node.
func (p *peer) takePart(ctx context.Context, w io.Writer) (err error) {
	fsys := ledger.OS{AllowVolatile: p.f.volatile()}
	if p.store, err = node.OpenStore(p.f.state, fsys); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, p.store.Close()) }()
	if err := p.openLedger(fsys); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, p.ledger.Close()) }()
	gate, err := p.owner.Gate(p.ledger, p.run())
	if err != nil {
		return err
	}
	defer p.owner.Erase()
	p.config.Recover = func(resumed bool) error { return p.owner.Recover(p.ledger, p.run(), resumed) }
	p.padded = &node.ConstantTimeGate{Gate: gate, Pad: p.f.pad}
	p.config.Gate, p.config.Head, p.config.Store, p.config.OnRound = p.padded, p.ledger.Head, p.store,
		p.record
	p.config.Attest, p.config.OnAttestation, p.config.Keys = p.claim, p.keepClaim, p.roster.Keys()
	if p.config.Attestations, err = p.readClaims(); err != nil {
		return err
	}
	if p.config.Transport, err = p.network(); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, p.config.Transport.Close()) }()
	if p.f.capture != "" {
		w, err := os.OpenFile(p.f.capture, os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o600)
		if err != nil {
			return err
		}
		defer w.Close()
		p.config.Transport = node.NewCaptured(p.config.Transport, w)
	}
	n, err := node.New(p.config)
	if err != nil {
		return err
	}
	done, err := p.report(n)
	if err != nil {
		return err
	}
	err = n.Run(ctx)
	done()
	if ctx.Err() != nil && errors.Is(err, ctx.Err()) {
		s := n.Status()
		at := fmt.Sprintf("%s %d of %d", one(s.Pace), s.Round, s.Rounds)
		if s.Pace == node.InVisits {
			at = fmt.Sprintf("%d visits", s.Round)
		}
		_, err = fmt.Fprintf(w, "stopped after %s; start it again to go on\n", at)
		return err
	}
	if err != nil {
		return err
	}
	return p.finish(n, w)
}

// run names this experiment in the ledger.
func (p *peer) run() string { return fmt.Sprintf("%x", p.config.Run[:16]) }

// openLedger opens the ledger of the data set, in the folder that the policy names.
func (p *peer) openLedger(fsys ledger.OS) error {
	check, err := p.store.Load()
	if err != nil {
		return err
	}
	o := ledger.Options{
		Key:        p.key,
		Run:        p.run(),
		Agent:      p.roster.Members[p.self].Name,
		FS:         fsys,
		Accountant: p.facts.Accountant,
	}
	if check != nil {
		o.KnownSeq, o.KnownHead = check.Head.Seq, check.Head
	}
	if err := fsys.MkdirAll(p.policy.Ledger); err != nil {
		return err
	}
	secret, err := ownerSecret(filepath.Join(p.policy.Ledger, ".secret"))
	if err != nil {
		return err
	}
	print, err := ledger.NewFingerprint(secret, p.owner.Records())
	if err != nil {
		return err
	}
	b := p.budget
	g := ledger.Genesis{Adjacency: p.facts.Adjacency, Unit: p.facts.Unit, MinRecords: b.MinRecords}
	g.Budget.Epsilon, g.Budget.Delta = b.LifetimeEpsilon, b.LifetimeDelta
	if p.ledger, err = ledger.OpenFor(p.policy.Ledger, print, g, o); err != nil {
		return err
	}
	if have := p.ledger.Genesis().Budget; have != g.Budget {
		p.log.Warn("the ledger of these data keeps the budget that it was made with", "epsilon", have.Epsilon,
			"delta", have.Delta)
	}
	if p.f.volatile() {
		if err := p.ledger.Override(
			"state or ledger may be on a file system that loses what was synced"); err != nil {
			return err
		}
	}
	return p.noteSharedNoise()
}

// noteSharedNoise has the ledger, and so every later statement, say once whom the figures
// of noise that members share do not hold against.
func (p *peer) noteSharedNoise() error {
	if p.facts.Curious == "" || p.facts.Curious == "neighbors" {
		return nil
	}
	note := "noise that members share counts as if of them at most these disclose their secrets: " +
		p.facts.Curious
	for r, err := range p.ledger.Records() {
		if err != nil {
			return err
		}
		if r.Kind == ledger.Override && r.Note == note {
			return nil
		}
	}
	return p.ledger.Override(note)
}

// ownerSecret reads the secret that records are digested with, or makes it. It stays with
// the ledgers for as long as they live.
func ownerSecret(path string) ([]byte, error) {
	b, err := os.ReadFile(path)
	if !errors.Is(err, fs.ErrNotExist) {
		if err == nil && len(b) != 32 {
			err = &config.Error{File: path, Found: fmt.Sprintf("%d bytes", len(b)), Allowed: "32"}
		}
		return b, err
	}
	b = make([]byte, 32)
	rand.Read(b) // never fails
	w, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return nil, err
	}
	_, err = w.Write(b)
	if err == nil {
		err = w.Sync()
	}
	if err = errors.Join(err, w.Close()); err != nil {
		return nil, err
	}
	return b, ledger.OS{}.SyncDir(filepath.Dir(path))
}

func (p *peer) network() (node.Transport, error) {
	c := p2p.Config{
		Key:        p.key,
		Listen:     p.f.listen,
		MaxPayload: node.MaxPayload(p.config.Dim),
		MDNS:       p.f.mdns,
		Log:        p.log,
	}
	for i, key := range p.roster.Keys() {
		c.Members = append(c.Members, p2p.Member{Key: key, Address: p.roster.Members[i].Address})
	}
	return p2p.New(c)
}

// spending is what the data have cost, at most every ten seconds anew: it is asked for
// often and takes the ledger's lock.
func (p *peer) spending() *node.Spent {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.ledger == nil || p.spent != nil && time.Since(p.asked) < 10*time.Second {
		return p.spent
	}
	p.asked = time.Now()
	c, err := p.ledger.Spent()
	if err != nil {
		return p.spent
	}
	g := p.ledger.Genesis()
	p.spent = &node.Spent{
		Epsilon:  c.Epsilon.Upper,
		Delta:    c.Delta,
		Lifetime: g.Budget.Epsilon,
		Records:  p.ledger.Head().Seq,
	}
	return p.spent
}
