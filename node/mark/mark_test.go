package mark

import (
	"crypto/ed25519"
	"errors"
	"testing"
	"testing/quick"

	"sotto/agent"
	"sotto/privacy/ledger"
)

// A mark is what was signed, of that member in that run and nobody else's; one changed
// bit anywhere is refused.
func TestParse(t *testing.T) {
	public, key, _ := ed25519.GenerateKey(nil)
	sign := func(b []byte) []byte { return ed25519.Sign(key, b) }
	other, _, _ := ed25519.GenerateKey(nil)
	same := func(m Mark, run [32]byte, member uint8) bool {
		b := m.Encode(run, sign)
		got, err := Parse(b, run, agent.ID(member), public)
		return err == nil && got == m && len(b) == Size && Read(b) == m
	}
	if err := quick.Check(same, nil); err != nil {
		t.Error(err)
	}
	m := Mark{Round: 7, Claim: Claim{Sent: 7, Earlier: 6}, Book: Book{Charges: 3}}
	b := m.Encode([32]byte{1}, sign)
	for _, tc := range []struct {
		run [32]byte
		key ed25519.PublicKey
	}{{[32]byte{2}, public}, {[32]byte{1}, other}} {
		if _, err := Parse(b, tc.run, 2, tc.key); !errors.Is(err, ErrMark) {
			t.Errorf("a mark of another run or key: %v", err)
		}
	}
	for i := range b {
		bad := append([]byte(nil), b...)
		bad[i] ^= 1
		if _, err := Parse(bad, [32]byte{1}, 2, public); !errors.Is(err, ErrMark) {
			t.Fatalf("byte %d changed: %v", i, err)
		}
	}
	if _, err := Parse(b[1:], [32]byte{1}, 2, public); !errors.Is(err, ErrMark) {
		t.Errorf("a short mark: %v", err)
	}
}

// Marks that nobody can make in a run of 60 rounds are refused, and those at the bounds
// are not.
func TestCheck(t *testing.T) {
	none := Claim{Sent: NoRound, Earlier: NoRound}
	last := Claim{Sent: 60, Earlier: 60}
	for _, good := range []Mark{{Claim: none}, {Round: 60, Claim: last}, {Claim: none, Generation: Most,
		Book: Book{Charges: Most, Total: Most, Head: ledger.Head{Seq: Most}}}} {
		if err := good.Check(60); err != nil {
			t.Errorf("%+v: %v", good, err)
		}
	}
	for _, bad := range []Mark{
		{Round: 61, Claim: none},
		{Round: NoRound, Claim: none},
		{Claim: Claim{Sent: 61, Earlier: 3}},
		{Claim: Claim{Sent: 3, Earlier: NoRound - 1}},
		{Claim: none, Generation: Most + 1},
		{Claim: none, Book: Book{Charges: Most + 1}},
		{Claim: none, Book: Book{Total: Most + 1}},
		{Claim: none, Book: Book{Head: ledger.Head{Seq: NoRound}}},
	} {
		if err := bad.Check(60); !errors.Is(err, ErrMark) {
			t.Errorf("%+v: %v", bad, err)
		}
	}
}

// Marks of one chain never contradict each other; those of two chains do from the first
// round that differs, in every later round that both have a mark of.
func TestContradictions(t *testing.T) {
	chain := func(lie int) (all []Mark) {
		c := Claim{Sent: NoRound, Earlier: NoRound}
		for k := range 20 {
			text := []byte{byte(k), 0}
			if k == lie {
				text[1] = 1
			}
			c = c.Next(uint64(k), text)
			all = append(all, Mark{Round: uint64(k), Claim: c})
		}
		return all
	}
	honest, liar := chain(-1), chain(5)
	for i := range honest {
		for j := range honest {
			if honest[i].Contradicts(&honest[j]) {
				t.Errorf("rounds %d and %d of one chain contradict each other", i, j)
			}
			near := i-j <= 1 && j-i <= 1 // one has the other's round, or the one before
			first := min(i, j)
			if i == j {
				first = i
			}
			want := near && max(i, j) >= 5 && (i == j || first >= 5)
			if got := honest[i].Contradicts(&liar[j]); got != want {
				t.Errorf("rounds %d and %d of two chains: %t", i, j, got)
			}
		}
	}
	// a chain that leaves rounds out contradicts the marks of those rounds, and others of
	// its own
	short := Claim{Sent: NoRound, Earlier: NoRound}
	short = short.Next(4, []byte{4, 0})
	out := Mark{Claim: short.Next(9, []byte{9, 0})}
	for i := range honest {
		h := Mark{Claim: Claim{Sent: uint64(i), Earlier: NoRound}}
		if want := i >= 4 && i <= 9; h.Contradicts(&out) != want || out.Contradicts(&h) != want {
			t.Errorf("round %d and a chain of 4 and 9: want %t", i, want)
		}
	}
	if first := (&Mark{Claim: short}); first.omits(2) || !first.Anew(&Mark{Claim: Claim{Sent: 2}}) ||
		first.Anew(&Mark{Claim: Claim{Sent: 4}}) || out.Anew(&Mark{Claim: Claim{Sent: 4}}) {
		t.Error("the beginning of a chain")
	}
	again := liar[9]
	again.Generation++
	if again.Contradicts(&honest[9]) {
		t.Error("a mark of another generation contradicts")
	}
}
