package run

import (
	"fmt"
	"math"
	"os"
	"slices"
	"strings"
	"testing"

	"sotto/experiment"
	"sotto/experiment/experimenttest"
	"sotto/model"
	"sotto/oracle"
	"sotto/privacy/account"
	"sotto/tensor"
)

// fitted runs a file to its end, and returns the models of all agents.
func fitted(t *testing.T, text string, set ...string) (*experiment.Experiment, []tensor.Vec) {
	t.Helper()
	return fittedIn(t, "", text, set...)
}

// fittedIn is fitted with a folder of data sets.
func fittedIn(t *testing.T, dir, text string, set ...string) (*experiment.Experiment, []tensor.Vec) {
	t.Helper()
	f, err := experiment.Parse("newton.toml", []byte(text), set)
	if err != nil {
		t.Fatal(err)
	}
	e, err := f.BuildWith(dir, drawn)
	if err != nil {
		t.Fatal(err)
	}
	w, err := Start(e, Own(e), 2, nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Sim.Run(t.Context(), f.Steps); err != nil {
		t.Fatal(err)
	}
	var all []tensor.Vec
	for i := range f.Topology.Agents {
		all = append(all, slices.Clone(w.Sim.Model(i)))
	}
	return e, all
}

// solved solves a x = b by Gauss's elimination with pivots.
func solved(a [][]float64, b []float64) []float64 {
	n := len(b)
	for i := range n {
		pivot := i
		for r := i; r < n; r++ {
			if math.Abs(a[r][i]) > math.Abs(a[pivot][i]) {
				pivot = r
			}
		}
		a[i], a[pivot], b[i], b[pivot] = a[pivot], a[i], b[pivot], b[i]
		for r := i + 1; r < n; r++ {
			f := a[r][i] / a[i][i]
			for c := i; c < n; c++ {
				a[r][c] -= f * a[i][c]
			}
			b[r] -= f * b[i]
		}
	}
	for i := n - 1; i >= 0; i-- {
		for c := i + 1; c < n; c++ {
			b[i] -= a[i][c] * b[c]
		}
		b[i] /= a[i][i]
	}
	return b
}

// without has no noise, and no clip.
var without = []string{"privacy.mechanism=none", "privacy.target_epsilon=0"}

// plainly takes the steps of newton over the pooled records, with the model's own sums of
// gradients.
func plainly(e *experiment.Experiment, steps int, curvature float64) []float64 {
	train, outputs := e.Task.Split.Train, max(1, e.Task.Split.Train.Classes)
	if outputs == 2 {
		outputs = 1
	}
	p := e.Task.Model.Dim() / outputs
	h := make([][]float64, p)
	for i := range h {
		h[i] = make([]float64, p)
	}
	for r := range train.Len() {
		x := append(slices.Clone(train.X.Row(r)), 1)
		for i := range h {
			for j := range h {
				h[i][j] += curvature * float64(x[i]) * float64(x[j])
			}
		}
	}
	theta := slices.Clone(e.Task.Init)
	var w model.Workspace
	for range steps {
		g := make(tensor.Vec, len(theta))
		e.Task.Model.ClippedGradientSum(g, theta, oracle.BatchOf(train), math.Inf(1), &w)
		for o := range outputs {
			a, b := make([][]float64, p), make([]float64, p)
			for i := range a {
				a[i], b[i] = slices.Clone(h[i]), float64(g[i*outputs+o])
			}
			for i, s := range solved(a, b) {
				theta[i*outputs+o] -= float32(s)
			}
		}
	}
	out := make([]float64, len(theta))
	for i, x := range theta {
		out[i] = float64(x)
	}
	return out
}

func apart(v tensor.Vec, want []float64) float64 {
	most := 0.
	for i, x := range want {
		most = max(most, math.Abs(float64(v[i])-x))
	}
	return most
}

// Without noise a run on a complete graph takes the steps that a plain iteration over all
// records takes, with and without a constant, for two classes and more.
func TestNewtonTakesItsSteps(t *testing.T) {
	classes := strings.Replace(strings.Replace(experimenttest.Newton, `dataset = "logistic-regression"
agents = 4
records = 20
dim = 3
partition = "natural"`, `dataset = "glyphs"
resize = 4
train = 400
test = 20`, 1), "agents = 4", "agents = 4", 1)
	for name, c := range map[string]struct {
		text      string
		set       []string
		curvature float64
	}{
		"logistic":     {experimenttest.Newton, nil, .25},
		"intercept":    {experimenttest.Newton, []string{"model.intercept=true"}, .25},
		"huber":        {regression, []string{"model.name=huber"}, 1},
		"more classes": {classes, []string{"model.intercept=true"}, .5},
	} {
		t.Run(name, func(t *testing.T) {
			e, models := fitted(t, c.text, append(without[:2:2], c.set...)...)
			want := plainly(e, 8, c.curvature)
			for i, m := range models {
				if off := apart(m, want); !(off < 1e-5) {
					t.Errorf("agent %d is off by %v from %v", i, off, want)
				}
			}
		})
	}
}

// On a ring with enough rounds all owners have the models of the complete graph.
func TestNewtonOnARing(t *testing.T) {
	_, complete := fitted(t, experimenttest.Newton, without...)
	_, ring := fitted(t, experimenttest.Newton, append(without[:2:2], "topology.graph=ring",
		fmt.Sprint("rounds=", 9*24+1))...)
	for i, m := range ring {
		want := make([]float64, len(m))
		for k, x := range complete[i] {
			want[k] = float64(x)
		}
		if off := apart(m, want); !(off < 1e-4) {
			t.Errorf("agent %d is off by %v", i, off)
		}
	}
}

const regression = `
name = "once"

[topology]
agents = 4
graph = "complete"

[data]
dataset = "least-squares"
agents = 4
records = 30
dim = 3
partition = "natural"

[model]
name = "least-squares"

[algorithm]
name = "newton"

[privacy]
target_epsilon = 3
target_delta = 1e-3
`

// Least squares are solved from one release.
func TestNewtonSolvesLeastSquaresOnce(t *testing.T) {
	e, models := fitted(t, regression, without...)
	train, p := e.Task.Split.Train, e.Task.Model.Dim()
	a, b := make([][]float64, p), make([]float64, p)
	for i := range a {
		a[i] = make([]float64, p)
	}
	for r, y := range train.Targets {
		x := train.X.Row(r)
		for i := range a {
			b[i] += float64(x[i]) * float64(y)
			for j := range a {
				a[i][j] += float64(x[i]) * float64(x[j])
			}
		}
	}
	want := solved(a, b)
	for i, m := range models {
		if off := apart(m, want); !(off < 1e-4) {
			t.Errorf("agent %d is off by %v from %v", i, off, want)
		}
	}
	e, _ = fitted(t, regression)
	if a := &e.Plans[0]; len(a.Asks) != 1 || a.Queries() != 1 || a.Asks[0].Query.Oracle != "moments" {
		t.Errorf("asks %+v", a.Asks)
	}
}

// A run with noise of the agents' own, and with noise that they share, is near the one
// with next to none of it.
func TestNewtonWithNoise(t *testing.T) {
	_, exact := fitted(t, experimenttest.Newton, "privacy.target_epsilon=0", "privacy.noise_multiplier=1e-7")
	little := []string{"privacy.target_epsilon=0", "privacy.noise_multiplier=1e-4"}
	for name, set := range map[string][]string{
		"own":    nil,
		"shared": {"privacy.mechanism=decor", "privacy.curious=none", "privacy.pair_noise_ratio=50"},
	} {
		t.Run(name, func(t *testing.T) {
			_, models := fitted(t, experimenttest.Newton, append(little[:2:2], set...)...)
			for i, m := range models {
				want := make([]float64, len(m))
				for k, x := range exact[i] {
					want[k] = float64(x)
				}
				if off := apart(m, want); !(off < 2e-3) || off < 1e-6 {
					t.Errorf("agent %d is off by %v", i, off)
				}
			}
		})
	}
}

const counts = `
name = "counts"

[topology]
agents = 4
graph = "complete"

[data]
dataset = "heart-disease"
target = "num"
partition = "natural"

[model]
name = "poisson"
intercept = true
largest = 4.0

[algorithm]
name = "newton"

[privacy]
target_epsilon = 3
target_delta = 1e-4
`

// Without noise counts are fitted to the best likelihood of all records, which
// iteratively reweighted least squares find in their own way.
func TestNewtonFitsCounts(t *testing.T) {
	if os.Getenv("SOTTO_DATA") == "" {
		t.Skip("no SOTTO_DATA")
	}
	e, models := fittedIn(t, os.Getenv("SOTTO_DATA"), counts, append(without[:2:2], "rounds=242",
		"algorithm.steps=240", "algorithm.gradient_clip=1.0")...)
	train := e.Task.Split.Train
	p := e.Task.Model.Dim()
	best := make([]float64, p)
	for range 60 {
		a, b := make([][]float64, p), make([]float64, p)
		for i := range a {
			a[i] = make([]float64, p)
		}
		for r, y := range train.Targets {
			x := append(slices.Clone(train.X.Row(r)), 1)
			z := 0.
			for i, v := range x {
				z += float64(v) * best[i]
			}
			mean, slope := math.Exp(min(z, math.Log(4))), 0.
			if slope = mean; z > math.Log(4) {
				mean, slope = 4, 1e-3
			}
			for i, v := range x {
				b[i] += float64(v) * (slope*z + float64(y) - mean)
				for j, w := range x {
					a[i][j] += slope * float64(v) * float64(w)
				}
			}
		}
		best = solved(a, b)
	}
	for i, m := range models {
		if off := apart(m, best); !(off < .02) {
			t.Errorf("agent %d is off by %v: %v, want %v", i, off, m, best)
		}
	}
}

// Noise that neighbors share costs what it costs against whom the run file suspects: on a
// complete graph of n agents, those that keep their secrets share noise of ratio r over
// own noise s with each other, and (s² I + r² s² L)^-1 has the diagonal (1/m + (1 - 1/m)
// /(1 + m r²))/s² for m of them.
func TestNewtonWithCuriousNeighbors(t *testing.T) {
	const r, n = 3., 4
	plain, _ := fitted(t, experimenttest.Newton)
	for curious, silent := range map[string]float64{"none": n, "one": n - 1, "neighbors": 1} {
		set := []string{"privacy.mechanism=decor", "privacy.curious=" + curious, "privacy.pair_noise_ratio=3",
			"algorithm.moments_noise=2"}
		e, _ := fitted(t, experimenttest.Newton, set...)
		same, _ := fitted(t, experimenttest.Newton, "algorithm.moments_noise=2")
		checkCharges(t, experimenttest.Newton, set)
		want := math.Sqrt(1 / (1/silent + (1-1/silent)/(1+silent*r*r)))
		for i := range e.Plans {
			if got := e.Setup.Scheme.Counts(e.Seats.ID(i)); math.Abs(got/want-1) > 1e-9 {
				t.Errorf("curious %s: own noise counts %v times, want %v", curious, got, want)
			}
			a, b := e.Plans[i].Noise, same.Plans[i].Noise
			if math.Abs(a/b-1) > 1e-9 || a == plain.Plans[i].Noise {
				t.Errorf("curious %s: noise that counts as %v, want %v", curious, a, b)
			}
			if got, own := e.Env(i).Table.Noise, e.Plans[i].Noise/want; math.Abs(got/own-1) > 1e-9 {
				t.Errorf("curious %s: the algorithm knows of noise %v, want %v", curious, got, own)
			}
		}
	}
}

// What newton cannot fit is refused by the key of the model.
func TestNewtonRefusesOtherModels(t *testing.T) {
	text := strings.Replace(experimenttest.Newton, `name = "logistic"`, `name = "mlp"`, 1)
	f, err := experiment.Parse("newton.toml", []byte(text), nil)
	if err == nil {
		_, err = f.BuildWith("", drawn)
	}
	if err == nil || !strings.Contains(err.Error(), "model.name") || !strings.Contains(err.Error(), "huber") {
		t.Error(err)
	}
}

// In the unit of a person all charges are those of persons.
func TestNewtonByPersons(t *testing.T) {
	text := strings.Replace(byPersons, "batch_size = 10\n", "", 1)
	set := []string{"algorithm.name=newton", "rounds=10", "data.path=" + visits(t)}
	checkCharges(t, text, set)
	f, err := experiment.Parse("persons.toml", []byte(text), set)
	if err != nil {
		t.Fatal(err)
	}
	e, err := f.BuildWith("", drawn)
	if err != nil {
		t.Fatal(err)
	}
	a := &e.Plans[0]
	for k := range a.Asks {
		if r, err := a.Release(k); err != nil || r.Unit.Kind != account.UnitPerson {
			t.Errorf("%+v, %v", r, err)
		}
	}
	_, err = experiment.Parse("persons.toml", []byte(text), append(set, "privacy.person_gradient=sum"))
	if err == nil || !strings.Contains(err.Error(), "person_gradient") {
		t.Errorf("a sum over a person's records: %v", err)
	}
}
