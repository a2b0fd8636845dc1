package ledger_test

import (
	"bytes"
	"crypto/ed25519"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"sync"
	"testing"

	"sotto/config"
	"sotto/privacy/ledger"
	"sotto/privacy/ledger/ledgertest"
)

func hexKey(n byte) string { return hex.EncodeToString(owner(n)) }

// rotated makes a ledger with charges whose key 1 has become key 2, and closes it.
func rotated(t testing.TB) (*ledgertest.CrashFS, *ledger.File) {
	t.Helper()
	disk := ledgertest.NewCrashFS()
	f, err := ledger.Create(crashDir, genesis(), crashOptions(disk, 0))
	if err != nil {
		t.Fatal(err)
	}
	charge(t, f, gaussian(t, 1e4), 2)
	if err := f.Rotate(key(2)); err != nil {
		t.Fatal(err)
	}
	charge(t, f, gaussian(t, 1e4), 1)
	closed(t, f)
	return disk.Clone(), f
}

func lost(t testing.TB, disk *ledgertest.CrashFS, n byte, reason string) {
	t.Helper()
	r := ledger.Replacement{New: key(n), Lost: true, Reason: reason}
	if done, err := ledger.Rotate(crashDir, r, crashOptions(disk, 0)); err != nil || !done.Changed {
		t.Fatalf("%+v, %v", done, err)
	}
}

// keyed are the options of a ledger that has key n now.
func keyed(disk *ledgertest.CrashFS, n byte) ledger.Options {
	o := crashOptions(disk, 0)
	o.Key = key(n)
	return o
}

// The record of a key is what the package says, read and verified with encoding/json and
// crypto/ed25519 alone; so are the signatures of what follows it.
func TestRotationFormat(t *testing.T) {
	disk, f := rotated(t)
	lost(t, disk, 3, "")
	prev := ""
	var seen []string
	now := owner(1)
	for _, p := range append(frames(t, disk.Content(seg1)), frames(t, disk.Content(seg2))...) {
		var r struct {
			Kind, Prev, Note, Signature string
			Seq                         uint64
			V                           int
			OldKey                      string `json:"old_key"`
			NewKey                      string `json:"new_key"`
			OldSignature                string `json:"old_signature"`
			NewSignature                string `json:"new_signature"`
		}
		if err := json.Unmarshal(p, &r); err != nil {
			t.Fatal(err)
		}
		seen = append(seen, r.Kind)
		if r.Kind == "key" {
			body := fmt.Sprintf("%s\n%d\n%s\n%s\n%s\n", f.Genesis().ID, r.Seq, prev, r.OldKey, r.NewKey)
			message := "sotto ledger key\n" + body
			if r.Note != "" {
				message = "sotto ledger lost key\n" + body + r.Note + "\n"
			}
			next, err := hex.DecodeString(r.NewKey)
			if err != nil || r.Prev != prev || r.OldKey != hex.EncodeToString(now) || r.V != 3 {
				t.Fatalf("record %s", p)
			}
			a, _ := hex.DecodeString(r.OldSignature)
			b, _ := hex.DecodeString(r.NewSignature)
			if ed25519.Verify(now, []byte(message), a) != (r.Note == "") ||
				!ed25519.Verify(next, []byte(message), b) {
				t.Fatalf("signatures of %s", p)
			}
			now = next
		}
		if r.Kind == "close" {
			unsigned := bytes.Replace(p, []byte(`,"signature":"`+r.Signature+`"`), nil, 1)
			s, _ := hex.DecodeString(r.Signature)
			if !ed25519.Verify(now, append([]byte("sotto ledger record\n"), unsigned...), s) {
				t.Fatalf("%s is not signed by the key that holds there", p)
			}
		}
		sum := sha256.Sum256(p)
		prev = hex.EncodeToString(sum[:])
	}
	body := bytes.TrimSuffix(disk.Content(sum1), []byte("\n"))
	at := bytes.LastIndex(body, []byte(`,"signature":"`))
	sealed, _ := hex.DecodeString(string(body[at+len(`,"signature":"`) : len(body)-2]))
	message := "sotto ledger seal\n" + string(body[:at]) + "}"
	if !ed25519.Verify(now, []byte(message), sealed) {
		t.Error("the seal is not signed by the key that holds at its end")
	}
	want := "open charge charge key charge close open key rotate close"
	if got := strings.Join(seen, " "); got != want || !owner(3).Equal(now) {
		t.Errorf("records %q, want %q", got, want)
	}
}

