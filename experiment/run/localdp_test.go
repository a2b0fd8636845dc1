package run

import (
	"math"
	"slices"
	"testing"

	"sotto/experiment"
	"sotto/privacy/account"
	"sotto/privacy/ledger"
)

// Records are perturbed once and charged once, whatever their number; labels keep the
// frequency of randomized response (false reject below 1e-6), features the deviation of
// the noise; and after that nothing costs anything.
func TestLocalDifferentialPrivacy(t *testing.T) {
	set := []string{"privacy.mechanism=local-dp", "privacy.accountant=pld", "privacy.target_epsilon=4",
		"data.records_min=300", "data.records_max=400", "privacy.feature_norm=0.5"}
	e := personalRun(t, set...)
	public, charges, err := perturb(e, Own(e), 2)
	if err != nil {
		t.Fatal(err)
	}
	d := e.Task.Split.Train
	flipped, square := 0., 0.
	for r := range d.Len() {
		if public.Labels[r] != d.Labels[r] {
			flipped++
		}
		for k, x := range public.X.Row(r) {
			// points lie on the unit sphere and are scaled to norm 1/2
			diff := float64(x) - float64(d.X.Row(r)[k])/2
			square += diff * diff
		}
	}
	n := float64(d.Len())
	// Labels spend a fifth of epsilon: flipped with probability 1/(1 + e^0.8).
	want := 1 / (1 + math.Exp(.8))
	if math.Abs(flipped/n-want) > 4.9*math.Sqrt(want*(1-want)/n) {
		t.Errorf("%g of the labels are flipped, want %g", flipped/n, want)
	}
	sigma := e.Plans[0].Noise * .5
	if got := math.Sqrt(square / n / float64(d.X.Cols)); math.Abs(got/sigma-1) >
		4.9/math.Sqrt(2*n*float64(d.X.Cols)) {
		t.Errorf("features have noise %g, want %g", got, sigma)
	}
	for i, records := range charges {
		if len(records) != 2 || records[0].Event.Type() != account.TypeGaussian || records[1].Count != 1 {
			t.Fatalf("agent %d: charges %v", i, records)
		}
	}
	again, _, err := perturb(e, Own(e), 1)
	if err != nil || !slices.Equal(again.X.Data, public.X.Data) ||
		!slices.Equal(again.Labels, public.Labels) {
		t.Errorf("another number of workers perturbs otherwise: %v", err)
	}

	r := train(t, e, Options{})
	if _, err := ledger.VerifyRun(r.Dir); err != nil {
		t.Error(err)
	}
	for _, l := range r.Summary.Privacy {
		if eps := float64(l.Epsilon.Upper); eps > 4 || eps < 3.9 || l.Charges < 3 {
			t.Errorf("agent %d: epsilon %g in %d charges", l.Agent, eps, l.Charges)
		}
	}
	for _, bad := range [][]string{{"privacy.adjacency=zero-out"}, {"privacy.target_epsilon=0"},
		{"privacy.warm_epsilon=1.0"}} {
		if _, err := buildPersonal(append(slices.Clone(set), bad...)...); err == nil {
			t.Errorf("%v was accepted", bad)
		}
	}
}

// The noise of perturbed records follows the seed of the population, as all noise does:
// worlds of an audit, and trials of a search, have their own.
func TestPerturbedRecordsFollowTheNoiseSeed(t *testing.T) {
	set := []string{"privacy.mechanism=local-dp", "privacy.accountant=pld", "privacy.target_epsilon=4",
		"privacy.feature_norm=0.5"}
	perturbed := func(e *experiment.Experiment, seed uint64) []float32 {
		pop := Own(e)
		if seed != 0 {
			pop.Seed = seed
		}
		public, _, err := perturb(e, pop, 1)
		if err != nil {
			t.Fatal(err)
		}
		return public.X.Data
	}
	plain := personalRun(t, set...)
	own, first := perturbed(plain, 0), perturbed(personalRun(t, append(set, "trial=1")...), 0)
	second := perturbed(personalRun(t, append(set, "trial=2")...), 0)
	if !slices.Equal(own, perturbed(plain, plain.File.Run.Seed)) {
		t.Error("a run's own noise is not of its seed")
	}
	if slices.Equal(own, perturbed(plain, plain.File.Run.Seed+1)) {
		t.Error("two populations share the noise of their records")
	}
	if slices.Equal(own, first) || slices.Equal(first, second) {
		t.Error("two trials share the noise of their records")
	}
}
