package account

import (
	"errors"
	"math"
	"strings"
	"testing"

	"sotto/privacy/account/gdp"
)

// TestNoise: published calibrations (Poisson, add-remove, delta 1e-5), and that the
// answer is the least at its 6 digits.
func TestNoise(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		accountant string
		q          float64
		n          int
		eps, want  float64
	}{{"pld", 0.01, 1000, 1, 1.41469}, {"rdp", 0.01, 1000, 1, 1.51306}, {"pld", 0.04, 2250, 8, 1.34593}} {
		p := DPSGD(AddRemove, c.q, c.n)
		p.Accountant = c.accountant
		r, err := Noise(p, Budget{c.eps, 1e-5})
		if err != nil {
			t.Fatal(err)
		}
		within(t, c.accountant, r.NoiseMultiplier, c.want, 2e-4)
		if r.Epsilon.Upper > c.eps || r.Epsilon.Upper < c.eps*(1-1e-4) || r.Delta != 1e-5 ||
			r.Accountant != c.accountant {
			t.Errorf("%+v", r)
		}
		p.NoiseMultiplier = r.NoiseMultiplier * (1 - 1e-5)
		if i, err := Epsilon(p, 1e-5); err != nil || i.Upper <= c.eps {
			t.Errorf("a little less noise costs %v, %v: the answer was not the least", i, err)
		}
	}
}

func TestNoiseEdges(t *testing.T) {
	if r, err := Noise(Plan{Adjacency: AddRemove, Unit: Record()}, Budget{1, 1e-5}); err != nil ||
		r.NoiseMultiplier != 0 {
		t.Errorf("an empty plan needs noise %+v, %v", r, err)
	}
	fixed := Plan{Adjacency: AddRemove, Unit: Record(), Steps: []PlanStep{Fixed(must(t)(Laplace(0.1)), 1)}}
	if _, err := Noise(fixed, Budget{1, 1e-5}); !errors.Is(err, ErrInfeasible) {
		t.Errorf("a plan that costs 10 whatever the noise: %v", err)
	}
	if _, err := Steps(fixed, Budget{1, 1e-5}); !errors.Is(err, ErrInfeasible) {
		t.Errorf("a first step of 10: %v", err)
	}
	if n, err := Steps(Plan{Adjacency: AddRemove, Unit: Record(), Steps: []PlanStep{Fixed(NoOp(), 1)}},
		Budget{1, 1e-5}); err != nil || n != maxCount {
		t.Errorf("free steps: %v, %v", n, err)
	}
	free := must(t)(EpsDelta(0, 0))
	for name, c := range map[string]struct {
		steps []PlanStep
		want  int
	}{
		"none":         {nil, maxCount},
		"no times":     {[]PlanStep{Fixed(free, 0)}, maxCount},
		"one":          {[]PlanStep{Fixed(free, 1)}, maxCount},
		"one in two":   {[]PlanStep{Fixed(free, 1), Fixed(free, 1)}, maxCount / 2},
		"repeated":     {[]PlanStep{Fixed(must(t)(Repeat(3, free)), 1)}, maxCount / 3},
		"two in three": {[]PlanStep{Fixed(free, 3), Fixed(must(t)(GDP(0)), 2)}, maxCount / 3},
	} {
		n, err := Steps(Plan{Adjacency: AddRemove, Unit: Record(), Steps: c.steps}, Budget{1, 1e-5})
		if err != nil || n != c.want {
			t.Errorf("%s: %d periods that cost nothing, want %d: %v", name, n, c.want, err)
		}
	}
	p := DPSGD(AddRemove, 0.01, 10)
	for _, b := range []Budget{{0, 1e-5}, {-1, 1e-5}, {math.NaN(), 1e-5}, {math.Inf(1), 1e-5}, {1, -1},
		{1, 1}, {1, math.NaN()}} {
		if _, err := Noise(p, b); err == nil {
			t.Errorf("budget %v was accepted", b)
		}
	}
	p.Accountant = "moments"
	if _, err := Noise(p, Budget{1, 1e-5}); err == nil {
		t.Error("an unknown accountant was accepted")
	}
	p = DPSGD(AddRemove, 0.01, 10)
	p.Unit = Owner()
	if _, err := Noise(p, Budget{1, 1e-5}); !errors.Is(err, ErrUnsupported) {
		t.Errorf("sampling under the owner unit: %v", err)
	}
}

