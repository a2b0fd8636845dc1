package ledger_test

import (
	"errors"
	"fmt"
	"iter"
	"os"
	"path/filepath"
	"testing"

	"pgregory.net/rapid"

	"sotto/privacy/account"
	"sotto/privacy/ledger"
	"sotto/privacy/ledger/ledgertest"
)

func texts(records []string) iter.Seq[[]byte] {
	return func(yield func([]byte) bool) {
		for _, r := range records {
			if !yield([]byte(r)) {
				return
			}
		}
	}
}

const secret = "0123456789abcdef"

func people(t testing.TB, records ...string) *ledger.Fingerprint {
	t.Helper()
	p, err := ledger.NewFingerprint([]byte(secret), texts(records))
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func overlaps(t testing.TB, p, q *ledger.Fingerprint) bool {
	t.Helper()
	yes, err := p.Overlaps(q)
	if err != nil {
		t.Fatal(err)
	}
	return yes
}

func TestFingerprint(t *testing.T) {
	ab, ba := people(t, "a", "b"), people(t, "b", "a", "b")
	if ab.Tag() != ba.Tag() || ba.Len() != 2 {
		t.Errorf("order or repetition changes the data set: %s and %s of %d records", ab.Tag(), ba.Tag(),
			ba.Len())
	}
	if ab.Tag() == people(t, "a", "c").Tag() || ab.Tag() == people(t, "ab").Tag() {
		t.Error("two data sets have one tag")
	}
	other, err := ledger.NewFingerprint([]byte("another secret, long"), texts([]string{"a", "b"}))
	if err != nil {
		t.Fatal(err)
	}
	if other.Tag() == ab.Tag() {
		t.Error("the tag does not depend on the secret")
	}
	if _, err := ab.Overlaps(other); !errors.Is(err, ledger.ErrKey) {
		t.Errorf("overlap under two secrets: %v", err)
	}
	if _, err := ledger.NewFingerprint([]byte("short"), texts([]string{"a"})); err == nil {
		t.Error("a short secret was accepted")
	}
	if _, err := ledger.NewFingerprint([]byte(secret), texts(nil)); err == nil {
		t.Error("an empty data set was accepted")
	}
}

// Overlaps is what maps say.
func TestOverlapsIsIntersection(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		some := rapid.SliceOfN(rapid.SampledFrom([]string{"a", "b", "c", "d", "e", "f", "g", "h"}), 1, 4)
		x, y := some.Draw(rt, "x"), some.Draw(rt, "y")
		in := map[string]bool{}
		for _, r := range x {
			in[r] = true
		}
		want := false
		for _, r := range y {
			want = want || in[r]
		}
		if got := overlaps(t, people(t, x...), people(t, y...)); got != want {
			rt.Fatalf("%v and %v: %v", x, y, got)
		}
	})
}

// A ledger refuses other people's data, keeps those of all former data sets, and without
// a data set takes no charge.
func TestDataset(t *testing.T) {
	dir := t.TempDir()
	o := options()
	o.Fingerprint = people(t, "a", "b")
	ev := gaussian(t, 1000)
	f := create(t, dir, o)
	charge(t, f, ev, 1)
	closed(t, f)

	o.Fingerprint = people(t, "c", "d")
	if _, err := ledger.Open(dir, o); !errors.Is(err, ledger.ErrDataset) {
		t.Errorf("open for other data: %v", err)
	}
	// of a crash
	if err := os.WriteFile(filepath.Join(dir, "dataset-half.fp.tmp"), []byte("half"), 0o600); err != nil {
		t.Fatal(err)
	}
	o.Fingerprint = people(t, "b", "c") // a left, c came
	f = reopen(t, dir, o)
	charge(t, f, ev, 1)
	closed(t, f)
	o.Fingerprint = people(t, "a") // still charged
	f = reopen(t, dir, o)
	charge(t, f, ev, 1)
	closed(t, f)

	tags := map[string]int{}
	for _, r := range ledgertest.Records(t, f) {
		if r.Kind == ledger.Charge {
			tags[r.Dataset]++
		}
	}
	if all := people(t, "a", "b", "c").Tag(); tags[people(t, "a", "b").Tag()] != 1 || tags[all] != 2 {
		t.Errorf("charges by data set: %v", tags)
	}
	names, _ := filepath.Glob(filepath.Join(dir, "dataset-*"))
	if len(names) != 1 {
		t.Errorf("fingerprints left: %v", names)
	}
	verified(t, dir, o)

	o.Fingerprint = nil
	f = reopen(t, dir, o)
	if _, err := f.Charge(ev); !errors.Is(err, ledger.ErrDataset) {
		t.Errorf("charge without data: %v", err)
	}
	if err := f.Override("allowed"); err != nil {
		t.Error(err)
	}
	closed(t, f)

	if err := os.Remove(names[0]); err != nil {
		t.Fatal(err)
	}
	if _, err := ledger.Verify(dir, o); !errors.Is(err, ledger.ErrCorrupt) {
		t.Errorf("verify without the fingerprint: %v", err)
	}
	o.Fingerprint = people(t, "a")
	if _, err := ledger.Open(dir, o); !errors.Is(err, ledger.ErrCorrupt) {
		t.Errorf("open without the fingerprint: %v", err)
	}

	plain := t.TempDir()
	o.Fingerprint = nil
	closed(t, create(t, plain, o))
	o.Fingerprint = people(t, "a")
	if _, err := ledger.Open(plain, o); !errors.Is(err, ledger.ErrDataset) {
		t.Errorf("open of a ledger without data: %v", err)
	}
}

