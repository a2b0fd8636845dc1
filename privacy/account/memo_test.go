package account_test

import (
	"fmt"
	"testing"

	"sotto/privacy/account"
)

func sure[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

// questions are as many different figures, some of which differ in one thing alone.
func questions(t *testing.T) map[string]func() (account.Interval, error) {
	t.Helper()
	out := map[string]func() (account.Interval, error){}
	add := func(name string, a account.Accountant, err error, ask func() (account.Interval, error),
		noise float64, times int) {
		t.Helper()
		ev := sure(account.PoissonSampled(.02, sure(account.Gaussian(noise, 1))))
		if name == "kov" {
			ev = sure(account.EpsDelta(noise/10, 1e-7))
		}
		if err == nil {
			err = a.Compose(ev, times)
		}
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		out[fmt.Sprint(len(out), " ", name)] = ask
	}
	for _, v := range []struct {
		adjacency    account.Adjacency
		unit         account.Unit
		noise, delta float64
		times        int
	}{
		{account.AddRemove, account.Record(), 1, 1e-5, 100},
		{account.ReplaceOne, account.Record(), 1, 1e-5, 100},
		{account.AddRemove, account.Group(2), 1, 1e-5, 100},
		{account.AddRemove, account.Record(), 1.0000001, 1e-5, 100},
		{account.AddRemove, account.Record(), 1, 1.0000001e-5, 100},
		{account.AddRemove, account.Record(), 1, 1e-5, 101},
	} {
		d, err := account.NewPLD(v.adjacency, v.unit)
		add("pld", d, err, func() (account.Interval, error) { return d.Epsilon(v.delta) }, v.noise, v.times)
		u, err := account.NewPLD(v.adjacency, v.unit)
		add("pld upper", u, err, func() (account.Interval, error) {
			e, err := u.UpperEpsilon(v.delta)
			return account.Interval{Upper: e}, err
		}, v.noise, v.times)
	}
	d, err := account.NewPLD(account.AddRemove, account.Record())
	add("remove", d, err, func() (account.Interval, error) { return d.Remove(1e-5) }, 1, 100)
	add("add", d, err, func() (account.Interval, error) { return d.Add(1e-5) }, 1, 0)
	add("delta", d, err, func() (account.Interval, error) { return d.Delta(1e-5) }, 1, 0)
	m, err := account.NewPLD(account.AddRemove, account.Record(), 1e-2)
	add("mesh", m, err, func() (account.Interval, error) { return m.Epsilon(1e-5) }, 1, 100)
	r, err := account.NewRDP(account.AddRemove, account.Record())
	add("rdp", r, err, func() (account.Interval, error) { return r.Epsilon(1e-5) }, 1, 100)
	add("rdp delta", r, err, func() (account.Interval, error) { return r.Delta(1e-5) }, 1, 0)
	o, err := account.NewRDP(account.AddRemove, account.Record(), 3)
	add("orders", o, err, func() (account.Interval, error) { return o.Epsilon(1e-5) }, 1, 100)
	k, err := account.NewKOV(account.AddRemove, account.Record())
	add("kov", k, err, func() (account.Interval, error) { return k.Epsilon(1e-5) }, 1, 10)
	add("kov", k, err, func() (account.Interval, error) { return k.Delta(1e-5) }, 2, 10)
	return out
}

func remembered() int {
	lately, _ := account.Figures().All()
	return len(lately)
}

// A remembered figure is that of its own question, bit for bit, however alike others are.
func TestRememberedFigures(t *testing.T) {
	all := questions(t)
	fresh := map[string]account.Interval{}
	for name, ask := range all {
		account.Figures().Forget()
		fresh[name] = sure(ask())
	}
	account.Figures().Forget()
	for range 2 {
		for name, ask := range all {
			if got := sure(ask()); got != fresh[name] {
				t.Errorf("%s: %v, alone %v", name, got, fresh[name])
			}
		}
	}
	if n := remembered(); n != len(all) {
		t.Errorf("%d figures of %d questions", n, len(all))
	}
}

// What a search for noise ends with is what its plan costs: nothing is composed anew.
func TestSearchEndsWithTheFigure(t *testing.T) {
	account.Figures().Forget()
	p := account.DPSGD(account.AddRemove, .01, 500)
	found := sure(account.Noise(p, account.Budget{Epsilon: 2, Delta: 1e-5}))
	before := remembered()
	acc := sure(account.New(account.Default, account.AddRemove, account.Record()))
	step := sure(account.PoissonSampled(.01, sure(account.Gaussian(found.NoiseMultiplier, 1))))
	for range 500 { // as a ledger lists them
		if err := acc.Compose(step, 1); err != nil {
			t.Fatal(err)
		}
	}
	if i := sure(acc.Epsilon(1e-5)); i != found.Epsilon {
		t.Errorf("at the end %v, found %v", i, found.Epsilon)
	}
	if after := remembered(); before == 0 || after != before {
		t.Errorf("%d figures after the search, %d at the end", before, after)
	}
}
