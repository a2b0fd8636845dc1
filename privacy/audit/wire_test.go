package audit

import (
	"slices"
	"testing"

	"sotto/agent"
)

// every is an algorithm that asks so often in each round.
func every(n int) func(uint64) int { return func(uint64) int { return n } }

// A node that sends what it was charged for, also twice, passes; one that sends two
// versions of a message, or a round without its charge, is caught, and so is one that
// charges nothing.
func TestWire(t *testing.T) {
	honest := func(w *Wire, charge func(round uint64) int) {
		for k := range uint64(10) {
			for to := range agent.ID(2) {
				w.Sent(Letter{Kind: 1, To: to, Round: k}, []byte{byte(k), byte(to)})
				w.Sent(Letter{Kind: 1, To: to, Round: k}, []byte{byte(k), byte(to)})
			}
			if n := charge(k); n > 0 {
				w.Charged(k, n)
			}
		}
	}
	all := func(uint64) int { return 2 }
	for name, c := range map[string]struct {
		charge func(round uint64) int
		more   func(w *Wire)
		bad    bool
	}{
		"honest":         {all, nil, false},
		"budget ended":   {func(k uint64) int { return map[bool]int{true: 2}[k < 4] }, nil, false},
		"more by crash":  {func(k uint64) int { return map[bool]int{true: 4, false: 2}[k == 3] }, nil, false},
		"two versions":   {all, func(w *Wire) { w.Sent(Letter{Kind: 1, Round: 5}, []byte{9}) }, true},
		"another kind":   {all, func(w *Wire) { w.Sent(Letter{Kind: 2, Round: 5}, []byte{9}) }, false},
		"a round free":   {func(k uint64) int { return map[bool]int{false: 2}[k == 3] }, nil, true},
		"half a round":   {func(k uint64) int { return map[bool]int{true: 1, false: 2}[k == 3] }, nil, true},
		"nothing at all": {func(uint64) int { return 0 }, nil, true},
	} {
		w := &Wire{Answers: every(2)}
		honest(w, c.charge)
		if c.more != nil {
			c.more(w)
		}
		if r := w.Report("node"); r.Violated != c.bad || r.Observations < 20 {
			t.Errorf("%s: violated %v, want %v: %+v", name, r.Violated, c.bad, r)
		}
	}
}

// A node that was rolled back to round 4 when it was in round 9 says its message of round
// 4 for rounds 8 and 9, and goes on. The charges that its ledger has added count for the
// rounds between, and for no other.
func TestWireAfterARollback(t *testing.T) {
	for name, c := range map[string]struct {
		hole  uint64 // a round without its charge
		added int    // charges
		fresh bool   // the message for round 9 is a new one
		bad   bool
	}{
		"all that was lost":  {99, 5, false, false},
		"one too few":        {99, 4, false, true},
		"more than was lost": {99, 9, false, false},
		"a hole before":      {2, 9, false, true},
		"a hole after":       {11, 9, false, true},
		"a free answer":      {99, 5, true, true},
		"none":               {99, 0, false, true},
	} {
		w := &Wire{Answers: every(1)}
		say := func(round, generation uint64, what byte) {
			w.Sent(Letter{Kind: 1, To: 3, Round: round, Generation: generation}, []byte{what})
		}
		charge := func(from, until uint64) {
			for k := from; k < until; k++ {
				if k != c.hole {
					w.Charged(k, 1)
				}
			}
		}
		for k := range uint64(10) {
			say(k, 0, byte(k))
		}
		again := byte(4)
		say(8, 1, again)
		if c.fresh {
			again = 77
		}
		say(9, 1, again)
		for k := uint64(10); k < 14; k++ {
			say(k, 1, byte(k))
		}
		charge(0, 4)
		w.Restored(9, c.added)
		charge(9, 13)
		r := w.Report("node")
		if r.Violated != c.bad {
			t.Errorf("%s: violated %v, want %v: %+v", name, r.Violated, c.bad, r)
		}
		if k := slices.IndexFunc(r.Checks, func(c Check) bool { return c.Name == "rolled back" }); k < 0 ||
			r.Checks[k].Statistic != Figure(c.added) {
			t.Errorf("%s: the report does not say so: %+v", name, r.Checks)
		}
	}
}

