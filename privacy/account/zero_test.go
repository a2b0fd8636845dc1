package account

import (
	"encoding/json"
	"testing"
)

// Zero values, which no constructor has made, answer with errors: they neither panic nor
// state a bound.
func TestZeroValues(t *testing.T) {
	ev, err := Gaussian(1, 1)
	if err != nil {
		t.Fatal(err)
	}
	for _, a := range []Accountant{&ExactGaussian{}, &KOV{}, &PrivacyLoss{}, &RenyiDP{}} {
		if err := a.Compose(ev, 1); err == nil {
			t.Errorf("%T composes", a)
		}
		if i, err := a.Epsilon(1e-5); err == nil {
			t.Errorf("%T states %v", a, i)
		}
		if d, ok := a.(DeltaAccountant); ok {
			if i, err := d.Delta(1); err == nil {
				t.Errorf("%T states delta %v", a, i)
			}
		}
		if b, err := json.Marshal(a); err == nil {
			t.Errorf("%T is saved as %s", a, b)
		}
		a.Describe()
	}
	d := &PrivacyLoss{}
	for what, of := range map[string]func() error{
		"add":    func() error { _, err := d.Add(1e-5); return err },
		"remove": func() error { _, err := d.Remove(1e-5); return err },
		"upper":  func() error { _, err := d.UpperEpsilon(1e-5); return err },
		"curve":  func() error { _, err := d.Profile(); return err },
		"order":  func() error { _, err := new(RenyiDP).AtOrder(2); return err },
		"count":  func() error { return new(CountFilter).Admit(ev, 1) },
		"rdp":    func() error { return new(RDPFilter).Admit(ev, 1) },
		"gdp":    func() error { return new(GDPFilter).Admit(ev, 1) },
		"walk":   func() error { _, err := new(Odometer).Epsilon(1); return err },
	} {
		if of() == nil {
			t.Errorf("%s: no error", what)
		}
	}
	if mu := new(ExactGaussian).Mu(); mu == 0 {
		t.Error("mu 0 of an accountant that nothing has made")
	}
}
