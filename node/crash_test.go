package node_test

import (
	"cmp"
	"context"
	"crypto/ed25519"
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"sotto/agent"
	"sotto/node"
	"sotto/node/checkpoint"
	"sotto/node/nodetest"
	"sotto/privacy/account"
	"sotto/privacy/ledger"
	"sotto/privacy/ledger/ledgertest"
	"sotto/rng"
	"sotto/tensor"
)

// step is one Step of an algorithm: its input, and what it sent.
type step struct {
	in  agent.Input
	out []agent.Message
}

// recorder keeps an agent's steps. When a round is stepped again after a crash, what is
// recorded of it and of later ones is struck: it never left the agent.
type recorder struct {
	agent.Algorithm
	mu    *sync.Mutex
	steps *[]step
}

func (r recorder) Step(in *agent.Input, out *agent.Output) error {
	s := step{in: agent.Input{Kind: in.Kind, Round: in.Round, Answer: slices.Clone(in.Answer)}}
	v := *in.View
	v.In, v.Out = slices.Clone(v.In), slices.Clone(v.Out)
	s.in.View = &v
	for _, m := range in.Inbox {
		m.Body = slices.Clone(m.Body)
		s.in.Inbox = append(s.in.Inbox, m)
	}
	if err := r.Algorithm.Step(in, out); err != nil {
		return err
	}
	if out.Query == nil {
		for _, m := range out.Outbox {
			m.Body = slices.Clone(m.Body)
			s.out = append(s.out, m)
		}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	for i, old := range *r.steps {
		if in.Kind == agent.Start || in.Kind != agent.Answer && old.in.Kind != agent.Start &&
			old.in.Round >= in.Round {
			*r.steps = (*r.steps)[:i]
			break
		}
	}
	*r.steps = append(*r.steps, s)
	return nil
}

// crashing is a run of nodes that crash at random changes of their disks and come back.
type crashing struct {
	w       *nodetest.World
	net     nodetest.Network
	crashes int           // of each node
	down    time.Duration // after a crash, at most; 0: 20 s
	mu      sync.Mutex
	steps   [][]step
	params  []tensor.Vec
	disks   []*ledgertest.CrashFS
}

// live runs member i through all its lives.
func (c *crashing) live(t *testing.T, i int, key ed25519.PrivateKey) error {
	chance := rng.Public(uint64(i), "crashes")
	disk := ledgertest.NewCrashFS()
	for left := c.crashes; ; left-- {
		disk.CrashAt = 0
		if left > 0 {
			disk.CrashAt = disk.Changes + 1 + int(chance.Below(40))
		}
		err := c.once(t, i, key, disk, left == c.crashes)
		if err == nil {
			c.disks[i] = disk
			return nil
		}
		if !errors.Is(err, ledgertest.ErrCrashed) {
			return fmt.Errorf("agent %d, %d crashes left: %w", i, left, err)
		}
		disk = disk.Recover(func(n int) int { return int(chance.Below(uint64(n))) })
		time.Sleep(time.Duration(chance.Below(uint64(cmp.Or(c.down, 20*time.Second)))))
	}
}

// once runs member i until its next crash.
func (c *crashing) once(t *testing.T, i int, key ed25519.PrivateKey, disk *ledgertest.CrashFS,
	first bool) error {
	opt := ledger.Options{Key: key, FS: disk, Filter: nothing{}, Accountant: "rdp"}
	store, err := checkpoint.Open(fmt.Sprint("/state", i), disk)
	if err != nil {
		return err
	}
	check, err := store.Load()
	if err != nil {
		return err
	}
	store.Close()
	if check != nil {
		opt.KnownSeq, opt.KnownHead = check.Head.Seq, check.Head
	}
	l, err := ledger.Open("/ledger", opt)
	if errors.Is(err, fs.ErrNotExist) {
		if check != nil {
			t.Errorf("agent %d: a state without a ledger", i)
		}
		l, err = ledger.Create("/ledger", ledger.Genesis{Adjacency: account.ZeroOut, Unit: account.Record(),
			Budget: account.Budget{Epsilon: 1e6, Delta: 1e-5}, MinRecords: 100}, opt)
	}
	if err != nil {
		return err
	}
	tr := c.net.Open(t, agent.ID(i))
	defer tr.Close()
	n, store, err := c.w.Node(t, i, tr, disk, l)
	if err != nil {
		return err
	}
	if err := n.Run(context.Background()); err != nil {
		return err
	}
	c.params[i] = slices.Clone(n.Params())
	store.Close()
	return l.Close()
}

// nothing admits everything.
type nothing struct{}

func (nothing) Admit(account.Event, int) error { return nil }

// Nodes crash hundreds of times at random changes of their disks, which lose an arbitrary
// part of what was not synced. The run ends; replaying each agent's answers and messages
// gives its parameters bit for bit; what an agent received is what the sender's replay
// sends; every ledger verifies, with at least one charge for each answer in use; no
// number comes twice. Where answers have no noise a crash changes nothing: parameters are
// those of a run in package sim, of which each is moved by the agent's private iterate.
func TestCrashes(t *testing.T) {
	for name, o := range map[string]nodetest.Options{
		"dsgd":           {Factory: factory(t, "dsgd")},
		"dsgt":           {Factory: factory(t, "dsgt")},
		"dinno":          {Factory: factory(t, "dinno")},
		"bcd":            {Factory: factory(t, "bcd"), Wakes: 160},
		"bcd by a clock": {Factory: factory(t, "bcd"), Interval: 3 * time.Second},
		"quantile":       {Factory: clipping(t, "dsgt", "quantile"), Count: true},
		"push":           {Factory: factory(t, "sgp"), Push: true, Graph: "exp-directed"},
		"own state":      {Factory: ownState(t)},
		"no noise":       {Factory: ownState(t), Plain: true},
		"pairs": {Factory: factory(t, "gossip-average"), Pairs: true, Graph: "complete",
			Rounds: 160},
		"pairs that ask": {Factory: factory(t, "dsgd"), Pairs: true, Graph: "complete"},
		"dropout":        {Factory: factory(t, "dsgt"), Dropout: .4},
		"push, dropout":  {Factory: factory(t, "sgp"), Push: true, Graph: "exp-directed", Dropout: .2},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) { crash(t, o) })
		})
	}
}

