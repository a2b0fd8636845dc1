package ledger_test

import (
	"errors"
	"path/filepath"
	"strings"
	"testing"

	"sotto/config"
	"sotto/privacy/account"
	"sotto/privacy/ledger"
)

// A ledger by persons takes charges by persons of the same column and answers that depend
// on no data; a charge by records, or by nobody says what, bounds nothing for a person
// with several records.
func TestLedgerByPersons(t *testing.T) {
	g, dir := genesis(), filepath.Join(t.TempDir(), "l")
	g.Unit = account.Person("patient")
	f, err := ledger.Create(dir, g, options())
	if err != nil {
		t.Fatal(err)
	}
	of := func(u account.Unit) account.Event {
		ev := gaussian(t, 10)
		ev.Unit = u
		return ev
	}
	for name, u := range map[string]account.Unit{"records": account.Record(), "groups": account.Group(5),
		"owners": account.Owner(), "nobody says": {}, "another column": account.Person("ward")} {
		_, err := f.Charge(of(u))
		var bad *config.Error
		if !errors.As(err, &bad) || bad.Key != "event.unit" || !strings.Contains(err.Error(), "patient") {
			t.Errorf("%s: %v", name, err)
		}
	}
	charge(t, f, of(account.Person("patient")), 3)
	charge(t, f, account.NoOp(), 1)
	closed(t, f)
	f = reopen(t, dir, options())
	signed, err := f.Statement(ledger.About{Noise: "exact"})
	if err != nil {
		t.Fatal(err)
	}
	s := signed.Statement
	one, err := account.New("gdp", g.Adjacency, account.Record())
	if err == nil {
		err = one.Compose(gaussian(t, 10), 3)
	}
	if err != nil {
		t.Fatal(err)
	}
	// Sampled and clipped as a whole, a person costs what a record would.
	want, err := one.Epsilon(1e-6)
	if err != nil || s.Unit != "person(patient)" || s.Epsilon == nil || s.Epsilon.Upper < want.Upper ||
		s.Epsilon.Upper > want.Upper*(1+1e-6) {
		t.Errorf("statement %+v, %v; want an epsilon of %v", s, err, want.Upper)
	}
	if text := s.String(); !strings.Contains(text, "one person (all records with one id in column patient)") {
		t.Errorf("statement %q", text)
	}
	closed(t, f)
	if _, err := ledger.Verify(dir, ledger.Options{FS: local}); err != nil {
		t.Error(err)
	}
}

// A ledger by records takes no charge by persons either, though one would bound a record
// too: its figure is of records, and its owner chose no column.
func TestLedgerByRecordsRefusesPersons(t *testing.T) {
	f := create(t, t.TempDir(), options())
	defer closed(t, f)
	ev := gaussian(t, 10)
	ev.Unit = account.Person("patient")
	if _, err := f.Charge(ev); err == nil {
		t.Error("a charge by persons was taken")
	}
}

// Data with a ledger by records are not charged by persons, nor the other way round.
func TestPersonsHaveALedgerOfTheirOwn(t *testing.T) {
	policy := t.TempDir()
	byPersons := genesis()
	byPersons.Unit = account.Person("patient")
	for k, g := range []ledger.Genesis{genesis(), byPersons} {
		first, second := g, []ledger.Genesis{byPersons, genesis()}[k]
		dir := filepath.Join(policy, string(rune('a'+k)))
		f, _, err := ledger.OpenFor(dir, people(t, "a", "b"), first, false, options())
		if err != nil {
			t.Fatal(err)
		}
		closed(t, f)
		_, _, err = ledger.OpenFor(dir, people(t, "b"), second, false, options())
		if !errors.Is(err, ledger.ErrDataset) {
			t.Fatalf("a ledger of %v, then a run of %v: %v", first.Unit, second.Unit, err)
		}
		for _, want := range []string{"person(patient)", "allowed: ", "chosen once for a population",
			"forgets the charges"} {
			if !strings.Contains(err.Error(), want) {
				t.Errorf("nothing of %q in: %v", want, err)
			}
		}
	}
}
