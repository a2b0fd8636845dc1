package algo_test

import (
	"math"
	"testing"

	"sotto/agent"
	"sotto/agent/agenttest"
	"sotto/algo"
	"sotto/tensor"
)

func roundedFactory(t *testing.T, name string) agent.Factory {
	f := factory(t, name, func(any) error { return nil })
	return func(env agent.Env) (agent.Algorithm, error) {
		a, err := f(env)
		if err != nil {
			return nil, err
		}
		return algo.Rounded(a), nil
	}
}

// sender sends one vector at every step.
type sender struct {
	agent.Algorithm
	body tensor.Vec
}

func (s *sender) Step(_ *agent.Input, out *agent.Output) error {
	out.Outbox = append(out.Outbox, agent.Message{To: agent.Broadcast, Body: s.body})
	return nil
}

// Values are rounded to the nearest of 8 significant bits, ties to even, as computed by
// hand, cut to the largest finite one, and the algorithm's own vector stays as it is.
func TestRoundedValues(t *testing.T) {
	for x, want := range map[float32]float32{
		1: 1, 0: 0, -3.5: -3.5, // exact
		1 + 1./128:          1 + 1./128,
		1 + 1./256:          1,           // tie, to even
		1 + 3./256:          1 + 2./128,  // tie, to even
		1 + 1./256 + 1./512: 1 + 1./128,  // above the tie
		-(1 + 1./512):       -1,          // below it
		math.MaxFloat32:     0x1.fep+127, // the largest finite one
		-math.MaxFloat32:    -0x1.fep+127,
		0x1p-149:            0, // far below the smallest
	} {
		s := &sender{body: tensor.Vec{x, 2}}
		var out agent.Output
		if err := algo.Rounded(s).Step(&agent.Input{}, &out); err != nil {
			t.Fatal(err)
		}
		if got := out.Outbox[0].Body; got[0] != want || got[1] != 2 {
			t.Errorf("%v is sent as %v, want %v", x, got, want)
		}
		if s.body[0] != x {
			t.Errorf("the algorithm's own %v became %v", x, s.body[0])
		}
	}
}

func TestRoundedConforms(t *testing.T) {
	for _, name := range []string{"dsgd", "gossip-sgd"} {
		t.Run(name, func(t *testing.T) {
			agenttest.Run(t, agenttest.Options{Factory: roundedFactory(t, name)})
		})
	}
}
