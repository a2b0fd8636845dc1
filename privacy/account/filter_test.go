package account

import (
	"errors"
	"math"
	"strings"
	"testing"

	"sotto/privacy/account/loss"
)

func TestCountFilter(t *testing.T) {
	ev, other := must(t)(Gaussian(2, 1)), must(t)(Gaussian(3, 1))
	f, err := NewCountFilter(ev, 10)
	if err != nil {
		t.Fatal(err)
	}
	same := must(t)(Gaussian(2, 1)) // equal, made elsewhere
	for i, step := range []struct {
		ev   Event
		n    int
		want error
	}{{ev, 4, nil}, {same, 5, nil}, {ev, 2, ErrExhausted}, {NoOp(), 100, nil}, {other, 1, ErrUnsupported},
		{ev, 1, nil}, {ev, 1, ErrExhausted}, {ev, 0, nil}} {
		if err := f.Admit(step.ev, step.n); !errors.Is(err, step.want) {
			t.Errorf("step %d: %v, want %v", i, err, step.want)
		}
	}
	if f.Left(ev) != 0 || f.Admit(ev, -1) == nil || f.Admit(Event{}, 1) == nil {
		t.Error("bad input was accepted")
	}
}

// TestPlanFilter: the plan's quota fits the budget and no larger one does.
func TestPlanFilter(t *testing.T) {
	t.Parallel()
	p := DPSGD(AddRemove, 0.02, 1)
	p.NoiseMultiplier = 1.5
	n, err := Steps(p, Budget{2, 1e-6})
	if err != nil {
		t.Fatal(err)
	}
	ev, err := p.Steps[0].Event(p.NoiseMultiplier, p.SampleRate)
	if err != nil {
		t.Fatal(err)
	}
	p.Steps = append(p.Steps, p.Steps[0]) // the same event twice a period
	f, err := NewPlanFilter(p, Budget{2, 1e-6})
	if err != nil {
		t.Fatal(err)
	}
	if f.Left(ev) != n/2*2 {
		t.Errorf("quota %d, want %d", f.Left(ev), n/2*2)
	}
}

