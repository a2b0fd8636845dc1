package node_test

import (
	"context"
	"crypto/ed25519"
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"sotto/agent"
	"sotto/config"
	"sotto/node"
	"sotto/node/frame"
	"sotto/node/mark"
	"sotto/node/nodetest"
	"sotto/privacy/ledger"
	"sotto/privacy/ledger/ledgertest"
)

// refusing answers in place of one neighbor, until a time.
type refusing struct {
	node.Transport
	neighbor agent.ID
	until    time.Time
	answer   func(raw []byte) error
	asked    *int // how often; one link sends from one goroutine
}

func (r refusing) Send(ctx context.Context, to agent.ID, raw []byte) error {
	if to == r.neighbor && time.Now().Before(r.until) {
		*r.asked++
		return r.answer(raw)
	}
	return r.Transport.Send(ctx, to, raw)
}

// rerun has agent 1 refuse what agent 0 sends it, for ten seconds, and returns how often
// it was asked.
func rerun(t *testing.T, change func(c *node.Config), answer func(raw []byte) error) (*running, *int) {
	asked := new(int)
	r := start(t, nodetest.Options{Factory: factory(t, "dsgd"), Change: func(i int, c *node.Config) {
		if change != nil {
			change(c)
		}
		if i == 0 {
			c.Transport = refusing{c.Transport, 1, time.Now().Add(10 * time.Second), answer, asked}
		}
	}}, openMemory)
	return r, asked
}

// signedBy0 is a mark of another process of agent 0.
func signedBy0(run [32]byte, round uint64) []byte {
	m := mark.Mark{Round: round, Process: 5, Claim: mark.Claim{Sent: mark.NoRound, Earlier: mark.NoRound}}
	return m.Encode(run, func(b []byte) []byte { return ed25519.Sign(nodetest.Key(0), b) })
}

// What one neighbor answers ends no node: neither that another process has its key, which
// it cannot show, nor that others wait in another way, which all have signed. The run has
// the simulator's bits, and the node has asked with pauses.
func TestOneAnswerEndsNobody(t *testing.T) {
	signed := func(c *node.Config) { c.SignedTerms = true }
	for name, tc := range map[string]struct {
		change func(c *node.Config)
		answer func(raw []byte) error
	}{
		"a twin without a mark": {nil, func([]byte) error { return node.RefusedTwin }},
		"a twin with a forged mark": {nil, func(b []byte) error {
			f, _ := frame.Decode(b, 1<<20)
			m := signedBy0(f.Run, 5)
			m[len(m)-1] ^= 1
			return &node.Twin{Mark: m}
		}},
		"this process's mark": {nil, func(b []byte) error { return &node.Twin{Mark: b[len(b)-mark.Size:]} }},
		"a mark of an earlier process": {nil, func(b []byte) error {
			f, _ := frame.Decode(b, 1<<20)
			return &node.Twin{Mark: signedBy0(f.Run, 0)}
		}},
		"a short mark": {nil, func([]byte) error { return &node.Twin{Mark: []byte{1}} }},
		"a twin in a run without marks": {func(c *node.Config) { nodetest.Bare(0, c) },
			func([]byte) error { return &node.Twin{Mark: make([]byte, mark.Size)} }},
		"other terms, where all have signed": {signed, func([]byte) error { return node.RefusedTerms }},
	} {
		inBubble(t, name, func(t *testing.T) {
			r, asked := rerun(t, tc.change, tc.answer)
			r.wait(t)
			r.equalsSimulator(t)
			if *asked == 0 || *asked > 1000 {
				t.Errorf("asked %d times", *asked)
			}
		})
	}
}

// A neighbor that shows the mark of another process, further than this one, ends it.
func TestATwinIsShown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, _ := rerun(t, nil, func(b []byte) error {
			f, _ := frame.Decode(b, 1<<20)
			return node.FromAnswer(node.Answer(&node.Twin{Mark: signedBy0(f.Run, 5)}))
		})
		if err := <-r.done[0]; !errors.Is(err, node.ErrClone) || !strings.Contains(err.Error(), "agent 1") {
			t.Errorf("%v", err)
		}
		for i := 1; i < len(r.nodes); i++ {
			r.stop[i]()
		}
	})
}

// A node that goes on without whoever is missing does so without a neighbor that waits in
// another way, and ends where all do.
func TestOthersTermsAndProceed(t *testing.T) {
	inBubble(t, "one", func(t *testing.T) {
		r, _ := rerun(t, func(c *node.Config) { c.Missing = node.Proceed },
			func([]byte) error { return node.RefusedTerms })
		if err := <-r.done[0]; err != nil {
			t.Error(err)
		}
		for i := 1; i < len(r.nodes); i++ {
			r.stop[i]()
		}
	})
	inBubble(t, "all", func(t *testing.T) {
		r := start(t, nodetest.Options{Factory: factory(t, "dsgd"), Change: func(i int, c *node.Config) {
			if i == 0 {
				c.Missing = node.Proceed
			}
		}}, openMemory)
		if err := <-r.done[0]; !errors.Is(err, node.ErrTerms) {
			t.Errorf("%v", err)
		}
		for i := 1; i < len(r.nodes); i++ {
			r.stop[i]()
		}
	})
}

