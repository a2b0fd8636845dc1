package algo

import (
	"fmt"

	"sotto/agent"
	"sotto/config"
	"sotto/tensor"
)

var _ agent.Mixer = (*DSGD)(nil)

// DSGDParams are the parameters of DP-DSGD.
type DSGDParams struct {
	StepSize
	Optimizer
	Mixing
	Momentum float64 `toml:"momentum,omitempty"` // β in [0, 1); default .9 with optimizer momentum
	// Order is "grad-then-mix" (Algorithm 1 as printed, default) or "mix-then-grad" (the
	// authors' code).
	Order       string  `toml:"order"`
	WeightDecay float64 `toml:"weight_decay"` // public L2 factor, added after the answer; >= 0
}

// DSGD is differentially private decentralized SGD: Bayrooti, Gao, Prorok,
// "Differentially Private Decentralized Deep Learning with Consensus Algorithms" (arXiv
// 2306.13892), Algorithm 1.
//
//	grad-then-mix  θ_i^{k+1} = Σ_j w_ij θ_j^k - η_k (G̃(θ_i^k) + wd θ_i^k)
//	mix-then-grad  m_i = Σ_j w_ij θ_j^k,  θ_i^{k+1} = m_i - η_k (G̃(m_i) + wd m_i)
//
// One "grad" query and one charge a round; G̃ is the answer: the clipped and noised sum
// over a Poisson batch divided by the public expected batch size. Another Optimizer than
// sgd puts its direction in place of G̃ (+ wd θ), with moments that stay at the agent;
// another Mixing than plain puts a robust mean in place of Σ_j w_ij θ_j^k. Each message
// is θ_i^k (d values) to all neighbors. Exhausted: the round only mixes, and nothing
// private enters any more.
type DSGD struct {
	p      DSGDParams
	rounds uint64

	theta tensor.Vec // θ_i^k
	next  tensor.Vec // Σ_j w_ij θ_j^k between Round and Answer
	mix   mixer

	update updater
}

// NewDSGD decodes DSGDParams and returns their factory.
func NewDSGD(decode func(any) error) (agent.Factory, error) {
	p := DSGDParams{StepSize: StepSize{StepSize: .1, Schedule: "const"}, Order: "grad-then-mix"}
	if err := decode(&p); err != nil {
		return nil, err
	}
	if err := p.validate(); err != nil {
		return nil, err
	}
	if err := p.complete(&p.Momentum); err != nil {
		return nil, err
	}
	if err := p.Mixing.checkMixing(); err != nil {
		return nil, err
	}
	if p.Order != "grad-then-mix" && p.Order != "mix-then-grad" {
		return nil, config.Bad("order", p.Order, "one of grad-then-mix, mix-then-grad")
	}
	if !notNegative(p.WeightDecay) {
		return nil, config.Bad("weight_decay", p.WeightDecay, "at least 0 and finite")
	}
	return func(env agent.Env) (agent.Algorithm, error) {
		if err := p.fits(env.Graph.MinNeighbors); err != nil {
			return nil, err
		}
		a := &DSGD{
			p:      p,
			rounds: env.Rounds,
			mix:    mixer{self: env.Self, rule: p.Mixing},
		}
		a.theta, a.next = make(tensor.Vec, env.Dim), make(tensor.Vec, env.Dim)
		copy(a.theta, env.Init)
		var err error
		a.update, err = newUpdater(p.Optimizer, p.Momentum, env)
		return a, err
	}, nil
}

// Step implements one round as the type's comment states it.
func (a *DSGD) Step(in *agent.Input, out *agent.Output) error {
	switch in.Kind {
	case agent.Start:
		out.Broadcast(a.theta)
		return nil
	case agent.Round:
		if !in.Mixed {
			a.mix.sum(a.next, in.View, a.theta, in.Inbox)
		}
		out.Ask("grad", a.point())
		return nil
	case agent.Answer:
		a.update.apply(a.next, a.p.At(in.Round, a.rounds), in.Answer, a.p.WeightDecay, a.point())
	case agent.Exhausted:
	case agent.Stop:
		return nil
	default:
		return fmt.Errorf("dsgd: %w: %v", agent.ErrKind, in.Kind)
	}
	a.theta, a.next = a.next, a.theta
	a.update.average(in.Round, a.theta)
	out.Broadcast(a.theta)
	return nil
}

// point is where the gradient of this round is taken.
func (a *DSGD) point() tensor.Vec {
	if a.p.Order == "mix-then-grad" {
		return a.next
	}
	return a.theta
}

// Params returns θ_i, or its average with ema or tail.
func (a *DSGD) Params() tensor.Vec { return a.update.params(a.theta) }

// Lend implements agent.Lender: θ_i is broadcast, and the next model is another vector.
func (a *DSGD) Lend(out *agent.Output) bool {
	out.Broadcast(a.theta)
	return true
}

// Mixed implements agent.Mixer where mixing is plain.
func (a *DSGD) Mixed() tensor.Vec { return a.mix.rule.room(a.next) }

const dsgdTag = "dsgd/3"

// AppendState writes θ_i and the optimizer's state.
func (a *DSGD) AppendState(b []byte) []byte { return appendState(b, dsgdTag, len(a.theta), a.parts) }

// LoadState reads AppendState's bytes.
func (a *DSGD) LoadState(b []byte) error { return loadState(b, dsgdTag, len(a.theta), a.parts) }

func (a *DSGD) parts(s *state) {
	s.vecs(a.theta)
	a.update.parts(s)
}