func TestOpenFor(t *testing.T) {
	policy := filepath.Join(t.TempDir(), "policy")
	o, ev := options(), gaussian(t, 1000)
	use := func(p *ledger.Fingerprint) string {
		t.Helper()
		f, _, err := ledger.OpenFor(policy, p, genesis(), false, o)
		if err != nil {
			t.Fatal(err)
		}
		defer closed(t, f)
		charge(t, f, ev, 1)
		return f.Dir()
	}
	first := use(people(t, "a", "b"))
	if got := use(people(t, "a", "b")); got != first {
		t.Error("the same data have a fresh budget")
	}
	if got := use(people(t, "a", "B, corrected", "new")); got != first {
		t.Error("corrected data have a fresh budget")
	}
	if got := use(people(t, "new")); got != first {
		t.Error("a record that came later has a fresh budget")
	}
	if got := use(people(t, "b")); got != first {
		t.Error("a record that left has a fresh budget")
	}
	second := use(people(t, "x", "y"))
	if second == first {
		t.Error("other data share the budget")
	}
	if r := verified(t, first, o); r.Charges != 5 {
		t.Errorf("%d charges, want 5", r.Charges)
	}
	if _, _, err := ledger.OpenFor(policy, people(t, "a", "x"), genesis(), false, o); !errors.Is(err,
		ledger.ErrDataset) {
		t.Errorf("data of two ledgers: %v", err)
	}
	g := genesis()
	g.Adjacency = account.ReplaceOne
	if _, _, err := ledger.OpenFor(policy, people(t, "a"), g, false, o); !errors.Is(err, ledger.ErrDataset) {
		t.Errorf("another adjacency: %v", err)
	}
	if _, _, err := ledger.OpenFor(policy, nil, genesis(), false, o); err == nil {
		t.Error("no data were accepted")
	}
	if err := os.Remove(filepath.Join(second, "genesis.json")); err != nil {
		t.Fatal(err)
	}
	if _, _, err := ledger.OpenFor(policy, people(t, "x"), genesis(), false, o); !errors.Is(err,
		ledger.ErrCorrupt) {
		t.Errorf("a lost genesis opened a fresh budget: %v", err)
	}
}

// Whatever remains of an interrupted OpenFor, the next one succeeds, and charges that
// were answered stay under one budget.
func TestOpenForCrashes(t *testing.T) {
	ev := gaussian(t, 1000)
	for at := 1; ; at++ {
		disk := ledgertest.NewCrashFS()
		o := crashOptions(disk, 0)
		disk.CrashAt = at
		answered := 0
		err := func() error {
			for _, p := range []*ledger.Fingerprint{people(t, "a"), people(t, "a", "b")} {
				f, _, err := ledger.OpenFor("policy", p, genesis(), false, o)
				if err != nil {
					return err
				}
				if _, err := f.Charge(ev); err != nil {
					return err
				}
				answered++
				if err := f.Close(); err != nil {
					return err
				}
			}
			return nil
		}()
		if err == nil {
			break
		}
		if !errors.Is(err, ledgertest.ErrCrashed) {
			t.Fatalf("change %d: %v", at, err)
		}
		for mode := range 8 {
			o.FS = disk.Recover(func(n int) int { return mode % n })
			f, _, err := ledger.OpenFor("policy", people(t, "a", "b"), genesis(), false, o)
			if err != nil {
				t.Fatalf("change %d, mode %d: %v", at, mode, err)
			}
			if n := len(ledgertest.Charges(t, f)); n < answered {
				t.Fatalf("change %d, mode %d: %d charges for %d answers", at, mode, n, answered)
			}
		}
	}
}

func ExampleOpenFor() {
	dir, _ := os.MkdirTemp("", "sotto")
	defer os.RemoveAll(dir)
	patients, _ := ledger.NewFingerprint([]byte("a secret of the owner"),
		texts([]string{"patient 1", "patient 2"}))
	o := ledger.Options{Key: key(1), FS: ledger.OS{AllowVolatile: true}}
	g := ledger.Genesis{
		Adjacency:  account.AddRemove,
		Unit:       account.Record(),
		MinRecords: 100,
		Budget:     account.Budget{Epsilon: 1, Delta: 1e-5},
	}

	ev, _ := account.Gaussian(20, 1)
	for range 2 { // two runs on the same data share one budget
		l, _, err := ledger.OpenFor(dir, patients, g, false, o)
		if err != nil {
			fmt.Println(err)
			return
		}
		l.Charge(ev)
		s, _ := l.Statement(ledger.About{Noise: "exact"})
		fmt.Printf("releases %d, epsilon %.3f\n", s.Statement.Releases, s.Statement.Epsilon.Upper)
		l.Close()
	}
	// Output:
	// releases 1, epsilon 0.160
	// releases 2, epsilon 0.234
}
