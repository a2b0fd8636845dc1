package algo_test

import (
	"errors"
	"strings"
	"testing"

	"sotto/agent"
	"sotto/agent/agenttest"
	"sotto/algo"
	"sotto/config"
)

func TestBoosting(t *testing.T) {
	for name, of := range map[string]struct {
		steps     int
		tolerance float64 // of a start 1.4 away: the constant comes nearer by a quarter a step
	}{
		"defaults":   {9, .5},
		"more steps": {36, .05},
	} {
		t.Run(name, func(t *testing.T) {
			made := factory(t, "boosting", set(func(p *algo.BoostingParams) { p.Steps = of.steps }))
			counted := func(env agent.Env) (agent.Algorithm, error) {
				env.Records = 0 // the answers say how many there are
				return made(env)
			}
			agenttest.Run(t, agenttest.Options{Factory: counted, Tolerance: of.tolerance})
		})
	}
}

func TestBoostingRefuses(t *testing.T) {
	ring := agent.Env{Agents: 8, Dim: 2, Rounds: 11, Init: make([]float32, 2),
		Graph: agent.Graph{SLEM: .805}, Table: agent.Table{Outputs: 1, Norm: 1, Slope: 1, Curvature: 1}}
	defaults := factory(t, "boosting", set(func(*algo.BoostingParams) {}))
	_, err := defaults(ring)
	var bad *config.Error
	if !errors.As(err, &bad) || bad.Key != "steps" || !strings.Contains(bad.Allowed, "rounds = ") {
		t.Fatal(err)
	}
	ring.Table = agent.Table{}
	if _, err = defaults(ring); !errors.As(err, &bad) || bad.Key != "name" {
		t.Errorf("a model of no table: %v", err)
	}
	for key, p := range map[string]func(p *algo.BoostingParams){
		"steps":         func(p *algo.BoostingParams) { p.Steps = 0 },
		"spread":        func(p *algo.BoostingParams) { p.Spread = 0 },
		"counts_noise":  func(p *algo.BoostingParams) { p.CountsNoise = -1 },
		"gradient_clip": func(p *algo.BoostingParams) { p.GradientClip = 1.5 },
		"swing":         func(p *algo.BoostingParams) { p.Swing = 0 },
		"target_bound":  func(p *algo.BoostingParams) { p.TargetBound = 0 },
		"acceleration":  func(p *algo.BoostingParams) { p.Acceleration = "fast" },
	} {
		_, err := algo.New("boosting", set(p))
		if !errors.As(err, &bad) || bad.Key != key {
			t.Errorf("%s: %v", key, err)
		}
	}
}
