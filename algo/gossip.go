package algo

import (
	"fmt"

	"sotto/agent"
	"sotto/config"
	"sotto/tensor"
)

var _ agent.Mixer = (*GossipSGD)(nil)

// GossipParams are the parameters of gossip SGD.
type GossipParams struct {
	StepSize
	Optimizer
	Mixing
	Momentum    float64 `toml:"momentum,omitempty"` // β in [0, 1); default .9 with optimizer momentum
	WeightDecay float64 `toml:"weight_decay"`       // public L2 factor, added after the answer; >= 0
	// Gossip is K, the rounds of averaging for each gradient; default 1.
	Gossip    uint64 `toml:"gossip" allowed:"1 to 4294967296"`
	Recursion        // of the rounds of averaging; default plain
}

// GossipSGD is differentially private gossip SGD: Cyffers, Even, Bellet, Massoulié,
// "Muffliato: Peer-to-Peer Privacy Amplification for Decentralized Optimization and
// Averaging" (NeurIPS 2022), Muffliato-SGD. Each iteration takes one private gradient
// step and then K rounds of averaging, in which nothing private enters:
//
//	y^0 = θ^t - η (G̃(θ^t) + wd θ^t),  θ^{t+1} = y^K,  y^{k+1} as [Recursion] says.
//
// A synchronous round is one round of averaging: a run of R rounds asks ceil((R-1)/K)
// "grad" queries, in rounds 0, K, 2K, ... but not in the last, after which nobody would
// hear of it, and is charged for them. With K = 1 it is DP-DSGD that adapts, then
// combines. The step size follows the rounds. Another Mixing puts a robust mean in place
// of W y, without acceleration. Messages are y, d values, to all neighbors. Deviations:
// Optimizer and Poisson batches; the paper takes one sample; the guarantee printed is the
// local one, not that of the pairwise accountant. Exhausted: y^0 = θ^t.
type GossipSGD struct {
	p      GossipParams
	rounds uint64

	omega    float64    // a_k of the last round
	theta    tensor.Vec // y^k
	previous tensor.Vec // y^{k-1}; after a gradient step θ^t
	stepped  bool       // theta is y^0: only this agent's own step
	next     tensor.Vec
	mix      mixer
	update   updater
}

// NewGossipSGD decodes GossipParams and returns their factory.
func NewGossipSGD(decode func(any) error) (agent.Factory, error) {
	p := GossipParams{StepSize: StepSize{StepSize: .1, Schedule: "const"}, Gossip: 1,
		Recursion: Recursion{Acceleration: "plain"}}
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
	switch {
	case !notNegative(p.WeightDecay):
		return nil, config.Bad("weight_decay", p.WeightDecay, "at least 0 and finite")
	case p.Gossip < 1 || p.Gossip > 1<<32:
		return nil, config.Bad("gossip", p.Gossip, "1 to 4294967296")
	case p.Mixing.Mixing != "" && p.Acceleration != "plain":
		return nil, config.Bad("mixing", p.Mixing.Mixing,
			"plain with an acceleration, which extrapolates averages of fixed weights")
	}
	if err := p.Recursion.check(); err != nil {
		return nil, err
	}
	return func(env agent.Env) (agent.Algorithm, error) {
		if err := p.fits(env.Graph.MinNeighbors); err != nil {
			return nil, err
		}
		a := &GossipSGD{
			p:      p,
			rounds: env.Rounds,
			mix:    mixer{self: env.Self, rule: p.Mixing},
		}
		if err := a.p.Recursion.fill(env); err != nil {
			return nil, err
		}
		a.theta, a.next, a.previous = make(tensor.Vec, env.Dim), make(tensor.Vec, env.Dim),
			make(tensor.Vec, env.Dim)
		copy(a.theta, env.Init)
		var err error
		a.update, err = newUpdater(p.Optimizer, p.Momentum, env)
		return a, err
	}, nil
}

// Step implements one round as the type's comment states it.
func (a *GossipSGD) Step(in *agent.Input, out *agent.Output) error {
	switch in.Kind {
	case agent.Start:
	case agent.Round:
		k := (in.Round + a.p.Gossip - 1) % a.p.Gossip // y^k -> y^{k+1}
		if in.Round == 0 {
			k = 0 // all are equal
		}
		a.average(in, k)
		if in.Round%a.p.Gossip == 0 && in.Round+1 < a.rounds {
			out.Ask("grad", a.theta)
			return nil
		}
	case agent.Answer:
		a.update.average(in.Round, a.theta)
		copy(a.next, a.theta)
		a.update.apply(a.next, a.p.At(in.Round, a.rounds), in.Answer, a.p.WeightDecay, a.theta)
		a.previous, a.theta, a.next = a.theta, a.next, a.previous
		a.stepped = true
	case agent.Exhausted:
	case agent.Stop:
		return nil
	default:
		return fmt.Errorf("gossip-sgd: %w: %v", agent.ErrKind, in.Kind)
	}
	out.Broadcast(a.theta)
	return nil
}

// average takes one round of averaging.
func (a *GossipSGD) average(in *agent.Input, k uint64) {
	if !in.Mixed {
		a.mix.sum(a.next, in.View, a.theta, in.Inbox)
	}
	if k == 0 && a.p.ZeroStart {
		a.previous.Zero()
	}
	first, own, back := a.p.Recursion.at(k, a.omega)
	a.p.Recursion.advance(a.next, a.theta, a.previous, first, own, back)
	a.omega = first
	a.previous, a.theta, a.next = a.theta, a.next, a.previous
	a.stepped = false
}

// Params returns the last average y^k, k > 0, or with ema the average of the points of
// all gradients.
func (a *GossipSGD) Params() tensor.Vec {
	if a.stepped {
		return a.update.params(a.previous)
	}
	return a.update.params(a.theta)
}

// Lend implements agent.Lender: three vectors take turns.
func (a *GossipSGD) Lend(out *agent.Output) bool {
	out.Broadcast(a.theta)
	return true
}

// Mixed implements agent.Mixer where mixing is plain.
func (a *GossipSGD) Mixed() tensor.Vec { return a.mix.rule.room(a.next) }

const gossipTag = "gossip-sgd/2"

// AppendState writes ω, the vectors and the optimizer's state.
func (a *GossipSGD) AppendState(b []byte) []byte {
	return appendState(b, gossipTag, len(a.theta), a.parts)
}

// LoadState reads AppendState's bytes.
func (a *GossipSGD) LoadState(b []byte) error { return loadState(b, gossipTag, len(a.theta), a.parts) }

func (a *GossipSGD) parts(s *state) {
	s.float(&a.omega)
	s.bool(&a.stepped)
	s.vecs(a.theta)
	if a.stepped || a.p.Acceleration != "plain" { // otherwise nothing reads θ^t, or y^{k-1}, again
		s.vecs(a.previous)
	}
	a.update.parts(s)
}
