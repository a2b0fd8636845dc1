package owner

import (
	"crypto/ed25519"
	"encoding/hex"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"sotto/node/mark"
	"sotto/privacy/account"
	"sotto/privacy/ledger"
)

// A ledger that was put back to an older copy and has grown past what a neighbor holds of
// it was taken for whole: hashes were compared at its end alone.
func TestLedgerOfAnotherHistory(t *testing.T) {
	_, key, err := ed25519.GenerateKey(nil)
	if err != nil {
		t.Fatal(err)
	}
	ev, err := account.Gaussian(8, 1)
	if err != nil {
		t.Fatal(err)
	}
	o := ledger.Options{Key: key, FS: ledger.OS{AllowVolatile: true}}
	dir, old := filepath.Join(t.TempDir(), "l"), filepath.Join(t.TempDir(), "l")
	l, err := ledger.Create(dir, ledger.Genesis{Adjacency: account.ZeroOut, Unit: account.Record(),
		Budget: account.Budget{Epsilon: 8, Delta: 1e-5}, MinRecords: 1000}, o)
	if err != nil {
		t.Fatal(err)
	}
	charge := func(l *ledger.File, n int) {
		for range n {
			if _, err := l.Charge(ev); err != nil {
				t.Fatal(err)
			}
		}
	}
	charge(l, 2)
	if err := os.CopyFS(old, os.DirFS(dir)); err != nil {
		t.Fatal(err)
	}
	charge(l, 3)
	run, m := [32]byte{1}, mark.Mark{Book: mark.Book{Head: l.Head()}}
	hex.Decode(m.Ledger[:], []byte(l.Genesis().ID))
	marked := &mark.Held{Signed: hex.EncodeToString(m.Encode(run, func(message []byte) []byte {
		return ed25519.Sign(key, message)
	}))}
	claim := &mark.Attestation{Head: l.SignedHead().Bare()}
	charge(l, 1)
	l.Close()
	if l, err = ledger.Open(old, o); err != nil {
		t.Fatal(err)
	}
	charge(l, 9)
	l.Close()
	for name, h := range map[string]Head{"claim": {Claim: claim},
		"mark": {Mark: marked, Run: hex.EncodeToString(run[:])}} {
		heads := filepath.Join(t.TempDir(), "heads.json")
		b, err := json.Marshal([]Head{h})
		if err = errors.Join(err, os.WriteFile(heads, b, 0o600)); err != nil {
			t.Fatal(err)
		}
		for at, want := range map[string]error{dir: nil, old: ledger.ErrRollback} {
			r, err := ledger.Verify(at, ledger.Options{})
			if err != nil {
				t.Fatal(err)
			}
			if _, err := VerifyLedger(at, &r, heads); !errors.Is(err, want) {
				t.Errorf("%s, a ledger of %d records: %v, want %v", name, r.LastSeq, err, want)
			}
		}
	}
}
