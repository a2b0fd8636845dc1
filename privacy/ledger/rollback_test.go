package ledger_test

import (
	"bytes"
	"crypto/ed25519"
	"errors"
	"path/filepath"
	"strings"
	"testing"

	"sotto/config"
	"sotto/privacy/account"
	"sotto/privacy/ledger"
	"sotto/privacy/ledger/ledgertest"
)

// rolledBack makes a ledger of ten charges, of which a copy with four is restored.
func rolledBack(t testing.TB) (dir string, o ledger.Options, known ledger.SignedHead) {
	t.Helper()
	disk := ledgertest.NewCrashFS()
	o = crashOptions(disk, 0)
	o.Run = "training"
	f, err := ledger.Create(crashDir, genesis(), o)
	if err != nil {
		t.Fatal(err)
	}
	charge(t, f, gaussian(t, 1e4), 4)
	o.FS = disk.Clone()
	charge(t, f, gaussian(t, 1e4), 6)
	return crashDir, o, f.SignedHead()
}

// A restored snapshot of a ledger spent the budget twice and no neighbor noticed: what
// the neighbors know is charged, numbers go on behind theirs, and statements say so.
func TestRolledBackLedgerChargesTheDifference(t *testing.T) {
	dir, o, known := rolledBack(t)
	f := reopen(t, dir, o)
	before, _ := f.Spent()
	r := ledger.RolledBack{Run: "training", Round: 9, From: known.Seq, To: f.Head().Seq,
		Charges: []ledger.ChargeOf{{Count: 6, Event: gaussian(t, 1e4)}}, Evidence: []byte("heads of both")}
	for range 2 { // the second time it is known
		if err := f.RollBack(r); err != nil {
			t.Fatal(err)
		}
	}
	after, _ := f.Spent()
	if f.Charges("training") != 10 || f.Total() != 10 || !(after.Epsilon.Upper > before.Epsilon.Upper) {
		t.Errorf("%d charges, epsilon %g after %g", f.Charges("training"), after.Epsilon.Upper,
			before.Epsilon.Upper)
	}
	if run := f.Run("training"); run.Round != 9 || len(run.Of) != 1 || run.Of[0].Count != 10 {
		t.Errorf("run %+v", run)
	}
	head := f.SignedHead()
	if err := head.Verify(key(1).Public().(ed25519.PublicKey), &known); err != nil {
		t.Errorf("a neighbor refuses the mended ledger: %v", err)
	}
	if seq := charge(t, f, gaussian(t, 1e4), 1); seq <= known.Seq {
		t.Errorf("number %d was given out before", seq)
	}
	s, err := f.Statement(ledger.About{Noise: "exact"})
	if err != nil {
		t.Fatal(err)
	}
	const note = "; 6 charges were added from its neighbors' signed knowledge"
	if all := s.Statement.Overrides; len(all) != 1 || !strings.HasPrefix(all[0], "this ledger was rolled "+
		"back from record 12 to 6") || !strings.HasSuffix(all[0], note) || s.Statement.Releases != 11 {
		t.Errorf("statement of %d releases with overrides %q", s.Statement.Releases, all)
	}
	closed(t, f)
	if rep := verified(t, dir, o); rep.Charges != 11 || len(rep.Overrides) != 1 {
		t.Errorf("report %+v", rep)
	}
	var lost *ledger.Lost
	for rec, err := range ledger.History(dir, o) {
		if err != nil {
			t.Fatal(err)
		}
		if rec.Kind == ledger.Restored {
			lost = rec.Lost
		}
	}
	if lost == nil || lost.From != 12 || lost.To != 6 || len(lost.Charges) != 1 ||
		lost.Charges[0].Count != 6 {
		t.Errorf("record of the rollback: %+v", lost)
	}
	var out bytes.Buffer
	if err := ledger.Export(&out, dir, o); err != nil || !strings.Contains(out.String(), `"v":2}`) {
		t.Errorf("export: %v\n%s", err, &out)
	}
	again := reopen(t, dir, o)
	if again.Charges("training") != 11 {
		t.Errorf("%d charges after opening again", again.Charges("training"))
	}
	if err := again.RollBack(r); err != nil || again.Total() != 11 {
		t.Errorf("the same evidence after opening again: %v, %d charges", err, again.Total())
	}
	closed(t, again)
}

// Charges that happened stand beyond the budget, which then admits nothing more, now and
// after opening again.
func TestRollBackBeyondTheBudget(t *testing.T) {
	dir, o, known := rolledBack(t)
	f := reopen(t, dir, o)
	err := f.RollBack(ledger.RolledBack{Run: "training", From: known.Seq, To: 6, Evidence: []byte{1},
		Charges: []ledger.ChargeOf{{Count: 1e12, Event: gaussian(t, 1e4)}}})
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if _, err := f.Charge(gaussian(t, 1e4)); !errors.Is(err, account.ErrExhausted) {
			t.Errorf("a charge beyond the budget: %v", err)
		}
		closed(t, f)
		f = reopen(t, dir, o)
	}
	closed(t, f)
	if rep := verified(t, dir, o); !rep.Overspent || rep.Charges != 4+1e12 {
		t.Errorf("report %+v", rep)
	}
}

