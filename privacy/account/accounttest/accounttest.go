// Package accounttest is the conformance suite of account.Accountant.
package accounttest

import (
	"bytes"
	"encoding/json"
	"errors"
	"math"
	"testing"

	"sotto/privacy/account"
)

// candidates are events of which every accountant supports at least one and refuses at
// least one.
func candidates(t *testing.T) map[string]account.Event {
	t.Helper()
	must := func(ev account.Event, err error) account.Event {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return ev
	}
	g := must(account.Gaussian(4, 1))
	return map[string]account.Event{
		"gaussian":  g,
		"laplace":   must(account.Laplace(5)),
		"eps_delta": must(account.EpsDelta(0.1, 1e-7)),
		"zcdp":      must(account.ZCDP(0.01, 0)),
		"poisson":   must(account.PoissonSampled(0.05, g)),
		"bounded":   must(account.BoundedNoise(account.BoundedGaussian, 2, 8, 0)),
		"fixed":     must(account.FixedSizeSampled(1000, 10, g)),
	}
}

// Run checks the contract of account.Accountant on accountants made by newAccountant,
// which must be empty and of one adjacency and unit:
//
//   - nothing and no-ops cost 0, non-private events and absent noise cost +Inf, never
//     NaN;
//   - unsupported, invalid and negative input is an error and changes nothing;
//   - epsilon does not fall with the count nor rise with delta, and Lower <= Upper;
//   - n at once are n one by one, in any order, bit for bit, and so is a saved and
//     restored accountant;
//   - epsilon and delta, where offered, are inverse;
//   - disjoint branches cost their maximum.
func Run(t *testing.T, newAccountant func() account.Accountant) {
	const delta = 1e-5
	t.Run("edges", func(t *testing.T) { edges(t, newAccountant, delta) })
	supported := 0
	for name, ev := range candidates(t) {
		a := newAccountant()
		if err := a.Compose(ev, 1); err != nil {
			refused(t, newAccountant, name, ev, err, delta)
			continue
		}
		supported++
		t.Run(name, func(t *testing.T) {
			monotone(t, newAccountant, ev)
			laws(t, newAccountant, ev, delta)
		})
	}
	if supported == 0 || supported == len(candidates(t)) {
		t.Errorf("%d of %d events supported, want some but not all", supported, len(candidates(t)))
	}
}

func epsilon(t *testing.T, a account.Accountant, delta float64) account.Interval {
	t.Helper()
	account.Figures().Forget() // what is compared is composed each time
	i, err := a.Epsilon(delta)
	if err != nil {
		t.Fatalf("Epsilon(%g): %v", delta, err)
	}
	if math.IsNaN(i.Lower) || math.IsNaN(i.Upper) || i.Lower < 0 || i.Lower > i.Upper {
		t.Errorf("Epsilon(%g) = %v", delta, i)
	}
	return i
}

func edges(t *testing.T, newAccountant func() account.Accountant, delta float64) {
	a := newAccountant()
	if i := epsilon(t, a, delta); i.Upper != 0 {
		t.Errorf("empty: %v", i)
	}
	if err := a.Compose(account.NoOp(), 1000); err != nil {
		t.Error(err)
	}
	if i := epsilon(t, a, 0); i.Upper != 0 {
		t.Errorf("no-op: %v", i)
	}
	if err := a.Compose(account.Event{}, 1); err == nil {
		t.Error("the zero Event was accepted")
	}
	if err := a.Compose(account.NonPrivate("test"), 0); err != nil {
		t.Error(err)
	}
	if i := epsilon(t, a, delta); i.Upper != 0 {
		t.Errorf("no copies of a non-private event: %v", i)
	}
	if err := a.Compose(account.NoOp(), -1); err == nil {
		t.Error("a negative count was accepted")
	}
	for _, d := range []float64{-1, 1.5, math.NaN()} {
		if _, err := a.Epsilon(d); err == nil {
			t.Errorf("delta %v was accepted", d)
		}
	}
	silent, err := account.Gaussian(0, 1)
	if err != nil {
		t.Fatal(err)
	}
	for _, ev := range []account.Event{account.NonPrivate("test"), silent} {
		b := newAccountant()
		if err := b.Compose(ev, 1); errors.Is(err, account.ErrUnsupported) {
			continue
		} else if err != nil {
			t.Error(err)
		}
		if i := epsilon(t, b, delta); !math.IsInf(i.Upper, 1) {
			t.Errorf("%s: %v, want +Inf", ev.Key(), i)
		}
	}
}

