package ledger_test

import (
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"sotto/config"
	"sotto/privacy/account"
	"sotto/privacy/ledger"
	"sotto/privacy/ledger/ledgertest"
)

// table makes a fingerprint of comma-separated text, whose first line names the columns.
func table(t testing.TB, text, key string) *ledger.Fingerprint {
	t.Helper()
	p, err := tableOf(text, key)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func tableOf(text, key string) (*ledger.Fingerprint, error) {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	x := ledger.Table{Columns: strings.Split(lines[0], ","), Lines: texts(lines[1:]), Key: key}
	x.Used = slices.Repeat([]bool{true}, len(x.Columns))
	x.Rows = func(yield func([]string) bool) {
		for _, l := range lines[1:] {
			if !yield(strings.Split(l, ",")) {
				return
			}
		}
	}
	return ledger.NewTableFingerprint([]byte(secret), x)
}

var _ iter.Seq[[]byte] = texts(nil)

const patients = "id,age,pressure,class\n1,63,145.5,yes\n2,41,130,no\n3,57,-1.25e-2,yes\n"

// exports are the same patients, written otherwise.
var exports = map[string]string{
	"more zeros": "id,age,pressure,class\n1,63.0,145.50,yes\n2,41.0,130.00,no\n3,57.0,-0.0125,yes\n",
	"exponents": "id,age,pressure,class\n1,6.3e1,1.455E+2,yes\n2,4.1e+01,13e1,no\n" +
		"3,570e-1,-1.25E-02,yes\n",
	"blanks and signs": "id,age,pressure,class\n 1 , +63 ,145.5 , yes\n2,41,130,no\n3,57,-.0125,yes\n",
	"line ends":        "id,age,pressure,class\n1,63,145.5,yes\r\n2,41,130,no\r\n3,57,-1.25e-2,yes\r\n",
	"order of rows":    "id,age,pressure,class\n3,57.0,-1.25e-2,yes\n1,63.0,145.5,yes\n2,41.0,130,no\n",
	"order of columns": "class,pressure,age,id\nyes,145.5,63,1\nno,130,41,2\nyes,-1.25e-2,57,3\n",
	"a column more": "id,age,pressure,class,visit\n1,63,145.5,yes,2026\n2,41,130,no,2026\n" +
		"3,57,-1.25e-2,yes,2026\n",
	"names in capitals": "ID,AGE,Pressure,CLASS\n1,63.0,145.5,yes\n2,41.0,130,no\n3,57.0,-1.25e-2,yes\n",
	"one patient left":  "id,age,pressure,class\n2,41.000,130,no\n",
}

// The same patients in a new export had a fresh budget: 63.0 for 63, other line ends,
// another order, a column more. They are recognised.
func TestReExportIsRecognised(t *testing.T) {
	for name, text := range exports {
		if !overlaps(t, table(t, patients, ""), table(t, text, "")) {
			t.Errorf("%s: not recognised", name)
		}
	}
	for name, text := range map[string]string{
		"other people": "id,age,pressure,class\n4,63,145.5,yes\n5,41,130,no\n",
		"other digits": "id,age,pressure,class\n1,630,145.5,yes\n",
		"other sign":   "id,age,pressure,class\n1,-63,145.5,yes\n",
		"other column": "id,age,weight,class\n1,63.0,145.5,yes\n",
	} {
		if overlaps(t, table(t, patients, ""), table(t, text, "")) {
			t.Errorf("%s: taken for the same people", name)
		}
	}
}

// Numbers are equal as texts when their values are, exactly.
func TestCanonicalNumbers(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		n := rapid.Int64Range(-1e9, 1e9).Draw(rt, "n")
		k := rapid.IntRange(0, 6).Draw(rt, "places")
		zeros := strings.Repeat("0", rapid.IntRange(0, 3).Draw(rt, "zeros"))
		a := fmt.Sprintf("%de-%d", n, k)
		b := fmt.Sprintf("%d%se-%d", n, zeros, k+len(zeros))
		m := rapid.Int64Range(-1e9, 1e9).Draw(rt, "m")
		c := fmt.Sprintf("%de-%d", m, k)
		x, y, z := table(t, "v\n"+a, ""), table(t, "v\n"+b, ""), table(t, "v\n"+c, "")
		if !overlaps(t, x, y) || overlaps(t, x, z) != (n == m) {
			rt.Fatalf("%s, %s and %s", a, b, c)
		}
	})
}

