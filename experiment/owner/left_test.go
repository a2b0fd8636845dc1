package owner_test

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"sotto/agent"
	"sotto/config"
	"sotto/experiment"
	"sotto/experiment/owner"
	"sotto/node"
	"sotto/node/roster"
	"sotto/node/wire"
	"sotto/privacy"
	"sotto/privacy/account"
	"sotto/privacy/ledger"
	"sotto/tensor"
)

// ownBooks makes a ledger for an owner's run, and the options that it is opened with.
func ownBooks(t *testing.T, o *owner.Owner) (*ledger.File, ledger.Options) {
	t.Helper()
	x, err := o.Terms()
	if err != nil {
		t.Fatal(err)
	}
	_, key, _ := ed25519.GenerateKey(nil)
	opt := ledger.Options{Key: key, FS: ledger.OS{AllowVolatile: true}, Run: "this run", Accountant: "rdp"}
	l, err := ledger.Create(filepath.Join(t.TempDir(), "ledger"), ledger.Genesis{Adjacency: x.Adjacency,
		Unit: x.Unit, Budget: account.Budget{Epsilon: 50, Delta: 1e-3}, MinRecords: 100}, opt)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	return l, opt
}

// answers asks a gate until it refuses, and returns how often it answered.
func answers(t *testing.T, o *owner.Owner, l *ledger.File) (n int) {
	t.Helper()
	gate, err := o.Gate(l, "this run")
	if err != nil {
		t.Fatal(err)
	}
	return rest(t, gate)
}