// TestSteps: the answer fits and one more does not, for steps counted one by one and in
// epochs.
func TestSteps(t *testing.T) {
	t.Parallel()
	for _, perPeriod := range []int{1, 7} {
		p := DPSGD(AddRemove, 0.02, perPeriod)
		p.NoiseMultiplier = 1.5
		target := Budget{2, 1e-6}
		n, err := Steps(p, target)
		if err != nil {
			t.Fatal(err)
		}
		last, err1 := p.upperAfter(n, 1e-6)
		next, err2 := p.upperAfter(n+1, 1e-6)
		if err1 != nil || err2 != nil || last > 2 || next <= 2 {
			t.Errorf("%d periods: epsilon %v, then %v (%v, %v)", n, last, next, err1, err2)
		}
	}
	g := Plan{
		Adjacency:       AddRemove,
		Unit:            Record(),
		NoiseMultiplier: 10,
		Steps:           DPSGD(AddRemove, 1, 1).Steps,
		SampleRate:      1,
	}
	n, err := Steps(g, Budget{1, 1e-5})
	if mu := gdp.Mu(1, 1e-5); err != nil || n != int(mu*mu*100) {
		t.Errorf("full batches: %d steps (%v), closed form %d", n, err, int(mu*mu*100))
	}
}

// Of noise so large that trillions of steps fit, the answer is a number that holds. It
// was 2^53, with epsilon 85 for the target 1.
func TestManySteps(t *testing.T) {
	t.Parallel()
	p := DPSGD(AddRemove, 1, 1)
	p.Accountant, p.NoiseMultiplier = "gdp", 1e7
	n, err := Steps(p, Budget{1, 1e-5})
	if err != nil {
		t.Fatal(err)
	}
	if all := math.Pow(1e7*gdp.Mu(1, 1e-5), 2); math.Abs(float64(n)-all) > 1e-9*all {
		t.Errorf("%d steps, the closed form has %g", n, all)
	}
}

func TestRate(t *testing.T) {
	t.Parallel()
	p := DPSGD(AddRemove, 0, 1000)
	p.NoiseMultiplier = 1.41469
	r, err := Rate(p, Budget{1, 1e-5})
	if err != nil {
		t.Fatal(err)
	}
	within(t, "rate", r.SampleRate, 0.01, 1e-6) // inverse of the first row of TestNoise
	if r.Epsilon.Upper > 1 {
		t.Errorf("%+v", r)
	}
	p.NoiseMultiplier = 1000
	if r, err = Rate(p, Budget{1, 1e-5}); err != nil || r.SampleRate != 1 {
		t.Errorf("much noise: %+v, %v", r, err)
	}
	p.NoiseMultiplier = 0
	if _, err = Rate(p, Budget{1, 1e-5}); !errors.Is(err, ErrInfeasible) {
		t.Errorf("no noise: %v", err)
	}
}

// Rates far below 4e-9 are found: where a record is drawn with a probability of no more
// than delta it costs nothing. The bounds of rdp are loose.
func TestSmallRates(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		accountant      string
		noise           float64
		target          Budget
		smallest, large float64
	}{
		{"pld", .05, Budget{.1, 1e-12}, 1e-12, 1.2e-12},
		{"pld", .001, Budget{.1, 1e-290}, 4e-291, 1.2e-290},
		{"rdp", .3, Budget{.1, 1e-12}, 1e-30, 1e-12},
	} {
		p := DPSGD(AddRemove, 0, 1)
		p.Accountant, p.NoiseMultiplier = c.accountant, c.noise
		r, err := Rate(p, c.target)
		if err != nil || !(r.SampleRate >= c.smallest*(1-1e-5) && r.SampleRate <= c.large) ||
			r.Epsilon.Upper > c.target.Epsilon {
			t.Errorf("%+v: %+v, %v", c, r, err)
			continue
		}
		p.SampleRate = r.SampleRate * (1 + 3e-5)
		if i, err := Epsilon(p, c.target.Delta); err != nil || i.Upper <= c.target.Epsilon {
			t.Errorf("%+v: a larger rate than %g costs %v, %v", c, r.SampleRate, i, err)
		}
	}
	p := DPSGD(AddRemove, 0, 1)
	p.NoiseMultiplier = .05
	if _, err := Rate(p, Budget{.1, 0}); !errors.Is(err, ErrInfeasible) ||
		!strings.Contains(err.Error(), "1e-300, the smallest") {
		t.Errorf("delta 0: %v", err)
	}
}

func TestRounding(t *testing.T) {
	for _, x := range []float64{1.41468234, 0.0403349999, 123456789, 3.2, 9.9999999} {
		up, down := roundUp(x), roundDown(x)
		if up < x || down > x || up > x*(1+1.1e-5) || down < x*(1-1.1e-5) || sixDigits(up) != up ||
			sixDigits(down) != down {
			t.Errorf("%v: %v, %v", x, down, up)
		}
	}
}
