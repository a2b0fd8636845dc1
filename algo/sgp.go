package algo

import (
	"errors"
	"fmt"

	"sotto/agent"
	"sotto/config"
	"sotto/tensor"
)

var _ agent.Lender = (*SGP)(nil)

// ErrMass says that nearly all of an agent's push weight is gone, as when messages get
// lost without notice round after round.
var ErrMass = errors.New("the mass of push-sum is lost")

const leastMass = 1e-12

// SGPParams are the parameters of stochastic gradient push.
type SGPParams struct {
	StepSize
	Optimizer
	Mixing              // "plain" (default): robust rules are refused
	Momentum    float64 `toml:"momentum,omitempty"` // β in [0, 1); default .9 with optimizer momentum
	WeightDecay float64 `toml:"weight_decay"`       // public L2 factor, added after the answer; >= 0
}

// SGP is differentially private stochastic gradient push: Assran, Loizou, Ballas, Rabbat,
// "Stochastic Gradient Push for Distributed Deep Learning" (ICML 2019), Algorithm 1, with
// clipped gradients and Gaussian noise as ClipD2P of "Sensitivity- Aware Differentially
// Private Decentralized Learning with Adaptive Noise". It works on directed and changing
// graphs whose columns sum to 1, P^k_ij the share of j's mass that i gets:
//
//	x_i^{k+1/2} = x_i^k - η_k (G̃(z_i^k) + wd z_i^k)
//	x_i^{k+1} = Σ_j P^k_ij x_j^{k+1/2},  w_i^{k+1} = Σ_j P^k_ij w_j^k,  w^0 = 1,
//	z_i^{k+1} = x_i^{k+1} / w_i^{k+1}
//
// Every round mixes first and then asks: one "grad" query and one charge a round, at z_i.
// A message is x_i (d values) with the push weight w_i as its mass, to all out-neighbors.
// Deviations: the receiver applies P_ij, which is public and belongs to the round of
// delivery, so that one broadcast serves all receivers; batches are Poisson samples, the
// paper takes one record. What a link loses and the runtime gives back
// (agent.Input.Returned) stays with the sender, so that Σ_i w_i = n and Σ_i x_i are kept;
// what is lost without notice takes its mass with it, steps then grow as 1/w_i, and below
// 1e-12 the agent stops with ErrMass. Where P is symmetric w_i = 1, and the rounds are
// those of DP-DSGD, mix-then-grad. Exhausted: the round only mixes.
type SGP struct {
	p      SGPParams
	rounds uint64

	x    tensor.Vec // x_i^{k+1/2} between rounds
	w    float64    // w_i > 0
	z    tensor.Vec // x_i / w_i; x_i itself where w_i is 1, as on doubly stochastic graphs
	own  tensor.Vec // what z is kept in where w_i is not 1; nil: it never was
	next tensor.Vec
	mix  mixer

	update updater
}

// NewSGP decodes SGPParams and returns their factory.
func NewSGP(decode func(any) error) (agent.Factory, error) {
	p := SGPParams{StepSize: StepSize{StepSize: .1, Schedule: "const"}}
	if err := decode(&p); err != nil {
		return nil, err
	}
	if err := p.validate(); err != nil {
		return nil, err
	}
	if err := p.complete(&p.Momentum); err != nil {
		return nil, err
	}
	if err := p.onlyPlain("sgp", "push-sum keeps its mass by linear mixing alone"); err != nil {
		return nil, err
	}
	if !notNegative(p.WeightDecay) {
		return nil, config.Bad("weight_decay", p.WeightDecay, "at least 0 and finite")
	}
	return func(env agent.Env) (agent.Algorithm, error) {
		a := &SGP{p: p, rounds: env.Rounds, w: 1, mix: mixer{self: env.Self}}
		a.x, a.next = make(tensor.Vec, env.Dim), make(tensor.Vec, env.Dim)
		copy(a.x, env.Init)
		a.debias()
		var err error
		a.update, err = newUpdater(p.Optimizer, p.Momentum, env)
		return a, err
	}, nil
}

// Step implements one round as the type's comment states it.
func (a *SGP) Step(in *agent.Input, out *agent.Output) error {
	switch in.Kind {
	case agent.Start:
	case agent.Round:
		if err := a.push(in); err != nil {
			return err
		}
		out.Ask("grad", a.z)
		return nil
	case agent.Answer:
		a.update.apply(a.x, a.p.At(in.Round, a.rounds), in.Answer, a.p.WeightDecay, a.z)
		a.debias()
		a.update.average(in.Round, a.z)
	case agent.Exhausted:
		a.update.average(in.Round, a.z)
	case agent.Stop:
		return nil
	default:
		return fmt.Errorf("sgp: %w: %v", agent.ErrKind, in.Kind)
	}
	a.send(out)
	return nil
}

// push takes one round of the push-sum protocol (Kempe, Dobra, Gehrke 2003). What stays
// here is 1 less the column of this agent, and what its links gave back: View.SelfWeight
// has the weights of missing senders instead, which are theirs.
func (a *SGP) push(in *agent.Input) error {
	own := 1.
	for _, nb := range in.View.Out {
		own -= nb.Weight
	}
	for i := range in.Returned {
		for _, nb := range in.View.Out {
			if nb.ID == in.Returned[i].To {
				own += nb.Weight
			}
		}
	}
	view := agent.View{SelfWeight: own, In: in.View.In}
	a.mix.sum(a.next, &view, a.x, in.Inbox)
	w := own * a.w
	for i := range in.Inbox {
		w += view.Weight(in.Inbox[i].From) * in.Inbox[i].Mass
	}
	if !(w >= leastMass) {
		return fmt.Errorf("sgp: %w: a push weight of %v, allowed: at least %g", ErrMass, w, leastMass)
	}
	a.x, a.next, a.w = a.next, a.x, w
	a.debias()
	return nil
}

func (a *SGP) debias() {
	if a.w == 1 {
		a.z = a.x
		return
	}
	if a.own == nil {
		a.own = make(tensor.Vec, len(a.x))
	}
	a.z = a.own
	a.z.Scale(1/a.w, a.x)
}

// Params returns z_i, or its average with ema or tail.
func (a *SGP) Params() tensor.Vec { return a.update.params(a.z) }

// Mass returns the push weight w_i. The weights of all agents sum to their number while
// no message is lost without notice.
func (a *SGP) Mass() float64 { return a.w }

// Lend implements agent.Lender.
func (a *SGP) Lend(out *agent.Output) bool {
	a.send(out)
	return true
}

func (a *SGP) send(out *agent.Output) {
	out.Outbox = append(out.Outbox, agent.Message{To: agent.Broadcast, Mass: a.w, Body: a.x})
}

const sgpTag = "sgp/2"

// AppendState writes w_i, x_i and the optimizer's state.
func (a *SGP) AppendState(b []byte) []byte { return appendState(b, sgpTag, len(a.x), a.parts) }

// LoadState reads AppendState's bytes.
func (a *SGP) LoadState(b []byte) error { return loadState(b, sgpTag, len(a.x), a.parts) }

func (a *SGP) parts(s *state) {
	s.float(&a.w)
	s.vecs(a.x)
	if s.in != nil {
		a.debias()
	}
	a.update.parts(s)
}
