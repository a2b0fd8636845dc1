package exposure

import (
	"encoding/json"
	"errors"
	"math"
	"strings"
	"testing"

	"sotto/agent"
	"sotto/algo"
	"sotto/config"
	"sotto/topology"
)

// newCase is an averaging over a path of three agents for two rounds.
func newCase(t *testing.T, edit func(*Settings)) (*Case, error) {
	t.Helper()
	schedule, err := topology.New("path", "", 3, 1, noParameters)
	if err != nil {
		t.Fatal(err)
	}
	g, err := schedule.At(0)
	if err != nil {
		t.Fatal(err)
	}
	s := Settings{Rounds: 2, Method: "plain", Delta: 1e-5, Adjacency: "add-remove", Adversary: "2"}
	edit(&s)
	return NewCase(&Source{Schedule: schedule, Whole: g}, &s)
}

// On a path of three agents one end learns all about the other, with which it shares no
// link; its own row is null.
func TestViewsOfAPath(t *testing.T) {
	c, err := newCase(t, func(*Settings) {})
	if err != nil {
		t.Fatal(err)
	}
	r, err := c.Views(true, true)
	if err != nil {
		t.Fatal(err)
	}
	if d := c.distances(c.Adversaries[0]); d[0] != 2 || d[1] != 1 || d[2] != 0 {
		t.Errorf("distances %v", d)
	}
	b, err := json.Marshal(r.Figures())
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{`{"topology":"path","agents":3,"rounds":2,`, `"leak":[[1],[1],[null]]`,
		`"max_leak":[1,1,null]`, `"worst":{"observed":0,"adversary":"2","leak":1,`, `"determined":[[0,1]]`,
		`"formula":[[0.33333`} {
		if !strings.Contains(string(b), want) {
			t.Errorf("no %s in %s", want, b)
		}
	}
}

// Of training only who sees all messages has figures that are proved.
func TestTraining(t *testing.T) {
	for adversary, want := range map[string]string{"2": "claimed", "all-messages": "proved"} {
		c, err := newCase(t, func(s *Settings) { s.Rounds, s.Adversary = 1, adversary })
		if err != nil {
			t.Fatal(err)
		}
		x, err := c.Training(2)
		if err != nil {
			t.Fatal(err)
		}
		if a := x.Adversaries[0]; a.Provenance != want || (a.Label == "") != (want == "proved") {
			t.Errorf("%s: %+v", adversary, a)
		}
	}
}

// Bad settings are named.
func TestBadSettings(t *testing.T) {
	for key, edit := range map[string]func(*Settings){
		"rounds":             func(s *Settings) { s.Rounds = -1 },
		"delta":              func(s *Settings) { s.Delta = 1 },
		"noise_multiplier":   func(s *Settings) { s.Noise = math.NaN() },
		"epsilon":            func(s *Settings) { s.Epsilon = 2000 },
		"acceleration":       func(s *Settings) { s.Method = "fast" },
		"spectral_dimension": func(s *Settings) { s.Method = "jacobi" },
		"adjacency":          func(s *Settings) { s.Adjacency = "x" },
		"adversary":          func(s *Settings) { s.Adversary = "x" },
	} {
		var bad *config.Error
		if _, err := newCase(t, edit); !errors.As(err, &bad) || bad.Key != key {
			t.Errorf("%s: %v", key, err)
		}
	}
}

// Weights of an objective are not averaged by: mixing weights take their place, and a
// note says so.
func TestWeightsOfAnObjective(t *testing.T) {
	for weights, notes := range map[string]int{"objective": 1, "": 0} {
		schedule, err := topology.New("ring", weights, 5, 1, noParameters)
		if err != nil {
			t.Fatal(err)
		}
		g, err := schedule.At(0)
		if err != nil {
			t.Fatal(err)
		}
		s, err := OfRun(schedule, g, 3, algo.Recursion{}, nil)
		if err != nil || len(s.Notes) != notes || (s.Whole == g) != (notes == 0) {
			t.Errorf("weights %q: %+v, %v", weights, s, err)
		}
	}
}

// A run that averages with acceleration has the coefficients of its agents: those of the
// graph of its first round, not of all its links. Settings say another method.
func TestAccelerationOfARun(t *testing.T) {
	var graphs [2]*topology.Graph
	for k, name := range []string{"path", "complete"} {
		s, err := topology.New(name, "", 5, 1, noParameters)
		if err == nil {
			graphs[k], err = s.At(0)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	info, err := topology.Analyze(graphs[0])
	if err != nil {
		t.Fatal(err)
	}
	r := algo.Recursion{Acceleration: "chebyshev"}
	want, err := r.Coefficients(agent.Env{Graph: agent.Graph{SLEM: 1 - info.AbsoluteGap}}, 3)
	if err != nil {
		t.Fatal(err)
	}
	src, err := OfRun(topology.Static(graphs[0]), graphs[1], 3, r, nil)
	if err != nil {
		t.Fatal(err)
	}
	c, err := NewCase(src, &Settings{Rounds: 3, Method: "plain", Delta: 1e-5, Adjacency: "zero-out",
		Adversary: "0"})
	if err != nil {
		t.Fatal(err)
	}
	if c.Gossip.Method.Name != "chebyshev" {
		t.Errorf("method %s", c.Gossip.Method.Name)
	}
	for k, w := range want {
		if a, b, back := c.Gossip.Method.Step(k); [3]float64{a, b, back} != w {
			t.Errorf("round %d: %g, %g, %g, want %g", k, a, b, back, w)
		}
	}
}
