// Package ledgertest is the conformance suite of ledgers, and a file system that crashes.
package ledgertest

import (
	"errors"
	"sync"
	"testing"

	"sotto/privacy/account"
	"sotto/privacy/ledger"
)

// Run checks the contract of ledger.Ledger. open returns a fresh, empty ledger with a
// budget; a nil filter is a budget that no test here reaches. The suite closes what it
// opens.
func Run(t *testing.T, open func(t testing.TB, filter account.Filter) ledger.Ledger) {
	t.Run("charges", func(t *testing.T) { charges(t, open(t, nil)) })
	t.Run("overrides", func(t *testing.T) { overrides(t, open(t, nil)) })
	t.Run("budget", func(t *testing.T) { budget(t, open) })
	t.Run("bad event", func(t *testing.T) { badEvent(t, open(t, nil)) })
	t.Run("records are a snapshot", func(t *testing.T) { snapshot(t, open(t, nil)) })
	t.Run("head", func(t *testing.T) { head(t, open(t, nil)) })
	t.Run("close", func(t *testing.T) { closing(t, open(t, nil)) })
	t.Run("concurrency", func(t *testing.T) { concurrent(t, open(t, nil)) })
}

// Gaussian returns an unsampled Gaussian event.
func Gaussian(t testing.TB, noiseMultiplier float64) account.Event {
	t.Helper()
	ev, err := account.Gaussian(noiseMultiplier, 1)
	if err != nil {
		t.Fatal(err)
	}
	return ev
}

// Records collects what l yields.
func Records(t testing.TB, l ledger.Ledger) (all []ledger.Record) {
	t.Helper()
	for r, err := range l.Records() {
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, r)
	}
	return all
}

// Charges maps the number of every charge of l to its event.
func Charges(t testing.TB, l ledger.Ledger) map[uint64]string {
	t.Helper()
	m := map[uint64]string{}
	for _, r := range Records(t, l) {
		for i := range r.Count {
			if r.Kind == ledger.Charge {
				m[r.Seq+i] = r.Event.Key()
			}
		}
	}
	return m
}

func mustCharge(t testing.TB, l ledger.Ledger, ev account.Event) uint64 {
	t.Helper()
	seq, err := l.Charge(ev)
	if err != nil {
		t.Fatal(err)
	}
	return seq
}

func mustClose(t testing.TB, l ledger.Ledger) {
	t.Helper()
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
}

// charges: numbers ascend and every charge is in the records under its number; records
// leave no gap.
func charges(t *testing.T, l ledger.Ledger) {
	defer mustClose(t, l)
	a, b := Gaussian(t, 1000), Gaussian(t, 2000)
	want := map[uint64]string{}
	last := uint64(0)
	for i, ev := range []account.Event{a, a, b, a, account.NoOp(), Gaussian(t, 1000), b} {
		seq := mustCharge(t, l, ev)
		if seq <= last {
			t.Fatalf("charge %d has number %d after %d", i, seq, last)
		}
		last, want[seq] = seq, ev.Key()
	}
	got := Charges(t, l)
	if len(got) != len(want) {
		t.Errorf("%d charges, want %d", len(got), len(want))
	}
	for seq, key := range want {
		if got[seq] != key {
			t.Errorf("charge %d is %s, want %s", seq, got[seq], key)
		}
	}
	next := uint64(1)
	for _, r := range Records(t, l) {
		if r.Seq != next || r.Count < 1 {
			t.Errorf("record has number %d and count %d, want number %d", r.Seq, r.Count, next)
		}
		next = r.Seq + r.Count
	}
	if h := l.Head(); h.Seq != next-1 || h.Seq != last {
		t.Errorf("head is %d, the last charge %d, the last record %d", h.Seq, last, next-1)
	}
}

func overrides(t *testing.T, l ledger.Ledger) {
	defer mustClose(t, l)
	const note = "delta <1e-3> & \"quoted\" \u00e9\u2028\n"
	if err := l.Override(note); err != nil {
		t.Fatal(err)
	}
	mustCharge(t, l, Gaussian(t, 1000))
	n := 0
	for _, r := range Records(t, l) {
		if r.Kind == ledger.Override {
			n++
			if r.Note != note || r.Count != 1 || r.Event != nil {
				t.Errorf("override reads %+v", r)
			}
		}
	}
	if n != 1 {
		t.Errorf("%d overrides, want 1", n)
	}
}