// A ledger goes on over a rotation: charges, budget and numbers stay, the new key opens
// it, and the error for the old one names the record.
func TestRotationGoesOn(t *testing.T) {
	disk, old := rotated(t)
	_, err := ledger.Open(crashDir, keyed(disk.Clone(), 1))
	want := fmt.Sprintf("which was rotated at record 4 to %s", hexKey(2))
	if !errors.Is(err, ledger.ErrKey) || !strings.Contains(err.Error(), want) {
		t.Errorf("the old key: %v", err)
	}
	if _, err := ledger.Open(crashDir, keyed(disk.Clone(), 3)); !errors.Is(err, ledger.ErrKey) ||
		strings.Contains(err.Error(), "rotated") {
		t.Errorf("a strange key: %v", err)
	}
	f, err := ledger.Open(crashDir, keyed(disk, 2))
	if err != nil {
		t.Fatal(err)
	}
	if f.Total() != 3 || f.Genesis().ID != old.Genesis().ID || !f.PublicKey().Equal(owner(2)) {
		t.Errorf("%d charges, key %x", f.Total(), f.PublicKey())
	}
	head := f.Head()
	if err := f.Rotate(key(2)); err != nil || f.Head() != head {
		t.Errorf("to the same key: %v", err)
	}
	var bad *config.Error
	for name, k := range map[string]ed25519.PrivateKey{"a former": key(1), "no": nil,
		"half a": append(key(4)[:32:32], key(5)[32:]...)} {
		if err := f.Rotate(k); !errors.As(err, &bad) || f.Head() != head {
			t.Errorf("%s key: %v", name, err)
		}
	}
	charge(t, f, gaussian(t, 1e4), 1)
	closed(t, f)
	if err := f.Rotate(key(3)); !errors.Is(err, ledger.ErrClosed) {
		t.Errorf("after close: %v", err)
	}
	for n, want := range map[byte]error{1: ledger.ErrKey, 2: nil, 3: ledger.ErrKey} {
		o := crashOptions(disk, 0)
		o.PublicKey = owner(n)
		r, err := ledger.Verify(crashDir, o)
		_, rerr := ledger.Read(crashDir, o)
		xerr := ledger.Export(new(bytes.Buffer), crashDir, o)
		if !errors.Is(err, want) || !errors.Is(rerr, want) || !errors.Is(xerr, want) {
			t.Errorf("key %d: %v, %v, %v", n, err, rerr, xerr)
		}
		keys := []ledger.HeldKey{{Seq: 1, PublicKey: hexKey(1)}, {Seq: 4, PublicKey: hexKey(2)}}
		if fmt.Sprint(r.Keys) != fmt.Sprint(keys) || len(r.Overrides) != 0 {
			t.Errorf("report %+v", r)
		}
	}
	for rec, err := range ledger.History(crashDir, crashOptions(disk, 0)) {
		if err != nil {
			t.Fatal(err)
		}
		if r := rec.Rotation; (rec.Kind == ledger.Rekeyed) != (r != nil) ||
			r != nil && (r.OldKey != hexKey(1) || r.NewKey != hexKey(2) || r.Lost() || r.Seq != rec.Seq) {
			t.Errorf("record %+v", rec)
		}
	}
}

