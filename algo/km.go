package algo

import (
	"encoding/binary"
	"fmt"
	"math"
	"slices"

	"sotto/agent"
	"sotto/config"
	"sotto/tensor"
)

var _ agent.Mixer = (*KM)(nil)

// Splitting names the operator T whose residual the oracle "km" answers with, and its
// constants. All of it is public.
type Splitting struct {
	// "forward" (default), "forward-backward", "backward" or "douglas-rachford"
	Operator string `toml:"operator"`
	// γ > 0; forward operators are nonexpansive up to 2/Λ, Λ the smoothness of the
	// owner's mean loss
	Gamma float64 `toml:"gamma"`
	// λ >= 0 of the regulariser λ|.|₁; forward-backward and douglas-rachford only
	L1 float64 `toml:"l1"`
	// ResidualClip is B: residuals are scaled to norm at most B. 0: 1 with noise, none
	// without.
	ResidualClip float64 `toml:"residual_clip,omitempty"`
}

// KMParams are the parameters of DP-dKM.
type KMParams struct {
	Splitting
	// Alpha is α_0 in (0, 1], at most (1+λ_n)/2 for the smallest eigenvalue λ_n of W; 0:
	// .99 times that bound.
	Alpha float64 `toml:"alpha,omitempty"`
	// "const" (default): α_k = α_0; "inverse": α_k = α_0/(1 + k/alpha_tau)
	Schedule string  `toml:"alpha_schedule"`
	AlphaTau float64 `toml:"alpha_tau,omitempty"` // inverse only: rounds until α is halved, > 0
	// PrivateIterate has every agent's data side go on with its own iterate without the
	// noise, as published (oracle "km-stateful").
	PrivateIterate bool `toml:"own_state,omitempty"`
	// Unsafe admits an α_0 above the bound, where the iteration may diverge. It is no key
	// of a run file's [algorithm].
	Unsafe bool `toml:"-"`
}

// KM is differentially private decentralized Krasnosel'skiĭ-Mann iteration in its
// all-noisy form: "A General Differentially Private Learning Framework for Decentralized
// Data", Definition 2 and Algorithm 1, with the noise inside the residual:
//
//	x_i^{k+1} = Σ_j w_ij x_j^k + α_k r̃(x_i^k),
//	r(x) = T(x) - x, scaled to norm at most B
//
// One "km" query and one charge a round, at x_i^k, which is what was sent: everything
// here is post-processing of answers. A message is x_i (d values), to all neighbors. With
// a constant α the agents end O(α/(1-λ)) apart, (I-W)X = α(T(X)-X); with the inverse
// schedule they come together. x -> Wx + α(T(x)-x) is nonexpansive for every nonexpansive
// T exactly if α <= (1+λ_n(W))/2, which is enforced; a link that is missing in both
// directions only raises λ_n. Deviations: T sees all records of the agent, or a Poisson
// batch, not one of them; the start is the run's initial model, in the paper zero; and
// the noise is in what the agent itself goes on with.
//
// With OwnState the query is "km-stateful" at m_i = Σ_j w_ij x̃_j^k, what was sent, and
// x̃_i^{k+1} = m_i + α_k r̃: behind the gate an iterate without noise, x_i^{k+1} = m_i +
// α_k r(x_i^k), goes on from x_i^k, as in Algorithm 1. It never comes out; the paper puts
// it out in the end. Exhausted: the round only mixes.
type KM struct {
	p     KMParams
	alpha float64 // α_0

	x     tensor.Vec // x_i^k
	next  tensor.Vec // Σ_j w_ij x_j^k between Round and Answer
	model tensor.Vec // what douglas-rachford reads out; nil for others
	mix   mixer
	asked []askedAt // OwnState: of all answers so far
}

// askedAt is what a query of OwnState follows from.
type askedAt struct {
	round uint64
	at    tensor.Vec
}

// splittings lists the operators; true: with a regulariser.
var splittings = map[string]bool{"forward": false, "forward-backward": true, "backward": false,
	"douglas-rachford": true}

