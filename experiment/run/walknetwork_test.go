package run

import (
	"errors"
	"math"
	"os"
	"strings"
	"testing"

	"sotto/config"
	"sotto/experiment"
	"sotto/experiment/forecast"
	"sotto/experiment/rundir"
	"sotto/model"
	"sotto/privacy"
)

// askNetwork makes the smallest run that the network figure can be asked of, on rows that
// have a bound.
func askNetwork(t *testing.T, set ...string) error {
	t.Helper()
	e := walkRun(t, append([]string{"privacy.max_grad_norm=1.5"}, set...)...)
	e.Task.Split.Train.RowNorm = 1 // of the generator's rows none is known
	e.File.Token.Accounting = "network"
	return e.Amplified()
}

// TestClaim44: amplification by decentralization is proved for convex, smooth losses,
// steps up to 2/β and hidden hops; a run without any of these gets no network figure. The
// step of n gradients over a divisor of 1, which add-remove allows, has a slope of n β.
func TestClaim44(t *testing.T) {
	beta := .25 * 2 // a logistic slope of at most 1/4 in z, and rows of norm √2 with the intercept
	start := weights(t, "start", model.NamedVec{Name: "x", Vec: ramp(walkRun(t).Task.Model.Dim(), 1<<25)})
	for name, tc := range map[string]struct {
		set []string
		key string
	}{
		"values of a file": {[]string{"model.init_from=" + start}, "model.init_from"},
		"rounded products": {[]string{"model.precision=bf16", "privacy.noise=fast"}, "model.precision"},
		"public hops":      {[]string{"token.hops=public"}, "token.hops"},
		"step above 2/β": {[]string{"algorithm.step_size=" + rundir.Number(2.01/beta)},
			"algorithm.step_size"},
		"warm-up past 2/β": {[]string{"algorithm.step_size=" + rundir.Number(2.01/beta),
			"algorithm.warmup=10"},
			"algorithm.step_size"},
		"a step later": {[]string{"algorithm.schedule=geometric",
			"algorithm.step_size_final=" + rundir.Number(2.01/beta)}, "algorithm.step_size"},
		"a clip that binds": {[]string{"privacy.max_grad_norm=1.41"}, "privacy.max_grad_norm"},
		"steps without":     {[]string{"algorithm.after=nothing"}, "algorithm.after"},
		"lossy links":       {[]string{"faults.drop=0.1"}, "faults.drop"},
		"shorter steps": {[]string{"algorithm.schedule=inverse", "algorithm.step_size_tau=10"},
			"algorithm.schedule"},
		"warm-up":            {[]string{"algorithm.warmup=10"}, "algorithm.schedule"},
		"nothing is missing": {[]string{"algorithm.step_size=" + rundir.Number(1.99/beta)}, ""},
		"record unit": {[]string{"privacy.unit=record", "privacy.target_delta=1e-3",
			"privacy.max_grad_norm=0.1"}, ""},
		"record unit, add-remove": {[]string{"privacy.unit=record", "privacy.target_delta=1e-3",
			"privacy.adjacency=add-remove", "privacy.batch_size=1"}, "privacy.adjacency"},
	} {
		err := askNetwork(t, tc.set...)
		if (tc.key == "") != (err == nil) || err != nil && !strings.Contains(err.Error(), tc.key) {
			t.Errorf("%s: %v", name, err)
		}
	}
	text := strings.Replace(walkFile, "name = \"logistic\"\nintercept = true", "name = \"mlp\"\nhidden = [4]",
		1)
	f, err := experiment.Parse("walk.toml", []byte(text), []string{"token.accounting=network"})
	if err != nil {
		t.Fatal(err)
	}
	var bad *config.Error
	if _, err := f.BuildWith("", drawn); !errors.Is(err, privacy.ErrRefused) || !errors.As(err, &bad) ||
		bad.Key != "model.name" {
		t.Errorf("a network with a hidden layer: %v", err)
	}
	f, _ = experiment.Parse("walk.toml", []byte(text), nil)
	if _, err := f.BuildWith("", drawn); err != nil { // the local figure holds for it
		t.Error(err)
	}
}

