package audit

import (
	"context"
	"errors"
	"math"
	"strings"
	"testing"

	"sotto/privacy/account"
	"sotto/privacy/account/gdp"
	"sotto/rng"
)

// gaussianRuns is a target whose whole run is one Gaussian release of the given mu, and
// whose claim is another's.
func gaussianRuns(mu, claimed float64) *Target {
	normalAt := func(seed uint64) float64 {
		var z [1]float64
		rng.Public(seed, "run").Normals(z[:])
		return z[0]
	}
	const delta = 1e-6
	t := &Target{Name: "gaussian", Claim: Claim{
		Delta:   delta,
		Mu:      claimed,
		Total:   gdp.Epsilon(claimed, delta),
		Sampler: account.Sampler{Kind: account.FullBatch},
	}}
	t.Train = func(w Hypothesis, seed uint64) (float64, error) { return float64(w)*mu + normalAt(seed), nil }
	t.Canaries = func(coins []bool, seed uint64) ([]float64, error) {
		scores := make([]float64, len(coins))
		for i, in := range coins {
			if scores[i] = normalAt(seed + uint64(i)); in {
				scores[i] += mu
			}
		}
		return scores, nil
	}
	return t
}

// A run as noisy as claimed passes (false alarms at beta 1e-6), one with a fifth of the
// noise does not.
func TestWholeRuns(t *testing.T) {
	for name, mode := range map[string]func(*Target, context.Context, Options) (*Report,
		error){"runs": (*Target).Runs, "onerun": (*Target).OneRun} {
		for _, c := range []struct {
			mu, claimed float64
			violated    bool
		}{{1, 1, false}, {2.5, .5, true}} {
			r, err := mode(gaussianRuns(c.mu, c.claimed), context.Background(),
				Options{Observations: 2000, Beta: 1e-6, Seed: 5})
			if err != nil {
				t.Fatal(err)
			}
			t.Logf("%s: mu %g, claimed %g: epsilon at least %v, claimed %v", name, c.mu, c.claimed,
				r.EpsilonLower, r.Claimed)
			if r.Violated != c.violated || errors.Is(r.Err(), ErrViolated) != c.violated ||
				!(r.EpsilonLower > 0) {
				t.Errorf("%s: mu %g, claimed %g: %+v", name, c.mu, c.claimed, r)
			}
			var text strings.Builder
			if err := r.WriteText(&text); err != nil || !strings.Contains(text.String(), "epsilon") ||
				!strings.Contains(text.String(), "valid") {
				t.Errorf("text %q, %v", text.String(), err)
			}
		}
		if _, err := mode(&Target{}, context.Background(),
			Options{Observations: 10, Beta: .1}); !NotApplicable(err) {
			t.Errorf("%s without what it needs: %v", name, err)
		}
		ended, cancel := context.WithCancel(context.Background())
		cancel()
		if _, err := mode(gaussianRuns(1, 1), ended, Options{Observations: 10, Beta: .1}); !errors.Is(err,
			context.Canceled) {
			t.Errorf("%s: %v, want it to stop", name, err)
		}
	}
}

func TestOptions(t *testing.T) {
	for _, o := range []Options{{Observations: 9, Beta: .1}, {Observations: 10}, {Observations: 10, Beta: .5},
		{Observations: 10, Beta: math.NaN()}} {
		if o.Validate() == nil {
			t.Errorf("%+v is accepted", o)
		}
	}
	for x, want := range map[Figure]string{Figure(math.Inf(1)): `"inf"`, 2.5: "2.5"} {
		if b, err := x.MarshalJSON(); err != nil || string(b) != want {
			t.Errorf("%v: %s, %v", x, b, err)
		}
	}
}