// TestAdditiveFilters: charges one by one stop exactly where composition says, also for
// heterogeneous events; a refused charge changes nothing, so that a smaller one may still
// fit.
func TestAdditiveFilters(t *testing.T) {
	budget := Budget{3, 1e-5}
	large, small := must(t)(Gaussian(8, 1)), must(t)(Gaussian(40, 1))
	g, err := NewGDPFilter(AddRemove, Record(), budget)
	if err != nil {
		t.Fatal(err)
	}
	r, err := NewRDPFilter(AddRemove, Record(), budget)
	if err != nil {
		t.Fatal(err)
	}
	for name, f := range map[string]Filter{"gdp": g, "rdp": r} {
		acc, err := New(name, AddRemove, Record())
		if err != nil {
			t.Fatal(err)
		}
		for _, ev := range []Event{large, small} {
			for n := 0; ; n++ {
				err := f.Admit(ev, 1)
				if errors.Is(err, ErrExhausted) {
					break
				}
				if err != nil || n > 100000 {
					t.Fatal(n, err)
				}
				if err := acc.Compose(ev, 1); err != nil {
					t.Fatal(err)
				}
			}
		}
		i, err := acc.Epsilon(1e-5)
		if err != nil || i.Upper > 3 || name == "gdp" && i.Upper < 2.99 || i.Upper < 2.8 {
			t.Errorf("%s: spent %v of 3 (%v)", name, i, err)
		}
		if err := f.Admit(small, 0); err != nil {
			t.Errorf("%s: nothing was refused: %v", name, err)
		}
		if err := f.Admit(NonPrivate("x"), 1); !errors.Is(err, ErrExhausted) {
			t.Errorf("%s: a non-private event: %v", name, err)
		}
		wrong := small
		wrong.Adjacency = ReplaceOne
		if err := f.Admit(wrong, 1); err == nil || errors.Is(err, ErrExhausted) {
			t.Errorf("%s: an event of another adjacency: %v", name, err)
		}
		cyclic := must(t)(CyclicSampled(4, small))
		if err := f.Admit(cyclic, 1); !errors.Is(err, ErrUnsupported) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if err := g.Admit(sampledGaussian(t, 0.1, 1, 1), 1); !errors.Is(err, ErrUnsupported) {
		t.Errorf("a sampled event by the Gaussian filter: %v", err)
	}
	for _, b := range []Budget{{1, 0}, {0, 1e-5}, {1, 2}} {
		if _, err := NewGDPFilter(AddRemove, Record(), b); err == nil {
			t.Errorf("budget %v was accepted", b)
		}
		if _, err := NewRDPFilter(AddRemove, Record(), b); err == nil {
			t.Errorf("budget %v was accepted", b)
		}
	}
	if _, err := NewRDPFilter(AddRemove, Record(), budget, 1); err == nil {
		t.Error("order 1 was accepted")
	}
}

// TestRDPFilterOrder: with one fixed order the filter stops where that order's conversion
// does.
func TestRDPFilterOrder(t *testing.T) {
	ev := sampledGaussian(t, 0.01, 1, 1)
	f, err := NewRDPFilter(AddRemove, Record(), Budget{2, 1e-5}, 8)
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for f.Admit(ev, 1) == nil {
		n++
	}
	x := loss.SampledGaussianRenyi(0.01, 1, 8)
	if epsilonAt(8, float64(n)*x, 1e-5) > 2 || epsilonAt(8, float64(n+1)*x, 1e-5) <= 2 {
		t.Errorf("stopped after %d", n)
	}
}

// TestOdometer: running figures do not fall, bound the exact figure at every time and
// stay within the cost of one doubling.
func TestOdometer(t *testing.T) {
	t.Parallel()
	p := DPSGD(AddRemove, 0.02, 1)
	p.NoiseMultiplier = 1.5
	o, err := NewOdometer(p, 1e-5)
	if err != nil {
		t.Fatal(err)
	}
	last := 0.0
	for _, n := range []int{0, 1, 2, 3, 4, 5, 100, 128, 129, 1000} {
		i, err := o.Epsilon(n)
		if err != nil || i.Upper < last {
			t.Fatalf("after %d: %v, %v", n, i, err)
		}
		last = i.Upper
		exact, err := p.upperAfter(n, 1e-5)
		if err != nil || exact > i.Upper || n > 50 && i.Upper > 2*exact {
			t.Errorf("after %d: %v, exact %v (%v)", n, i, exact, err)
		}
	}
	var share float64 // the levels' deltas sum to less than delta
	for j := 1.0; j < 60; j++ {
		share += 6 / (math.Pi * math.Pi * j * j)
	}
	if share > 1 {
		t.Errorf("levels spend %v of delta", share)
	}
	if _, err := NewOdometer(p, 0); err == nil {
		t.Error("delta 0 was accepted")
	}
}

func TestStatement(t *testing.T) {
	acc := newPLD(t, AddRemove, Record())
	if err := acc.Compose(sampledGaussian(t, 0.01, 1, 1), 1000); err != nil {
		t.Fatal(err)
	}
	s, err := NewStatement(acc, AddRemove, Record(), 1e-5, "exact")
	if err != nil {
		t.Fatal(err)
	}
	s.Sampler, s.Releases, s.NotCovered = "poisson/1", 1000, []string{"reply timing"}
	text := s.String()
	for _, want := range []string{"Adding or removing one record", "e^1.829", "probability of 1e-05",
		"1000 releases", "poisson/1", "Not covered: reply timing",
		"It assumes: noise and sampling keys are secret"} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is missing in %q", want, text)
		}
	}
	back := roundTrip(t, s)
	if back.Epsilon == nil || *back.Epsilon != *s.Epsilon || back.String() != text {
		t.Errorf("round trip gave %+v", back)
	}
	if s, err = NewStatement(acc, AddRemove, Record(), 1e-5, "simulated"); err != nil || s.Epsilon != nil ||
		s.WouldBeEpsilon == nil || !strings.Contains(s.String(), "simulation") {
		t.Errorf("simulated: %+v, %v", s, err)
	}
	if err := acc.Compose(NonPrivate("x"), 1); err != nil {
		t.Fatal(err)
	}
	if s, err = NewStatement(acc, AddRemove, Record(), 1e-5, "fast"); err != nil ||
		!strings.Contains(s.String(), "No privacy guarantee") {
		t.Errorf("non-private: %v, %v", s, err)
	}
	if back = roundTrip(t, s); !math.IsInf(back.Epsilon.Upper, 1) {
		t.Errorf("infinite epsilon became %v", back.Epsilon)
	}
	if _, err = NewStatement(acc, AddRemove, Record(), 1e-5, "quiet"); err == nil {
		t.Error("unknown noise was accepted")
	}
}
