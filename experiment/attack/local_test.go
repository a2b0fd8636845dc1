package attack

import (
	"context"
	"math"
	"testing"

	"sotto/experiment"
	"sotto/privacy"
	"sotto/privacy/audit"
)

// Records that are perturbed once are attacked by features and by labels. At epsilon 4 a
// label keeps its value with odds e^.8, which 3,000 observations in each world show to .2
// at confidence .95 (privacy.md: labels spend a fifth), and the mu of features to a tenth
// of the claim. With a quarter of the flips, or half of the noise, either is refuted at
// beta 1e-3.
func TestAuditOfPerturbedRecords(t *testing.T) {
	for _, c := range []struct {
		canary string
		faulty func(e *experiment.Experiment) error
	}{
		{"gradient", func(e *experiment.Experiment) (err error) {
			e.Task.Local.Features, err = privacy.NewMechanism("gaussian", e.Plans[0].Noise/2)
			return err
		}},
		{"mislabelled", func(e *experiment.Experiment) (err error) {
			e.Task.Local.Labels, err = privacy.New("randomized-response", func(p any) error {
				r := p.(*privacy.RandomizedResponse)
				r.Probability, r.Labels = .25/(1+math.Exp(.8)), 2
				return nil
			})
			return err
		}},
	} {
		e, err := clockedRun(localSet...)()
		if err != nil {
			t.Fatal(err)
		}
		target, err := Target(e, Options{Canary: c.canary})
		if err != nil {
			t.Fatal(err)
		}
		claim := target.Claim
		if !(claim.Total <= 4 && claim.Total > 3.9) {
			t.Errorf("the run's claim is %v, want 4", claim.Total)
		}
		r, err := target.Step(context.Background(), audit.Options{Observations: 3000, Beta: .05, Seed: 2})
		if err != nil || r.Violated {
			t.Fatalf("%s: %+v, %v", c.canary, r, err)
		}
		t.Logf("%s: epsilon at least %v of %v", c.canary, r.EpsilonLower, r.Claimed)
		if c.canary == "mislabelled" {
			keep := 1 / (1 + math.Exp(-.8))
			if want := math.Log((keep - 1e-3) / (1 - keep)); math.Abs(claim.Epsilon-want) > 1e-4 ||
				float64(r.EpsilonLower) < claim.Epsilon-.2 {
				t.Errorf("a label: at least %v of %v, want .6 of .7985", r.EpsilonLower, claim.Epsilon)
			}
		} else if mu := r.Bounds[4].Mu; mu < .9*claim.Mu || r.Ratio < .8 {
			t.Errorf("features: mu at least %v of %v, epsilon %v of it", mu, claim.Mu, r.Ratio)
		}
		for name, mode := range map[string]func(*audit.Target, context.Context, audit.Options) (*audit.Report,
			error){"noise": (*audit.Target).Noise, "ledger": (*audit.Target).Ledger} {
			if r, err := mode(target, context.Background(),
				audit.Options{Observations: 20, Beta: 1e-6,
					Seed: 2}); err != nil || r.Violated || name == "ledger" && r.Observations != 2 {
				t.Errorf("%s, %s: %+v, %v", c.canary, name, r, err)
			}
		}
		much := audit.Options{Observations: 400, Beta: 1e-5, Seed: 2}
		if r, err = target.Noise(context.Background(), much); err != nil || r.Violated {
			t.Errorf("%s: noise: %+v, %v", c.canary, r, err)
		}
		if err := c.faulty(e); err != nil {
			t.Fatal(err)
		}
		faulty, err := Target(e, Options{Canary: c.canary})
		if err != nil {
			t.Fatal(err)
		}
		faulty.Claim = claim
		if r, err = faulty.Step(context.Background(),
			audit.Options{Observations: 3000, Beta: 1e-3, Seed: 2}); err != nil || !r.Violated {
			t.Errorf("%s: a fault is not seen: %+v, %v", c.canary, r, err)
		}
		r, err = faulty.Noise(context.Background(), much)
		if err != nil || !r.Violated {
			t.Errorf("%s: noise has a fault: %+v, %v", c.canary, r, err)
		}
	}
}

// What one answer of a personal algorithm shows is composed over all that the agent
// plans: at least 80 % of epsilon 20 with 1,000 observations in each world.
func TestAuditComposesPersonalAnswers(t *testing.T) {
	e, err := clockedRun("privacy.target_epsilon=20", "privacy.target_delta=1e-3")()
	if err != nil {
		t.Fatal(err)
	}
	r, _ := attack(t, e, (*audit.Target).Step, audit.Options{Observations: 1000, Beta: .05, Seed: 7})
	t.Logf("epsilon at least %v of %v", r.EpsilonLower, r.Claimed)
	if r.Violated || !(r.Ratio >= .8 && r.Ratio <= 1) || math.Abs(float64(r.Claimed)-20) > .1 {
		t.Errorf("%+v", r)
	}
}