// What contradicts itself is refused and changes nothing.
func TestRollBackRefusals(t *testing.T) {
	dir, o, known := rolledBack(t)
	f := reopen(t, dir, o)
	head := f.Head()
	good := ledger.RolledBack{Run: "training", From: known.Seq, To: 6, Evidence: []byte{1},
		Charges: []ledger.ChargeOf{{Count: 6, Event: gaussian(t, 1e4)}}}
	for name, edit := range map[string]func(r *ledger.RolledBack){
		"to":       func(r *ledger.RolledBack) { r.To = head.Seq + 1 },
		"from":     func(r *ledger.RolledBack) { r.From = r.To },
		"evidence": func(r *ledger.RolledBack) { r.Evidence = nil },
		"charges.count": func(r *ledger.RolledBack) {
			r.Charges = []ledger.ChargeOf{{Event: gaussian(t, 1)}}
		},
		"charges": func(r *ledger.RolledBack) {
			r.Charges = []ledger.ChargeOf{{1 << 53, gaussian(t, 1)}, {1, gaussian(t, 2)}}
		},
		"run":   func(r *ledger.RolledBack) { r.Run = strings.Repeat("x", 300) },
		"round": func(r *ledger.RolledBack) { r.Round = 1 << 63 },
	} {
		r := good
		edit(&r)
		var bad *config.Error
		if err := f.RollBack(r); !errors.As(err, &bad) || bad.Key != name {
			t.Errorf("%s: %v", name, err)
		}
	}
	if f.Head() != head {
		t.Error("a refusal was written")
	}
	closed(t, f)
	if err := f.RollBack(good); !errors.Is(err, ledger.ErrClosed) {
		t.Errorf("closed: %v", err)
	}
}

// A record of a rollback that is edited, with its checksum made anew, is found.
func TestEditedRollBackIsFound(t *testing.T) {
	dir, o, known := rolledBack(t)
	f := reopen(t, dir, o)
	if err := f.RollBack(ledger.RolledBack{Run: "training", From: known.Seq, To: 6, Evidence: []byte{1},
		Charges: []ledger.ChargeOf{{Count: 6, Event: gaussian(t, 1e4)}}}); err != nil {
		t.Fatal(err)
	}
	disk := o.FS.(*ledgertest.CrashFS)
	name := filepath.Join(dir, "000001.log")
	if disk.Content(filepath.Join(dir, "000002.log")) != nil {
		name = filepath.Join(dir, "000002.log")
	}
	all := frames(t, disk.Content(name))
	last := all[len(all)-1]
	for from, to := range map[string]string{`"count":6`: `"count":5`, `"from":12`: `"from":13`,
		`"to":6`: `"to":5`, `6 charges were`: `5 charges were`, `"round":0`: `"round":1`} {
		edited := bytes.Replace(last, []byte(from), []byte(to), 1)
		if bytes.Equal(edited, last) {
			t.Fatalf("%s is not in %s", from, last)
		}
		d := disk.Clone()
		d.Put(name, join(append(append([][]byte{}, all[:len(all)-1]...), edited)...))
		o.FS = d
		if _, err := ledger.Verify(dir, o); !errors.Is(err, ledger.ErrCorrupt) {
			t.Errorf("%s for %s: %v", to, from, err)
		}
	}
}

// Whenever the machine crashes while a rollback is recorded, calling it again with the
// same evidence charges the difference exactly once.
func TestRollBackCrashes(t *testing.T) {
	t.Parallel()
	for at := 1; at <= 12; at++ {
		for survive := range 3 {
			dir, o, known := rolledBack(t)
			disk := o.FS.(*ledgertest.CrashFS)
			disk.CrashAt = disk.Changes + at
			r := ledger.RolledBack{Run: "training", From: known.Seq, To: 6, Evidence: []byte{1},
				Charges: []ledger.ChargeOf{{Count: 6, Event: gaussian(t, 1e4)}}}
			f, err := ledger.Open(dir, o)
			if err == nil {
				err = f.RollBack(r)
			}
			if err == nil {
				break
			}
			if !errors.Is(err, ledgertest.ErrCrashed) {
				t.Fatal(err)
			}
			o.FS = disk.Recover(func(n int) int { return survive % n })
			f = reopen(t, dir, o)
			if n := f.Charges("training"); n != 4 && n != 10 {
				t.Errorf("change %d: %d charges after the crash", at, n)
			}
			if err := f.RollBack(r); err != nil || f.Charges("training") != 10 {
				t.Errorf("change %d: %v, %d charges", at, err, f.Charges("training"))
			}
			closed(t, f)
			verified(t, dir, o)
		}
	}
}
