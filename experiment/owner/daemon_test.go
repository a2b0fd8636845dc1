package owner_test

import (
	"context"
	"crypto/ed25519"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"sotto/agent"
	"sotto/config"
	"sotto/data"
	"sotto/experiment"
	"sotto/experiment/owner"
	"sotto/internal/jsonfloat"
	"sotto/node"
	"sotto/node/keyfile"
	"sotto/node/roster"
	"sotto/node/wire"
	"sotto/privacy/ledger"
)

// team makes the files of three members, who all have signed, and says which are whose.
func team(t *testing.T) [3]owner.Files { return teamOf(t, ownerRun) }

// teamOf is team with a run file of its own.
func teamOf(t *testing.T, text string) [3]owner.Files {
	t.Helper()
	check := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	dir := t.TempDir()
	at := func(format string, args ...any) string { return filepath.Join(dir, fmt.Sprintf(format, args...)) }
	check(os.WriteFile(at("run.toml"), []byte(text), 0o600))
	f, b, err := experiment.ReadBytes(at("run.toml"))
	check(err)
	r, err := roster.New("run.toml", b, f.Topology.Agents,
		&roster.Terms{Missing: node.Wait, Deadline: "1m", Patience: "24h"})
	check(err)
	var members [3]owner.Files
	var keys [3]ed25519.PrivateKey
	var peers []string
	for i := range members {
		members[i] = owner.Files{Roster: at("roster.toml"), Key: at("%d.key", i),
			Data:   data.OwnFile{Path: ownTable(t)},
			Policy: at("%d.toml", i)}
		keys[i], err = keyfile.New(members[i].Key)
		check(err)
		id := roster.PeerID(keys[i].Public().(ed25519.PublicKey))
		peers = append(peers, fmt.Sprintf("%q", id))
		check(r.Add(fmt.Sprint("m", i), id, fmt.Sprint("host:", i+1)))
	}
	g, err := f.GraphFor(r.MembersSeed())
	check(err)
	r.Weigh(g)
	for i := range members {
		_, err := r.Sign(keys[i])
		check(err)
		others := append(append([]string{}, peers[:i]...), peers[i+1:]...)
		check(os.WriteFile(members[i].Policy, fmt.Appendf(nil, `version = 1
ledger = "ledger%d"
algorithms = ["dsgd", "boosting"]
peers = [%s]
minimum_batch = 5
[[dataset]]
name = "csv"
lifetime_epsilon = 5.0
lifetime_delta = 1e-3
min_records = 50
`, i, strings.Join(others, ", ")), 0o600))
	}
	check(r.Write(members[0].Roster))
	return members
}

// chosen is what every owner chooses of a node here.
func chosen() node.Config {
	return node.Config{Pace: node.Pace{Missing: node.Wait}, Log: slog.New(slog.DiscardHandler)}
}

// Three owners with nothing but their files train one model: each has the status, the
// model, a signed statement and the others' heads in its state directory, and its own
// figures for itself alone. A second start finds all done, charges nothing and keeps the
// figures of the model trained alone.
func TestDaemons(t *testing.T) {
	members := team(t)
	states := t.TempDir()
	var net *wire.Memory
	run := func(alone bool) (outcomes [3]*owner.Outcome) {
		net = nil
		var daemons [3]owner.Daemon
		for i := range members {
			m, err := owner.Join(members[i], chosen())
			if err != nil {
				t.Fatal(err)
			}
			if net == nil {
				net = wire.NewMemory(3, node.MaxPayload(m.Node.Dim))
			}
			over := net
			daemons[i] = owner.Daemon{Membership: m, State: filepath.Join(states, m.Name()),
				Overrides: owner.Overrides{Volatile: true},
				Baseline:  alone && i == 0,
				Dial: func(ed25519.PrivateKey, int) (node.Transport, error) {
					return over.Open(agent.ID(i)), nil
				}}
		}
		var all sync.WaitGroup
		for i := range daemons {
			all.Go(func() {
				var err error
				if outcomes[i], err = daemons[i].Run(context.Background()); err != nil {
					t.Error(err)
				}
			})
		}
		all.Wait()
		return outcomes
	}
	var first jsonfloat.Float
	for _, out := range run(true) {
		r := out.Result
		if r == nil || r.Charges != 6 || r.Epsilon <= 0 || r.Tests != 30 || r.Metric != "accuracy" ||
			(r.Alone != nil) != (r.Name == "m0") || !out.Status.Finished {
			t.Fatalf("outcome %+v, %+v", out, r)
		}
		if r.Alone != nil {
			first = *r.Alone
		}
		if rep, err := ledger.Verify(out.Ledger, ledger.Options{}); err != nil || rep.Charges != 6 {
			t.Errorf("ledger of %s: %+v, %v", r.Name, rep, err)
		}
	}
	statement := filepath.Join(states, "m1", owner.StatementFile)
	heads := filepath.Join(states, "m0", "heads.json")
	checkLeft(t, states, statement, heads)
	wasAside := emptied(t, heads, statement, filepath.Join(states, "m2", "heads.json"))
	for _, out := range run(false) {
		r := out.Result
		if r.Charges != 6 {
			t.Errorf("started again: %+v", r)
		}
		if rep, err := ledger.Verify(out.Ledger, ledger.Options{}); err != nil || len(rep.Overrides) != 1 {
			t.Errorf("ledger of %s: overrides %q, want it once; %v", r.Name, rep.Overrides, err)
		}
		if kept := r.Alone != nil && *r.Alone == first && r.Scores.Alone != nil &&
			r.Scores.LessAlone != nil; kept != (r.Name == "m0") {
			t.Errorf("started again without Baseline: %+v", r)
		}
	}
	wasAside()
	if _, _, err := owner.VerifyStatement(statement, "", nil); err != nil {
		t.Errorf("the statement was not written again: %v", err)
	}
}