// Two restored members that each know the other to have been further refuse each other,
// with pauses: what one tells the other is no reason to try again at once.
func TestTwoThatRefuseEachOther(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := prepare(t, nodetest.Options{Factory: factory(t, "bcd"), Interval: time.Minute}, openMemory)
		other := r.net.Open(t, 1)
		defer other.Close()
		says := func(kind frame.Kind, generation uint64) error {
			m := mark.Mark{Round: 5, Generation: generation, Process: 7,
				Claim: mark.Claim{Sent: mark.NoRound, Earlier: mark.NoRound}}
			f := frame.Frame{Kind: kind, Run: r.w.Run, Sender: 1}
			f.Mark = m.Encode(f.Run, func(b []byte) []byte { return ed25519.Sign(nodetest.Key(1), b) })
			return other.Send(context.Background(), 0, frame.Append(nil, &f))
		}
		r.start(t, 0)
		synctest.Wait()
		var asked atomic.Int64
		other.Serve(func(_ agent.ID, b []byte) error {
			if frame.Kind(b[5]) != frame.Messages || asked.Load() > 1000 {
				return nil
			}
			asked.Add(1)
			if err := says(frame.Witness, 0); !errors.Is(err, node.RefusedBehind) {
				t.Errorf("a member that has gone back: %v", err)
			}
			return node.RefusedBehind
		})
		if err := says(frame.Hello, 1); err != nil {
			t.Fatal(err)
		}
		time.Sleep(10 * time.Second)
		if n := asked.Load(); n == 0 || n > 200 { // a pause is 0.1 s at first
			t.Errorf("asked %d times in ten seconds", n)
		}
		r.halt(0)
	})
}

// liar says in its testimonies that it waits in another way.
type liar struct{ node.Transport }

func (l liar) Send(ctx context.Context, to agent.ID, raw []byte) error {
	if frame.Kind(raw[5]) == frame.Witness {
		raw = node.Remark(raw, nodetest.Key(1), func(f *frame.Frame, _ *mark.Mark) { f.Payload[0] ^= 1 })
	}
	return l.Transport.Send(ctx, to, raw)
}

// Where all have signed how they wait, nobody is ended by a member that says otherwise.
func TestSignedTermsStand(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := start(t, nodetest.Options{Factory: factory(t, "dsgd"), Change: func(i int, c *node.Config) {
			c.SignedTerms = true
			if i == 1 {
				c.Transport = liar{c.Transport}
			}
		}}, openMemory)
		r.wait(t)
		r.equalsSimulator(t)
	})
}

// An answer of a wrong length is nobody's, and says nothing.
func TestAnswersOfWrongLength(t *testing.T) {
	twin := node.Answer(&node.Twin{Mark: make([]byte, mark.Size)})
	for _, b := range [][]byte{nil, {0, 0}, {byte(node.RefusedTwin)}, twin[:len(twin)-1], append(twin, 0)} {
		err := node.FromAnswer(b)
		if !errors.Is(err, node.ErrUnreachable) || errors.Is(err, node.RefusedTwin) {
			t.Errorf("%d bytes: %v", len(b), err)
		}
	}
}

// A node that lacks what it runs with is refused by the name of that.
func TestNewRefusesWhatIsMissing(t *testing.T) {
	_, err := node.New(node.Config{})
	var bad *config.Error
	if !errors.As(err, &bad) || bad.Key != "graph" {
		t.Errorf("nothing at all: %v", err)
	}
	for key, drop := range map[string]func(c *node.Config){
		"algorithm": func(c *node.Config) { c.Algorithm = nil },
		"gate":      func(c *node.Config) { c.Gate = nil },
		"transport": func(c *node.Config) { c.Transport = nil },
		"store":     func(c *node.Config) { c.Store = nil },
		// fewer values than parameters panicked, below 0 at once
		"dim":     func(c *node.Config) { c.Dim = -1 },
		"dim 1":   func(c *node.Config) { c.Dim = 1 },
		"keys[0]": func(c *node.Config) { c.Keys = make([]ed25519.PublicKey, c.Graph.Agents()) },
	} {
		o := nodetest.Options{Factory: factory(t, "dsgd"), Rounds: 2,
			Change: func(_ int, c *node.Config) { drop(c) }}
		w := nodetest.NewWorld(t, o)
		tr := openMemory(t, w.Graph.Agents()).Open(t, 0)
		_, store, err := w.Node(t, 0, tr, ledgertest.NewCrashFS(), ledger.NewMemory(w.Filter(t)))
		if !errors.As(err, &bad) || bad.Key != strings.TrimSuffix(key, " 1") {
			t.Errorf("no %s: %v", key, err)
		}
		tr.Close()
		if store != nil {
			store.Close()
		}
	}
}
