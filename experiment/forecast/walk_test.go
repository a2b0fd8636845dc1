package forecast

import (
	"testing"

	"sotto/experiment"
	"sotto/experiment/experimenttest"
	"sotto/privacy/account"
)

// The bound that needs no network is that of the agent whose plan costs most, whichever
// it is. It was the first agent's.
func TestDearestAgent(t *testing.T) {
	f, err := experiment.Parse("walk.toml", []byte(experimenttest.Walk), nil)
	if err != nil {
		t.Fatal(err)
	}
	e, err := f.Build("")
	if err != nil {
		t.Fatal(err)
	}
	last := &e.Plans[len(e.Plans)-1]
	dear, err := account.Gaussian(.5, 1)
	if err != nil {
		t.Fatal(err)
	}
	last.Events = []account.Event{dear}
	want, err := last.Cost(&e.Setup.Target, last.Charges())
	if err != nil {
		t.Fatal(err)
	}
	first, err := e.Plans[0].Cost(&e.Setup.Target, e.Plans[0].Charges())
	if err != nil || first.Upper >= want.Upper {
		t.Fatalf("the first agent's %v, the last one's %v: this shows nothing (%v)", first, want, err)
	}
	if got, err := dearest(e); err != nil || got.Upper != want.Upper {
		t.Errorf("%v, %v; want %v", got, err, want)
	}
}
