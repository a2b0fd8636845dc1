package account

import (
	"encoding/json"
	"errors"
	"math"
	"strings"
	"testing"

	"sotto/config"
	"sotto/privacy/account/gdp"
)

// Numbers whose squares or ratios are no numbers are refused by name: each gave a figure
// below the truth, mostly 0. The bounds themselves are taken, and give none.
func TestExtremeEvents(t *testing.T) {
	refused := func(name string, _ Event, err error) {
		t.Helper()
		if bad := new(config.Error); !errors.As(err, &bad) || bad.Key == "" || bad.Allowed == "" {
			t.Errorf("%s: %v", name, err)
		}
	}
	pass := func(name string) func(Event, error) {
		return func(ev Event, err error) { t.Helper(); refused(name, ev, err) }
	}
	for _, x := range [][2]float64{{1e300, 1}, {1, 1e-300}, {1e16, 16}, {1001, 1}} {
		pass("laplace")(BoundedNoise(BoundedLaplace, x[0], x[1], 0))
		pass("gaussian")(BoundedNoise(BoundedGaussian, x[0], x[1], 0))
		pass("generalized")(BoundedNoise(BoundedGeneralized, x[0], x[1], 3))
	}
	pass("discrete gaussian")(DiscreteGaussian(1e-163, 1, 1, 1))
	pass("noise")(Gaussian(1e-155, 1))
	pass("shift")(Gaussian(1, 1e300))
	pass("mu")(GDP(5e-324))
	pass("restarts")(Tree(1, 1, math.MaxInt))

	ok := must(t)
	small := ok(Gaussian(1e-100, 1))
	for name, ev := range map[string]Event{
		"noise":             small,
		"mu":                ok(Gaussian(1e-100, 1e100)),
		"sampled":           ok(PoissonSampled(.5, small)),
		"discrete gaussian": ok(DiscreteGaussian(1e-100, 1, 1, 1)),
		"discrete laplace":  ok(DiscreteLaplace(1e100, 1)),
		"laplace":           ok(Laplace(1e-100)),
		// uniform in all but name: 1/32 of the outcomes are impossible beside the other
		"bounded laplace":     ok(BoundedNoise(BoundedLaplace, 16000, 16, 0)),
		"bounded gaussian":    ok(BoundedNoise(BoundedGaussian, 16000, 16, 0)),
		"bounded generalized": ok(BoundedNoise(BoundedGeneralized, 16000, 16, 3)),
	} {
		for _, adj := range []Adjacency{AddRemove, ReplaceOne, ZeroOut} {
			for _, accountant := range Names() {
				a, err := New(accountant, adj, Record())
				if err != nil {
					t.Fatal(err)
				}
				if err := a.Compose(ev, 1); errors.Is(err, ErrUnsupported) {
					continue
				} else if err != nil {
					t.Fatal(err)
				}
				if i, err := a.Epsilon(1e-5); err != nil || !(i.Upper > 1e50) {
					t.Errorf("%s, %s, %s: %v, %v", name, accountant, adj, i, err)
				}
			}
		}
	}
	wide := ok(Gaussian(1e100, 1e-100))
	for _, name := range []string{"gdp", "pld", "rdp"} {
		a, err := New(name, AddRemove, Record())
		if err = errors.Join(err, a.Compose(wide, 1)); err != nil {
			t.Fatal(err)
		}
		if i, err := a.Epsilon(0); err == nil && !math.IsInf(i.Upper, 1) {
			t.Errorf("%s: epsilon at delta 0 is %v", name, i)
		}
	}
}

// No accountant answers for an infinite epsilon, where delta was that of no event.
func TestDeltaOfInfiniteEpsilon(t *testing.T) {
	for _, ev := range []Event{must(t)(EpsDelta(1, .1)), must(t)(Gaussian(0, 1)), NonPrivate("x")} {
		for _, name := range Names() {
			a, err := New(name, AddRemove, Record())
			if err != nil {
				t.Fatal(err)
			}
			if err := a.Compose(ev, 1); errors.Is(err, ErrUnsupported) {
				continue
			}
			bad := new(config.Error)
			i, err := a.(DeltaAccountant).Delta(math.Inf(1))
			if !errors.As(err, &bad) || bad.Key != "epsilon" {
				t.Errorf("%s: %v, %v", name, i, err)
			}
		}
	}
	if d := gdp.Delta(math.Inf(1), math.Inf(1)); d != 1 {
		t.Errorf("without noise: %v", d)
	}
	if d := KOVDelta(math.Inf(1), 0, 1, 5); d != 1 {
		t.Errorf("a box of infinite epsilon: %v", d)
	}
}

// Counts that wrap around are refused, as Compose refuses them.
func TestRestoreOfTooMany(t *testing.T) {
	one := `{"branch":0,"count":9007199254740992,"event":{"v":1,"type":"gaussian","noise_multiplier":1}}`
	a, err := Restore([]byte(`{"v":1,"accountant":"gdp","adjacency":"add-remove","unit":{"kind":"record"},` +
		`"branches":0,"events":[` + strings.Repeat(one+",", 2047) + one + `]}`))
	if bad := new(config.Error); !errors.As(err, &bad) {
		t.Errorf("%v, %v", a, err)
	}
	g := must(t)(Gaussian(1, 1))
	many := must(t)(Repeat(1<<52, g))
	b, err := NewPLD(AddRemove, Record())
	if err != nil {
		t.Fatal(err)
	}
	if err := b.Compose(must(t)(Compose(many, must(t)(Laplace(1)), many)), 1); err == nil {
		t.Error("2^53 and one events in one")
	}
}

// A statement without an adjacency, as a file may have it, is shown.
func TestStatementOfAnyFile(t *testing.T) {
	var s Statement
	err := json.Unmarshal([]byte(`{"epsilon":{"lower":1,"upper":2}}`), &s)
	if err == nil && !strings.Contains(s.String(), "unstated change") {
		t.Errorf("%s", &s)
	}
}