func crash(t *testing.T, o nodetest.Options) {
	const members = 4
	c := &crashing{crashes: 20, steps: make([][]step, members), params: make([]tensor.Vec, members),
		disks: make([]*ledgertest.CrashFS, members)}
	o.Rounds, o.Change = cmp.Or(o.Rounds, 40), func(i int, cfg *node.Config) {
		cfg.Algorithm = recorder{cfg.Algorithm, &c.mu, &c.steps[i]}
		cfg.Linger = time.Hour
	}
	c.w = nodetest.NewWorld(t, o)
	c.net = openMemory(t, members)
	done := make(chan error, members)
	keys := make([]ed25519.PrivateKey, members)
	for i := range members {
		_, keys[i], _ = ed25519.GenerateKey(nil)
		go func() { done <- c.live(t, i, keys[i]) }()
	}
	for range members {
		if err := <-done; err != nil {
			t.Fatal(err)
		}
	}
	outs := make([][]step, members)
	for i := range members {
		outs[i] = c.replay(t, i)
	}
	c.compareMessages(t, outs, o.Interval == 0)
	for i := range members {
		c.checkLedger(t, i, keys[i])
	}
	if o.Plain {
		want, _ := c.w.Simulate(t)
		for i := range members {
			if !slices.Equal(c.params[i], want[i]) {
				t.Errorf("agent %d ends at %v after crashes, without them at %v", i, c.params[i], want[i])
			}
		}
	}
}

// replay steps a fresh algorithm with what was recorded, and wants the node's parameters.
func (c *crashing) replay(t *testing.T, i int) (sent []step) {
	alg := c.w.Algorithm(t, i)
	var out agent.Output
	for _, s := range c.steps[i] {
		out.Reset()
		in := s.in
		if err := alg.Step(&in, &out); err != nil {
			t.Fatal(err)
		}
		if out.Query == nil {
			r := step{in: s.in}
			for _, m := range out.Outbox {
				m.Body = slices.Clone(m.Body)
				r.out = append(r.out, m)
			}
			sent = append(sent, r)
		}
	}
	if !slices.Equal(alg.Params(), c.params[i]) {
		t.Errorf("agent %d: a replay ends at %v, the node at %v", i, alg.Params(), c.params[i])
	}
	if want := int(c.w.Rounds(i)) + 1; len(sent) != want {
		t.Errorf("agent %d: %d rounds with their start, want %d", i, len(sent), want)
	}
	return sent
}

// compareMessages wants every message that was received to be what the sender's replay
// sends under its number, never an older one than before, and with all one from every
// neighbor in every round.
func (c *crashing) compareMessages(t *testing.T, sent [][]step, all bool) {
	received, want := 0, 0
	for i := range c.steps {
		for k := range c.w.Rounds(i) {
			g, _ := c.w.Graphs.At(k)
			want += g.Degree(agent.ID(i))
		}
		last := map[agent.ID]uint64{}
		for _, s := range c.steps[i] {
			for _, m := range s.in.Inbox {
				received++
				if m.Round < last[m.From] {
					t.Errorf("agent %d hears broadcast %d of %d after number %d", i, m.Round, m.From,
						last[m.From])
				}
				last[m.From] = m.Round
				if want := sent[m.From][m.Round].out[0].Body; !slices.Equal(m.Body, want) {
					t.Errorf("agent %d received %v from %d in round %d, its replay sends %v", i, m.Body,
						m.From, m.Round, want)
				}
			}
		}
	}
	if received != want && all || received < want/2 {
		t.Errorf("%d messages were received, want %d", received, want)
	}
}

