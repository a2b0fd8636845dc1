package ledger_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"testing"

	"sotto/privacy/account"
	"sotto/privacy/ledger"
)

func gaussian(t testing.TB, s float64) account.Event {
	t.Helper()
	ev, err := account.Gaussian(s, 1)
	if err != nil {
		t.Fatal(err)
	}
	return ev
}

func records(t testing.TB, l ledger.Ledger) (out []ledger.Record) {
	t.Helper()
	for r, err := range l.Records() {
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, r)
	}
	return out
}

func TestMemoryCountsEqualCharges(t *testing.T) {
	m := ledger.NewMemory(nil)
	a, b := gaussian(t, 1), gaussian(t, 2)
	want := uint64(0)
	for _, ev := range []account.Event{a, a, gaussian(t, 1), b, a} {
		want++
		if seq, err := m.Charge(ev); err != nil || seq != want {
			t.Fatalf("charge %d: seq %d, %v", want, seq, err)
		}
	}
	if err := m.Override("delta"); err != nil {
		t.Fatal(err)
	}
	got := ""
	for _, r := range records(t, m) {
		got += fmt.Sprintf("%s %d+%d ", r.Kind, r.Seq, r.Count)
	}
	if want := "charge 1+3 charge 4+1 charge 5+1 override 6+1 "; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if m.Head().Seq != 6 {
		t.Errorf("head %d", m.Head().Seq)
	}
}

func TestMemoryRefusesOverBudget(t *testing.T) {
	ev := gaussian(t, 1)
	f, err := account.NewCountFilter(ev, 2)
	if err != nil {
		t.Fatal(err)
	}
	m := ledger.NewMemory(f)
	for range 2 {
		if _, err := m.Charge(ev); err != nil {
			t.Fatal(err)
		}
	}
	head := m.Head()
	if _, err := m.Charge(ev); !errors.Is(err, account.ErrExhausted) {
		t.Errorf("third charge: %v", err)
	}
	if m.Head() != head {
		t.Error("a refused charge changed the ledger")
	}
	m.Close()
	if _, err := m.Charge(ev); !errors.Is(err, ledger.ErrClosed) {
		t.Errorf("charge after close: %v", err)
	}
	if err := m.Override("x"); !errors.Is(err, ledger.ErrClosed) {
		t.Errorf("override after close: %v", err)
	}
}

// Records go through JSON and Restore to an equal ledger that goes on counting against
// the budget.
func TestMemoryRestore(t *testing.T) {
	a, b := gaussian(t, 1), gaussian(t, 2)
	m := ledger.NewMemory(nil)
	m.Override("large delta")
	for _, ev := range []account.Event{a, a, b} {
		m.Charge(ev)
	}
	j, err := json.Marshal(records(t, m))
	if err != nil {
		t.Fatal(err)
	}
	var back []ledger.Record
	if err := json.Unmarshal(j, &back); err != nil {
		t.Fatal(err)
	}
	n := ledger.NewMemory(nil)
	if err := n.Restore(back); err != nil {
		t.Fatal(err)
	}
	if n.Head() != m.Head() {
		t.Error("restored ledger has another head")
	}
	if seq, err := n.Charge(a); err != nil || seq != 5 {
		t.Errorf("next charge %d, %v", seq, err)
	}
	f, _ := account.NewCountFilter(a, 1)
	if err := ledger.NewMemory(f).Restore(back); !errors.Is(err, account.ErrExhausted) {
		t.Errorf("restore over budget: %v", err)
	}
	if err := n.Restore(back); err == nil {
		t.Error("restore into a ledger in use")
	}
	for name, edit := range map[string]func(r []ledger.Record){
		"gap":        func(r []ledger.Record) { r[1].Seq++ },
		"zero count": func(r []ledger.Record) { r[1].Count = 0 },
		"no event":   func(r []ledger.Record) { r[1].Event = nil },
		"bad kind":   func(r []ledger.Record) { r[0].Kind = "gift" },
	} {
		var r []ledger.Record
		json.Unmarshal(j, &r)
		edit(r)
		if err := ledger.NewMemory(nil).Restore(r); err == nil {
			t.Errorf("%s was accepted", name)
		}
	}
}

func TestMemoryIsSafeForConcurrentUse(t *testing.T) {
	m := ledger.NewMemory(nil)
	var wg sync.WaitGroup
	seen := make([][]uint64, 4)
	ev := gaussian(t, 1)
	for w := range seen {
		wg.Go(func() {
			for range 500 {
				seq, err := m.Charge(ev)
				if err != nil {
					t.Error(err)
				}
				seen[w] = append(seen[w], seq)
				for range m.Records() {
				}
			}
		})
	}
	wg.Wait()
	all := map[uint64]bool{}
	for _, s := range seen {
		for _, seq := range s {
			if all[seq] || seq < 1 || seq > 2000 {
				t.Fatalf("sequence number %d twice or out of range", seq)
			}
			all[seq] = true
		}
	}
}

func ExampleMemory() {
	ev, _ := account.Gaussian(1.1, 1)
	budget, _ := account.NewCountFilter(ev, 1)
	l := ledger.NewMemory(budget)
	fmt.Println(l.Charge(ev))
	_, err := l.Charge(ev)
	fmt.Println(errors.Is(err, account.ErrExhausted))
	// Output:
	// 1 <nil>
	// true
}

// The zero Memory numbers from 1 as others do; what is restored has events, and numbers
// that do not wrap.
func TestZeroMemory(t *testing.T) {
	var m ledger.Memory
	for want := range uint64(3) {
		if seq, err := m.Charge(gaussian(t, 2)); err != nil || seq != want+1 {
			t.Errorf("charge %d: number %d, %v", want, seq, err)
		}
	}
	if head := m.Head(); head.Seq != 3 {
		t.Errorf("head %d after 3 charges", head.Seq)
	}
	ev := gaussian(t, 2)
	for name, r := range map[string]ledger.Record{
		"count":      {Seq: 1, Kind: ledger.Charge, Count: 1<<64 - 1, Event: &ev},
		"zero event": {Seq: 1, Kind: ledger.Charge, Count: 1, Event: new(account.Event)},
	} {
		l := ledger.NewMemory(nil)
		if err := l.Restore([]ledger.Record{r}); err == nil {
			t.Errorf("%s: restored", name)
		}
	}
}
