package algo

import (
	"encoding/binary"
	"fmt"
	"slices"
	"strings"
	"sync"

	"sotto/agent"
	"sotto/config"
	"sotto/tensor"
)

var _ agent.Algorithm = (*BCD)(nil)

// BCDParams are the parameters of block coordinate descent and of model propagation.
type BCDParams struct {
	Personal
	Allocation
	// Start is "zero", "init" for the common initial parameters, or "fit": the minimiser
	// of the agent's own loss, by one answer of oracle "fit" (private where the run is:
	// the warm start).
	Start string `toml:"start"`
	// FitLambda is the λ of that loss, a public constant; 0 means λ_i. With the default
	// λ_i = 1/m_i the sensitivity of a minimiser does not fall with m_i.
	FitLambda float64 `toml:"fit_lambda,omitempty"`
	// number of the agent's own wakes for model propagation after start fit
	Propagate uint64 `toml:"propagate,omitempty"`
	Norm      string `toml:"norm"` // norm in which gradients are clipped: "l2" (default) or "l1"
	// Updates is the number T_i of updates of each agent, after which neighbors go on
	// with its last vector (but see after); 0: one update for each wake.
	Updates int `toml:"updates,omitempty"`
	// updates of each agent: agent i has entry i mod length; in place of Updates, which
	// then counts for nothing
	AgentUpdates []int `toml:"agent_updates,omitempty"`
	// After is what an agent does when it wakes after its last update: "silent" (default,
	// as published) does nothing; "average" goes on with the mean of its past answers in
	// place of a new one, which costs nothing more.
	After string `toml:"after,omitempty"`
}

// BCD is asynchronous block coordinate descent on Personal's objective: Bellet,
// Guerraoui, Taziki, Tommasi, "Personalized and Private Peer-to-Peer Machine Learning"
// (arXiv 1705.08435), eqs. 4 and 6. On each wake
//
//	Θ_i <- (1 - α_i) Θ_i + α_i (Σ_j W_ij/D_ii Θ_j - μ c_i (g̃_i + 2 λ_i Θ_i)),
//	α_i = 1/(1 + μ c_i Λ_i)
//
// and Θ_i (p values) goes to all neighbors: a gradient step of length 1/B_i on block i.
// g̃_i is one answer of "grad-full" or "grad-full-l1", one charge; the regulariser is
// public and exact. A neighbor that was not heard yet counts with the agent's own vector.
// After Updates updates, and when the budget is spent, the agent is done; with After =
// "average" (not in the paper) it goes on with the mean ḡ_i of its answers for g̃_i,
// post-processing. All together then approach the minimiser of Q with the losses replaced
// by ḡ_i·Θ_i + λ_i|Θ_i|²: the answers, smoothed over the graph.
//
// With Propagate the first wakes are of model propagation instead, which asks nothing:
// with θ̂_i the answer of fit,
//
//	Θ_i <- (Σ_j W_ij/D_ii Θ_j + μ c_i θ̂_i) / (1 + μ c_i).
type BCD struct {
	p    *BCDParams // shared by all agents
	name string
	quota
	objective
	factors []float64 // noise of each update relative to the quietest; nil: all the same

	theta, mix tensor.Vec
	fit        tensor.Vec // θ̂_i, nil without
	mean       tensor.Vec // of the answers; nil unless they are used again
}

// quota is what an agent does at its wakes.
type quota struct {
	propagate   uint64 // wakes of model propagation, the first ones
	updates     uint64 // T_i, after those
	wakes, done uint64 // own wakes, updates among them, so far
}

// mixers are shared by the agents of one worker: a million agents need not keep one each.
var mixers = sync.Pool{New: func() any { return new(mixer) }}

const unlimited = ^uint64(0)

var starts = []string{"fit", "init", "zero"}

func bcdDefaults() BCDParams {
	return BCDParams{
		Personal:   defaultPersonal(),
		Allocation: Allocation{Alloc: "equal"},
		Start:      "zero",
		Norm:       "l2",
	}
}

// NewBCD decodes BCDParams and returns their factory.
func NewBCD(decode func(any) error) (agent.Factory, error) {
	p := bcdDefaults()
	if err := decode(&p); err != nil {
		return nil, err
	}
	if err := p.validate(); err != nil {
		return nil, err
	}
	return p.factory("bcd"), nil
}