// checkLeft looks at what three members have left in their state directories.
func checkLeft(t *testing.T, states, statement, heads string) {
	t.Helper()
	s, head, err := owner.VerifyStatement(statement, heads, nil)
	if err != nil || head.Name != "m1" || head.Claim.Head.ID != s.LedgerID {
		t.Errorf("statement of m1 %+v, head %+v, %v", s, head, err)
	}
	if _, _, err := owner.VerifyStatement(statement, statement, nil); err == nil {
		t.Error("a statement is taken for heads")
	}
	file, err := os.ReadFile(filepath.Join(filepath.Dir(statement), owner.ModelFile))
	if err != nil || s.Model != fmt.Sprintf("%x", sha256.Sum256(file)) {
		t.Errorf("the statement is of model %s, %v", s.Model, err)
	}
	b, err := os.ReadFile(filepath.Join(states, "m2", owner.StatusFile))
	var status node.Status
	if err = errors.Join(err, json.Unmarshal(b, &status)); err != nil || status.Privacy.Epsilon <= 0 {
		t.Errorf("status %s, %v", b, err)
	}
	rounds, err := os.ReadFile(filepath.Join(states, "m2", "rounds.csv"))
	if lines := strings.Count(string(rounds), "\n"); err != nil || lines != 7 {
		t.Errorf("rounds: %s, %v", rounds, err)
	}
}

// emptied leaves of files what a loss of power may leave. What it returns looks whether
// they were put aside.
func emptied(t *testing.T, paths ...string) func() {
	t.Helper()
	for _, path := range paths {
		if err := os.WriteFile(path, nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return func() {
		t.Helper()
		for _, path := range paths {
			if b, err := os.ReadFile(path + ".damaged"); err != nil || len(b) > 0 {
				t.Errorf("%s was not put aside: %v", path, err)
			}
		}
	}
}

// Who lacks a key can only plan: as the member that is named, or whom the policy does not
// list among the peers. What is not allowed or not agreed on is refused.
func TestJoin(t *testing.T) {
	members := team(t)
	for _, tc := range []struct {
		name string
		edit func(*owner.Files)
		self agent.ID
		key  string // of the error; "": none
	}{
		{"the policy's owner", func(f *owner.Files) { f.Key = "" }, 1, ""},
		{"a key", func(*owner.Files) {}, 1, ""},
		{"a stranger's name", func(f *owner.Files) { f.Key, f.Name = "", "somebody" }, 0, "member"},
	} {
		from := members[1]
		tc.edit(&from)
		m, err := owner.Join(from, chosen())
		var bad *config.Error
		switch {
		case tc.key != "" && (!errors.As(err, &bad) || bad.Key != tc.key):
			t.Errorf("%s: %v, want an error about %s", tc.name, err, tc.key)
		case tc.key == "" && (err != nil || m.Self != tc.self || m.Node.Rounds != 6):
			t.Errorf("%s: %+v, %v", tc.name, m, err)
		}
	}
	from := members[1]
	from.RunFile = filepath.Join(t.TempDir(), "other.toml")
	if err := os.WriteFile(from.RunFile, []byte(ownerRun+"# more\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := owner.Join(from, chosen()); err == nil ||
		!strings.Contains(err.Error(), "the experiment of") {
		t.Errorf("another run file: %v", err)
	}
	from.RunFile = filepath.Join(t.TempDir(), "none.toml")
	if _, err := owner.Join(from, chosen()); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("no run file: %v", err)
	}
	r, err := roster.Read(from.Roster)
	if err != nil {
		t.Fatal(err)
	}
	r.Members[2].Signature = ""
	if err := r.Write(from.Roster); err != nil {
		t.Fatal(err)
	}
	if _, err := owner.Join(members[1], chosen()); !errors.Is(err, roster.ErrUnsigned) {
		t.Errorf("unsigned: %v", err)
	}
	from = members[1]
	from.Unsigned = true
	if _, err := owner.Join(from, chosen()); err != nil {
		t.Errorf("unsigned, for a plan: %v", err)
	}
}
