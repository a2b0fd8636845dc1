package owner_test

import (
	"context"
	"crypto/ed25519"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"sotto/agent"
	"sotto/experiment/owner"
	"sotto/experiment/rundir"
	"sotto/node"
	"sotto/node/checkpoint"
	"sotto/node/frame"
	"sotto/node/wire"
)

// upTo carries no messages of a round and of later ones.
type upTo struct {
	node.Transport
	round uint64
}

func (u upTo) Send(ctx context.Context, to agent.ID, raw []byte) error {
	f, err := frame.Decode(raw, len(raw))
	if err != nil {
		return err
	}
	if f.Kind == frame.Messages && f.Round >= u.round {
		return node.ErrUnreachable
	}
	return u.Transport.Send(ctx, to, raw)
}

// runUpTo has members take part until all have completed so many rounds, and stops them.
func runUpTo(t *testing.T, members []owner.Files, round uint64) {
	t.Helper()
	ctx, stop := context.WithTimeout(t.Context(), time.Minute)
	defer stop()
	var net *wire.Memory
	var all sync.WaitGroup
	for _, f := range members {
		m, err := owner.Join(f, chosen())
		if err != nil {
			t.Fatal(err)
		}
		if net == nil {
			net = wire.NewMemory(m.Roster.Size, node.MaxPayload(m.Node.Dim))
		}
		over := net
		d := owner.Daemon{Membership: m, State: f.State, Overrides: owner.Overrides{Volatile: true},
			Dial: func(ed25519.PrivateKey, int) (node.Transport, error) {
				return upTo{over.Open(m.Self), round}, nil
			}}
		all.Go(func() {
			if _, err := d.Run(ctx); err != nil {
				t.Error(err)
			}
		})
	}
	lags := func(f owner.Files) bool {
		s, err := checkpoint.Take(f.State)
		return err != nil || s.Round < round
	}
	for slices.ContainsFunc(members, lags) && ctx.Err() == nil {
		time.Sleep(time.Millisecond)
	}
	if ctx.Err() != nil {
		t.Fatalf("round %d is not reached", round)
	}
	stop()
	all.Wait()
}

// A member that was restored from an early copy, and for whom nobody waits any more, left
// at once, and its statement said the charges of the copy as if they were all. It says so
// where its neighbors have not said what they know, and no sooner.
func TestARestoredMemberThatHasLeft(t *testing.T) {
	const says = "charges that a restored ledger lacks"
	members := stateful(t)
	last := &members[2]
	ledgers := filepath.Join(filepath.Dir(last.Policy), "ledger2")
	runUpTo(t, members, 2)
	copied := t.TempDir()
	if err := errors.Join(os.CopyFS(filepath.Join(copied, "state"), os.DirFS(last.State)),
		os.CopyFS(filepath.Join(copied, "ledger"), os.DirFS(ledgers))); err != nil {
		t.Fatal(err)
	}
	runUpTo(t, members, 3)
	gone := signedAmendment(t, members[0], 5, owner.Changes{Gone: []string{"m2"}}, members[:2]...)
	removed := signedAmendment(t, members[0], 5, owner.Changes{Remove: []string{"m2"}}, members[:2]...)
	restored := *last
	restored.Roster, restored.State = gone, filepath.Join(t.TempDir(), "state")
	whole := filepath.Join(t.TempDir(), "ledger")
	if err := errors.Join(os.Rename(ledgers, whole),
		os.CopyFS(restored.State, os.DirFS(filepath.Join(copied, "state"))),
		os.CopyFS(ledgers, os.DirFS(filepath.Join(copied, "ledger")))); err != nil {
		t.Fatal(err)
	}
	m, err := owner.Join(restored, chosen())
	if err != nil {
		t.Fatal(err)
	}
	d := owner.Daemon{Membership: m, State: restored.State, Overrides: owner.Overrides{Volatile: true},
		Dial: func(ed25519.PrivateKey, int) (node.Transport, error) {
			return wire.NewMemory(3, node.MaxPayload(m.Node.Dim)).Open(m.Self), nil
		}}
	out, err := d.Run(t.Context())
	if !errors.Is(err, node.ErrRemoved) || out.Result == nil || len(out.Result.Open) != 1 {
		t.Errorf("the restored member ends with %+v, %v", out, err)
	}
	if err := errors.Join(os.RemoveAll(ledgers), os.Rename(whole, ledgers)); err != nil {
		t.Fatal(err)
	}
	for i := range members {
		members[i].Roster = removed
	}
	for i, err := range takePart(t, members, chosen().Log) {
		if want := []error{nil, nil, node.ErrRemoved}[i]; !errors.Is(err, want) {
			t.Errorf("m%d ends with %v, want %v", i, err, want)
		}
	}
	for state, want := range map[string]struct {
		charges int // one each round; the copy is of round 2, and round 3 was complete
		says    bool
	}{restored.State: {2, true}, last.State: {5, false}, members[0].State: {6, false}} {
		s, err := rundir.ReadStatement(filepath.Join(state, owner.StatementFile))
		if err != nil {
			t.Fatal(err)
		}
		said := slices.ContainsFunc(s.Statement.NotCovered, func(w string) bool {
			return strings.HasPrefix(w, says)
		})
		if s.Statement.Releases != want.charges || said != want.says {
			t.Errorf("%d releases, and says so: %t, want %+v: %q", s.Statement.Releases, said, want,
				s.Statement.NotCovered)
		}
	}
}