// A key that was lost is replaced without its signature: statements and reports say so,
// and nobody who trusts the old key can follow.
func TestLostKey(t *testing.T) {
	disk, old := rotated(t)
	oldHead := old.SignedHead()
	lost(t, disk, 3, "the safe burned")
	const note = "key replaced without the old key: the safe burned"
	r, err := ledger.Verify(crashDir, crashOptions(disk, 0))
	if err != nil || len(r.Overrides) != 1 || r.Overrides[0] != note || r.Keys[2].Note != note {
		t.Fatalf("report %+v, %v", r, err)
	}
	f, err := ledger.Open(crashDir, keyed(disk, 3))
	if err != nil {
		t.Fatal(err)
	}
	s, err := f.Statement(ledger.About{Noise: "exact"})
	if err != nil {
		t.Fatal(err)
	}
	if all := s.Statement.Overrides; len(all) != 1 || all[0] != note {
		t.Errorf("statement's overrides %q", all)
	}
	for n := byte(1); n <= 3; n++ {
		err := s.Verify(owner(n))
		if n < 3 && (!errors.Is(err, ledger.ErrKey) || !strings.Contains(err.Error(), note)) ||
			n == 3 && err != nil {
			t.Errorf("key %d: %v", n, err)
		}
	}
	if err := s.Follows(&oldHead); !errors.Is(err, ledger.ErrKey) || !strings.Contains(err.Error(), note) {
		t.Errorf("from a head by the lost key: %v", err)
	}
	head := f.SignedHead()
	if err := head.Verify(owner(2), nil); !errors.Is(err, ledger.ErrKey) {
		t.Errorf("head: %v", err)
	}
	if err := head.Verify(owner(3), &oldHead); err != nil { // it is trusted by itself
		t.Errorf("head: %v", err)
	}
	if err := f.Rotate(key(4)); err != nil {
		t.Fatal(err)
	}
	head = f.SignedHead()
	if err := errors.Join(head.Verify(owner(3), nil), head.Verify(owner(4), nil)); err != nil {
		t.Error(err)
	}
	closed(t, f)
	for _, r := range []ledger.Replacement{{New: key(5)}, {Old: key(4)},
		{Old: key(4), New: key(5), Lost: true}, {Old: key(4), New: key(5), Reason: "x"},
		{New: key(5), Lost: true, Reason: strings.Repeat("x", 201)},
		{New: key(5), Lost: true, Reason: "a\nb"}, {New: key(2), Lost: true}, {Old: key(4), New: key(1)}} {
		before := disk.Changes
		var bad *config.Error
		if _, err := ledger.Rotate(crashDir, r, crashOptions(disk, 0)); !errors.As(err, &bad) ||
			disk.Changes != before {
			t.Errorf("%+v: %v", r, err)
		}
	}
	if _, err := ledger.Rotate("nowhere", ledger.Replacement{Old: key(1), New: key(5)},
		crashOptions(disk, 0)); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("nowhere: %v", err)
	}
}

// Heads and statements made after a rotation lead from the old key to the new one; what
// does not is refused.
func TestStatementsOverRotations(t *testing.T) {
	disk, first := rotated(t)
	var before ledger.SignedHead // by key 1, at record 2
	{
		d := ledgertest.NewCrashFS()
		f, err := ledger.Create(crashDir, genesis(), crashOptions(d, 0))
		if err != nil {
			t.Fatal(err)
		}
		foreign := f.SignedHead()
		if err := foreign.Verify(owner(1), nil); err != nil {
			t.Fatal(err)
		}
		if s := statement(t, keyed(disk.Clone(), 2)); !errors.Is(s.Follows(&foreign), ledger.ErrDataset) {
			t.Error("a statement follows the head of another ledger")
		}
	}
	after := first.SignedHead()
	before = after
	before.Rotations, before.PublicKey, before.Seq, before.Hash = nil, hexKey(1), 2, strings.Repeat("0", 64)
	s := statement(t, keyed(disk, 2))
	if err := errors.Join(s.Verify(owner(1)), s.Verify(owner(2)), s.Verify(nil), s.Follows(&before),
		s.Follows(&after), after.Verify(owner(1), &before), after.Verify(owner(2), &before)); err != nil {
		t.Error(err)
	}
	if bare := after.Bare(); bare.Verify(owner(2), &before) != nil ||
		!errors.Is(bare.Verify(owner(1), nil), ledger.ErrKey) {
		t.Error("a bare head")
	}
	late := before
	late.Seq = 5
	if err := s.Follows(&late); !errors.Is(err, ledger.ErrKey) {
		t.Errorf("a head by the old key after its rotation: %v", err)
	}
	strange := before
	strange.PublicKey = hexKey(3)
	if err := s.Follows(&strange); !errors.Is(err, ledger.ErrKey) {
		t.Errorf("a head by a strange key: %v", err)
	}
	if err := s.Verify(owner(3)); !errors.Is(err, ledger.ErrKey) {
		t.Errorf("a strange key: %v", err)
	}
	// a head that the old key signs after a peer has heard of the new one
	o := crashOptions(ledgertest.NewCrashFS(), 0)
	f, err := ledger.Create(crashDir, genesis(), o)
	if err != nil {
		t.Fatal(err)
	}
	charge(t, f, gaussian(t, 1e4), 9)
	stolen, known := f.SignedHead(), after
	known.ID = stolen.ID
	if err := stolen.Verify(owner(1), &known); !errors.Is(err, ledger.ErrKey) ||
		!strings.Contains(err.Error(), "which was rotated at record 4") {
		t.Errorf("a head by the old key after one by the new one: %v", err)
	}
}