func population(name string) ledger.Genesis {
	g := genesis()
	g.Population = name
	return g
}

// shelf is an owner's folder of ledgers.
type shelf struct {
	t   testing.TB
	dir string
	o   ledger.Options
}

// use charges a table once, and returns the ledger's folder and why it was.
func (s shelf) use(text, name string, anew bool) (string, ledger.Found, error) {
	s.t.Helper()
	p := table(s.t, text, "")
	looked, lookErr := ledger.Find(s.dir, p, population(name), anew, s.o)
	f, found, err := ledger.OpenFor(s.dir, p, population(name), anew, s.o)
	if (err == nil) != (lookErr == nil) || err == nil &&
		(looked.Dir != found.Dir || looked.Match != found.Match) {
		s.t.Fatalf("found %+v, %v; opened %+v, %v", looked, lookErr, found, err)
	}
	if err != nil {
		return "", found, err
	}
	charge(s.t, f, gaussian(s.t, 1e3), 1)
	closed(s.t, f)
	verified(s.t, f.Dir(), s.o)
	return f.Dir(), found, nil
}

func newShelf(t testing.TB) shelf { return shelf{t, t.TempDir() + "/policy", options()} }

// Six exports of the same patients made six ledgers. A population has one, whatever the
// file, and who is not recognised is charged to it with a warning.
func TestOneLedgerForAPopulation(t *testing.T) {
	s := newShelf(t)
	first, found, err := s.use(patients, "clinic", false)
	if err != nil || found.Match != ledger.Fresh || found.Warning() != "" {
		t.Fatalf("%+v, %v", found, err)
	}
	n := uint64(1)
	for name, text := range exports {
		n++
		if dir, found, err := s.use(text, "clinic", false); err != nil || dir != first ||
			found.Match != ledger.ByRecords {
			t.Errorf("%s: %+v, %v", name, found, err)
		}
	}
	const rounded = "age,pressure\n60,140\n40,130\n"
	dir, found, err := s.use(rounded, "clinic", false)
	if err != nil || dir != first || found.Match != ledger.ByName || found.Warning() == "" {
		t.Errorf("an export that matches nothing: %+v, %v", found, err)
	}
	if _, found, _ = s.use(rounded, "clinic", false); found.Match != ledger.ByRecords {
		t.Errorf("the same again: %+v", found)
	}
	if r := verified(t, first, s.o); r.Charges != n+2 || r.Genesis.Population != "clinic" {
		t.Errorf("%d charges of %q, want %d", r.Charges, r.Genesis.Population, n+2)
	}
	other, found, err := s.use("age,pressure\n1,2\n", "other clinic", false)
	if err != nil || other == first || found.Match != ledger.Fresh {
		t.Errorf("another population: %+v, %v", found, err)
	}
	if dir, found, err := s.use(exports["more zeros"], "renamed", false); err != nil || dir != first ||
		found.Match != ledger.Elsewhere || found.Warning() == "" {
		t.Errorf("a renamed population: %+v, %v", found, err)
	}
	if _, _, err := s.use(exports["more zeros"], "other clinic", false); !errors.Is(err, ledger.ErrDataset) {
		t.Errorf("people of one population under the name of another with a ledger: %v", err)
	}
}

