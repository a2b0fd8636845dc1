package run

import (
	"math"
	"slices"
	"testing"

	"sotto/experiment"
	"sotto/privacy/account/gdp"
	"sotto/topology"
)

// Daemons have the graphs of the simulator in every round: what a roster's public seed
// draws is what the run file's draws, and so is what an observer learns. A roster states
// all links.
func TestOwnersHaveTheGraphsOfTheSimulator(t *testing.T) {
	for name, c := range map[string]struct {
		set   []string
		links int // of the whole
	}{
		"pairs": {[]string{`topology.wake="pair"`}, 12},
		"random pairs": {[]string{`topology.wake="pair"`, `topology.graph="regular"`, "topology.degree=4"},
			24},
		"dropout": {[]string{"topology.dropout=0.3"}, 12},
		"same":    {nil, 12},
	} {
		e := averages(t, append(c.set, "seed=11", `algorithm.acceleration="plain"`)...)
		f, err := experiment.Parse("average.toml", []byte(averageFile),
			append(c.set, `algorithm.acceleration="plain"`))
		if err != nil {
			t.Fatal(err)
		}
		s, err := f.ScheduleFor(11)
		if err != nil {
			t.Fatal(err)
		}
		changes := false
		for k := range uint64(40) {
			want, err := e.Graphs.Schedule.At(k)
			if err != nil {
				t.Fatal(err)
			}
			got, err := s.At(k)
			if err != nil {
				t.Fatal(err)
			}
			if !slices.Equal(slices.Collect(got.Edges()), slices.Collect(want.Edges())) ||
				got.SelfWeight(3) != want.SelfWeight(3) {
				t.Errorf("%s: round %d has other links than the simulator's", name, k)
			}
			changes = changes || got.Links() != c.links
		}
		if changes != (c.set != nil) {
			t.Errorf("%s: graphs change: %t", name, changes)
		}
		g, err := f.GraphFor(11)
		if err != nil {
			t.Fatal(err)
		}
		if g.Links() != c.links ||
			topology.Validate(g, topology.Claims{Connected: true, DoublyStochastic: true}) != nil {
			t.Errorf("%s: a roster would state %d links, want %d", name, g.Links(), c.links)
		}
		if experiment.AveragingRounds(f) != 39 {
			t.Errorf("%s: %d rounds of averaging, want 39", name, experiment.AveragingRounds(f))
		}
	}
}

// An average by random pairs costs what one answer costs, here as for a daemon
// (TestOwnersAverageInPairs): one Gaussian of sensitivity 2 C.
func TestPairsCostOneAnswer(t *testing.T) {
	s := train(t, averages(t, `topology.wake="pair"`, `algorithm.acceleration="plain"`,
		"privacy.noise_multiplier=4"), Options{Workers: 1}).Summary
	want := gdp.Epsilon(2./4, 1e-3)
	if p := s.Privacy[0]; p.Charges != 1 || math.Abs(float64(p.Epsilon.Upper)/want-1) > 1e-9 {
		t.Errorf("%+v, want epsilon %v", p, want)
	}
}