// Rotations that do not lead from one key to the next are refused, in heads and in
// statements.
func TestForgedRotationsInHeads(t *testing.T) {
	disk, f := rotated(t)
	after, s := f.SignedHead(), statement(t, keyed(disk, 2))
	for name, edit := range map[string]func(r []ledger.Rotation) []ledger.Rotation{
		"nothing left": func([]ledger.Rotation) []ledger.Rotation { return nil },
		"swapped signatures": func(r []ledger.Rotation) []ledger.Rotation {
			r[0].OldSignature, r[0].NewSignature = r[0].NewSignature, r[0].OldSignature
			return r
		},
		"another record": func(r []ledger.Rotation) []ledger.Rotation { r[0].Seq--; return r },
		"another hash": func(r []ledger.Rotation) []ledger.Rotation {
			r[0].Prev = strings.Repeat("0", 64)
			return r
		},
		"another old key": func(r []ledger.Rotation) []ledger.Rotation { r[0].OldKey = hexKey(3); return r },
		"twice":           func(r []ledger.Rotation) []ledger.Rotation { return append(r, r[0]) },
		"no old signature": func(r []ledger.Rotation) []ledger.Rotation {
			r[0].OldSignature = ""
			return r
		},
		"made lost": func(r []ledger.Rotation) []ledger.Rotation {
			r[0].OldSignature, r[0].Note = "", "key replaced without the old key: lost"
			return r
		},
		"a later record": func(r []ledger.Rotation) []ledger.Rotation { r[0].Seq = 99; return r },
	} {
		h := after
		h.Rotations = edit(append([]ledger.Rotation(nil), after.Rotations...))
		err := h.Verify(owner(1), nil)
		if !errors.Is(err, ledger.ErrCorrupt) && !errors.Is(err, ledger.ErrKey) {
			t.Errorf("%s: %v", name, err)
		}
		forged := s
		forged.Rotations = h.Rotations
		if err := forged.Verify(owner(1)); err == nil {
			t.Errorf("%s: the statement passes", name)
		}
	}
}

func statement(t testing.TB, o ledger.Options) ledger.SignedStatement {
	t.Helper()
	f, err := ledger.Open(crashDir, o)
	if err != nil {
		t.Fatal(err)
	}
	s, err := f.Statement(ledger.About{Noise: "exact"})
	if err != nil {
		t.Fatal(err)
	}
	b, err := json.Marshal(s) // as a file holds it
	if err == nil {
		err = json.Unmarshal(b, &s)
	}
	if err != nil {
		t.Fatal(err)
	}
	closed(t, f)
	return s
}

// A ledger that somebody has open is not rotated from outside; an open file rotates while
// others charge and ask.
func TestRotationOfOpenLedger(t *testing.T) {
	disk := ledgertest.NewCrashFS()
	o := crashOptions(disk, 0)
	f, err := ledger.Create(crashDir, genesis(), o)
	if err != nil {
		t.Fatal(err)
	}
	r := ledger.Replacement{Old: key(1), New: key(2)}
	if _, err := ledger.Rotate(crashDir, r, o); !errors.Is(err, ledger.ErrLocked) {
		t.Errorf("from outside: %v", err)
	}
	ev := gaussian(t, 1e5)
	var wg sync.WaitGroup
	for range 3 {
		wg.Go(func() {
			for range 30 {
				_, err := f.Charge(ev)
				h := f.SignedHead()
				if err = errors.Join(err, h.Verify(owner(1), nil)); err != nil {
					t.Error(err)
				}
			}
		})
	}
	for n := byte(2); n < 8; n++ {
		if err := f.Rotate(key(n)); err != nil {
			t.Error(err)
		}
	}
	wg.Wait()
	closed(t, f)
	o.PublicKey = owner(7)
	if rep := verified(t, crashDir, o); rep.Charges != 90 || len(rep.Keys) != 7 {
		t.Errorf("report %+v", rep)
	}
}
