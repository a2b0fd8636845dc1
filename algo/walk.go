package algo

import (
	"fmt"
	"math"

	"sotto/agent"
	"sotto/config"
	"sotto/tensor"
)

var _ agent.Algorithm = (*Walk)(nil)

// WalkParams are the parameters of random-walk SGD.
type WalkParams struct {
	StepSize
	// Contributions is N_max, the number of private answers that an agent gives in all,
	// over all tokens; 0: ceil(1.25 T/n) for T steps of all tokens together and n agents.
	Contributions uint64 `toml:"contributions,omitempty" allowed:"0 to 1073741824"`
	// After says what a visit does once the agent has given N_max answers: "noise"
	// (default) adds noise of the same distribution around zero, "nothing" passes the
	// token on unchanged.
	After string `toml:"after"`
	// Radius > 0 projects θ onto the ball of that radius around zero after every update.
	Radius float64 `toml:"radius,omitempty"`
	// Oracle is what is asked: "user-grad" (default) or "grad-full". It follows from the
	// unit of protection and is no key of a run file.
	Oracle string `toml:"-"`
	// AnswerClip > 0 scales noisy answers to norm at most AnswerClip, as the public code
	// does in place of a clip before the noise. It is a replication, and no key of a run
	// file's [algorithm].
	AnswerClip float64 `toml:"-"`
}

// Set implements Settable: the query follows from the unit of protection.
func (p *WalkParams) Set(s Setting) {
	if s.PerRecord {
		p.Oracle = "grad-full"
	}
	p.AnswerClip = s.AnswerClip
}

// Walk is private random-walk SGD: Cyffers, Bellet, "Privacy Amplification by
// Decentralization" (AISTATS 2022), Algorithm of section 5, on the complete graph; on any
// graph Cyffers, Bellet, Upadhyay (arXiv 2402.07471). A token (θ, t) goes from agent to
// agent; at the agent that holds it
//
//	fewer than N_max answers so far  θ <- Π(θ - γ_t g̃(θ)), one private answer g̃,
//	                                 one charge
//	after = "noise"                  θ <- Π(θ - γ_t ζ), ζ noise of the same law around
//	                                 zero, no charge
//	after = "nothing"                θ stays
//
// and is sent to the next hop, which the runtime draws. Queries: "user-grad" (or
// "grad-full") up to N_max times, then "zero". A message is θ (d values) with its Round,
// t. Several tokens walk on their own, and share the agents' counts. Exhausted: the agent
// is treated as one that has given all its answers. Deviation: the public code clips
// after the noise; here the oracle clips before it.
type Walk struct {
	p     WalkParams
	steps uint64 // T of one token
	most  uint64 // N_max

	theta tensor.Vec // the token's, as it left this agent last; the initial model before
	given uint64     // answers so far
	zero  bool       // the query that is out asks for noise alone
}

// NewWalk decodes WalkParams and returns their factory.
func NewWalk(decode func(any) error) (agent.Factory, error) {
	p := WalkParams{StepSize: StepSize{StepSize: .1, Schedule: "const"}, After: "noise", Oracle: "user-grad"}
	if err := decode(&p); err != nil {
		return nil, err
	}
	if err := p.validate(); err != nil {
		return nil, err
	}
	switch {
	case p.Contributions > 1<<30:
		return nil, config.Bad("contributions", p.Contributions, "0 to 2^30 (0: ceil(1.25 T/n))")
	case p.After != "noise" && p.After != "nothing":
		return nil, config.Bad("after", p.After, "one of noise, nothing")
	case p.Radius != 0 && !positive(p.Radius):
		return nil, config.Bad("radius", p.Radius, "above 0 and finite, or 0 without a projection")
	}
	return func(env agent.Env) (agent.Algorithm, error) {
		a := &Walk{p: p, steps: env.Rounds, most: p.Contributions, theta: make(tensor.Vec, env.Dim)}
		if a.most == 0 {
			visits := float64(env.Rounds) * float64(max(1, env.Tokens))
			a.most = uint64(math.Ceil(1.25 * visits / float64(env.Agents)))
		}
		copy(a.theta, env.Init)
		return a, nil
	}, nil
}

// Contributions returns N_max.
func (a *Walk) Contributions() uint64 { return a.most }

// Blurs says that every visit adds noise.
func (a *Walk) Blurs() bool { return a.p.After == "noise" }

// LargestStep returns the largest γ_t of the run.
func (a *Walk) LargestStep() float64 {
	most := 0.
	for t := range a.steps {
		most = max(most, a.p.At(t, a.steps))
		if a.p.Schedule == "const" && t >= a.p.Warmup {
			break
		}
	}
	return most
}

// SmallestStep returns the least γ_t of the run.
func (a *Walk) SmallestStep() float64 {
	least := math.Inf(1)
	for t := range a.steps {
		least = min(least, a.p.At(t, a.steps))
		if a.p.Schedule == "const" && t >= a.p.Warmup {
			break
		}
	}
	return least
}

// Step implements a visit as the type's comment states it.
func (a *Walk) Step(in *agent.Input, out *agent.Output) error {
	switch in.Kind {
	case agent.Start, agent.Stop:
		return nil
	case agent.Token:
		if len(in.Inbox) != 1 || len(in.Inbox[0].Body) != len(a.theta) {
			return fmt.Errorf("walk: %w: a token is one message of %d values", agent.ErrState, len(a.theta))
		}
		copy(a.theta, in.Inbox[0].Body)
		a.ask(in, out)
	case agent.Answer:
		if !a.zero {
			a.given++
		}
		a.descend(a.p.At(in.Round, a.steps), in.Answer)
		a.send(in, out)
	case agent.Exhausted:
		if a.zero {
			return fmt.Errorf("walk: noise alone was refused for want of a budget, which it does not need")
		}
		a.most = a.given
		a.ask(in, out)
	default:
		return fmt.Errorf("walk: %w: %v", agent.ErrKind, in.Kind)
	}
	return nil
}

// ask asks for what the agent may still give, or hands the token on.
func (a *Walk) ask(in *agent.Input, out *agent.Output) {
	a.zero = a.given >= a.most
	switch {
	case !a.zero:
		out.Ask(a.p.Oracle, a.theta)
	case a.p.After == "noise":
		out.Ask("zero", a.theta)
	default:
		a.send(in, out)
	}
}

// descend takes one step and projects.
func (a *Walk) descend(eta float64, answer tensor.Vec) {
	if n := answer.Norm(); a.p.AnswerClip > 0 && n > a.p.AnswerClip {
		eta *= a.p.AnswerClip / n
	}
	tensor.WeightedSum(a.theta, []float64{1, -eta}, []tensor.Vec{a.theta, answer})
	if n := a.theta.Norm(); a.p.Radius > 0 && n > a.p.Radius {
		a.theta.Scale(a.p.Radius/n, a.theta)
	}
}

func (a *Walk) send(in *agent.Input, out *agent.Output) {
	out.Outbox = append(out.Outbox, agent.Message{To: in.Peer, Body: a.theta})
}

// Params returns θ as it left this agent last.
func (a *Walk) Params() tensor.Vec { return a.theta }

const walkTag = "walk/1"

// AppendState writes the counts and θ.
func (a *Walk) AppendState(b []byte) []byte { return appendState(b, walkTag, len(a.theta), a.parts) }

// LoadState reads AppendState's bytes.
func (a *Walk) LoadState(b []byte) error { return loadState(b, walkTag, len(a.theta), a.parts) }

func (a *Walk) parts(s *state) {
	s.uint(&a.given)
	s.uint(&a.most)
	s.vecs(a.theta)
}