func refused(t *testing.T, newAccountant func() account.Accountant, name string, ev account.Event, err error,
	delta float64) {
	t.Helper()
	if !errors.Is(err, account.ErrUnsupported) {
		t.Errorf("%s: %v, want ErrUnsupported", name, err)
	}
	a := newAccountant()
	both, err := account.Compose(account.NonPrivate("test"), ev)
	if err != nil {
		t.Fatal(err)
	}
	if a.Compose(both, 1) == nil {
		t.Errorf("%s: accepted inside a sequence", name)
	}
	if i := epsilon(t, a, delta); i.Upper != 0 {
		t.Errorf("%s: a refused event left %v", name, i)
	}
}

func monotone(t *testing.T, newAccountant func() account.Accountant, ev account.Event) {
	last := account.Interval{}
	for _, n := range []int{1, 10, 1000} {
		a := newAccountant()
		if err := a.Compose(ev, n); err != nil {
			t.Fatal(err)
		}
		i := epsilon(t, a, 1e-3)
		if i.Upper < last.Upper*(1-1e-9) {
			t.Errorf("%d copies: %v after %v", n, i, last)
		}
		last = i
		tighter := math.Inf(1)
		for _, d := range []float64{0, 1e-6, 1e-3, 1} {
			e := epsilon(t, a, d).Upper
			if e > tighter*(1+1e-4) { // within the resolution of a grid
				t.Errorf("%d copies: epsilon rises to %v at delta %g", n, e, d)
			}
			tighter = math.Min(tighter, e)
		}
		if tighter != 0 {
			t.Errorf("epsilon %v at delta 1", tighter)
		}
	}
}

func laws(t *testing.T, newAccountant func() account.Accountant, ev account.Event, delta float64) {
	other, err := account.Repeat(3, ev)
	if err != nil {
		t.Fatal(err)
	}
	pair, err := account.Parallel(ev, account.NoOp())
	if err != nil {
		t.Fatal(err)
	}
	compose := func(steps ...any) account.Accountant {
		a := newAccountant()
		for i := 0; i < len(steps); i += 2 {
			if err := a.Compose(steps[i].(account.Event), steps[i+1].(int)); err != nil {
				t.Fatal(err)
			}
		}
		return a
	}
	want := epsilon(t, compose(ev, 7), delta)
	if d, ok := compose(ev, 7).(account.DeltaAccountant); ok {
		i, err := d.Delta(math.Min(want.Upper, 1e300))
		if err != nil || want.Upper < 1e300 && i.Upper > delta*(1+1e-3) || i.Lower < 0 ||
			want.Upper < 1e300 && i.Lower > delta {
			t.Errorf("delta at epsilon(%g) is %v, %v", delta, i, err)
		}
		if i, err = d.Delta(1e4); err != nil || i.Upper > 0.01 {
			t.Errorf("delta at epsilon 10,000 is %v, %v", i, err)
		}
		if _, err = d.Delta(-1); err == nil {
			t.Error("a negative epsilon was accepted")
		}
	}
	for name, a := range map[string]account.Accountant{
		"one by one":     compose(ev, 1, ev, 1, ev, 1, ev, 1, ev, 1, ev, 1, ev, 1),
		"nested repeats": compose(ev, 1, other, 2),
		"other order":    compose(other, 1, ev, 1, other, 1),
		"branches":       compose(pair, 7),
	} {
		if got := epsilon(t, a, delta); got != want {
			t.Errorf("%s: %v, want %v", name, got, want)
		}
	}
	saved := compose(ev, 3)
	m, ok := saved.(json.Marshaler)
	if !ok {
		return
	}
	data, err := m.MarshalJSON()
	if err != nil {
		t.Fatal(err)
	}
	back, err := account.Restore(data)
	if err != nil {
		t.Fatal(err)
	}
	if again, err := back.(json.Marshaler).MarshalJSON(); err != nil || !bytes.Equal(again, data) {
		t.Errorf("restored state differs: %s, %v", again, err)
	}
	if err := back.Compose(ev, 4); err != nil {
		t.Fatal(err)
	}
	if got := epsilon(t, back, delta); got != want {
		t.Errorf("restored and continued: %v, want %v", got, want)
	}
}
