package account

import (
	"math"
	"testing"
)

// A selection of what hides parallel events would be charged their first branch alone:
// epsilon .115 where the other one has 115.
func TestSelectionHasNoBranches(t *testing.T) {
	ok := must(t)
	strong, weak := ok(Gaussian(100, 1)), ok(Gaussian(.1, 1))
	branches := ok(Parallel(strong, weak))
	for _, ev := range []Event{branches, ok(Repeat(2, branches)), ok(Compose(branches, strong))} {
		if got, err := RepeatSelect(10, 1, ev); err == nil {
			t.Errorf("a selection of %s: %s", ev.Key(), got.Key())
		}
		if got, err := RepeatSelectPoisson(10, ev); err == nil {
			t.Errorf("a selection of %s: %s", ev.Key(), got.Key())
		}
	}
}

// A selection in a selection would cost 150 times as long to bound for each level.
func TestSelectionHasNoSelection(t *testing.T) {
	ok := must(t)
	inner := ok(RepeatSelect(10, 1, ok(Gaussian(1, 1))))
	for _, ev := range []Event{inner, ok(Repeat(2, inner)), ok(Compose(inner, ok(Gaussian(1, 1))))} {
		if got, err := RepeatSelect(10, 1, ev); err == nil {
			t.Errorf("a selection of %s: %s", ev.Key(), got.Key())
		}
	}
}

// Copies of a cyclic event that are more than can be counted are not left out.
func TestCyclesBeyondCounting(t *testing.T) {
	ok := must(t)
	many := ok(Repeat(1<<52, ok(Gaussian(1e8, 1)))) // mu .67
	cycle := ok(CyclicSampled(2, many))
	for _, name := range Names() {
		acc, err := New(name, ZeroOut, Record())
		if err != nil {
			t.Fatal(err)
		}
		if name == "kov" { // has no Gaussian noise
			continue
		}
		for range 3 { // of which each can be counted
			if err := acc.Compose(cycle, 2); err != nil {
				t.Fatal(name, err)
			}
		}
		if i, err := acc.Epsilon(1e-5); err == nil && !(i.Upper > 4) {
			t.Errorf("%s: %v of three of mu .67", name, i)
		}
		if err := acc.Compose(cycle, 4); err == nil {
			t.Errorf("%s composes 2^54", name)
		}
	}
}

// What a law of numbers of hits lacks of 1 is not charged: no more than rounding may be
// left out.
func TestMixturesAreWhole(t *testing.T) {
	for lacks, whole := range map[float64]bool{9e-10: false, 2e-12: false, 1e-13: true, 0: true,
		-1e-10: true} {
		if ev, err := MixtureGaussian(1, []float64{0, 1}, []float64{.99, .01 - lacks}); err == nil != whole {
			t.Errorf("a law that lacks %g: %v, %v", lacks, ev.Key(), err)
		}
	}
}

// A Profile that nothing has made bounds nothing.
func TestZeroProfile(t *testing.T) {
	p := &Profile{}
	if d, r, mu := p.Delta(1), p.TPR(.1), p.Mu(); d != 1 || r != 1 || !math.IsInf(mu, 1) {
		t.Errorf("delta %v, rate %v, mu %v", d, r, mu)
	}
	if _, err := NewStatement(nil, AddRemove, Record(), 1e-5, "exact"); err == nil {
		t.Error("a statement without an accountant")
	}
}
