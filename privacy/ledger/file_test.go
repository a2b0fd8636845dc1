package ledger_test

import (
	"bytes"
	"crypto/ed25519"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"sotto/config"
	"sotto/privacy/account"
	"sotto/privacy/account/gdp"
	"sotto/privacy/ledger"
	"sotto/privacy/ledger/ledgertest"
)

// local accepts whatever file system the test's temporary directory is on.
var local = ledger.OS{AllowVolatile: true}

func key(n byte) ed25519.PrivateKey {
	if n == 1 {
		return firstKey()
	}
	return newKey(n)
}

func newKey(n byte) ed25519.PrivateKey {
	return ed25519.NewKeyFromSeed(bytes.Repeat([]byte{n}, ed25519.SeedSize))
}

// firstKey is the key of nearly all ledgers here, made once.
var firstKey = sync.OnceValue(func() ed25519.PrivateKey { return newKey(1) })

func genesis() ledger.Genesis {
	return ledger.Genesis{
		Adjacency:  account.AddRemove,
		Unit:       account.Record(),
		Budget:     account.Budget{Epsilon: 1, Delta: 1e-6},
		MinRecords: 1000,
	}
}

// options are quick: the exact Gaussian accountant answers in microseconds.
func options() ledger.Options {
	return ledger.Options{Key: key(1), Accountant: "gdp", Run: "run-1", Agent: "clinic <a>", FS: local}
}