// budget: what the filter refuses is not recorded, whatever comes after is, and errors
// keep their names.
func budget(t *testing.T, open func(t testing.TB, filter account.Filter) ledger.Ledger) {
	ev := Gaussian(t, 1000)
	f, err := account.NewCountFilter(ev, 2)
	if err != nil {
		t.Fatal(err)
	}
	l := open(t, f)
	defer mustClose(t, l)
	mustCharge(t, l, ev)
	mustCharge(t, l, ev)
	before := l.Head()
	if _, err := l.Charge(ev); !errors.Is(err, account.ErrExhausted) {
		t.Errorf("third charge of two: %v", err)
	}
	if _, err := l.Charge(Gaussian(t, 2000)); !errors.Is(err, account.ErrUnsupported) {
		t.Errorf("charge of another event: %v", err)
	}
	if l.Head() != before {
		t.Error("a refused charge changed the ledger")
	}
	mustCharge(t, l, account.NoOp())
	if n := len(Charges(t, l)); n != 3 {
		t.Errorf("%d charges, want 3", n)
	}
}

func badEvent(t *testing.T, l ledger.Ledger) {
	defer mustClose(t, l)
	before := l.Head()
	if _, err := l.Charge(account.Event{}); err == nil {
		t.Error("the zero event was charged")
	}
	if l.Head() != before {
		t.Error("a refused event changed the ledger")
	}
	mustCharge(t, l, Gaussian(t, 1000))
}

// snapshot: Records holds what was there at the call, and stops when its reader does.
func snapshot(t *testing.T, l ledger.Ledger) {
	defer mustClose(t, l)
	ev := Gaussian(t, 1000)
	mustCharge(t, l, ev)
	mustCharge(t, l, Gaussian(t, 2000))
	all := l.Records()
	mustCharge(t, l, Gaussian(t, 2000))
	var count uint64
	for r, err := range all {
		if err != nil {
			t.Fatal(err)
		}
		if r.Kind == ledger.Charge {
			count += r.Count
		}
	}
	if count != 2 {
		t.Errorf("%d charges at the call of Records, want 2", count)
	}
	for range l.Records() {
		break
	}
}

// head: every change changes it, reading does not.
func head(t *testing.T, l ledger.Ledger) {
	defer mustClose(t, l)
	seen := map[string]bool{}
	note := func(what string) {
		Records(t, l)
		h := l.Head()
		if seen[h.String()] {
			t.Errorf("after %s the head is as it was before", what)
		}
		seen[h.String()] = true
		if l.Head() != h {
			t.Error("the head changed by itself")
		}
	}
	note("nothing")
	mustCharge(t, l, Gaussian(t, 1000))
	note("a charge")
	mustCharge(t, l, Gaussian(t, 1000))
	note("an equal charge")
	if err := l.Override("x"); err != nil {
		t.Fatal(err)
	}
	note("an override")
}

func closing(t *testing.T, l ledger.Ledger) {
	mustCharge(t, l, Gaussian(t, 1000))
	mustClose(t, l)
	after := l.Head()
	if _, err := l.Charge(Gaussian(t, 1000)); !errors.Is(err, ledger.ErrClosed) {
		t.Errorf("charge after close: %v", err)
	}
	if err := l.Override("x"); !errors.Is(err, ledger.ErrClosed) {
		t.Errorf("override after close: %v", err)
	}
	if l.Head() != after {
		t.Error("a refused call changed the ledger")
	}
	if n := len(Charges(t, l)); n != 1 {
		t.Errorf("%d charges after close, want 1", n)
	}
	mustClose(t, l)
}

// concurrent: numbers stay distinct and every charge is recorded once; run it under the
// race detector as well.
func concurrent(t *testing.T, l ledger.Ledger) {
	defer mustClose(t, l)
	const workers, each = 4, 25
	ev := Gaussian(t, 1000)
	seqs := make([][]uint64, workers)
	var wg sync.WaitGroup
	for w := range seqs {
		wg.Go(func() {
			for i := range each {
				seq, err := l.Charge(ev)
				if err != nil {
					t.Error(err)
					return
				}
				seqs[w] = append(seqs[w], seq)
				if i%10 == 0 {
					l.Head()
					for _, err := range l.Records() {
						if err != nil {
							t.Error(err)
						}
					}
				}
			}
		})
	}
	wg.Wait()
	got := Charges(t, l)
	for _, own := range seqs {
		for _, seq := range own {
			if _, ok := got[seq]; !ok {
				t.Fatalf("number %d twice or not recorded", seq)
			}
			delete(got, seq)
		}
	}
	if len(got) != 0 {
		t.Errorf("%d charges that nobody made", len(got))
	}
}
