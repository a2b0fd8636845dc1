package algo_test

import (
	"errors"
	"math"
	"slices"
	"testing"

	"sotto/agent"
	"sotto/agent/agenttest"
	"sotto/algo"
	"sotto/config"
	"sotto/tensor"
)

// attacked is a factory whose agent 1 attacks.
func attacked(t *testing.T, name string, decode func(any) error, attack string, scale float64) agent.Factory {
	t.Helper()
	bad := algo.Adversaries{Agents: []int{1}, Attack: attack, Scale: scale}
	if err := bad.Complete(4); err != nil {
		t.Fatal(err)
	}
	f := factory(t, name, decode)
	return func(env agent.Env) (agent.Algorithm, error) {
		a, err := f(env)
		if err != nil {
			return nil, err
		}
		return bad.Corrupt(a, env.Self, 7), nil
	}
}

// An adversary is an algorithm like any other: deterministic, with a checkpoint, keeping
// nothing of its inputs.
func TestAdversariesConform(t *testing.T) {
	keep := func(any) error { return nil }
	for _, attack := range []string{"sign-flip", "large-norm", "alie", "stale"} {
		for _, name := range []string{"dsgd", "dsgt"} {
			t.Run(name+" "+attack, func(t *testing.T) {
				agenttest.Run(t, agenttest.Options{Factory: attacked(t, name, keep, attack, 0),
					Tolerance: math.Inf(1)})
			})
		}
	}
}

// What agent 1 of two neighbors sends, by hand. It starts at (2, -1), hears (1, 0) and
// (3, 1), has no answers and mixes with weights 1/2 and 1/4 to (2, -1/4). alie: mean (2,
// 1/4), sd (sqrt(2/3), ((0 + 1 + 1/16)/3 - 1/16)^1/2), scale 3/2.
func TestAttacksByHand(t *testing.T) {
	sd := func(values ...float64) (mean, sd float64) {
		for _, v := range values {
			mean += v / float64(len(values))
		}
		for _, v := range values {
			sd += (v - mean) * (v - mean) / float64(len(values))
		}
		return mean, math.Sqrt(sd)
	}
	m0, s0 := sd(1, 3, 2)
	m1, s1 := sd(0, 1, -.25)
	for _, c := range []struct {
		attack string
		scale  float64
		want   []float64
	}{
		{"sign-flip", 0, []float64{-2, .25}},
		{"sign-flip", 3, []float64{-6, .75}},
		{"stale", 0, []float64{2, -1}},
		{"alie", 0, []float64{m0 - 1.5*s0, m1 - 1.5*s1}},
		{"alie", .5, []float64{m0 - .5*s0, m1 - .5*s1}},
	} {
		f := attacked(t, "dsgd", func(any) error { return nil }, c.attack, c.scale)
		a, err := f(agent.Env{Self: 1, Agents: 4, Dim: 2, Rounds: 3, Init: tensor.Vec{2, -1}})
		if err != nil {
			t.Fatal(err)
		}
		view := row(.5, .25, .25)
		inbox := []agent.Message{{From: 1, Body: tensor.Vec{1, 0}}, {From: 2, Body: tensor.Vec{3, 1}}}
		var out agent.Output
		for _, in := range []agent.Input{{Kind: agent.Start, View: view},
			{Kind: agent.Round, View: view, Inbox: inbox}, {Kind: agent.Exhausted, View: view}} {
			out.Reset()
			if err := a.Step(&in, &out); err != nil {
				t.Fatal(err)
			}
		}
		got := out.Outbox[0].Body
		for k := range c.want {
			if math.Abs(float64(got[k])-c.want[k]) > 1e-6 {
				t.Errorf("%s with scale %g sends %v, want %v", c.attack, c.scale, got, c.want)
				break
			}
		}
		if p := a.Params(); p[0] != 2 || p[1] != -.25 {
			t.Errorf("%s: its own state is %v, want (2, -0.25)", c.attack, p)
		}
	}
}

// large-norm sends values ±s with signs of the public seed: the same in every round, of
// both kinds, others at another seed. Values stay finite whatever the scale.
func TestLargeNorm(t *testing.T) {
	const dim = 64
	first := func(seed uint64, scale float64) tensor.Vec {
		bad := algo.Adversaries{Agents: []int{0}, Attack: "large-norm", Scale: scale}
		if err := bad.Complete(2); err != nil {
			t.Fatal(err)
		}
		a, err := factory(t, "dsgd", func(any) error {
			return nil
		})(agent.Env{Agents: 2, Dim: dim, Rounds: 2, Init: make(tensor.Vec, dim)})
		if err != nil {
			t.Fatal(err)
		}
		var out agent.Output
		if err := bad.Corrupt(a, 0, seed).Step(&agent.Input{Kind: agent.Start}, &out); err != nil {
			t.Fatal(err)
		}
		return slices.Clone(out.Outbox[0].Body)
	}
	one := first(1, 0)
	plus := 0
	for _, v := range one {
		if v != 1000 && v != -1000 {
			t.Fatalf("a value of %v, want 1000 or -1000", v)
		}
		if v > 0 {
			plus++
		}
	}
	if plus < 12 || plus > 52 { // 5 standard deviations of 64 fair coins: false with probability 6e-7
		t.Errorf("%d of 64 signs are positive", plus)
	}
	if !slices.Equal(one, first(1, 0)) || slices.Equal(one, first(2, 0)) {
		t.Error("signs do not follow the seed")
	}
	if !first(1, 3.4e38).Finite() {
		t.Error("the largest scale gives values that are not finite")
	}
}

func TestBadAdversaries(t *testing.T) {
	for name, c := range map[string]struct {
		a   algo.Adversaries
		key string
	}{
		"attack of nobody": {algo.Adversaries{Attack: "stale"}, "attack"},
		"scale of nobody":  {algo.Adversaries{Scale: 2}, "attack_scale"},
		"beyond":           {algo.Adversaries{Agents: []int{4}, Attack: "stale"}, "adversaries"},
		"negative":         {algo.Adversaries{Agents: []int{-1}, Attack: "stale"}, "adversaries"},
		"twice":            {algo.Adversaries{Agents: []int{1, 1}, Attack: "stale"}, "adversaries"},
		"descending":       {algo.Adversaries{Agents: []int{2, 1}, Attack: "stale"}, "adversaries"},
		"everybody":        {algo.Adversaries{Agents: []int{0, 1, 2, 3}, Attack: "stale"}, "adversaries"},
		"no attack":        {algo.Adversaries{Agents: []int{1}}, "attack"},
		"unknown":          {algo.Adversaries{Agents: []int{1}, Attack: "flip"}, "attack"},
		"stale scale":      {algo.Adversaries{Agents: []int{1}, Attack: "stale", Scale: 1}, "attack_scale"},
		"scale":            {algo.Adversaries{Agents: []int{1}, Attack: "alie", Scale: -1}, "attack_scale"},
		"huge scale": {algo.Adversaries{Agents: []int{1}, Attack: "large-norm", Scale: 1e39},
			"attack_scale"},
	} {
		var e *config.Error
		if err := c.a.Complete(4); !errors.As(err, &e) || e.Key != c.key || e.Allowed == "" {
			t.Errorf("%s: got %v, want key %s", name, err, c.key)
		}
	}
}
