package node_test

import (
	"crypto/ed25519"
	"encoding/binary"
	"errors"
	"path/filepath"
	"slices"
	"testing"
	"testing/synctest"

	"sotto/agent"
	"sotto/node"
	"sotto/node/checkpoint"
	"sotto/node/nodetest"
	"sotto/privacy/account"
	"sotto/privacy/ledger"
	"sotto/privacy/ledger/ledgertest"
)

// Two processes cannot run from one directory, and the second says who holds it.
func TestStoreIsLocked(t *testing.T) {
	dir := t.TempDir()
	fsys := ledger.OS{AllowVolatile: true}
	s, err := checkpoint.Open(dir, fsys)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := checkpoint.Open(dir, fsys); !errors.Is(err, ledger.ErrLocked) {
		t.Errorf("a second process: %v, want ErrLocked", err)
	}
	if c, err := s.Load(); c != nil || err != nil {
		t.Errorf("an empty store holds %v, %v", c, err)
	}
	want := checkpoint.Checkpoint{
		Run:      [32]byte{1},
		Self:     2,
		Round:    3,
		Head:     ledger.Head{Seq: 4, Hash: [32]byte{5}},
		Ends:     checkpoint.Ends{Exhausted: true, Done: true, Finished: true},
		Counts:   checkpoint.Counts{Missing: 6, Bytes: 7},
		State:    []byte("state"),
		Underway: checkpoint.Underway{Outbox: []byte("outbox")},
	}
	if err := s.Save(&want); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if s, err = checkpoint.Open(dir, fsys); err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	c, err := s.Load()
	if err != nil || c.Run != want.Run || c.Self != 2 || c.Round != 3 || c.Head != want.Head ||
		!c.Exhausted || !c.Done || !c.Finished ||
		c.Counts != want.Counts || string(c.State) != "state" || c.Before != nil ||
		string(c.Outbox) != "outbox" {
		t.Errorf("loaded %+v, %v", c, err)
	}
}

// BenchmarkDurable is what a round pays for durability, on the disk of TMPDIR: one
// charge, and one checkpoint of a model of 38,424 parameters with its two outboxes.
func BenchmarkDurable(b *testing.B) {
	_, key, _ := ed25519.GenerateKey(nil)
	fsys := ledger.OS{AllowVolatile: true}
	l, err := ledger.Create(filepath.Join(b.TempDir(), "ledger"), ledger.Genesis{
		Adjacency:  account.ZeroOut,
		Unit:       account.Record(),
		Budget:     account.Budget{Epsilon: 1e9, Delta: 1e-5},
		MinRecords: 100,
	}, ledger.Options{Key: key,
		FS: fsys, Accountant: "rdp"})
	if err != nil {
		b.Fatal(err)
	}
	defer l.Close()
	ev := ledgertest.Gaussian(b, 4)
	b.Run("charge", func(b *testing.B) {
		for b.Loop() {
			if _, err := l.Charge(ev); err != nil {
				b.Fatal(err)
			}
		}
	})
	s, err := checkpoint.Open(filepath.Join(b.TempDir(), "state"), fsys)
	if err != nil {
		b.Fatal(err)
	}
	defer s.Close()
	c := &checkpoint.Checkpoint{State: make([]byte, 8*38424),
		Underway: checkpoint.Underway{Before: make([]byte, 4*38424), Outbox: make([]byte, 4*38424)}}
	b.Run("checkpoint", func(b *testing.B) {
		for b.Loop() {
			if err := s.Save(c); err != nil {
				b.Fatal(err)
			}
		}
	})
}

// At a barrier an outbox is written once: the next checkpoint finds it in the other file,
// and goes without where a crash has torn that one. Elsewhere each checkpoint has both.
func TestOutboxIsWrittenOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		long := func(missing string) (fs *ledgertest.CrashFS, bytes int) {
			r := start(t, nodetest.Options{Factory: factory(t, "dsgd"), Rounds: 8,
				Change: func(i int, c *node.Config) {
					nodetest.Bare(i, c)
					c.Missing = missing
				}}, openMemory)
			r.wait(t)
			content := r.fs[0].Content("/state0/checkpoint") // of round 7, and of 8 is the other
			return r.fs[0], int(binary.LittleEndian.Uint64(content))
		}
		fs, once := long(node.Wait)
		_, twice := long(node.Proceed)
		if message := agent.MessageSize(nodetest.Dim); twice-once != message {
			t.Errorf("checkpoints of %d and %d bytes, want a difference of %d, one message", once, twice,
				message)
		}
		load := func() *checkpoint.Checkpoint {
			s, err := checkpoint.Open("/state0", fs)
			if err != nil {
				t.Fatal(err)
			}
			defer s.Close()
			c, err := s.Load()
			if err != nil || c == nil {
				t.Fatalf("%v, %v", c, err)
			}
			return c
		}
		seventh, eighth := "/state0/checkpoint", "/state0/checkpoint.2"
		if load().Round != 8 {
			t.Fatalf("the last checkpoint is of round %d", load().Round)
		}
		if b := load().Before; len(b) != agent.MessageSize(nodetest.Dim) {
			t.Errorf("the outbox before has %d bytes", len(b))
		}
		first, second := fs.Content(seventh), fs.Content(eighth)
		for name, left := range map[string]uint64{seventh: 8, eighth: 7} {
			fs.Put(seventh, first)
			fs.Put(eighth, second)
			torn := slices.Clone(fs.Content(name))
			torn[len(torn)/2] ^= 1
			fs.Put(name, torn)
			if c := load(); c.Round != left || c.Before != nil {
				t.Errorf("with %s torn, round %d has an outbox before of %d bytes, want round %d and none",
					name, c.Round, len(c.Before), left)
			}
		}
	})
}
