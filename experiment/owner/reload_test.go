package owner

import (
	"crypto/ed25519"
	"errors"
	"testing"
	"time"

	"sotto/experiment"
	"sotto/experiment/plan"
	"sotto/node/roster"
	"sotto/privacy/account"
	"sotto/privacy/ledger"
)

// The policy's budget counted once, when the ledger was made: a smaller one in the policy
// was ignored. It holds from the next charge on; a larger one never loosens the ledger's.
func TestPolicyTightensAndNeverLoosens(t *testing.T) {
	_, key, err := ed25519.GenerateKey(nil)
	if err != nil {
		t.Fatal(err)
	}
	ev, err := account.Gaussian(4, 1)
	if err != nil {
		t.Fatal(err)
	}
	own := account.Budget{Epsilon: 3, Delta: 1e-5}
	l, err := ledger.Create(t.TempDir(), ledger.Genesis{Adjacency: account.ZeroOut, Unit: account.Record(),
		Budget: own, MinRecords: 1000}, ledger.Options{Key: key, FS: ledger.OS{AllowVolatile: true}})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	run := &runLedger{File: l, tight: new(allowance)}
	// charge charges until the budget refuses, at most so often, and returns how often.
	charge := func(most int) int {
		for n := range most {
			if _, err := run.Charge(ev); errors.Is(err, account.ErrExhausted) {
				return n
			} else if err != nil {
				t.Fatal(err)
			}
		}
		return most
	}
	want := func(epsilon, delta float64) {
		run.tight.want(roster.DatasetPolicy{LifetimeEpsilon: epsilon, LifetimeDelta: delta})
	}
	if n := charge(2); n != 2 {
		t.Fatalf("%d charges of 2 without a policy", n)
	}
	want(3, 1e-5)
	if n := charge(1); n != 1 {
		t.Error("the ledger's own budget refuses in the policy's name")
	}
	want(1, 1e-5)
	if n := charge(10); n != 0 {
		t.Errorf("%d charges beyond the policy's smaller epsilon", n)
	}
	if got := run.tight.lifetime(own.Epsilon); got != 1 {
		t.Errorf("lifetime %v, want the policy's", got)
	}
	want(3, 1e-12)
	if n := charge(10); n != 0 {
		t.Errorf("%d charges beyond the policy's smaller delta", n)
	}
	refusal := errors.New("not allowed any more")
	run.tight.forbid(refusal)
	if _, err := run.Charge(ev); !errors.Is(err, refusal) {
		t.Errorf("a charge that is not allowed any more: %v", err)
	}
	want(90, 1e-3)
	if got := run.tight.lifetime(own.Epsilon); got != own.Epsilon {
		t.Errorf("lifetime %v, want the ledger's", got)
	}
	n := charge(1000)
	if spent, err := l.Spent(); err != nil || n == 0 || n == 1000 || spent.Epsilon.Upper > own.Epsilon {
		t.Errorf("%d more charges after a larger policy, epsilon %+v, %v", n, spent, err)
	}
}

// A backup comes from a disk that others may have written to.
func TestBackupNames(t *testing.T) {
	for name, want := range map[string]bool{"policy.toml": true, "key": true, "state/checkpoint": true,
		"state/checkpoint.2": true, "state/heads.json": true, "ledger/.secret": true,
		"ledger/ab/000001.log":   true,
		"ledger/ab/dataset-x.fp": true, "backup.json": true,
		"../key": false, "/key": false, "state/../../key": false, "ledger/../key": false, "state/lock": false,
		"ledger/ab/lock": false, "ledger/a/b/c.log": false, "ledger/../.log/x.log": false, "state/": false,
		`ledger/a\..\..\x/000001.log`: false, "": false, "else": false, "./key": false} {
		if got := inBackup(name); got != want {
			t.Errorf("%q in a backup: %t, want %t", name, got, want)
		}
	}
}

// What a node says of its ledger is of all its records, but for those of a moment: it was
// up to ten seconds old, and beside "at most" too small.
func TestSpendingFollowsTheLedger(t *testing.T) {
	_, key, err := ed25519.GenerateKey(nil)
	if err != nil {
		t.Fatal(err)
	}
	ev, err := account.Gaussian(4, 1)
	if err != nil {
		t.Fatal(err)
	}
	l, err := ledger.Create(t.TempDir(), ledger.Genesis{Adjacency: account.ZeroOut, Unit: account.Record(),
		Budget: account.Budget{Epsilon: 3, Delta: 1e-5}, MinRecords: 1000},
		ledger.Options{Key: key, FS: ledger.OS{AllowVolatile: true}, Accountant: "gdp"})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	p := &process{Daemon: &Daemon{Membership: &Membership{Owner: new(Owner)}}, ledger: l}
	before := p.spending()
	for range 3 {
		if _, err := l.Charge(ev); err != nil {
			t.Fatal(err)
		}
	}
	p.costs.at = p.costs.at.Add(-max(1100*time.Millisecond, 51*p.costs.took)) // later
	after := p.spending()
	spent, err := l.Spent()
	if err != nil || after.Records != before.Records+3 || after.Epsilon != spent.Epsilon.Upper {
		t.Errorf("%+v, before three charges %+v; the ledger says %+v, %v", after, before, spent.Epsilon, err)
	}
}

// A policy's smaller budget passed over what a rollback had added to the ledger: epsilon
// 2.79 was spent under 2.
func TestPolicyCountsWhatARollbackAdded(t *testing.T) {
	_, key, err := ed25519.GenerateKey(nil)
	if err != nil {
		t.Fatal(err)
	}
	ev, err := account.Gaussian(8, 1)
	if err != nil {
		t.Fatal(err)
	}
	begin := func() *runLedger {
		l, err := ledger.Create(t.TempDir(), ledger.Genesis{Adjacency: account.ZeroOut,
			Unit: account.Record(), Budget: account.Budget{Epsilon: 8, Delta: 1e-5}, MinRecords: 1000},
			ledger.Options{Key: key, FS: ledger.OS{AllowVolatile: true}})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { l.Close() })
		return &runLedger{File: l, tight: new(allowance)}
	}
	charge := func(run *runLedger, most int) (n int) {
		for ; n < most; n++ {
			if _, err := run.Charge(ev); errors.Is(err, account.ErrExhausted) {
				return n
			} else if err != nil {
				t.Fatal(err)
			}
		}
		return n
	}
	policy := roster.DatasetPolicy{LifetimeEpsilon: 2, LifetimeDelta: 1e-5}
	run := begin()
	run.tight.want(policy)
	all := charge(run, 1000)
	for name, before := range map[string]int{"before the policy is read": -1, "after it": 0,
		"after a charge": 1} {
		run := begin()
		asks := []plan.Agent{{Events: []account.Event{ev}}}
		o := &Owner{e: &experiment.Experiment{Plans: asks}, limited: run}
		run.tight = &o.tight
		if before >= 0 {
			run.tight.want(policy)
			charge(run, before)
		}
		had, to := max(before, 0), run.Head().Seq
		if err := o.RollBack(run.File, uint64(all-1-had), ledger.RolledBack{Run: "r", From: to + uint64(all),
			To: to, Evidence: []byte{1}}); err != nil {
			t.Fatal(err)
		}
		run.tight.want(policy)
		if n := charge(run, 1000); all < 3 || n != 1 {
			t.Errorf("a rollback %s: %d charges beside %d others, want 1", name, n, all-1)
		}
	}
	run.tight.forbid(errors.New("not allowed any more"))
	run.tight.renew()
	if _, err := run.Charge(ev); err == nil {
		t.Error("a rollback allows again what the policy forbids")
	}
}
