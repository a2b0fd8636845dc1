package algo_test

import (
	"bytes"
	"encoding/binary"
	"errors"
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

// All begins at the local models: Z of both models of an edge, those of neighbors as far
// as they were heard (Bellet et al. 2018: both algorithms start from local models).
//
// Worked by hand for agent 0 between agents 1 and 2, W = .8, ρ = .4 and no loss, from
// local model 2; agent 1's is 5, agent 2 was not heard. y_1 = (.4·2 + .4·5)/.8 = 3.5, y_2
// = 2; the gradient is .4 (2 - 3.5), the curvature 2·.8, so that x = 2.375 and y_1 =
// (.4·2.375 + .4·5)/.8 = 3.6875. From Z = 0 all of it would be nearer to 0.
func TestGossipADMMStartsFromLocalModels(t *testing.T) {
	a, err := factory(t, "gossip-admm", set(func(p *algo.GossipADMMParams) {
		p.Start, p.LocalSteps, p.Rho, p.Mu = "fit", 1, .4, 1e-12
	}))(agent.Env{Agents: 3, Dim: 1, Records: 5, MaxRecords: 5, Init: tensor.Vec{0}})
	if err != nil {
		t.Fatal(err)
	}
	view := &agent.View{In: []agent.Neighbor{{ID: 1, Weight: .8}, {ID: 2, Weight: .8}}}
	var out agent.Output
	step(t, a, agent.Input{Kind: agent.Start, View: view}, &out)
	if out.Query == nil || out.Query.Oracle != "fit" {
		t.Fatalf("it asks %+v at its start", out.Query)
	}
	step(t, a, agent.Input{Kind: agent.Answer, View: view, Answer: tensor.Vec{2}}, &out)
	if len(out.Outbox) != 1 || out.Outbox[0].To != agent.Broadcast || out.Outbox[0].Body[0] != 2 {
		t.Fatalf("after its start it sends %+v, want its local model to all", out.Outbox)
	}
	heard := []agent.Message{{From: 1, To: agent.Broadcast, Body: tensor.Vec{5}}}
	meet := func() tensor.Vec {
		step(t, a, agent.Input{Kind: agent.Wake, View: view, Peer: 1, Inbox: heard}, &out)
		step(t, a, agent.Input{Kind: agent.Answer, View: view, Answer: tensor.Vec{0}}, &out)
		return out.Outbox[0].Body
	}
	near := func(got tensor.Vec, want ...float32) {
		t.Helper()
		for i, x := range want {
			if math.Abs(float64(got[i]-x)) > 1e-6 {
				t.Errorf("it sends %v, want %v", got, want)
			}
		}
	}
	near(meet(), 2.375, 3.6875)
	// The peer answers the same: Z is what both sent, duals stay zero. What was heard at
	// the start counts no longer on this edge: y_1 = (.4·2.375 + .4·3.6875)/.8 = 3.03125,
	// y_2 = (.4·2.375 + .4·2)/.8 = 2.1875; the gradient is .4 (2.375 - 3.03125) + .4
	// (2.375 - 2.1875) + .4 (2.375 - 2) = -.0375, so that x = 2.375 + .0375/1.6.
	step(t, a, agent.Input{Kind: agent.Exchange, View: view, Peer: 1,
		Inbox: []agent.Message{{From: 1, Body: tensor.Vec{2.375, 3.6875}}}}, &out)
	near(meet(), 2.3984375, (2.3984375+3.6875)/2)

	// An older state has other secondary variables: it is refused.
	b := a.AppendState(nil)
	old := bytes.Replace(b, []byte("gossip-admm meeting/2"), []byte("gossip-admm meeting/1"), 1)
	if err := a.LoadState(old); bytes.Equal(old, b) || !errors.Is(err, agent.ErrState) {
		t.Errorf("a state of the version before: %v", err)
	}
}
