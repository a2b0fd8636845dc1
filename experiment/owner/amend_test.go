package owner_test

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"sotto/config"
	"sotto/experiment/owner"
	models "sotto/experiment/trained"
	"sotto/node"
	"sotto/node/keyfile"
	"sotto/node/roster"
	"sotto/node/wire"
	"sotto/report"
)

// A policy that was read again before an amendment came, as upkeep.md says, is the
// one that the next roster is held against: the former one made an error of a right
// order.
func TestAmendmentByThePolicyReadLast(t *testing.T) {
	files := team(t)[0]
	key, err := keyfile.New(filepath.Join(t.TempDir(), "new.key"))
	if err != nil {
		t.Fatal(err)
	}
	peer := roster.PeerID(key.Public().(ed25519.PublicKey))
	next, err := owner.AmendRoster(files, 3, owner.Changes{Add: []string{"new," + peer + ",host:9"}},
		filepath.Join(t.TempDir(), "next.toml"))
	if err != nil {
		t.Fatal(err)
	}
	text, err := next.Encode()
	if err != nil {
		t.Fatal(err)
	}
	policy, err := os.ReadFile(files.Policy)
	if err != nil {
		t.Fatal(err)
	}
	allows := strings.Replace(string(policy), "peers = [", `peers = ["`+peer+`", `, 1)
	for _, now := range []string{string(policy), allows} {
		var log bytes.Buffer
		chosen := chosen()
		chosen.Log = slog.New(slog.NewTextHandler(&log, nil))
		files.State = t.TempDir()
		m, err := owner.Join(files, chosen)
		if err != nil {
			t.Fatal(err)
		}
		l, _ := ownBooks(t, m.Owner)
		err = errors.Join(os.WriteFile(files.Policy, []byte(now), 0o600), owner.ReadAgain(m, l),
			owner.KeepAmendment(m, &node.Amendment{Round: 3, Text: text}))
		if err != nil {
			t.Fatal(err)
		}
		told := strings.Contains(log.String(), "does not allow the next roster")
		if told != (now != allows) {
			t.Errorf("the policy lists the new member: %t; log: %s", now == allows, &log)
		}
	}
}

// An amendment that no reader takes was written for all to sign: two members with one key
// or address, a key that is none.
func TestAmendmentThatIsNoRosterIsNotWritten(t *testing.T) {
	files := team(t)[0]
	r, _, err := owner.ReadRoster(files.Roster, files.RunFile)
	if err != nil {
		t.Fatal(err)
	}
	a, b := &r.Members[0], &r.Members[1]
	out := filepath.Join(t.TempDir(), "next.toml")
	for _, tc := range []struct {
		changes owner.Changes
		key     string
	}{
		{owner.Changes{Rekey: []string{a.Name + "," + b.ID}}, "member[1].id"},
		{owner.Changes{Rekey: []string{a.Name + "," + a.ID}}, "member[0].former"},
		{owner.Changes{Rekey: []string{a.Name + ",77ab"}}, "member[0].id"},
		{owner.Changes{Move: []string{a.Name + "," + b.Address}}, "member[1].address"},
	} {
		_, err := owner.AmendRoster(files, 3, tc.changes, out)
		var bad *config.Error
		if !errors.As(err, &bad) || bad.Key != tc.key {
			t.Errorf("%+v: %v", tc.changes, err)
		}
		if _, err := os.Stat(out); err == nil {
			t.Fatalf("%+v: written", tc.changes)
		}
	}
	swap := owner.Changes{Move: []string{a.Name + "," + b.Address, b.Name + "," + a.Address}}
	if _, err := owner.AmendRoster(files, 3, swap, out); err != nil {
		t.Errorf("two members change places: %v", err)
	}
}

// A new member whose amendment came too late for the others keeps to it in its state
// directory: with the next one it was told to have that amended, which nobody follows.
func TestANewMemberIsToldOfAnotherState(t *testing.T) {
	all := team(t)
	fresh := all[0]
	fresh.Key, fresh.Policy = filepath.Join(t.TempDir(), "key"), filepath.Join(t.TempDir(), "policy.toml")
	key, err := keyfile.New(fresh.Key)
	if err != nil {
		t.Fatal(err)
	}
	r, _, err := owner.ReadRoster(all[0].Roster, all[0].RunFile)
	if err != nil {
		t.Fatal(err)
	}
	policy, err := os.ReadFile(all[0].Policy)
	if err != nil {
		t.Fatal(err)
	}
	peers := strings.Replace(string(policy), "peers = [", `peers = ["`+r.Members[0].ID+`", `, 1)
	peer := roster.PeerID(key.Public().(ed25519.PublicKey))
	add := owner.Changes{Add: []string{"new," + peer + ",host:9"}}
	who := append([]owner.Files{fresh}, all[:]...)
	late, next := signedAmendment(t, all[0], 1, add, who...), signedAmendment(t, all[0], 3, add, who...)
	text, err := os.ReadFile(late)
	if err != nil {
		t.Fatal(err)
	}
	fresh.RunFile, fresh.State = filepath.Join(filepath.Dir(all[0].Roster), "run.toml"), t.TempDir()
	err = errors.Join(os.WriteFile(fresh.Policy, []byte(peers), 0o600),
		os.WriteFile(filepath.Join(fresh.State, "roster-1.toml"), text, 0o600))
	if err != nil {
		t.Fatal(err)
	}
	fresh.Roster = next
	var log bytes.Buffer
	chosen := chosen()
	chosen.Log = slog.New(slog.NewTextHandler(&log, nil))
	m, err := owner.Join(fresh, chosen)
	if err != nil {
		t.Fatal(err)
	}
	owner.Follow(m, nil)
	if !strings.Contains(log.String(), "start it with another --state") {
		t.Errorf("with the second amendment: %s", &log)
	}
	fresh.State = t.TempDir()
	if m, err = owner.Join(fresh, chosen); err != nil || m.Roster.Epoch.Round != 3 {
		t.Errorf("with another state: %v", err)
	}
}

