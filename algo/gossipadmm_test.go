package algo_test

import (
	"encoding/binary"
	"math"
	"slices"
	"testing"

	"sotto/agent"
	"sotto/algo"
	"sotto/tensor"
)

// The duals of an edge's two ends cancel after its first exchange, and both ends hold the
// same secondary variables: what is sent is enough to run the algorithm.
func TestGossipADMMEdgesAgree(t *testing.T) {
	f := factory(t, "gossip-admm", set(func(p *algo.GossipADMMParams) {
		p.Mu, p.LocalSteps, p.Rho = .7, 3, .4
	}))
	var ends [2]agent.Algorithm
	views := [2]*agent.View{{In: []agent.Neighbor{{ID: 1, Weight: .8}}},
		{In: []agent.Neighbor{{ID: 0, Weight: .8}}}}
	var out agent.Output
	for i := range ends {
		var err error
		if ends[i], err = f(agent.Env{
			Self:       agent.ID(i),
			Agents:     2,
			Dim:        1,
			Records:    5,
			MaxRecords: 5,
			Init:       tensor.Vec{0},
		}); err != nil {
			t.Fatal(err)
		}
		step(t, ends[i], agent.Input{Kind: agent.Start, View: views[i]}, &out)
	}
	for round := range 6 {
		var sent [2]tensor.Vec
		for i, a := range ends {
			step(t, a, agent.Input{Kind: agent.Wake, View: views[i], Peer: agent.ID(1 - i)}, &out)
			for out.Query != nil {
				answer := tensor.Vec{out.Query.At[0] - float32(1-2*i)} // losses (θ - 1)²/2 and (θ + 1)²/2
				step(t, a, agent.Input{Kind: agent.Answer, View: views[i], Answer: answer}, &out)
			}
			sent[i] = slices.Clone(out.Outbox[0].Body)
		}
		for i, a := range ends {
			in := agent.Input{
				Kind:  agent.Exchange,
				View:  views[i],
				Peer:  agent.ID(1 - i),
				Inbox: []agent.Message{{From: agent.ID(1 - i), Body: sent[1-i]}},
			}
			step(t, a, in, &out)
		}
		// A checkpoint ends with copy, Z of the own and the other model, Λ of both: five
		// vectors of one value.
		var z, duals [2][2]float32
		for i, a := range ends {
			var v [5]float32
			b := a.AppendState(nil)
			for k := range v {
				v[k] = math.Float32frombits(binary.LittleEndian.Uint32(b[len(b)-20+4*k:]))
			}
			z[i], duals[i] = [2]float32{v[1], v[2]}, [2]float32{v[3], v[4]}
		}
		for m := range 2 { // the own model of one end is the other model of the other
			if z[0][m] != z[1][1-m] {
				t.Errorf("round %d: the ends hold Z = %v and %v", round, z[0], z[1])
			}
			if s := math.Abs(float64(duals[0][m] + duals[1][1-m])); s > 1e-6 {
				t.Errorf("round %d: duals of model %d sum to %g", round, m, s)
			}
		}
	}
}
