package ledger_test

import (
	"math"
	"testing"

	"sotto/privacy/account"
	"sotto/privacy/ledger"
)

// A ledger takes no event that it could not read again: programs may set the public
// fields of an event to anything.
func TestChargesAreReadable(t *testing.T) {
	fixed, err := account.FixedSizeSampled(100, 10, gaussian(t, 50))
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		ev  account.Event
		set func(ev *account.Event)
	}{
		"clip below 0":   {gaussian(t, 50), func(ev *account.Event) { ev.Clip = -1 }},
		"clip no number": {gaussian(t, 50), func(ev *account.Event) { ev.Clip = math.NaN() }},
		"infinite clip":  {gaussian(t, 50), func(ev *account.Event) { ev.Clip = math.Inf(1) }},
		"adjacency":      {gaussian(t, 50), func(ev *account.Event) { ev.Adjacency = 9 }},
		"unit":           {gaussian(t, 50), func(ev *account.Event) { ev.Unit.Size = 1 }},
		"no text":        {gaussian(t, 50), func(ev *account.Event) { ev.Oracle = "a\xff" }},
		"of a number":    {fixed, func(ev *account.Event) { ev.Adjacency = account.AddRemove }},
	} {
		c.set(&c.ev)
		dir, o := t.TempDir(), options()
		o.Filter = all{}
		f := create(t, dir, o)
		charge(t, f, gaussian(t, 60), 1)
		if _, err := f.Charge(c.ev); err == nil {
			t.Errorf("%s: charged", name)
		}
		f.Close()
		if f, err := ledger.Open(dir, o); err != nil {
			t.Errorf("%s: the ledger is lost: %v", name, err)
		} else {
			f.Close()
		}
		m := ledger.NewMemory(nil)
		if _, err := m.Charge(c.ev); err != nil {
			continue
		}
		m.Head()
	}
}

// all admits everything.
type all struct{}

func (all) Admit(account.Event, int) error { return nil }