// signedAmendment makes an amendment of a roster that the given members sign.
func signedAmendment(t *testing.T, from owner.Files, round uint64, c owner.Changes,
	who ...owner.Files) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "next.toml")
	r, err := owner.AmendRoster(from, round, c, path)
	for _, f := range who {
		key, e := keyfile.ReadWith(f.Key, nil)
		if e == nil {
			_, e = r.Sign(key)
		}
		err = errors.Join(err, e)
	}
	if err = errors.Join(err, r.Write(path)); err != nil {
		t.Fatal(err)
	}
	return path
}

// takePart has members take part until each ends, over changes of members, and returns
// how. Each stays who it is in every roster.
func takePart(t *testing.T, members []owner.Files, log *slog.Logger) []error {
	t.Helper()
	nets := map[int]*wire.Memory{}
	var mu sync.Mutex
	open := func(m *owner.Membership) node.Transport {
		mu.Lock()
		defer mu.Unlock()
		epoch := m.Roster.Number()
		if nets[epoch] == nil {
			nets[epoch] = wire.NewMemory(m.Roster.Size, node.MaxPayload(m.Node.Dim))
		}
		return nets[epoch].Open(m.Self)
	}
	ends := make([]error, len(members))
	var all sync.WaitGroup
	for i, f := range members {
		all.Go(func() {
			for err := node.ErrChange; errors.Is(err, node.ErrChange); f.Epoch++ {
				base := chosen()
				base.Linger, base.Log = time.Second, log
				m, joined := owner.Join(f, base)
				if err = joined; err == nil {
					d := owner.Daemon{Membership: m, State: f.State,
						Overrides: owner.Overrides{Volatile: true},
						Dial: func(ed25519.PrivateKey, int) (node.Transport, error) {
							return open(m), nil
						}}
					_, err = d.Run(context.Background())
				}
				ends[i] = err
			}
		})
	}
	all.Wait()
	return ends
}

// stateful are members of a run of six rounds with a state directory each, in which the
// first roster stands.
func stateful(t *testing.T) []owner.Files {
	t.Helper()
	three := teamOf(t, strings.Replace(ownerRun, `"ring"`, `"complete"`, 1))
	members := three[:]
	text, err := os.ReadFile(members[0].Roster)
	for i := range members {
		members[i].State = t.TempDir()
		members[i].RunFile = filepath.Join(filepath.Dir(members[i].Roster), "run.toml")
		err = errors.Join(err, os.WriteFile(filepath.Join(members[i].State, "roster-0.toml"), text, 0o600))
	}
	if err != nil {
		t.Fatal(err)
	}
	return members
}

// What SIGHUP logs about an amendment in the roster file ended the node at its next
// start, with exit code 3 for ever, and everybody waited for it. The former roster goes
// on, and a plan says why.
func TestAnAmendmentThatCannotHoldAtAStart(t *testing.T) {
	members := stateful(t)
	move := owner.Changes{Move: []string{"m1,host:9"}}
	next := signedAmendment(t, members[0], 4, move, members...)
	text, err := os.ReadFile(next)
	if err != nil {
		t.Fatal(err)
	}
	after := members[0]
	after.Roster = next
	for name, tc := range map[string]struct {
		file   string
		stored bool
		told   string // in the log and in a plan
	}{
		"too near":        {signedAmendment(t, members[0], 3, move, members...), false, "is past: round 3"},
		"unsigned":        {signedAmendment(t, members[0], 4, move), false, "not signed by every"},
		"of another":      {signedAmendment(t, after, 5, move, members...), false, "epoch.previous"},
		"of the next":     {signedAmendment(t, after, 5, move, members...), true, "looked at again when"},
		"beside the next": {signedAmendment(t, members[0], 5, move, members...), true, "another amendment"},
	} {
		f := members[0]
		f.Roster, f.State = tc.file, t.TempDir()
		first, err := os.ReadFile(members[0].Roster)
		err = errors.Join(err, os.WriteFile(filepath.Join(f.State, "roster-0.toml"), first, 0o600))
		if tc.stored {
			err = errors.Join(err, os.WriteFile(filepath.Join(f.State, "roster-1.toml"), text, 0o600))
		}
		if err != nil {
			t.Fatal(err)
		}
		var log bytes.Buffer
		base := chosen()
		base.Log = slog.New(slog.NewTextHandler(&log, nil))
		m, err := owner.Join(f, base)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if round, err := m.Proposed(); err == nil || round > 0 || !strings.Contains(err.Error(), tc.told) {
			t.Errorf("%s: a plan says round %d, %v", name, round, err)
		}
		d := owner.Daemon{Membership: m, State: f.State, Overrides: owner.Overrides{Volatile: true},
			Dial: func(ed25519.PrivateKey, int) (node.Transport, error) {
				return wire.NewMemory(3, node.MaxPayload(m.Node.Dim)).Open(m.Self), nil
			}}
		ctx, stop := context.WithCancel(context.Background())
		stop()
		if _, err := d.Run(ctx); err != nil || !strings.Contains(log.String(), tc.told) ||
			!strings.Contains(log.String(), "the former roster holds") {
			t.Errorf("%s: %v; the log: %s", name, err, &log)
		}
	}
}

