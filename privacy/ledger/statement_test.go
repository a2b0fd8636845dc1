package ledger_test

import (
	"crypto/ed25519"
	"encoding/json"
	"errors"
	"math"
	"strings"
	"testing"

	"gonum.org/v1/gonum/stat/distuv"

	"sotto/privacy/account"
	"sotto/privacy/ledger"
	"sotto/privacy/ledger/ledgertest"
)

func owner(n byte) ed25519.PublicKey { return key(n).Public().(ed25519.PublicKey) }

// gaussianEpsilon is epsilon below 1 at delta of a mu-GDP mechanism, by the definition.
func gaussianEpsilon(mu, delta float64) float64 {
	lo, hi := 0., 1.
	for range 60 {
		mid := (lo + hi) / 2
		phi := distuv.UnitNormal.CDF
		if phi(mu/2-mid/mu)-math.Exp(mid)*phi(-mu/2-mid/mu) > delta {
			lo = mid
		} else {
			hi = mid
		}
	}
	return lo
}

// A statement says what the charges cost: two Gaussian answers of multiplier 20 are
// 0.0707-GDP, and epsilon at delta 1e-6 of that is the root of the Gaussian profile
// (Balle, Wang 2018, Theorem 8), by bisection here.
func TestStatement(t *testing.T) {
	dir := t.TempDir()
	o := options()
	o.Fingerprint = people(t, "a", "b")
	f := create(t, dir, o)
	ev := gaussian(t, 20)
	ev.Sampler = "full/1"
	if err := f.Override("a risk"); err != nil {
		t.Fatal(err)
	}
	last := charge(t, f, ev, 2)
	head := f.Head()
	s, err := f.Statement(ledger.About{Noise: "exact"})
	if err != nil {
		t.Fatal(err)
	}
	st := s.Statement
	if want := gaussianEpsilon(math.Sqrt2/20, 1e-6); st.Epsilon == nil ||
		math.Abs(st.Epsilon.Upper-want) > 1e-9 {
		t.Errorf("epsilon %v, want %g", st.Epsilon, want)
	}
	if st.Releases != 2 || st.Sampler != "full/1" || st.Delta != 1e-6 ||
		st.Ledger != (account.LedgerRange{FirstSeq: 1, LastSeq: last, Head: head.String()}) ||
		len(st.Overrides) != 1 || st.Overrides[0] != "a risk" ||
		!strings.Contains(strings.Join(st.NotCovered, ";"), "deletion of ledgers") {
		t.Errorf("statement %+v", st)
	}
	if err := s.Verify(owner(1)); err != nil {
		t.Error(err)
	}
	if err := s.Verify(owner(2)); !errors.Is(err, ledger.ErrKey) {
		t.Errorf("another owner: %v", err)
	}
	for name, edit := range map[string]func(s *ledger.SignedStatement){
		"delta":     func(s *ledger.SignedStatement) { s.Statement.Delta = 1e-9 },
		"ledger":    func(s *ledger.SignedStatement) { s.LedgerID = strings.Repeat("0", 32) },
		"data set":  func(s *ledger.SignedStatement) { s.Dataset = people(t, "c").Tag()[:16] },
		"signature": func(s *ledger.SignedStatement) { s.Signature = s.Signature[2:] },
		"key":       func(s *ledger.SignedStatement) { s.PublicKey = "x" },
	} {
		forged := s
		edit(&forged)
		if err := forged.Verify(nil); !errors.Is(err, ledger.ErrCorrupt) {
			t.Errorf("another %s: %v", name, err)
		}
	}
	if s.Dataset != o.Fingerprint.Tag()[:16] || s.LedgerID != f.Genesis().ID {
		t.Errorf("statement of ledger %s, data %s", s.LedgerID, s.Dataset)
	}
	digest, err := s.Digest()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.Statement(ledger.About{Noise: "none"}); err == nil {
		t.Error("an unknown kind of noise was accepted")
	}
	closed(t, f)
	if _, err := f.Statement(ledger.About{Noise: "exact"}); !errors.Is(err, ledger.ErrClosed) {
		t.Errorf("statement after close: %v", err)
	}
	r := verified(t, dir, o)
	if r.Claims != 2 || r.Signatures != 3 {
		t.Errorf("report %+v", r)
	}
	n := 0
	for _, rec := range ledgertest.Records(t, f) {
		if rec.Kind == ledger.Stated {
			n++
			if rec.Claim == nil || rec.Claim.Epsilon != *st.Epsilon || rec.Digest != digest {
				t.Errorf("record %+v", rec)
			}
		}
	}
	if n != 1 {
		t.Errorf("%d statements recorded", n)
	}
}

// What no accountant supports is never given a figure: the close says infinity, and a
// statement is refused. The caller's filter admitted it, above the budget, and Verify
// says so.
func TestUnsupportedCharges(t *testing.T) {
	dir := t.TempDir()
	ev, err := account.RDP([]float64{2, 4}, []float64{0.1, 0.2})
	if err != nil {
		t.Fatal(err)
	}
	if ev, err = account.PoissonSampled(0.1, ev); err != nil {
		t.Skip("sampled black boxes cannot be made:", err)
	}
	o := options()
	if o.Filter, err = account.NewCountFilter(ev, 3); err != nil {
		t.Fatal(err)
	}
	f := create(t, dir, o)
	charge(t, f, ev, 1)
	if _, err := f.Statement(ledger.About{Noise: "exact"}); !errors.Is(err, account.ErrUnsupported) {
		t.Errorf("statement: %v", err)
	}
	if c, err := f.Spent(); err != nil || c.Accountant != "none" || !math.IsInf(c.Epsilon.Upper, 1) {
		t.Errorf("spent %+v, %v", c, err)
	}
	closed(t, f)
	if r := verified(t, dir, o); !r.Overspent || r.Claims != 1 {
		t.Errorf("report %+v", r)
	}
}

