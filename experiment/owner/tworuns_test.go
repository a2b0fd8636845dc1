package owner_test

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"sotto/agent"
	"sotto/experiment"
	"sotto/experiment/owner"
	"sotto/node"
	"sotto/node/keyfile"
	"sotto/node/roster"
	"sotto/node/wire"
)

// otherRun makes another run for the same members, their keys and policies.
func otherRun(t *testing.T, members [3]owner.Files) [3]owner.Files {
	t.Helper()
	check := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	path := filepath.Join(filepath.Dir(members[0].Roster), "other.toml")
	check(os.WriteFile(path, []byte(strings.Replace(ownerRun, "rounds = 6", "rounds = 20", 1)), 0o600))
	f, b, err := experiment.ReadBytes(path)
	check(err)
	r, err := roster.New("other.toml", b, 3,
		&roster.Terms{Missing: node.Wait, Deadline: "1m", Patience: "24h"})
	check(err)
	var keys [3]ed25519.PrivateKey
	for i := range members {
		keys[i], err = keyfile.Read(members[i].Key)
		check(err)
		check(r.Add(fmt.Sprint("m", i), roster.PeerID(keys[i].Public().(ed25519.PublicKey)),
			fmt.Sprint("host:", i+1)))
		members[i].Roster = filepath.Join(filepath.Dir(path), "other-roster.toml")
	}
	g, err := f.GraphFor(r.MembersSeed())
	check(err)
	r.Weigh(g)
	for i := range keys {
		_, err := r.Sign(keys[i])
		check(err)
	}
	check(r.Write(members[0].Roster))
	return members
}

// ending is a transport that ends a run after a number of frames.
type ending struct {
	node.Transport
	left *atomic.Int64
	end  func()
}

func (e ending) Send(ctx context.Context, to agent.ID, frame []byte) error {
	if e.left.Add(-1) == 0 {
		e.end()
	}
	return e.Transport.Send(ctx, to, frame)
}

// allOf runs all members' daemons, until one has sent so many frames; -1: to the end.
// It returns what they have logged.
func allOf(t *testing.T, members [3]owner.Files, states string, frames int64) string {
	t.Helper()
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	var log bytes.Buffer
	var left atomic.Int64
	left.Store(frames)
	net := wire.NewMemory(3, 1<<20)
	var all sync.WaitGroup
	c := chosen()
	c.Log = slog.New(slog.NewTextHandler(&log, nil)) // which locks
	for i := range members {
		m, err := owner.Join(members[i], c)
		if err != nil {
			t.Fatal(err)
		}
		d := owner.Daemon{Membership: m, State: filepath.Join(states, m.Name()),
			Overrides: owner.Overrides{Volatile: true},
			Dial: func(ed25519.PrivateKey, int) (node.Transport, error) {
				return ending{net.Open(agent.ID(i)), &left, stop}, nil
			}}
		all.Go(func() {
			if _, err := d.Run(ctx); err != nil && !errors.Is(err, context.Canceled) {
				t.Error(err)
			}
		})
	}
	all.Wait()
	return log.String()
}

// Members stop in one run, make another one on the same ledgers, and go on with the
// first. What their checkpoints hold of each other is from before the other run: nobody
// is said to be rolled back. Whose ledger is put back to before the other run is.
func TestRunsThatShareALedger(t *testing.T) {
	for _, back := range []bool{false, true} {
		members := team(t)
		first, second := t.TempDir(), t.TempDir()
		allOf(t, members, first, 30)
		ledger := filepath.Join(filepath.Dir(members[1].Policy), "ledger1")
		old := filepath.Join(t.TempDir(), "ledger1")
		if err := os.CopyFS(old, os.DirFS(ledger)); err != nil {
			t.Fatal(err)
		}
		allOf(t, otherRun(t, members), second, -1)
		for i := range members { // as after a kill, before the last marks were written
			if err := os.Remove(filepath.Join(first, fmt.Sprint("m", i), "heads.json")); err != nil {
				t.Fatal(err)
			}
		}
		if back {
			if err := errors.Join(os.RemoveAll(ledger), os.CopyFS(ledger, os.DirFS(old))); err != nil {
				t.Fatal(err)
			}
		}
		said := allOf(t, members, first, -1)
		for i := range members {
			accused := strings.Contains(said, fmt.Sprintf("\"a peer's ledger is not as it was\" peer=m%d", i))
			if want := back && i == 1; accused != want {
				t.Errorf("put back %v: m%d is said to be rolled back: %v, want %v:\n%s", back, i, accused,
					want, said)
			}
		}
	}
}