// A node that was rolled back to round 4 when it was in round 9 hears of round 6 first,
// goes on, and hears of round 9 when it is in round 13. What its ledger adds then counts
// for the rounds that it was in twice.
func TestWireAfterALateWord(t *testing.T) {
	for added, bad := range map[int]bool{3: false, 2: true, 0: true} {
		w := &Wire{Answers: every(1)}
		say := func(from, until, generation uint64, what byte) {
			for k := from; k < until; k++ {
				w.Sent(Letter{Kind: 1, To: 3, Round: k, Generation: generation}, []byte{what + byte(k)})
			}
		}
		charge := func(from, until uint64) {
			for k := from; k < until; k++ {
				w.Charged(k, 1)
			}
		}
		say(0, 10, 0, 0)
		w.Sent(Letter{Kind: 1, To: 3, Round: 6, Generation: 1}, []byte{4}) // what it had said last
		say(7, 14, 1, 100)
		charge(0, 4)
		w.Restored(6, 2)
		charge(6, 13)
		w.Restored(9, added)
		if r := w.Report("node"); r.Violated != bad {
			t.Errorf("%d charges: violated %v, want %v: %+v", added, r.Violated, bad, r)
		}
	}
}

// A node whose algorithm averages for two rounds after each that asks passes, without
// charges for those two. It does not when one that asks lacks its charge.
func TestWireOfAPlan(t *testing.T) {
	for hole, bad := range map[uint64]bool{99: false, 6: true} {
		w := &Wire{Answers: func(round uint64) int {
			if round%3 == 0 {
				return 1
			}
			return 0
		}}
		for k := range uint64(12) {
			w.Sent(Letter{Kind: 1, To: agent.Broadcast, Round: k}, []byte{byte(k)})
			if k%3 == 0 && k != hole {
				w.Charged(k, 1)
			}
		}
		if r := w.Report("node"); r.Violated != bad {
			t.Errorf("without the charge of round %d: violated %v, want %v: %+v", hole, r.Violated, bad, r)
		}
	}
}

// A node that was away says what it has said before for the round that others are in: no
// release, to whomever it goes. What it has not said before is one.
func TestWireAfterAnAbsence(t *testing.T) {
	for what, bad := range map[byte]bool{4: false, 77: true} {
		w := &Wire{Answers: every(1)}
		for k := range uint64(20) {
			says := byte(k)
			switch {
			case k > 4 && k < 9:
				continue
			case k == 9:
				says = what
			}
			for to := range agent.ID(3) {
				w.Sent(Letter{Kind: 1, To: to, Round: k}, []byte{says})
			}
			if k != 4 {
				w.Charged(k, 1)
			}
		}
		if r := w.Report("node"); r.Violated != bad {
			t.Errorf("content %d: violated %v, want %v: %+v", what, r.Violated, bad, r)
		}
	}
}

// A message that is for all has one content. Tokens and meetings, whose numbers are not
// those of charges, may not leave without any charge, and the report says that they are
// not compared with single ones.
func TestWireOfOneContent(t *testing.T) {
	for second, bad := range map[byte]bool{1: false, 2: true} {
		w := &Wire{Answers: every(1)}
		w.Charged(0, 1)
		for _, what := range []byte{1, second} {
			w.Sent(Letter{Kind: 1, To: agent.Broadcast, Round: 1}, []byte{what})
		}
		if r := w.Report("node"); r.Violated != bad {
			t.Errorf("a second receiver gets %d, the first 1: violated %v, want %v", second, r.Violated, bad)
		}
	}
	for charges, bad := range map[int]bool{3: false, 0: true} {
		w := &Wire{Unnumbered: true}
		if charges > 0 {
			w.Charged(7, charges)
		}
		for k := range uint64(9) {
			w.Sent(Letter{Kind: 8, To: 2, Round: k}, []byte{byte(k)})
		}
		r := w.Report("node")
		if r.Violated != bad {
			t.Errorf("%d charges: violated %v, want %v: %+v", charges, r.Violated, bad, r)
		}
		if !slices.ContainsFunc(r.Checks, func(c Check) bool {
			return c.Name == "not compared" && c.Statistic == Figure(charges)
		}) {
			t.Errorf("the report does not say that charges are not compared: %+v", r.Checks)
		}
	}
}

// A budget may end between two answers of one round: what leaves then follows from fewer.
// Before that round all are charged for.
func TestWireOfABudgetThatEnds(t *testing.T) {
	for _, c := range []struct {
		charges []int
		copies  int
		bad     bool
	}{
		{[]int{2, 2, 1}, 1, false}, {[]int{2, 1, 2}, 1, true}, {[]int{2, 1, 1}, 1, true},
		{[]int{4, 4, 3}, 2, true}, // each round in two generations
	} {
		w := &Wire{Answers: every(2)}
		for k, n := range c.charges {
			w.Charged(uint64(k), n)
		}
		for k := range uint64(5) {
			for j := range c.copies {
				w.Sent(Letter{Kind: 1, Round: k, Generation: uint64(j)}, []byte{byte(k), byte(j)})
			}
		}
		if r := w.Report("node"); r.Violated != c.bad {
			t.Errorf("%+v: violated %v: %+v", c, r.Violated, r)
		}
	}
}