// sixteen owners have one token.
func sixteen(t *testing.T, set ...string) *experiment.Experiment {
	t.Helper()
	f, err := experiment.Parse("walk.toml", []byte(strings.Replace(walkFile, "degree = 4\n", "", 1)),
		append([]string{"privacy.max_grad_norm=1.5", "algorithm.contributions=4", "topology.agents=16",
			"data.agents=16", "token.count=1"}, set...))
	if err != nil {
		t.Fatal(err)
	}
	e, err := f.BuildWith("", drawn)
	if err != nil {
		t.Fatal(err)
	}
	return e
}

// What one agent learns of a walk is never more than what all messages tell, falls with
// distance, is the same however the walk is looked at, and stands beside the published
// form, which is labelled.
func TestWalkNetwork(t *testing.T) {
	figures := func(set ...string) *rundir.WalkFigures {
		t.Helper()
		e := sixteen(t, set...)
		e.Task.Split.Train.RowNorm = 1
		e.File.Token.Accounting = "network"
		if err := e.Amplified(); err != nil {
			t.Fatal(err)
		}
		s, err := forecast.Walk(e)
		if err != nil {
			t.Fatal(err)
		}
		if s.Epsilon > s.Local.Upper || s.MeanEpsilon > s.Epsilon || s.Printed == nil ||
			s.Printed.Provenance != "claimed" || s.Provenance != "proved" {
			t.Errorf("%v: %+v", set, s)
		}
		return s
	}
	whole := figures(`topology.graph="complete"`)
	if len(whole.Observers) != 1 || whole.Observers[0].Mean != whole.Epsilon ||
		whole.Epsilon > .9*whole.Local.Upper {
		t.Errorf("complete graph: %+v", whole)
	}
	// In the closed form W = 11'/n leaves T ln T/(s² n²) alone, s the noise over the
	// sensitivity 1 of zero-out.
	e := sixteen(t, `topology.graph="complete"`)
	z := e.Plans[0].Noise
	c := 300 * math.Log(300) / (z * z * 256)
	if want := c + 2*math.Sqrt(c*math.Log(1e4)); math.Abs(float64(whole.Printed.Worst)-want) > 1e-9*want ||
		math.Abs(float64(whole.Printed.Mean)-want) > 1e-9*want {
		t.Errorf("printed %+v, want %g", whole.Printed, want)
	}
	cube := figures(`topology.graph="hypercube"`)
	if cube.Agent != 1 || !(cube.MeanEpsilon < cube.Epsilon) || !(cube.Epsilon > whole.Epsilon) {
		t.Errorf("hypercube: %+v", cube)
	}
	some := figures(`topology.graph="ring"`)
	if len(some.Observers) != 2 || !(some.Epsilon > cube.Epsilon) {
		t.Errorf("ring: %+v", some)
	}
}

// A run on houses with a clip that never binds states the figure in its summary, its
// statement and its plan; the ledger is the same as without.
func TestWalkNetworkRun(t *testing.T) {
	dir := os.Getenv("SOTTO_DATA")
	if dir == "" {
		t.Skip("SOTTO_DATA not set: needs california-housing")
	}
	text := strings.NewReplacer("logistic-regression", "houses",
		"agents = 20\nrecords = 8\ndim = 5\npartition = \"natural\"",
		"limit = 160\ntest_limit = 100\npartition = \"iid\"",
		"count = 3", "accounting = \"network\"", "degree = 4", "", "regular", "complete").Replace(walkFile)
	f, err := experiment.Parse("walk.toml", []byte(text),
		[]string{"privacy.max_grad_norm=1.5", "algorithm.contributions=3"})
	if err != nil {
		t.Fatal(err)
	}
	e, err := f.Build(dir)
	if err != nil {
		t.Fatal(err)
	}
	p, err := forecast.Of(e)
	if err != nil {
		t.Fatal(err)
	}
	r := train(t, e, Options{})
	if w := r.Summary.Walk; w == nil || p.Walk == nil || w.Epsilon != p.Walk.Epsilon ||
		!(w.Epsilon < w.Local.Upper) || math.Abs(float64(w.Local.Upper)-8) > .01 {
		t.Errorf("summary %+v, plan %+v", w, p.Walk)
	}
	stated, err := rundir.Statements(r.Dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range stated {
		if a := s.Statement.PerAdversary; len(a) != 1 ||
			a[0].Epsilon.Upper != float64(r.Summary.Walk.Epsilon) ||
			!strings.Contains(a[0].Method, "proved") {
			t.Errorf("statement %+v", a)
		}
	}
}
