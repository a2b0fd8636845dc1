package algo

import (
	"fmt"

	"sotto/agent"
	"sotto/tensor"
)

var _ agent.Mixer = (*DSGT)(nil)

// DSGTParams are the parameters of DP-DSGT.
type DSGTParams struct {
	StepSize
	Mixing // "plain" (default): robust rules are refused
}

// DSGT is differentially private decentralized stochastic gradient tracking: Bayrooti,
// Gao, Prorok, "Differentially Private Decentralized Deep Learning with Consensus
// Algorithms" (arXiv 2306.13892), Algorithm 2. Beside its model every agent tracks the
// mean of all agents' gradients:
//
//	θ_i^{k+1} = Σ_j w_ij (θ_j^k - η_k y_j^k)
//	y_i^{k+1} = Σ_j w_ij y_j^k + G̃_i^{k+1} - G̃_i^k,   y^0 = G̃^0 = 0
//
// with G̃_i^{k+1} the answer at θ_i^{k+1}, kept for the next round: the same batch and
// the same noise. (The paper leaves y^0 open; its code starts at zero.) Weights must have
// column sums 1, or the tracked sum Σ y_i = Σ G̃_i does not hold. Each message is (θ_i^k,
// y_i^k), 2d values, to all neighbors.
//
// One "grad" query and one charge a round but the last: y^K would enter no model and is
// not asked for, so K rounds cost K-1 charges. Exhausted: G̃_i stays what it was, y and θ
// go on mixing.
type DSGT struct {
	p      DSGTParams
	rounds uint64

	state tensor.Vec // θ_i^k, then y_i^k
	next  tensor.Vec // Σ_j w_ij (θ_j^k, y_j^k); then the state of round k+1
	grad  tensor.Vec // G̃_i^k
	mix   mixer
}

// NewDSGT decodes DSGTParams and returns their factory.
func NewDSGT(decode func(any) error) (agent.Factory, error) {
	p := DSGTParams{StepSize: StepSize{StepSize: .1, Schedule: "const"}}
	if err := decode(&p); err != nil {
		return nil, err
	}
	if err := p.validate(); err != nil {
		return nil, err
	}
	if err := p.onlyPlain("dsgt",
		"what a robust rule takes away or lets in stays in the tracked sum for good"); err != nil {
		return nil, err
	}
	return func(env agent.Env) (agent.Algorithm, error) {
		a := &DSGT{p: p, rounds: env.Rounds, grad: make(tensor.Vec, env.Dim),
			mix: mixer{self: env.Self}}
		a.state, a.next = make(tensor.Vec, 2*env.Dim), make(tensor.Vec, 2*env.Dim)
		copy(a.state, env.Init)
		return a, nil
	}, nil
}

// Step implements one round as the type's comment states it.
func (a *DSGT) Step(in *agent.Input, out *agent.Output) error {
	d := len(a.grad)
	switch in.Kind {
	case agent.Start:
		out.Broadcast(a.state)
		return nil
	case agent.Round:
		if !in.Mixed {
			a.mix.sum(a.next, in.View, a.state, in.Inbox)
		}
		theta, y := a.next[:d], a.next[d:]
		theta.AddScaled(-a.p.At(in.Round, a.rounds), y)
		if in.Round+1 < a.rounds {
			out.Ask("grad", theta)
			return nil
		}
	case agent.Answer:
		y := a.next[d:]
		y.AddScaled(1, in.Answer)
		y.AddScaled(-1, a.grad)
		copy(a.grad, in.Answer)
	case agent.Exhausted:
	case agent.Stop:
		return nil
	default:
		return fmt.Errorf("dsgt: %w: %v", agent.ErrKind, in.Kind)
	}
	a.state, a.next = a.next, a.state
	out.Broadcast(a.state)
	return nil
}

// Params returns θ_i.
func (a *DSGT) Params() tensor.Vec { return a.state[:len(a.grad)] }

// Lend implements agent.Lender.
func (a *DSGT) Lend(out *agent.Output) bool {
	out.Broadcast(a.state)
	return true
}

// Mixed implements agent.Mixer.
func (a *DSGT) Mixed() tensor.Vec { return a.next }

const dsgtTag = "dsgt/2"

// AppendState writes θ_i, y_i and G̃_i.
func (a *DSGT) AppendState(b []byte) []byte { return appendState(b, dsgtTag, len(a.grad), a.parts) }

// LoadState reads AppendState's bytes.
func (a *DSGT) LoadState(b []byte) error { return loadState(b, dsgtTag, len(a.grad), a.parts) }

func (a *DSGT) parts(s *state) { s.vecs(a.state, a.grad) }