func rest(t *testing.T, gate *privacy.Gate) (n int) {
	t.Helper()
	for ; ; n++ {
		err := gate.Answer(&agent.Query{Oracle: "grad", At: make(tensor.Vec, 2)}, make(tensor.Vec, 2))
		if errors.Is(err, privacy.ErrExhausted) {
			return n
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

// What a rolled-back ledger lacks counts against the run's own quota, in the process that
// finds it and in the next; more than the quota leaves nothing.
func TestRolledBackChargesCountInTheQuota(t *testing.T) {
	path := ownTable(t)
	for missing, want := range map[uint64]int{2: 4, 6: 0, 100: 0} {
		o, err := ownerOf(t, ownerRun, path)
		if err != nil {
			t.Fatal(err)
		}
		l, _ := ownBooks(t, o)
		gate, err := o.Gate(l, "this run")
		if err != nil {
			t.Fatal(err)
		}
		to := l.Head().Seq
		for range 2 {
			if err := o.RollBack(l, missing, ledger.RolledBack{Run: "this run", From: to + missing, To: to,
				Evidence: []byte("heads")}); err != nil {
				t.Fatal(err)
			}
		}
		if l.Charges("this run") != missing {
			t.Errorf("%d charges, want %d", l.Charges("this run"), missing)
		}
		again, err := ownerOf(t, ownerRun, path)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := again.Gate(l, "this run"); err != nil {
			t.Errorf("the next process: %v", err)
		}
		if n := rest(t, gate); n != want {
			t.Errorf("%d missing: %d answers in this process, want %d", missing, n, want)
		}
		if n := answers(t, again, l); n != 0 {
			t.Errorf("%d missing: %d more answers in the next process", missing, n)
		}
	}
}

// A reserve is planned for: the noise is that of the longer run, the quota admits the
// lost charges, and all of them together stay within the target. It is off by default.
func TestReserveIsPlannedFor(t *testing.T) {
	path := ownTable(t)
	terms := func(run string) (*owner.Owner, owner.Terms) {
		o, err := ownerOf(t, run, path)
		if err != nil {
			t.Fatal(err)
		}
		x, err := o.Terms()
		if err != nil {
			t.Fatal(err)
		}
		return o, x
	}
	reserved, x := terms(strings.Replace(ownerRun, "[privacy]", "[privacy]\nreserve = 3", 1))
	_, longer := terms(strings.Replace(ownerRun, "rounds = 6", "rounds = 9", 1))
	_, plain := terms(ownerRun)
	if x.Noise != longer.Noise || !(x.Noise > plain.Noise) || x.Charges != 6 || x.Reserve != 3 {
		t.Errorf("noise %g of %d charges and %d more, want %g; without %g", x.Noise, x.Charges, x.Reserve,
			longer.Noise, plain.Noise)
	}
	look, err := reserved.Outlook()
	all, err2 := reserved.WithReserve()
	if err != nil || err2 != nil || all.Upper > 2 || all.Upper < 1.9 ||
		!(float64(look.Total.Upper) < all.Upper) {
		t.Errorf("epsilon %g, with the reserve %g, target 2", float64(look.Total.Upper), all.Upper)
	}
	l, _ := ownBooks(t, reserved)
	if n := answers(t, reserved, l); n != 9 {
		t.Errorf("%d answers, want 6 and a reserve of 3", n)
	}
	for name, edit := range map[string]string{"negative": "target_epsilon = 2.0\nreserve = -1",
		"given noise": "noise_multiplier = 2.0\nreserve = 1"} {
		_, err := experiment.Parse("run.toml",
			[]byte(strings.Replace(ownerRun, "target_epsilon = 2.0", edit, 1)), nil)
		if err == nil || !strings.Contains(err.Error(), "reserve") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// together runs the members as daemons with the given states, and returns their errors.
func together(t *testing.T, members [3]owner.Files, states string) (outcomes [3]*owner.Outcome,
	errs [3]error) {
	t.Helper()
	var net *wire.Memory
	var all sync.WaitGroup
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	for i := range members {
		m, err := owner.Join(members[i], chosen())
		if err != nil {
			t.Fatal(err)
		}
		if net == nil {
			net = wire.NewMemory(3, node.MaxPayload(m.Node.Dim))
		}
		over := net
		d := owner.Daemon{Membership: m, State: filepath.Join(states, m.Name()),
			Overrides: owner.Overrides{Volatile: true},
			Dial: func(ed25519.PrivateKey, int) (node.Transport, error) {
				return over.Open(agent.ID(i)), nil
			}}
		all.Go(func() {
			if outcomes[i], errs[i] = d.Run(ctx); errs[i] != nil {
				cancel() // the others would wait
			}
		})
	}
	all.Wait()
	return outcomes, errs
}

// The same roster a second time trained 200 rounds without one answer: it is refused
// before it starts. What is left is looked up without a change of anything.
func TestSecondRunOfARosterIsRefused(t *testing.T) {
	members, states := team(t), t.TempDir()
	left := func() *owner.Left {
		t.Helper()
		m, err := owner.Join(members[0], chosen())
		if err != nil {
			t.Fatal(err)
		}
		l, _, _, err := m.Left(false)
		if err != nil {
			t.Fatal(err)
		}
		return l
	}
	before := left()
	if _, err := os.Stat(filepath.Join(filepath.Dir(members[0].Policy), "ledger0")); err == nil {
		t.Error("looking made the folder of ledgers")
	}
	if before.Found.Match != ledger.Fresh || before.Quota != 6 || before.Admits < 6 {
		t.Errorf("before: %+v", before)
	}
	if _, errs := together(t, members, states); errors.Join(errs[:]...) != nil {
		t.Fatal(errs)
	}
	after := left()
	if after.Found.Match != ledger.ByRecords || after.Quota != 0 || after.Past != 6 || after.Total != 6 ||
		after.Admits != before.Admits-6 || !(after.Spent.Upper > 1) {
		t.Errorf("after: %+v, before %+v", after, before)
	}
	if again := left(); *again != *after && again.Total != after.Total {
		t.Errorf("looking changed what is left: %+v", again)
	}
	_, errs := together(t, members, t.TempDir())
	if !errors.Is(errors.Join(errs[:]...), privacy.ErrRefused) {
		t.Errorf("the same roster with a new state: %v", errs)
	}
}

// A node whose ledger was lost is refused, and leaves nothing that a restore from the
// backup would refuse.
func TestLostLedgerIsNotBegunAnew(t *testing.T) {
	members, states := team(t), t.TempDir()
	if _, errs := together(t, members, states); errors.Join(errs[:]...) != nil {
		t.Fatal(errs)
	}
	dir := filepath.Join(filepath.Dir(members[0].Policy), "ledger0")
	secret, err := os.ReadFile(filepath.Join(dir, ".secret"))
	if err != nil {
		t.Fatal(err)
	}
	for name, left := range map[string]bool{"all of it": false, "all but the secret": true} {
		if err := os.RemoveAll(dir); err != nil {
			t.Fatal(err)
		}
		if left {
			if err := errors.Join(os.Mkdir(dir, 0o700), os.WriteFile(filepath.Join(dir, ".secret"), secret,
				0o600)); err != nil {
				t.Fatal(err)
			}
		}
		_, errs := together(t, members, states)
		if !errors.Is(errs[0], ledger.ErrRollback) {
			t.Errorf("%s is lost: %v", name, errs[0])
		}
		now, _ := os.ReadFile(filepath.Join(dir, ".secret"))
		inside, err := filepath.Glob(filepath.Join(dir, "*", "*"))
		if err != nil || len(inside) > 0 || left != bytes.Equal(now, secret) || left != (len(now) > 0) {
			t.Errorf("%s is lost: left %v, a secret of %d bytes, %v", name, inside, len(now), err)
		}
	}
}

// The same people in another file are charged to the ledger of their population.
func TestReExportIsChargedToItsPopulation(t *testing.T) {
	members := team(t)
	if _, errs := together(t, members, t.TempDir()); errors.Join(errs[:]...) != nil {
		t.Fatal(errs)
	}
	b, err := os.ReadFile(members[0].Data.Path)
	if err != nil {
		t.Fatal(err)
	}
	for name, edit := range map[string]func(string) string{
		"zeros": func(s string) string { return strings.ReplaceAll(s, ",no", ".000,no") },
		"crlf":  func(s string) string { return strings.ReplaceAll(s, "\n", "\r\n") },
		"nothing": func(string) string {
			return "x,y,class\n" + strings.Repeat("0.5,0.25,no\n1.5,.25,yes\n", 60)
		},
		"another plan": func(s string) string { return s + "7,9,no\n7,8,no\n7,10,no\n7,11,no\n" },
	} {
		files := members[0]
		files.Data.Path = filepath.Join(t.TempDir(), "export.csv")
		if err := os.WriteFile(files.Data.Path, []byte(edit(string(b))), 0o600); err != nil {
			t.Fatal(err)
		}
		m, err := owner.Join(files, chosen())
		if err != nil {
			t.Fatal(name, err)
		}
		l, _, _, err := m.Left(false)
		if name == "another plan" {
			if !errors.Is(err, privacy.ErrRefused) || !strings.Contains(err.Error(), "another plan") {
				t.Errorf("more records in the same run: %v", err)
			}
			continue
		}
		if err != nil || l.Total != 6 || (l.Found.Warning() != "") != (name == "nothing") {
			t.Errorf("%s: %+v, %v", name, l, err)
		}
	}
}

// A policy may have several populations of a data set: one has to be named, once.
func TestPopulations(t *testing.T) {
	const entry = "[[dataset]]\nname = \"csv\"\nlifetime_epsilon = 1.0\nlifetime_delta = 1e-3\n" +
		"min_records = 50\n"
	policy := func(entries ...string) (*roster.Policy, error) {
		text := "version = 1\nledger = \"l\"\nalgorithms = [\"dsgd\"]\n"
		for _, e := range entries {
			text += entry + e
		}
		return roster.ParsePolicy("policy.toml", []byte(text))
	}
	p, err := policy("", "population = \"ward\"\nkey_column = \"patient\"\n")
	if err != nil {
		t.Fatal(err)
	}
	if d, err := p.Entry("csv", "ward"); err != nil || d.KeyColumn != "patient" {
		t.Errorf("%+v, %v", d, err)
	}
	for name, want := range map[string]string{"": "csv, ward", "another": "csv, ward"} {
		var bad *config.Error
		if _, err := p.Entry("csv", name); !errors.As(err, &bad) || bad.Key != "population" ||
			!strings.Contains(bad.Allowed, want) {
			t.Errorf("population %q: %v", name, err)
		}
	}
	if _, err := p.Entry("heart-disease", ""); !errors.Is(err, privacy.ErrRefused) {
		t.Errorf("a data set without an entry: %v", err)
	}
	for name, entries := range map[string][]string{"twice": {"", ""},
		"blank": {"population = \" x\"\n"}, "control": {"population = \"a\\nb\"\n"},
		"same name": {"population = \"a\"\n", "population = \"a\"\n"}} {
		if _, err := policy(entries...); err == nil || !strings.Contains(fmt.Sprint(err), "population") {
			t.Errorf("%s: %v", name, err)
		}
	}
}