func create(t testing.TB, dir string, o ledger.Options) *ledger.File {
	t.Helper()
	f, err := ledger.Create(dir, genesis(), o)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func reopen(t testing.TB, dir string, o ledger.Options) *ledger.File {
	t.Helper()
	f, err := ledger.Open(dir, o)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func charge(t testing.TB, l ledger.Ledger, ev account.Event, times int) (last uint64) {
	t.Helper()
	for range times {
		var err error
		if last, err = l.Charge(ev); err != nil {
			t.Fatal(err)
		}
	}
	return last
}

func closed(t testing.TB, l ledger.Ledger) {
	t.Helper()
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
}

func verified(t testing.TB, dir string, o ledger.Options) ledger.Report {
	t.Helper()
	r, err := ledger.Verify(dir, o)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestConformance(t *testing.T) {
	t.Run("Memory", func(t *testing.T) {
		ledgertest.Run(t, func(t testing.TB, f account.Filter) ledger.Ledger { return ledger.NewMemory(f) })
	})
	for name, size := range map[string]int64{"File": 0, "File in small segments": 1000} {
		t.Run(name, func(t *testing.T) {
			ledgertest.Run(t, func(t testing.TB, f account.Filter) ledger.Ledger {
				o := options()
				o.Filter, o.SegmentSize = f, size
				return create(t, filepath.Join(t.TempDir(), "ledger"), o)
			})
		})
	}
	t.Run("File on a crashable disk", func(t *testing.T) {
		ledgertest.Run(t, func(t testing.TB, f account.Filter) ledger.Ledger {
			o := options()
			o.Filter, o.FS = f, ledgertest.NewCrashFS()
			return create(t, "ledger", o)
		})
	})
}

// A ledger goes on where it stopped, with numbers, budget and the marks of each run.
func TestReopen(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "a", "ledger")
	o := options()
	o.SegmentSize = 1000
	f := create(t, dir, o)
	f.SetRound(7)
	ev := gaussian(t, 1000)
	charge(t, f, ev, 5)
	if err := f.Override("note"); err != nil {
		t.Fatal(err)
	}
	closed(t, f)
	head := f.Head()

	o.Run, o.KnownHead, o.KnownSeq = "run-2", head, head.Seq
	f = reopen(t, dir, o)
	if seq := charge(t, f, ev, 1); seq <= head.Seq {
		t.Errorf("number %d after %d", seq, head.Seq)
	}
	charge(t, f, gaussian(t, 3000), 1)
	closed(t, f)

	var totals, kinds []string
	rotations := 0
	runs := map[string]int{}
	for _, r := range ledgertest.Records(t, f) {
		if r.Kind == ledger.Charge {
			totals = append(totals, fmt.Sprint(r.Total))
			runs[r.Run]++
			if want := map[string]uint64{"run-1": 7, "run-2": 0}[r.Run]; r.Round != want ||
				r.Agent != "clinic <a>" {
				t.Errorf("record %d is of round %d, agent %q", r.Seq, r.Round, r.Agent)
			}
		}
		if r.Kind == ledger.Rotated {
			rotations++
			continue
		}
		kinds = append(kinds, string(r.Kind))
	}
	if got := strings.Join(totals, " "); got != "1 2 3 4 5 6 1" {
		t.Errorf("totals %s", got)
	}
	if runs["run-1"] != 5 || runs["run-2"] != 2 {
		t.Errorf("charges by run: %v", runs)
	}
	if got := strings.Join(kinds, " "); got !=
		"open charge charge charge charge charge override close open charge charge close" {
		t.Errorf("kinds %s", got)
	}
	r := verified(t, dir, o)
	if r.Charges != 7 || r.LastSeq != f.Head().Seq || r.Head != f.Head().String() || r.Signatures != 3 ||
		r.Claims != 2 || r.Segments < 3 || r.Segments != rotations+1 || r.Torn != 0 {
		t.Errorf("report %+v", r)
	}
	if !slices.Equal(r.Overrides, []string{"note"}) {
		t.Errorf("overrides %q", r.Overrides)
	}
	// sqrt(6/1000^2 + 1/3000^2), converted by the exact Gaussian profile (Balle, Wang
	// 2018)
	if mu := 0.0024721; r.Spent.Accountant != "gdp" ||
		r.Spent.Epsilon.Upper > gdp.Epsilon(mu*1.0001, 1e-6) ||
		r.Spent.Epsilon.Upper < gdp.Epsilon(mu*0.9999, 1e-6) {
		t.Errorf("spent %+v", r.Spent)
	}
}

func TestCreateRefuses(t *testing.T) {
	dir := t.TempDir()
	for name, edit := range map[string]func(g *ledger.Genesis, o *ledger.Options){
		"budget.epsilon": func(g *ledger.Genesis, _ *ledger.Options) { g.Budget.Epsilon = 0 },
		"budget.delta":   func(g *ledger.Genesis, _ *ledger.Options) { g.Budget.Delta = 1 },
		"min_records":    func(g *ledger.Genesis, _ *ledger.Options) { g.MinRecords = 0 },
		"adjacency":      func(g *ledger.Genesis, _ *ledger.Options) { g.Adjacency = 0 },
		"unit.kind":      func(g *ledger.Genesis, _ *ledger.Options) { g.Unit = account.Unit{} },
		"key":            func(_ *ledger.Genesis, o *ledger.Options) { o.Key = nil },
		"accountant":     func(_ *ledger.Genesis, o *ledger.Options) { o.Accountant = "guess" },
		"segment_size":   func(_ *ledger.Genesis, o *ledger.Options) { o.SegmentSize = -1 },
		"run":            func(_ *ledger.Genesis, o *ledger.Options) { o.Run = strings.Repeat("r", 257) },
		"agent":          func(_ *ledger.Genesis, o *ledger.Options) { o.Agent = "\xff" },
	} {
		g, o := genesis(), options()
		edit(&g, &o)
		_, err := ledger.Create(filepath.Join(dir, name), g, o)
		var bad *config.Error
		if !errors.As(err, &bad) || bad.Key != name {
			t.Errorf("%s: %v", name, err)
		}
	}
	// delta = 1/n, the smallest that may publish a record
	g := genesis()
	g.Budget.Delta = 1e-3
	o := options()
	if _, err := ledger.Create(dir, g, o); err == nil {
		t.Error("delta 1/n was accepted")
	}
	o.AcceptDelta = true
	f, err := ledger.Create(dir, g, o)
	if err != nil {
		t.Fatal(err)
	}
	closed(t, f)
	if r := verified(t, dir, o); len(r.Overrides) != 1 || !strings.Contains(r.Overrides[0], "delta 0.001") {
		t.Errorf("overrides %q", r.Overrides)
	}
	if _, err := ledger.Create(dir, genesis(), o); !errors.Is(err, fs.ErrExist) {
		t.Errorf("create over a ledger: %v", err)
	}
	if _, err := ledger.Open(filepath.Join(dir, "none"), o); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("open of nothing: %v", err)
	}
}

func TestChargeRefuses(t *testing.T) {
	f := create(t, t.TempDir(), options())
	defer closed(t, f)
	head := f.Head()
	other := gaussian(t, 10)
	other.Adjacency = account.ReplaceOne
	group := gaussian(t, 10)
	group.Unit = account.Group(3)
	big := gaussian(t, 10)
	big.Oracle = strings.Repeat("x", 1<<20)
	for name, ev := range map[string]account.Event{"event.adjacency": other, "event.unit": group,
		"event": big} {
		_, err := f.Charge(ev)
		var bad *config.Error
		if !errors.As(err, &bad) || bad.Key != name {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := f.Charge(account.NonPrivate("why")); !errors.Is(err, account.ErrExhausted) {
		t.Errorf("a non-private answer: %v", err)
	}
	for _, note := range []string{"", "\xff", strings.Repeat("n", 4097)} {
		if err := f.Override(note); err == nil {
			t.Errorf("note of %d bytes accepted", len(note))
		}
	}
	if f.Head() != head {
		t.Error("a refusal changed the ledger")
	}
}

func TestLockExcludes(t *testing.T) {
	dir := t.TempDir()
	o := options()
	f := create(t, dir, o)
	_, err := ledger.Open(dir, o)
	if !errors.Is(err, ledger.ErrLocked) ||
		!strings.Contains(err.Error(), fmt.Sprintf("pid %d boot ", os.Getpid())) {
		t.Errorf("second open: %v", err)
	}
	if _, err := ledger.Create(dir, genesis(), o); !errors.Is(err, ledger.ErrLocked) {
		t.Errorf("create in an open ledger: %v", err)
	}
	closed(t, f)
	closed(t, reopen(t, dir, o))
}

func TestOwnerKeys(t *testing.T) {
	dir := t.TempDir()
	o := options()
	closed(t, create(t, dir, o))
	o.Key = key(2)
	if _, err := ledger.Open(dir, o); !errors.Is(err, ledger.ErrKey) {
		t.Errorf("open with another key: %v", err)
	}
	o.PublicKey = key(2).Public().(ed25519.PublicKey)
	if _, err := ledger.Verify(dir, o); !errors.Is(err, ledger.ErrKey) {
		t.Errorf("verify for another owner: %v", err)
	}
	o.PublicKey = key(1).Public().(ed25519.PublicKey)
	verified(t, dir, o)
}

func TestVolatileFileSystemRefused(t *testing.T) {
	const shm = "/dev/shm"
	if _, err := os.Stat(shm); err != nil {
		t.Skip("needs " + shm)
	}
	dir, err := os.MkdirTemp(shm, "sotto")
	if err != nil {
		t.Skip(err)
	}
	defer os.RemoveAll(dir)
	o := options()
	o.FS = nil
	if _, err := ledger.Create(dir, genesis(), o); !errors.Is(err, ledger.ErrDurability) {
		t.Errorf("a ledger in memory: %v", err)
	}
}
