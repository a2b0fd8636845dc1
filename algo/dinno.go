package algo

import (
	"fmt"
	"math"

	"sotto/agent"
	"sotto/config"
	"sotto/tensor"
)

var _ agent.Lender = (*DiNNO)(nil)

// DiNNOParams are the parameters of DP-DiNNO.
type DiNNOParams struct {
	StepSize
	// Optimizer takes the primal steps: "adam-fresh" (default), whose moments start anew
	// in every round, as in the authors' code: with one primal step that is sign descent;
	// "sgd", "momentum" or "adam", whose moments persist.
	Optimizer
	// Mixing is "plain" (default): robust rules are refused.
	Mixing
	Momentum    float64 `toml:"momentum,omitempty"` // β in [0, 1), of optimizer momentum; default .9
	Rho         float64 `toml:"rho"`                // penalty ρ > 0; default .5
	RhoScale    float64 `toml:"rho_scale"`          // factor on ρ before each round, >= 1; default 1
	RhoMax      float64 `toml:"rho_max"`            // ρ stays at most this; default 10
	PrimalSteps int     `toml:"primal_steps"`       // T >= 1 steps, and queries, a round; default 1
	// SelfProx adds ρ‖θ-θ_i^k‖² to the primal objective: the paper's sum over neighbors
	// includes i. Its gradient at the first of the primal steps is 0.
	SelfProx bool `toml:"self_prox,omitempty"`
	// Ascend turns the sign of line 15 of the paper's Algorithm 3, as it is printed, with
	// all that G̃ has there: loss, dual and penalty. It diverges on a quadratic.
	Ascend bool `toml:"ascend,omitempty"`
}

// DiNNO is differentially private distributed neural network optimization: Bayrooti, Gao,
// Prorok, "Differentially Private Decentralized Deep Learning with Consensus Algorithms"
// (arXiv 2306.13892), Algorithm 3, after Yu, Vincent, Schwager 2022 (DiNNO, IEEE RA-L).
// Round k at agent i, with neighbors N(i) without i:
//
//	ρ <- min(ρ rho_scale, rho_max),  p_i <- p_i + ρ Σ_j (θ_i^k - θ_j^k),  ψ = θ_i^k,
//	then T times
//	g = G̃(ψ) + p_i + 2ρ Σ_j (ψ - (θ_i^k + θ_j^k)/2),  ψ <- ψ - step(g, η_k)
//
// and θ_i^{k+1} = ψ. T "grad" queries and T charges a round. Messages are θ_i^k, d
// values, to all neighbors; weights of the mixing matrix do not enter, and a neighbor
// whose message is missing is not in N(i) for that round. The duals sum to zero over
// agents as long as both directions of a link fail together.
//
// Deviation: ρ is capped, since the authors' factor of 1.0003 a round would reach 903
// after 25,000 rounds. Moments that persist over rounds lag behind the duals: at ρ = .5
// they oscillate on quadratics and fail on the built-in task, where fresh ones converge
// (docs/decisions.md). Exhausted: the round ends at ψ = Σ_j (θ_i^k + θ_j^k)/2 / |N(i)|:
// mixing only, duals no longer enter.
type DiNNO struct {
	p      DiNNOParams
	fresh  bool
	rounds uint64

	theta tensor.Vec // θ_i^k
	dual  tensor.Vec // p_i
	rho   float64

	descent
	mix    mixer
	update updater
}

// descent is the minimisation of one round.
type descent struct {
	psi      tensor.Vec // θ_i^{k+1} in the end
	sum      tensor.Vec // Σ_j θ_j^k over the round's neighbors
	count    int        // |N(i)|
	taken    int        // primal steps so far
	gradient tensor.Vec // of a block
}