func (c *crashing) checkLedger(t *testing.T, i int, key ed25519.PrivateKey) {
	opt := ledger.Options{FS: c.disks[i], PublicKey: key.Public().(ed25519.PublicKey), Accountant: "rdp"}
	report, err := ledger.Verify("/ledger", opt)
	if err != nil {
		t.Errorf("agent %d: %v", i, err)
		return
	}
	answers := uint64(0)
	for _, s := range c.steps[i] {
		if s.in.Kind == agent.Answer {
			answers++
		}
	}
	if report.Charges < answers || report.Charges > answers+uint64(c.crashes) {
		t.Errorf("agent %d: %d charges for %d answers in use and at most %d crashes", i, report.Charges,
			answers, c.crashes)
	}
	seen := map[uint64]bool{}
	for r, err := range ledger.History("/ledger", opt) {
		if err != nil || seen[r.Seq] {
			t.Fatalf("agent %d: record %d again, or %v", i, r.Seq, err)
		}
		seen[r.Seq] = true
	}
}

// A store that belongs to another roster or member, or is damaged, and a ledger that
// lacks charges, are refused.
func TestForeignStateIsRefused(t *testing.T) {
	r := start(t, nodetest.Options{Factory: factory(t, "dsgd"), Rounds: 3}, openMemory)
	r.wait(t)
	resume := func(change func(c *node.Config)) error {
		w := nodetest.NewWorld(t, nodetest.Options{Factory: factory(t, "dsgd"), Rounds: 3,
			Change: func(_ int, c *node.Config) { change(c) }})
		_, store, err := w.Node(t, 0, r.trs[0], r.fs[0], r.led[0])
		if err == nil {
			store.Close()
		}
		return err
	}
	for name, tc := range map[string]struct {
		change func(c *node.Config)
		want   error
	}{
		"roster":    {func(c *node.Config) { c.Run[0]++ }, checkpoint.ErrState},
		"member":    {func(c *node.Config) { c.Self = 1 }, checkpoint.ErrState},
		"rounds":    {func(c *node.Config) { c.Rounds = 2 }, checkpoint.ErrState},
		"dimension": {func(c *node.Config) { c.Algorithm = other(t) }, checkpoint.ErrState},
		"ledger":    {func(c *node.Config) { c.Head = ledger.NewMemory(nil).Head }, ledger.ErrRollback},
		"nothing":   {func(*node.Config) {}, nil},
	} {
		if err := resume(tc.change); !errors.Is(err, tc.want) || (err == nil) != (tc.want == nil) {
			t.Errorf("another %s: %v, want %v", name, err, tc.want)
		}
	}
	damage := func(name string, at float64) {
		b := r.fs[0].Content(name)
		end := 8 + binary.LittleEndian.Uint64(b) // of the checkpoint: the rest is of a longer one before
		bad := slices.Clone(b)
		bad[int(at*float64(end-1))] ^= 1
		r.fs[0].Put(name, bad)
	}
	before := [2][]byte{r.fs[0].Content("/state0/checkpoint"), r.fs[0].Content("/state0/checkpoint.2")}
	for _, at := range []float64{0, .5, 1} {
		damaged := func(names ...string) error {
			r.fs[0].Put("/state0/checkpoint", before[0])
			r.fs[0].Put("/state0/checkpoint.2", before[1])
			for _, name := range names {
				damage(name, at)
			}
			return resume(func(*node.Config) {})
		}
		for _, name := range []string{"/state0/checkpoint", "/state0/checkpoint.2"} {
			if err := damaged(name); err != nil { // the other one stands in for it
				t.Errorf("a bit at %v of %s: %v", at, name, err)
			}
		}
		err := damaged("/state0/checkpoint", "/state0/checkpoint.2")
		if !errors.Is(err, checkpoint.ErrState) {
			t.Errorf("a bit at %v of both files: %v", at, err)
		}
		r.fs[0].Put("/state0/checkpoint", before[0])
		r.fs[0].Put("/state0/checkpoint.2", before[1])
	}
	r.fs[0].Put("/state0/checkpoint", agent.AppendTag(nil, "sotto node/2"))
	r.fs[0].Put("/state0/checkpoint.2", nil)
	if err := resume(func(*node.Config) {}); !errors.Is(err, checkpoint.ErrState) ||
		!strings.Contains(err.Error(), "sotto node/2, allowed") {
		t.Errorf("the state of an older version: %v", err)
	}
}

func other(t *testing.T) agent.Algorithm {
	a, err := factory(t, "dsgd")(agent.Env{Agents: 1, Dim: 2, Init: make(tensor.Vec, 2)})
	if err != nil {
		t.Fatal(err)
	}
	return a
}
