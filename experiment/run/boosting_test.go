package run

import (
	"math"
	"slices"
	"testing"

	"sotto/experiment"
	"sotto/experiment/experimenttest"
	"sotto/experiment/shapes"
	"sotto/model"
	"sotto/oracle"
	"sotto/tensor"
)

// A step that is not shortened by noise ends where the gradient of the mean loss is
// small: the curves are those of maximum likelihood up to the least ridge.
func TestBoostingFits(t *testing.T) {
	text := experimenttest.Boosting
	set := append(slices.Clone(without), "algorithm.steps=100", "rounds=102", "algorithm.swing=10",
		"data.records=200")
	_, models := fitted(t, text, set...)
	_, start := fitted(t, text, append(slices.Clone(without), "algorithm.steps=1", "rounds=3",
		"data.records=200")...)
	e, _ := fitted(t, text, set...)
	begin, end := steepness(e, start[0]), steepness(e, models[0])
	if !(end < .05*begin) {
		t.Errorf("gradient of %v after 100 steps, %v after one", end, begin)
	}
}

// steepness is the norm of the mean gradient of all records.
func steepness(e *experiment.Experiment, theta tensor.Vec) float64 {
	var w model.Workspace
	g, train := make(tensor.Vec, len(theta)), e.Task.Split.Train
	e.Task.Model.ClippedGradientSum(g, theta, oracle.BatchOf(train), math.Inf(1), &w)
	return g.Norm() / float64(train.Len())
}

// Agents end with one model, on any graph, with noise of their own and with noise that
// they share; what noise there is shows.
func TestBoostingWithNoise(t *testing.T) {
	text := experimenttest.Boosting
	_, exact := fitted(t, text, "privacy.target_epsilon=0", "privacy.noise_multiplier=1e-7")
	little := []string{"privacy.target_epsilon=0", "privacy.noise_multiplier=1e-4"}
	for name, set := range map[string][]string{
		"own":    nil,
		"shared": {"privacy.mechanism=decor", "privacy.curious=none", "privacy.pair_noise_ratio=50"},
	} {
		t.Run(name, func(t *testing.T) {
			_, models := fitted(t, text, append(little[:2:2], set...)...)
			for i, m := range models {
				want := make([]float64, len(m))
				for k, x := range exact[i] {
					want[k] = float64(x)
				}
				if off := apart(m, want); !(off < 1e-2) || off < 1e-6 {
					t.Errorf("agent %d is off by %v", i, off)
				}
			}
		})
	}
	_, ring := fitted(t, text, "topology.graph=ring", "privacy.target_epsilon=0",
		"privacy.noise_multiplier=1e-7", "rounds=101")
	for i, m := range ring {
		want := make([]float64, len(m))
		for k, x := range exact[0] {
			want[k] = float64(x)
		}
		if off := apart(m, want); !(off < 1e-2) {
			t.Errorf("agent %d of a ring is off by %v", i, off)
		}
	}
}

// Shapes are 0 on average, and their noise is at most Spread for one step of a feature.
func TestShapesOfARun(t *testing.T) {
	f, err := experiment.Parse("boosting.toml", []byte(experimenttest.Boosting), nil)
	if err != nil {
		t.Fatal(err)
	}
	e, err := f.BuildWith("", drawn)
	if err != nil {
		t.Fatal(err)
	}
	w, err := Start(e, Own(e), 1, nil)
	if err == nil {
		err = w.Sim.Run(t.Context(), f.Steps)
	}
	if err != nil {
		t.Fatal(err)
	}
	all := shapes.Of(e, w.Sim.Model(0), w.agents[0].Algorithm)
	if len(all) != 3 {
		t.Fatalf("%d shapes, want 3", len(all))
	}
	for _, s := range all {
		mean := 0.
		for _, p := range s.Points {
			mean += p.Share * p.Adds
			if !(p.Noise > 0 && p.Noise < 1) {
				t.Errorf("%s at %v: noise %v", s.Variable, p.At, p.Noise)
			}
		}
		if len(s.Points) != 3 || s.Points[0].At != -1 || s.Points[2].At != 1 || math.Abs(mean) > 1e-6 {
			t.Errorf("%+v, mean %v", s, mean)
		}
	}
}

// An owner's own model of an additive one is made of the owner's records and sent to
// nobody: the shared model keeps its bits.
func TestAdditiveModelsAreFinished(t *testing.T) {
	text := experimenttest.Boosting + "[personal]\nenabled = true\n"
	f, err := experiment.Parse("boosting.toml", []byte(text),
		[]string{"evaluate.on=own", "evaluate.validation=0.5", "data.partition=iid"})
	if err != nil {
		t.Fatal(err)
	}
	e, err := f.BuildWith("", drawn)
	if err != nil {
		t.Fatal(err)
	}
	shared := slices.Clone(e.Task.Init)
	m, err := experiment.Finish(t.Context(), e, 0, shared)
	if err != nil {
		t.Fatal(err)
	}
	if len(m.Theta) != len(shared) || !m.Theta.Finite() || slices.Equal(m.Theta, shared) ||
		!slices.Equal(shared, e.Task.Init) {
		t.Errorf("own model %v of the shared one %v", m.Theta, shared)
	}
}