func (p *BCDParams) validate() error {
	if err := p.Personal.validate(); err != nil {
		return err
	}
	if err := p.Allocation.validate(); err != nil {
		return err
	}
	switch {
	case !slices.Contains(starts, p.Start):
		return config.Bad("start", p.Start, "one of "+strings.Join(starts, ", "))
	case !notNegative(p.FitLambda) || p.FitLambda > 0 && p.Start != "fit":
		return config.Bad("fit_lambda", p.FitLambda, "above 0 and finite, and only with start fit")
	case p.Propagate > 0 && p.Start != "fit":
		return config.Bad("propagate", p.Propagate, "0 without start fit")
	case p.Norm != "l1" && p.Norm != "l2":
		return config.Bad("norm", p.Norm, "one of l1, l2")
	case p.Updates < 0 || p.Updates > 1<<30:
		return config.Bad("updates", p.Updates, "0 to 2^30 (0: as many as the agent wakes)")
	case p.After != "" && p.After != "silent" && p.After != "average":
		return config.Bad("after", p.After, "one of average, silent")
	case p.After == "average" && p.Updates == 0 && len(p.AgentUpdates) == 0:
		return config.Bad("updates", p.Updates, "at least 1 with after average")
	case p.Alloc != "equal" && p.Updates == 0 && len(p.AgentUpdates) == 0:
		return config.Bad("updates", p.Updates, "at least 1 with alloc "+p.Alloc)
	}
	for _, t := range p.AgentUpdates {
		if t < 1 || t > 1<<30 {
			return config.Bad("agent_updates", t, "1 to 2^30")
		}
	}
	return nil
}

func (p *BCDParams) factory(name string) agent.Factory {
	return func(env agent.Env) (agent.Algorithm, error) {
		o, err := p.Personal.of(env)
		if err != nil {
			return nil, err
		}
		a := &BCD{p: p, name: name, objective: o, quota: quota{propagate: p.Propagate, updates: unlimited},
			theta: make(tensor.Vec, env.Dim), mix: make(tensor.Vec, env.Dim)}
		if n := len(p.AgentUpdates); n > 0 {
			a.updates = uint64(p.AgentUpdates[int(env.Self)%n])
		} else if p.Updates > 0 {
			a.updates = uint64(p.Updates)
		}
		switch {
		case name == "model-propagation":
			a.propagate, a.updates = unlimited, 0
		case name == "local-fit":
			a.propagate, a.updates = 0, 0
		case p.Alloc != "equal":
			wakes := plannedWakes(env, p.Propagate)
			if p.Alloc != "expected" && env.Wakes != nil {
				a.updates = min(a.updates, uint64(len(wakes))) // nothing is kept for wakes that do not come
			}
			a.factors = p.Factors(int(a.updates), wakes, env.Agents, env.Rounds)
		}
		if p.After == "average" {
			a.mean = make(tensor.Vec, env.Dim)
		}
		if p.Start == "init" {
			copy(a.theta, env.Init)
		}
		return a, nil
	}
}

// Asking returns the number of the agent's first wakes after which it asks nothing more,
// however often it wakes; false where it asks on every wake to the end.
func (a *BCD) Asking() (wakes uint64, fixed bool) {
	if a.updates == unlimited || a.propagate == unlimited {
		return 0, false
	}
	return a.propagate + a.updates, true
}

// PlansWakes reports whether the agent spreads its budget over wakes whose numbers it has
// to know beforehand (Env.Wakes).
func (a *BCD) PlansWakes() bool {
	return a.updates > 0 && (a.p.Alloc == "late" || a.p.Alloc == "paper")
}

// FitLambda is the λ with which the answer of oracle "fit" minimises.
func (a *BCD) FitLambda() float64 {
	if a.p.FitLambda > 0 {
		return a.p.FitLambda
	}
	return a.lambda
}

// Step implements a wake as the type's comment states it.
func (a *BCD) Step(in *agent.Input, out *agent.Output) error {
	switch in.Kind {
	case agent.Start:
		if len(in.Inbox) > 0 { // joining late
			a.average(a.theta, in, nil)
		}
		if a.p.Start == "fit" {
			out.Ask("fit", a.theta)
			out.Query.Operator.Lambda = a.FitLambda()
			return nil
		}
		a.send(out)
	case agent.Wake:
		a.wakes++
		if a.wakes <= a.propagate {
			a.average(a.theta, in, a.fit)
			a.send(out)
			return nil
		}
		if a.done == a.updates && a.mean == nil {
			out.Done = true
			return nil
		}
		a.average(a.mix, in, nil)
		if a.done == a.updates {
			a.descend(a.mean)
			a.send(out)
			return nil
		}
		a.ask(out)
	case agent.Answer:
		if a.wakes == 0 {
			a.fit = append(a.fit[:0], in.Answer...)
			copy(a.theta, in.Answer)
		} else {
			a.descend(in.Answer)
			a.done++
			if a.mean != nil {
				w := 1 / float64(a.done)
				tensor.WeightedSum(a.mean, []float64{1 - w, w}, []tensor.Vec{a.mean, in.Answer})
			}
		}
		a.send(out)
	case agent.Exhausted:
		if a.wakes == 0 {
			a.send(out)
			return nil
		}
		a.updates = a.done
		out.Done = a.mean == nil
	case agent.Stop:
	default:
		return fmt.Errorf("%s: %w: %v", a.name, agent.ErrKind, in.Kind)
	}
	return nil
}