// An amendment that is too near when the epoch begins which it follows is left. Who has
// left and is added again needs another state, and a plan says what the node says.
func TestAMemberReturns(t *testing.T) {
	members := stateful(t)
	after := members[0]
	after.Roster = signedAmendment(t, members[0], 4, owner.Changes{Remove: []string{"m2"}}, members[:2]...)
	run := append([]owner.Files{}, members...)
	run[0].Roster = after.Roster
	run[1].Roster = signedAmendment(t, after, 5, owner.Changes{Move: []string{"m0,host:9"}}, members[:2]...)
	for i, err := range takePart(t, run, slog.New(slog.DiscardHandler)) {
		if want := []error{nil, nil, node.ErrRemoved}[i]; !errors.Is(err, want) {
			t.Errorf("m%d ends with %v, want %v", i, err, want)
		}
	}
	papers(t, members[0].State, "in 6 rounds of owners that changed, 2 owners in its last roster, without",
		"m0 has finished 6 steps, with 1 other member in its last roster.")
	papers(t, members[2].State, "in 4 of 6 rounds of 3 owners without a server",
		"m2 left the run after 4 of 6 steps, with 2 other members.")
	key, err := keyfile.ReadWith(members[2].Key, nil)
	if err != nil {
		t.Fatal(err)
	}
	back := members[2]
	back.Roster = signedAmendment(t, after, 5, owner.Changes{Add: []string{"m2," +
		roster.PeerID(key.Public().(ed25519.PublicKey)) + ",host:3"}}, members...)
	var bad *config.Error
	if _, err := owner.Join(back, chosen()); !errors.As(err, &bad) || bad.Key != "--state" ||
		!strings.Contains(bad.Found, "has left the run at round 4") {
		t.Errorf("with the state that has left: %v", err)
	}
	back.State = t.TempDir()
	if m, err := owner.Join(back, chosen()); err != nil || m.Roster.Number() != 2 {
		t.Errorf("with another state: %v", err)
	}
}

// A node without a state that was started with an amendment too early, as node.ErrEarly
// says, is started again with the roster before, in the same directory.
func TestTheRosterBefore(t *testing.T) {
	members := stateful(t)
	f, was := members[0], members[0].Roster
	f.Roster = signedAmendment(t, f, 4, owner.Changes{Move: []string{"m1,host:9"}}, members...)
	f.State = t.TempDir()
	for _, given := range []struct{ file, holds string }{{f.Roster, "epoch 1"}, {was, "epoch 0"},
		{f.Roster, "epoch 0"}} {
		f.Roster = given.file
		m, err := owner.Join(f, chosen())
		if err != nil {
			t.Fatal(err)
		}
		round, err := m.Proposed()
		if holds := m.Holds(); err != nil || round != 0 || !strings.HasPrefix(holds, given.holds) {
			t.Errorf("%s holds, want %s; round %d is proposed, %v", holds, given.holds, round, err)
		}
		d := owner.Daemon{Membership: m, State: f.State, Overrides: owner.Overrides{Volatile: true},
			Dial: func(ed25519.PrivateKey, int) (node.Transport, error) {
				return wire.NewMemory(3, node.MaxPayload(m.Node.Dim)).Open(m.Self), nil
			}}
		ctx, stop := context.WithCancel(context.Background())
		stop()
		if _, err := d.Run(ctx); err != nil {
			t.Error(err)
		}
	}
}

// papers looks at card and page of a state directory: those of a member that had left at
// round 40 of 200 said that it had finished 200 rounds.
func papers(t *testing.T, state, card, lead string) {
	t.Helper()
	m, err := models.Load(state, "mean")
	if err != nil {
		t.Fatal(err)
	}
	text, err := m.Card()
	if err != nil || !strings.Contains(string(text), card) {
		t.Errorf("the card lacks %q: %s, %v", card, text, err)
	}
	page, err := report.Node("4", state)
	if err != nil || !strings.Contains(string(page), lead) {
		at := max(strings.Index(string(page), `class="lead"`), 0)
		t.Errorf("the page lacks %q: %.300s, %v", lead, page[at:], err)
	}
}