// NewDiNNO decodes DiNNOParams and returns their factory.
func NewDiNNO(decode func(any) error) (agent.Factory, error) {
	p := DiNNOParams{
		StepSize:    StepSize{StepSize: .005, Schedule: "const"},
		Optimizer:   Optimizer{Optimizer: "adam-fresh"},
		Rho:         .5,
		RhoScale:    1,
		RhoMax:      10,
		PrimalSteps: 1,
	}
	if err := decode(&p); err != nil {
		return nil, err
	}
	if err := p.validate(); err != nil {
		return nil, err
	}
	switch {
	case !positive(p.Rho):
		return nil, config.Bad("rho", p.Rho, "above 0 and finite")
	case !(p.RhoScale >= 1) || math.IsInf(p.RhoScale, 1):
		return nil, config.Bad("rho_scale", p.RhoScale, "at least 1 and finite")
	case !(p.RhoMax >= p.Rho):
		return nil, config.Bad("rho_max", p.RhoMax, "at least rho")
	case p.PrimalSteps < 1 || p.PrimalSteps > 1<<20:
		return nil, config.Bad("primal_steps", p.PrimalSteps, "1 to 1048576")
	}
	if err := p.onlyPlain("dinno", "duals add up what an adversary sends, however little in a round"); err !=
		nil {
		return nil, err
	}
	o, fresh := p.Optimizer, p.Optimizer.Optimizer == "adam-fresh"
	if fresh {
		o.Optimizer = "adam"
	}
	if err := o.complete(&p.Momentum); err != nil {
		return nil, err
	}
	return func(env agent.Env) (agent.Algorithm, error) {
		a := &DiNNO{p: p, fresh: fresh, rounds: env.Rounds, rho: p.Rho}
		for _, v := range []*tensor.Vec{&a.theta, &a.dual, &a.psi, &a.sum} {
			*v = make(tensor.Vec, env.Dim)
		}
		a.gradient = make(tensor.Vec, min(blockSize, env.Dim))
		copy(a.theta, env.Init)
		var err error
		a.update, err = newUpdater(o, p.Momentum, env)
		return a, err
	}, nil
}

// Step implements one round as the type's comment states it.
func (a *DiNNO) Step(in *agent.Input, out *agent.Output) error {
	switch in.Kind {
	case agent.Start:
		out.Broadcast(a.theta)
		return nil
	case agent.Round:
		a.begin(in)
		out.Ask("grad", a.psi)
		return nil
	case agent.Answer:
		a.primal(a.p.At(in.Round, a.rounds), in.Answer)
		if a.taken++; a.taken < a.p.PrimalSteps {
			out.Ask("grad", a.psi)
			return nil
		}
	case agent.Exhausted:
		a.meet()
	case agent.Stop:
		return nil
	default:
		return fmt.Errorf("dinno: %w: %v", agent.ErrKind, in.Kind)
	}
	a.theta, a.psi = a.psi, a.theta
	a.update.average(in.Round, a.theta)
	out.Broadcast(a.theta)
	return nil
}

// begin takes in the neighbors' models and raises penalty and duals.
func (a *DiNNO) begin(in *agent.Input) {
	a.count, a.taken = len(in.Inbox), 0
	a.mix.total(a.sum, in.Inbox)
	a.rho = min(a.rho*a.p.RhoScale, a.p.RhoMax)
	n := float64(a.count)
	for i, x := range a.theta {
		a.dual[i] += float32(a.rho * (float64(n*float64(x)) - float64(a.sum[i])))
	}
	copy(a.psi, a.theta)
	if a.fresh {
		a.update.restart()
	}
}

// primal takes one step on the augmented Lagrangian from an answer.
func (a *DiNNO) primal(eta float64, answer tensor.Vec) {
	n, sign := float64(a.count), 1.
	if a.p.Ascend {
		sign = -1
	}
	self := 0.
	if a.p.SelfProx {
		self = 1
	}
	a.update.steps++
	for lo := 0; lo < len(answer); lo += blockSize {
		block := answer[lo:min(lo+blockSize, len(answer))]
		full := a.gradient[:len(block)]
		for k, g := range block {
			i := lo + k
			psi, theta := float64(a.psi[i]), float64(a.theta[i])
			pull := float64(n*psi) - (float64(n*theta)+float64(a.sum[i]))/2 + float64(self*(psi-theta))
			full[k] = float32(sign * (float64(g) + float64(a.dual[i]) + float64(2*a.rho*pull)))
		}
		a.update.block(lo, a.psi, eta, full, 0, a.psi)
	}
}

// meet moves ψ to the mean of the midpoints to its neighbors.
func (a *DiNNO) meet() {
	if a.count == 0 {
		return
	}
	for i, x := range a.theta {
		a.psi[i] = float32(float64(x)/2 + float64(a.sum[i])/float64(2*a.count))
	}
}

// Params returns θ_i, or its average with ema or tail.
func (a *DiNNO) Params() tensor.Vec { return a.update.params(a.theta) }

// Lend implements agent.Lender.
func (a *DiNNO) Lend(out *agent.Output) bool {
	out.Broadcast(a.theta)
	return true
}

const dinnoTag = "dinno/2"

// AppendState writes θ_i, p_i, ρ and the optimizer's state.
func (a *DiNNO) AppendState(b []byte) []byte { return appendState(b, dinnoTag, len(a.theta), a.parts) }

// LoadState reads AppendState's bytes.
func (a *DiNNO) LoadState(b []byte) error { return loadState(b, dinnoTag, len(a.theta), a.parts) }

func (a *DiNNO) parts(s *state) {
	s.float(&a.rho)
	s.vecs(a.theta, a.dual)
	if a.fresh { // moments begin anew
		a.update.averages(s)
		return
	}
	a.update.parts(s)
}
