package tune

import (
	"context"
	"fmt"
	"math"
	"strings"
	"testing"

	"sotto/experiment"
	"sotto/experiment/experimenttest"
	"sotto/experiment/plan"
	"sotto/experiment/rundir"
	"sotto/privacy/account"
)

// TestClaim10: learning rates are chosen for each method and budget among private runs,
// by their scores on the test set, and the published epsilon is that of the one run that
// was kept. Keep the best of ten releases of a number with noise that is calibrated to
// epsilon 1 at delta 1e-5: that the best is at most 0 has probability Φ(0)^10 without a
// record and Φ(-1/σ)^10 with it, so that delta at epsilon 1 is at least 7e-4, 70 times
// the claim. Charged as repetition, the number of runs drawn from a geometric law of mean
// ten, epsilon is 2.3. A search on private data is charged so, or its results say that it
// was not; on generated data it costs nothing.
func TestClaim10(t *testing.T) {
	const epsilon, delta, runs = 1., 1e-5, 10
	phi := func(x float64) float64 { return math.Erfc(-x/math.Sqrt2) / 2 }
	deltaOf := func(sigma float64) float64 { // Balle, Wang 2018, Theorem 8
		return phi(1/(2*sigma)-epsilon*sigma) - math.Exp(epsilon)*phi(-1/(2*sigma)-epsilon*sigma)
	}
	lo, hi := .1, 100.
	for range 100 {
		if mid := (lo + hi) / 2; deltaOf(mid) > delta {
			lo = mid
		} else {
			hi = mid
		}
	}
	sigma := hi
	truth := math.Pow(phi(0), runs) - math.Exp(epsilon)*math.Pow(phi(-1/sigma), runs)
	if math.Abs(sigma-3.73) > .01 || truth < 7e-4 {
		t.Errorf("σ = %g, delta of the best of %d is %g; want 3.73, and above 7e-4", sigma, runs, truth)
	}
	one, err := account.Gaussian(sigma, 1)
	if err != nil {
		t.Fatal(err)
	}
	s := &Search{p: tuneParams{Trials: runs, chargeParams: chargeParams{Law: "geometric"}}}
	charged, err := s.selection(one, &plan.Target{Adjacency: account.ZeroOut, Delta: delta})
	if want := gaussianSelection(1/(2*sigma*sigma), runs, delta, "geometric"); err != nil ||
		math.Abs(charged.Epsilon.Upper/want-1) > 2e-3 || want < 2.2 || want > 2.4 {
		t.Errorf("charged as repetition: epsilon %g, the theorem gives %g (%v); want about 2.3",
			charged.Epsilon.Upper, want, err)
	}

	stamps := func(s *Search, err error) (best, trial string) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		dir := search(t, s, Options{}).Dir
		f, err := experiment.Read(dir+"/best.toml", nil)
		if err != nil {
			t.Fatal(err)
		}
		e, err := f.Build("")
		if err != nil {
			t.Fatal(err)
		}
		again := train(t, e).Dir
		runs, err := rundir.Find([]string{dir})
		if err != nil {
			t.Fatal(err)
		}
		texts := func(dir string) string {
			return strings.Join([]string{string(read(t, dir, rundir.SummaryFile)),
				string(read(t, dir, rundir.PrivacyFile)),
				string(read(t, dir, rundir.LedgerFile)), string(read(t, dir, rundir.ReportFile))}, "\x00")
		}
		return texts(again), texts(runs[0])
	}
	own, ownErr := privateSearch(t, "trials = 2\naccept_cost_not_included = true")
	best, trial := stamps(own, ownErr)
	for name, all := range map[string]string{"best.toml": best, "a trial": trial} {
		for i, text := range strings.Split(all, "\x00") {
			if !strings.Contains(text, experiment.StampNotIncluded) {
				t.Errorf("%s, run on private data without a charge: file %d of summary, statement, ledger "+
					"and report has no stamp", name, i)
			}
		}
	}
	best, trial = stamps(tinySearch(t, "trials = 2"), nil)
	if strings.Contains(best+trial, experiment.StampNotIncluded) ||
		!strings.Contains(best, "no privacy cost") {
		t.Error("a search on generated data is stamped, or does not say where it was")
	}
}

func TestSearchForAnAutoencoder(t *testing.T) {
	text := strings.Replace(fmt.Sprintf(experimenttest.Autoencoder, 2, 2, "path", "dsgd", .1,
		"mechanism = \"none\"",
		1.), "[model]", "[tune]\ntrials = 2\nMETRIC\n[tune.space]\nalgorithm.step_size = { log = [0.01, "+
		"1.0] }\n[model]", 1)
	parse := func(metric string) (*Search, error) {
		return Parse("a.toml", []byte(strings.Replace(text, "METRIC", metric, 1)), nil, nil)
	}
	s, err := parse("metric = \"loss\"")
	if err != nil {
		t.Fatal(err)
	}
	res := search(t, s, Options{})
	other := res.Rows[2-res.Best.Trial]
	if !(res.Best.Loss < other.Loss) || res.Best.Score != -res.Best.Loss ||
		float64(*res.Score) != res.Best.Loss {
		t.Errorf("best %+v, other %+v", res.Best, other)
	}
	if s, err = parse(""); err == nil {
		_, err = s.Run(context.Background(), Options{Out: t.TempDir()})
	}
	if err == nil || !strings.Contains(err.Error(), "tune.metric") {
		t.Errorf("accuracy of an autoencoder: %v", err)
	}
	if _, err := experiment.Read("../../examples/autoencoder.toml", nil); err != nil {
		t.Error(err)
	}
}

// What a charged search says that it cost is no less than that: of six digits 1.2345601
// has 1.23457, though 1.23456 is nearer.
func TestCostIsRoundedUp(t *testing.T) {
	p := &experiment.TunedParams{Cost: experiment.CostCharged, Epsilon: 1.2345601, Delta: 1e-5, Secret: true}
	for _, text := range []string{p.Text(), p.NotCovered()} {
		if !strings.Contains(text, "epsilon 1.23457 at delta 1e-05") {
			t.Errorf("epsilon 1.2345601 is said as %q", text)
		}
	}
}