func (s *Splitting) validate() error {
	regularised, ok := splittings[s.Operator]
	switch {
	case !ok:
		return config.Bad("operator", s.Operator, config.OneOf(splittings))
	case !positive(s.Gamma):
		return config.Bad("gamma", s.Gamma, "above 0 and finite")
	case !notNegative(s.L1):
		return config.Bad("l1", s.L1, "at least 0 and finite")
	case s.L1 > 0 && !regularised:
		return config.Bad("l1", s.L1, "0 with operator "+s.Operator+", which has no regulariser")
	case !notNegative(s.ResidualClip):
		return config.Bad("residual_clip", s.ResidualClip,
			"above 0 and finite, or 0 for 1 (none without noise)")
	}
	return nil
}

func (p *KMParams) validate() error {
	if err := p.Splitting.validate(); err != nil {
		return err
	}
	switch {
	case p.Alpha != 0 && !(p.Alpha > 0 && p.Alpha <= 1):
		return config.Bad("alpha", p.Alpha, "above 0 and at most 1 (0: .99 times the bound (1+λ_n)/2)")
	case p.Schedule != "const" && p.Schedule != "inverse":
		return config.Bad("alpha_schedule", p.Schedule, "one of const, inverse")
	case p.Schedule == "inverse" && !positive(p.AlphaTau):
		return config.Bad("alpha_tau", p.AlphaTau, "above 0 and finite (alpha_schedule inverse)")
	case p.Schedule == "const" && p.AlphaTau != 0:
		return config.Bad("alpha_tau", p.AlphaTau, "no value with alpha_schedule const")
	}
	return nil
}

// Set implements Settable.
func (p *KMParams) Set(s Setting) { p.Unsafe = s.UnsafeAlpha }

// Stateless leaves out the iterate without noise, for whoever has no noise.
func (p *KMParams) Stateless() { p.PrivateIterate = false }

// NewKM decodes KMParams and returns their factory.
func NewKM(decode func(any) error) (agent.Factory, error) {
	p := KMParams{Splitting: Splitting{Operator: "forward", Gamma: .1}, Schedule: "const"}
	if err := decode(&p); err != nil {
		return nil, err
	}
	if err := p.validate(); err != nil {
		return nil, err
	}
	return func(env agent.Env) (agent.Algorithm, error) {
		a := &KM{p: p, alpha: p.Alpha, mix: mixer{self: env.Self}}
		bound := (1 + env.Graph.LambdaMin) / 2
		switch {
		case p.Alpha == 0 && !(bound > 0):
			return nil, config.Bad("alpha", "nothing",
				"a value: the mixing matrix has the eigenvalue -1, for which no α is safe; weights lazy "+
					"have none")
		case p.Alpha == 0:
			a.alpha = min(1, .99*bound)
		case p.Alpha > bound && !p.Unsafe:
			return nil, config.Bad("alpha", p.Alpha,
				fmt.Sprintf("at most (1+λ_n)/2 = %.6g for the smallest eigenvalue %.6g of the mixing "+
					"matrix; beyond it the iteration may diverge", bound, env.Graph.LambdaMin))
		}
		a.x, a.next = make(tensor.Vec, env.Dim), make(tensor.Vec, env.Dim)
		if p.Operator == "douglas-rachford" {
			a.model = make(tensor.Vec, env.Dim)
		}
		copy(a.x, env.Init)
		return a, nil
	}, nil
}

// At returns α_k.
func (a *KM) At(k uint64) float64 {
	if a.p.Schedule == "inverse" {
		return a.alpha / (1 + float64(k)/a.p.AlphaTau)
	}
	return a.alpha
}

// operator is what T is, for the oracle.
func (s *Splitting) operator() agent.Operator {
	return agent.Operator{Name: s.Operator, Gamma: s.Gamma, L1: s.L1, Bound: s.ResidualClip}
}

