package ledger_test

import (
	"errors"
	"path/filepath"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"sotto/privacy/account"
	"sotto/privacy/account/gdp"
	"sotto/privacy/ledger"
	"sotto/privacy/ledger/ledgertest"
)

// The lifetime budget holds over runs: mu = 0.2 sqrt(n) may not exceed the budget's,
// whatever the filter.
func TestLifetimeBudget(t *testing.T) {
	ev := gaussian(t, 5)
	mu := gdp.Mu(1, 1e-6)
	allowed := int(mu * mu * 25)
	if allowed < 1 {
		t.Fatal("the test needs room for a charge")
	}
	for name, filter := range map[string]func() account.Filter{
		"default": func() account.Filter { return nil },
		"gdp": func() account.Filter {
			f, err := account.NewGDPFilter(account.AddRemove, account.Record(), genesis().Budget)
			if err != nil {
				t.Fatal(err)
			}
			return f
		},
	} {
		dir := filepath.Join(t.TempDir(), "ledger")
		o := options()
		o.Filter = filter()
		f := create(t, dir, o)
		count := 0
		for {
			_, err := f.Charge(ev)
			if errors.Is(err, account.ErrExhausted) {
				break
			}
			if err != nil {
				t.Fatal(err)
			}
			if count++; count > allowed {
				t.Fatalf("%s: more than %d charges", name, allowed)
			}
			closed(t, f) // each charge in a run of its own
			o.Filter = filter()
			f = reopen(t, dir, o)
		}
		if name == "gdp" && count != allowed {
			t.Errorf("%d charges, want %d", count, allowed)
		}
		closed(t, f)
		if r := verified(t, dir, o); r.Overspent || r.Charges != uint64(count) {
			t.Errorf("%s: report %+v", name, r)
		}
	}
}

// A File that is closed and opened at random admits and refuses exactly what a Memory
// with the same filter does.
func TestFileIsMemory(t *testing.T) {
	kinds := []account.Event{gaussian(t, 5), gaussian(t, 8), gaussian(t, 20), account.NoOp(),
		account.NonPrivate("x")}
	rapid.Check(t, func(rt *rapid.T) {
		filter := func() account.Filter {
			f, err := account.NewGDPFilter(account.AddRemove, account.Record(), genesis().Budget)
			if err != nil {
				rt.Fatal(err)
			}
			return f
		}
		m := ledger.NewMemory(filter())
		o := options()
		o.FS, o.Filter, o.SegmentSize = ledgertest.NewCrashFS(), filter(),
			rapid.Int64Range(1, 4000).Draw(rt, "segment")
		f := create(t, "ledger", o)
		for range rapid.IntRange(1, 30).Draw(rt, "calls") {
			if rapid.IntRange(0, 9).Draw(rt, "restart") == 0 {
				closed(t, f)
				o.Filter, o.KnownHead = filter(), f.Head()
				f = reopen(t, "ledger", o)
			}
			ev := rapid.SampledFrom(kinds).Draw(rt, "event")
			_, want := m.Charge(ev)
			if _, got := f.Charge(ev); errors.Is(got, account.ErrExhausted) !=
				errors.Is(want, account.ErrExhausted) || (got == nil) != (want == nil) {
				rt.Fatalf("file: %v, memory: %v", got, want)
			}
		}
		closed(t, f)
		sequence := func(l ledger.Ledger) (keys []string) {
			for _, r := range ledgertest.Records(t, l) {
				for range r.Count {
					if r.Kind == ledger.Charge {
						keys = append(keys, r.Event.Key())
					}
				}
			}
			return keys
		}
		if !slices.Equal(sequence(f), sequence(m)) {
			rt.Fatal("the charges differ")
		}
		if _, err := ledger.Verify("ledger", o); err != nil {
			rt.Fatal(err)
		}
	})
}

// A filter that is already exceeded by the past admits nothing; one that cannot count the
// past is refused.
func TestFilterMeetsThePast(t *testing.T) {
	dir := t.TempDir()
	o := options()
	a, b := gaussian(t, 100), gaussian(t, 200)
	f := create(t, dir, o)
	charge(t, f, a, 3)
	closed(t, f)
	o.Filter, _ = account.NewCountFilter(a, 2)
	f = reopen(t, dir, o)
	if _, err := f.Charge(a); !errors.Is(err, account.ErrExhausted) {
		t.Errorf("charge beyond the past: %v", err)
	}
	closed(t, f)
	o.Filter, _ = account.NewCountFilter(b, 2)
	if _, err := ledger.Open(dir, o); !errors.Is(err, account.ErrUnsupported) {
		t.Errorf("filter for another event: %v", err)
	}
}