func TestSignedHead(t *testing.T) {
	f := create(t, t.TempDir(), options())
	defer closed(t, f)
	charge(t, f, gaussian(t, 100), 1)
	old := f.SignedHead()
	charge(t, f, gaussian(t, 100), 1)
	now := f.SignedHead()
	if old.Seq != 2 || now.Seq != 3 || now.Hash != f.Head().String() {
		t.Errorf("heads %+v and %+v", old, now)
	}
	for name, x := range map[string]struct {
		err  error
		want error
	}{
		"first":          {old.Verify(owner(1), nil), nil},
		"forward":        {now.Verify(owner(1), &old), nil},
		"the same":       {now.Verify(owner(1), &now), nil},
		"back":           {old.Verify(owner(1), &now), ledger.ErrRollback},
		"another owner":  {now.Verify(owner(2), nil), ledger.ErrKey},
		"another ledger": {now.Verify(owner(1), &ledger.SignedHead{ID: "x"}), ledger.ErrDataset},
		"edited": {(&ledger.SignedHead{
			ID:        now.ID,
			Seq:       9,
			Hash:      now.Hash,
			PublicKey: now.PublicKey,
			Signature: now.Signature,
		}).Verify(owner(1), nil), ledger.ErrCorrupt},
		"forked": {now.Verify(owner(1), &ledger.SignedHead{ID: now.ID, Seq: now.Seq, Hash: old.Hash}),
			ledger.ErrRollback},
	} {
		if !errors.Is(x.err, x.want) || x.want == nil && x.err != nil {
			t.Errorf("%s: %v", name, x.err)
		}
	}
	if err := now.Verify(nil, nil); err == nil {
		t.Error("a head of no owner was accepted")
	}
}

func TestStatementsFollowHeads(t *testing.T) {
	s := ledger.SignedStatement{LedgerID: "a"}
	s.Statement.Ledger = account.LedgerRange{FirstSeq: 1, LastSeq: 5, Head: "x"}
	for name, tc := range map[string]struct {
		head ledger.SignedHead
		want error
	}{
		"before":         {ledger.SignedHead{ID: "a", Seq: 4, Hash: "y"}, nil},
		"the same":       {ledger.SignedHead{ID: "a", Seq: 5, Hash: "x"}, nil},
		"forked":         {ledger.SignedHead{ID: "a", Seq: 5, Hash: "y"}, ledger.ErrRollback},
		"after":          {ledger.SignedHead{ID: "a", Seq: 6, Hash: "x"}, ledger.ErrRollback},
		"another ledger": {ledger.SignedHead{ID: "b", Seq: 5, Hash: "x"}, ledger.ErrDataset},
	} {
		if err := s.Follows(&tc.head); !errors.Is(err, tc.want) || (err == nil) != (tc.want == nil) {
			t.Errorf("%s: %v, want %v", name, err, tc.want)
		}
	}
}

// A signature covers what is decoded from a statement, and other readers of JSON decode
// otherwise: of a key that is there twice many take the first, and few find "epsilon" in
// "Epsilon". Only the spelling that was signed is read; spaces are free.
func TestStatementsHaveOneSpelling(t *testing.T) {
	f := create(t, t.TempDir(), options())
	charge(t, f, gaussian(t, 20), 2)
	s, err := f.Statement(ledger.About{Noise: "exact", NotCovered: []string{"what is <small> & far"}})
	if err != nil {
		t.Fatal(err)
	}
	b, err := json.MarshalIndent(s, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	text := string(b)
	for _, same := range []string{text, text + "\n", strings.ReplaceAll(text, "\n", "\r\n\t"),
		strings.ReplaceAll(text, `\u003c`, "<")} {
		got, err := ledger.ReadStatement([]byte(same))
		if err != nil {
			t.Fatal(err)
		}
		if err := got.Verify(owner(1)); err != nil {
			t.Error(err)
		}
	}
	low := `"epsilon": {"lower": 0, "upper": 0.1}, `
	for name, forged := range map[string]string{
		"twice":         strings.Replace(text, `"epsilon"`, low+`"epsilon"`, 1),
		"other letters": strings.Replace(text, `"epsilon"`, low+`"Epsilon"`, 1),
		"folded":        strings.Replace(text, `"epsilon"`, low+`"epſilon"`, 1),
		"unknown":       strings.Replace(text, `"epsilon"`, `"epsilon_true": 0.1, "epsilon"`, 1),
		"outside":       strings.Replace(text, `"statement"`, low+`"statement"`, 1),
	} {
		if forged == text {
			t.Fatalf("%s: nothing is forged", name)
		}
		var plain ledger.SignedStatement
		if err := json.Unmarshal([]byte(forged), &plain); err != nil || plain.Verify(owner(1)) != nil {
			t.Errorf("%s: its signature does not fit: this test shows nothing", name)
		}
		if _, err := ledger.ReadStatement([]byte(forged)); !errors.Is(err, ledger.ErrCorrupt) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := ledger.ReadStatement([]byte(text + text)); err == nil {
		t.Error("two statements are read as one")
	}
}
