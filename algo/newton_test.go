package algo_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"sotto/agent"
	"sotto/agent/agenttest"
	"sotto/algo"
	"sotto/config"
)

func TestNewton(t *testing.T) {
	for name, p := range map[string]func(p *algo.NewtonParams){
		"defaults": func(*algo.NewtonParams) {},
		"one step": func(p *algo.NewtonParams) { p.Steps = 1 },
	} {
		t.Run(name, func(t *testing.T) {
			agenttest.Run(t, agenttest.Options{Factory: factory(t, "newton", set(p))})
		})
	}
}

// An average that the run's rounds do not allow is refused, with the rounds that do.
func TestNewtonRefuses(t *testing.T) {
	ring := agent.Env{Agents: 8, Dim: 2, Rounds: 10, Init: make([]float32, 2),
		Graph: agent.Graph{SLEM: .805}, Table: agent.Table{Outputs: 1, Norm: 1, Slope: 1, Curvature: 1}}
	defaults := factory(t, "newton", set(func(*algo.NewtonParams) {}))
	_, err := defaults(ring)
	var bad *config.Error
	if !errors.As(err, &bad) || bad.Key != "steps" || !strings.Contains(bad.Allowed, "rounds = ") {
		t.Fatal(err)
	}
	for ring.Rounds = 11; err != nil; ring.Rounds++ {
		_, err = defaults(ring)
	}
	fits := ring.Rounds - 1
	if want := fmt.Sprintf("rounds = %d: ", fits); (fits-1)%9 != 0 || !strings.Contains(bad.Allowed, want) {
		t.Errorf("%d rounds fit; %v", fits, bad)
	}
	ring.Table = agent.Table{}
	if _, err = defaults(ring); !errors.As(err, &bad) || bad.Key != "name" {
		t.Errorf("a model of no table: %v", err)
	}
	for key, p := range map[string]func(p *algo.NewtonParams){
		"steps":         func(p *algo.NewtonParams) { p.Steps = 0 },
		"ridge":         func(p *algo.NewtonParams) { p.Ridge = 0 },
		"moments_noise": func(p *algo.NewtonParams) { p.MomentsNoise = -1 },
		"gradient_clip": func(p *algo.NewtonParams) { p.GradientClip = 1.5 },
		"target_bound":  func(p *algo.NewtonParams) { p.TargetBound = 0 },
		"acceleration":  func(p *algo.NewtonParams) { p.Acceleration = "fast" },
	} {
		_, err := algo.New("newton", set(p))
		if !errors.As(err, &bad) || bad.Key != key {
			t.Errorf("%s: %v", key, err)
		}
	}
}