// A new ledger for a population that has one takes the owner's word, which both ledgers
// and so their statements keep; records that were charged before stay where they were.
func TestNewPopulationIsRecorded(t *testing.T) {
	s := newShelf(t)
	first, _, err := s.use(patients, "clinic", false)
	if err != nil {
		t.Fatal(err)
	}
	if dir, found, err := s.use(exports["more zeros"], "clinic", true); err != nil || dir != first {
		t.Errorf("the owner's word stands against the records: %+v, %v", found, err)
	}
	const others = "id,age,pressure,class\n9,20,90,no\n"
	second, found, err := s.use(others, "clinic", true)
	if err != nil || second == first || found.Match != ledger.Anew || found.Warning() == "" {
		t.Fatalf("%+v, %v", found, err)
	}
	for _, dir := range []string{first, second} {
		if r := verified(t, dir, s.o); len(r.Overrides) != 1 || !strings.Contains(r.Overrides[0],
			"(new-population)") || strings.Contains(r.Overrides[0], "clinic") {
			t.Errorf("overrides %q", r.Overrides)
		}
	}
	for text, want := range map[string]string{patients: first, others: second,
		"id,age,pressure,class\n10,33,80,no\n": second} {
		if dir, found, err := s.use(text, "clinic", false); err != nil || dir != want {
			t.Errorf("%q: %+v, %v", text, found, err)
		}
	}
}

// Ledgers from before populations are adopted by the records that they hold, and do not
// let a file that they do not recognise begin anew.
func TestNamelessLedgerIsAdopted(t *testing.T) {
	s := newShelf(t)
	lines := strings.Split(strings.TrimSpace(patients), "\n")[1:]
	f, _, err := ledger.OpenFor(s.dir, people(t, lines...), genesis(), false, s.o)
	if err != nil {
		t.Fatal(err)
	}
	charge(t, f, gaussian(t, 1e3), 1)
	closed(t, f)
	old := f.Dir()
	if _, _, err := s.use(exports["more zeros"], "clinic", false); !errors.Is(err, ledger.ErrDataset) ||
		!strings.Contains(err.Error(), "new-population") {
		t.Errorf("an export that the old ledger does not recognise: %v", err)
	}
	if dir, found, err := s.use(patients, "clinic", false); err != nil || dir != old ||
		found.Population != "clinic" || found.Warning() != "" {
		t.Errorf("the file that it was made for: %+v, %v", found, err)
	}
	if dir, found, err := s.use(exports["more zeros"], "clinic", false); err != nil || dir != old ||
		found.Match != ledger.ByRecords {
		t.Errorf("the export after that: %+v, %v", found, err)
	}
	if _, found, err := s.use("age\n3\n", "clinic", false); err != nil || found.Match != ledger.ByName {
		t.Errorf("a file of that name: %+v, %v", found, err)
	}
}

// A key column says how many people were charged before; a file without it is refused.
func TestKeyColumnCountsPeople(t *testing.T) {
	s := newShelf(t)
	p := table(t, patients, "id")
	f, _, err := ledger.OpenFor(s.dir, p, population("clinic"), false, s.o)
	if err != nil {
		t.Fatal(err)
	}
	closed(t, f)
	p = table(t, "id,age\n1.0,64\n2,42\n7,50\n7,51\n", "id")
	found, err := ledger.Find(s.dir, p, population("clinic"), false, s.o)
	if err != nil {
		t.Fatal(err)
	}
	if known, all := p.People(found.Charged); known != 2 || all != 3 {
		t.Errorf("%d of %d people were charged before, want 2 of 3", known, all)
	}
	var bad *config.Error
	if _, err := tableOf("age\n3\n", "id"); !errors.As(err, &bad) || bad.Key != "key_column" {
		t.Errorf("a file without the key column: %v", err)
	}
}