// average sets dst to Σ_j W_ij/D_ii Θ_j, or with fit to model propagation's minimiser.
func (a *BCD) average(dst tensor.Vec, in *agent.Input, fit tensor.Vec) {
	m := mixers.Get().(*mixer)
	defer mixers.Put(m)
	m.weights, m.bodies = m.weights[:0], m.bodies[:0]
	total, heard := 0., 0.
	next := 0
	for _, nb := range in.View.In {
		total += nb.Weight
		if next < len(in.Inbox) && in.Inbox[next].From == nb.ID {
			heard += nb.Weight
			m.weights, m.bodies = append(m.weights, nb.Weight), append(m.bodies, in.Inbox[next].Body)
			next++
		}
	}
	if next < len(in.View.In) { // not heard yet
		m.weights, m.bodies = append(m.weights, total-heard), append(m.bodies, a.theta)
	}
	if total == 0 { // an agent without neighbors is on its own
		m.weights, m.bodies, total = append(m.weights[:0], 1), append(m.bodies[:0], a.theta), 1
	}
	if fit != nil {
		m.weights, m.bodies = append(m.weights, total*a.muC), append(m.bodies, fit)
		total += float64(total * a.muC)
	}
	for k := range m.weights {
		m.weights[k] /= total
	}
	tensor.WeightedSum(dst, m.weights, m.bodies)
	clear(m.bodies)
}

func (a *BCD) ask(out *agent.Output) {
	oracle := "grad-full"
	if a.p.Norm == "l1" {
		oracle = "grad-full-l1"
	}
	out.Ask(oracle, a.theta)
	if a.factors != nil {
		out.Query.Noise = a.factors[a.done]
	}
}

// descend is the update, one rounding for each value.
func (a *BCD) descend(answer tensor.Vec) {
	alpha := 1 / (1 + float64(a.muC*a.smooth))
	own := 1 - alpha - float64(alpha*a.muC*2*a.lambda)
	tensor.WeightedSum(a.theta, []float64{own, alpha, -alpha * a.muC}, []tensor.Vec{a.theta, a.mix, answer})
}

// send broadcasts Θ_i and says when no change is left.
func (a *BCD) send(out *agent.Output) {
	if a.name != "local-fit" {
		out.Broadcast(a.theta)
	}
	out.Done = a.wakes >= a.propagate && a.done == a.updates && a.mean == nil
}

// Params returns Θ_i.
func (a *BCD) Params() tensor.Vec { return a.theta }

// AppendState writes the counts, Θ_i and, where there are any, θ̂_i and the mean answer.
func (a *BCD) AppendState(b []byte) []byte {
	b = agent.AppendTag(b, a.name+"/2")
	for _, v := range []uint64{uint64(len(a.theta)), a.wakes, a.done, a.updates, uint64(len(a.fit))} {
		b = binary.LittleEndian.AppendUint64(b, v)
	}
	return agent.AppendVec(agent.AppendVec(agent.AppendVec(b, a.theta), a.fit), a.mean)
}

// LoadState reads AppendState's bytes.
func (a *BCD) LoadState(b []byte) error {
	s := agent.ReadState(b, a.name+"/2")
	if err := checkDim(s, len(a.theta)); err != nil {
		return err
	}
	a.wakes, a.done, a.updates = s.Uint64(), s.Uint64(), s.Uint64()
	n := s.Uint64()
	if n != 0 && n != uint64(len(a.theta)) {
		return fmt.Errorf("%w: a fit of %d values", agent.ErrState, n)
	}
	a.fit = make(tensor.Vec, n)
	s.Vec(a.theta)
	s.Vec(a.fit)
	s.Vec(a.mean)
	return s.Close()
}