// Step implements one round as the type's comment states it.
func (a *KM) Step(in *agent.Input, out *agent.Output) error {
	switch in.Kind {
	case agent.Start:
		out.Broadcast(a.x)
		return nil
	case agent.Round:
		if !in.Mixed {
			a.mix.sum(a.next, in.View, a.x, in.Inbox)
		}
		if a.p.PrivateIterate {
			out.Ask("km-stateful", a.next)
			out.Query.Step = a.At(in.Round)
		} else {
			out.Ask("km", a.x)
		}
		out.Query.Operator = a.p.operator()
		return nil
	case agent.Answer:
		if a.p.PrivateIterate {
			a.asked = append(a.asked, askedAt{in.Round, slices.Clone(a.next)})
		}
		a.next.AddScaled(a.At(in.Round), in.Answer)
	case agent.Exhausted:
	case agent.Stop:
		return nil
	default:
		return fmt.Errorf("km: %w: %v", agent.ErrKind, in.Kind)
	}
	a.x, a.next = a.next, a.x
	out.Broadcast(a.x)
	return nil
}

// Asked calls f with every query of OwnState that was answered, in order, from which the
// state behind the gate follows.
func (a *KM) Asked(f func(q *agent.Query)) {
	for _, q := range a.asked {
		f(&agent.Query{Oracle: "km-stateful", At: q.at, Step: a.At(q.round), Operator: a.p.operator()})
	}
}

// Lend implements agent.Lender.
func (a *KM) Lend(out *agent.Output) bool {
	out.Broadcast(a.x)
	return true
}

// Mixed implements agent.Mixer.
func (a *KM) Mixed() tensor.Vec { return a.next }

// Params returns x_i; with douglas-rachford its soft threshold γλ.
func (a *KM) Params() tensor.Vec {
	if a.p.Operator != "douglas-rachford" {
		return a.x
	}
	for i, x := range a.x {
		a.model[i] = float32(a.ReadOut(float64(x)))
	}
	return a.model
}

// ReadOut is a coordinate of the model for one of the iterate.
func (a *KM) ReadOut(x float64) float64 {
	if a.p.Operator != "douglas-rachford" {
		return x
	}
	return math.Copysign(math.Max(math.Abs(x)-a.p.Gamma*a.p.L1, 0), x)
}

// States of OwnState have a tag of their own.
const (
	kmTag    = "km/2"
	kmOwnTag = "km own-state/2"
)

func (a *KM) tag() string {
	if a.p.PrivateIterate {
		return kmOwnTag
	}
	return kmTag
}

// AppendState writes x_i, and rounds and points of OwnState.
func (a *KM) AppendState(b []byte) []byte {
	b = binary.LittleEndian.AppendUint64(agent.AppendTag(b, a.tag()), uint64(len(a.x)))
	b = agent.AppendVec(b, a.x)
	b = binary.LittleEndian.AppendUint64(b, uint64(len(a.asked)))
	for _, q := range a.asked {
		b = agent.AppendVec(binary.LittleEndian.AppendUint64(b, q.round), q.at)
	}
	return b
}

// LoadState reads AppendState's bytes. Queries that no run can have asked are refused,
// since a private iterate is recovered from them.
func (a *KM) LoadState(b []byte) error {
	s := agent.ReadState(b, a.tag())
	if err := checkDim(s, len(a.x)); err != nil {
		return err
	}
	s.Vec(a.x)
	a.asked = nil
	n := s.Uint64()
	if each := uint64(8 + 4*len(a.x)); n > uint64(len(b))/each || n > 0 && !a.p.PrivateIterate {
		return fmt.Errorf("%w: %d points", agent.ErrState, n)
	}
	for k := range n {
		q := askedAt{s.Uint64(), make(tensor.Vec, len(a.x))}
		if s.Vec(q.at); !q.at.Finite() || k > 0 && q.round <= a.asked[k-1].round {
			return fmt.Errorf("%w: point %d of round %d is not finite or not in order", agent.ErrState, k,
				q.round)
		}
		a.asked = append(a.asked, q)
	}
	return s.Close()
}