// What is read of a ledger is what it holds, and reading changes nothing.
func TestBooksAreTheLedger(t *testing.T) {
	disk, last, _ := small(t)
	before := disk.Changes
	o := crashOptions(disk, last)
	b, err := ledger.Read(crashDir, o)
	if err != nil || disk.Changes != before {
		t.Fatalf("%v, %d changes", err, disk.Changes-before)
	}
	filter, exhausted, err := b.Filter(b.Genesis().Budget)
	if err != nil || exhausted {
		t.Fatal(exhausted, err)
	}
	f, err := ledger.Open(crashDir, o)
	if err != nil {
		t.Fatal(err)
	}
	x, err1 := f.Spent()
	y, err2 := b.Spent()
	if err1 != nil || err2 != nil || x != y || f.Total() != b.Total() || f.Genesis().ID != b.Genesis().ID ||
		f.Run("").Count != b.Run("").Count {
		t.Errorf("%+v and %+v", x, y)
	}
	for {
		_, err := f.Charge(gaussian(t, 100))
		if mine := filter.Admit(gaussian(t, 100), 1); (err == nil) != (mine == nil) {
			t.Fatalf("the ledger says %v, its books %v", err, mine)
		}
		if err != nil {
			if !errors.Is(err, account.ErrExhausted) {
				t.Fatal(err)
			}
			break
		}
	}
}

// Whatever remains of an interrupted beginning beside another ledger, the next one
// succeeds, and both say so.
func TestNewPopulationCrashes(t *testing.T) {
	first, others := table(t, patients, ""), table(t, "id,age\n9,20\n", "")
	for at := 1; ; at++ {
		disk := ledgertest.NewCrashFS()
		o := crashOptions(disk, 0)
		f, _, err := ledger.OpenFor("policy", first, population("clinic"), false, o)
		if err != nil {
			t.Fatal(err)
		}
		closed(t, f)
		disk.CrashAt = disk.Changes + at
		_, _, err = ledger.OpenFor("policy", others, population("clinic"), true, o)
		if err == nil {
			break
		}
		if !errors.Is(err, ledgertest.ErrCrashed) {
			t.Fatal(err)
		}
		for mode := range 4 {
			o.FS = disk.Recover(func(n int) int { return mode % n })
			for range 2 {
				f, _, err := ledger.OpenFor("policy", others, population("clinic"), true, o)
				if err != nil {
					t.Fatalf("change %d: %v", at, err)
				}
				closed(t, f)
				if r := verified(t, f.Dir(), o); len(r.Overrides) != 1 {
					t.Fatalf("change %d: overrides %q", at, r.Overrides)
				}
			}
		}
	}
}

// A table that cannot be read is refused, whatever it lacks.
func TestTableRefuses(t *testing.T) {
	cells := func(rows ...[]string) iter.Seq[[]string] { return slices.Values(rows) }
	whole := func() ledger.Table {
		return ledger.Table{Lines: texts([]string{"1,2"}), Rows: cells([]string{"1", "2"}),
			Columns: []string{"a", "b"}, Used: []bool{true, false}}
	}
	if _, err := ledger.NewTableFingerprint([]byte(secret), whole()); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		key  string
		edit func(x *ledger.Table)
	}{
		"no lines":  {"records", func(x *ledger.Table) { x.Lines = nil }},
		"no rows":   {"rows", func(x *ledger.Table) { x.Rows = nil }},
		"short":     {"rows", func(x *ledger.Table) { x.Rows = cells([]string{"1", "2"}, []string{"1"}) }},
		"empty":     {"rows", func(x *ledger.Table) { x.Rows = cells(nil) }},
		"long":      {"rows", func(x *ledger.Table) { x.Rows = cells([]string{"1", "2", "3"}) }},
		"unused":    {"used", func(x *ledger.Table) { x.Used = nil }},
		"less used": {"used", func(x *ledger.Table) { x.Used = []bool{true} }},
		"no key":    {"key_column", func(x *ledger.Table) { x.Key = "c" }},
	} {
		x := whole()
		c.edit(&x)
		var bad *config.Error
		_, err := ledger.NewTableFingerprint([]byte(secret), x)
		if !errors.As(err, &bad) || bad.Key != c.key {
			t.Errorf("%s: %v, want a config.Error on %s", name, err, c.key)
		}
	}
}
