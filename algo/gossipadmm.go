package algo

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math"
	"slices"
	"strings"

	"sotto/agent"
	"sotto/config"
	"sotto/tensor"
)

var _ agent.Algorithm = (*GossipADMM)(nil)

// GossipADMMParams are the parameters of gossip ADMM.
type GossipADMMParams struct {
	Personal
	Rho        float64 `toml:"rho"`         // penalty ρ > 0; default 1
	LocalSteps int     `toml:"local_steps"` // gradient steps on the own model in each wake; default 10
	// Start is "zero", "init" for the common initial parameters, or "fit": the minimiser
	// of the agent's own loss, by one answer of oracle "fit".
	Start     string  `toml:"start"`
	FitLambda float64 `toml:"fit_lambda,omitempty"` // λ of that loss, a public constant; 0 means λ_i
}

// GossipADMM minimises Personal's objective by pairwise exchanges: Vanhaesebrouck,
// Bellet, Tommasi, "Decentralized Collaborative Learning of Personalized Models over
// Networks" (AISTATS 2017). Agent l keeps its model x, a copy y_h of each neighbor's
// model, and for each edge (l, h) the secondary variables and duals of both models.
//
// When the edge (i, j) wakes, both ends take LocalSteps gradient steps on
//
//	1/4 Σ_h W_lh |x - y_h|² + μ D_ll c_l L_l(x) + Σ_h [ Λ_h^l·(x - Z_h^l)
//	    + ρ/2 |x - Z_h^l|² + Λ_h^h·(y_h - Z_h^h) + ρ/2 |y_h - Z_h^h|² ]
//
// with the copies y_h at their closed-form minimisers, one "grad-full" query and charge
// for each; exchange u^a = Θ^a + Λ^a/ρ for both models a of the edge (2p values each
// way); set Z^a to the mean of both ends' u^a and add ρ(Θ^a - Z^a) to Λ^a. Exhausted: the
// loss's gradient counts as zero from then on.
//
// All begins at the start models: Z^a is that of agent a, duals are zero. With start
// "fit" every agent broadcasts its own once, p values; where a neighbor's is not there
// yet, or lost, the agent's own stands in until the edge wakes.
type GossipADMM struct {
	p    *GossipADMMParams
	self agent.ID
	objective
	agents int // in the run

	degree float64 // Σ_h W_lh
	x      tensor.Vec
	edges  []admmEdge // by neighbor, ascending
	meeting
}

// meeting is the wake in progress.
type meeting struct {
	step   int // gradient steps taken
	active int // the edge; below 0: there is no meeting
	u, g   tensor.Vec
}

// admmEdge is what an agent keeps for one edge: of its own model (0) and of the
// neighbor's (1).
type admmEdge struct {
	id       agent.ID
	weight   float64
	woken    bool       // both ends have exchanged u
	copied   tensor.Vec // y_h
	z, duals [2]tensor.Vec
}

// NewGossipADMM decodes GossipADMMParams and returns their factory.
func NewGossipADMM(decode func(any) error) (agent.Factory, error) {
	p := &GossipADMMParams{Personal: defaultPersonal(), Rho: 1, LocalSteps: 10, Start: "zero"}
	if err := decode(p); err != nil {
		return nil, err
	}
	if err := p.Personal.validate(); err != nil {
		return nil, err
	}
	switch {
	case !positive(p.Rho):
		return nil, config.Bad("rho", p.Rho, "above 0 and finite")
	case p.LocalSteps < 1 || p.LocalSteps > 100_000:
		return nil, config.Bad("local_steps", p.LocalSteps, "1 to 100000")
	case !slices.Contains(starts, p.Start):
		return nil, config.Bad("start", p.Start, "one of "+strings.Join(starts, ", "))
	case !notNegative(p.FitLambda) || p.FitLambda > 0 && p.Start != "fit":
		return nil, config.Bad("fit_lambda", p.FitLambda, "above 0 and finite, and only with start fit")
	}
	return func(env agent.Env) (agent.Algorithm, error) {
		o, err := p.Personal.of(env)
		if err != nil {
			return nil, err
		}
		a := &GossipADMM{
			p:         p,
			self:      env.Self,
			objective: o,
			agents:    env.Agents,
			x:         make(tensor.Vec, env.Dim),
			meeting:   meeting{active: -1, u: make(tensor.Vec, 2*env.Dim), g: make(tensor.Vec, env.Dim)},
		}
		if p.Start == "init" {
			copy(a.x, env.Init)
		}
		return a, nil
	}, nil
}

// FitLambda is the λ with which the answer of oracle "fit" minimises.
func (a *GossipADMM) FitLambda() float64 {
	if a.p.FitLambda > 0 {
		return a.p.FitLambda
	}
	return a.lambda
}

// Step implements a wake as the type's comment states it.
func (a *GossipADMM) Step(in *agent.Input, out *agent.Output) error {
	switch in.Kind {
	case agent.Start:
		a.link(in.View)
		if a.p.Start == "fit" {
			out.Ask("fit", a.x)
			out.Query.Operator.Lambda = a.FitLambda()
		} else {
			a.open()
		}
	case agent.Wake:
		at, ok := slices.BinarySearchFunc(a.edges, in.Peer, func(e admmEdge, id agent.ID) int {
			return int(e.id) - int(id)
		})
		if !ok {
			return fmt.Errorf("gossip-admm: agent %d is no neighbor of %d", in.Peer, a.self)
		}
		a.active, a.step = at, 0
		a.greet(in.Inbox)
		a.copies()
		out.Ask("grad-full", a.x)
	case agent.Answer, agent.Exhausted:
		if a.active < 0 {
			copy(a.x, in.Answer)
			a.open()
			out.Broadcast(a.x)
			return nil
		}
		a.descend(in.Answer)
		if a.step++; a.step < a.p.LocalSteps {
			out.Ask("grad-full", a.x)
			return nil
		}
		a.propose(out)
	case agent.Exchange:
		if len(in.Inbox) != 1 || len(in.Inbox[0].Body) != len(a.u) || a.active < 0 {
			return fmt.Errorf("gossip-admm: an exchange without the peer's two vectors")
		}
		a.finishExchange(in.Inbox[0].Body)
	case agent.Stop:
	default:
		return fmt.Errorf("gossip-admm: %w: %v", agent.ErrKind, in.Kind)
	}
	return nil
}

// link makes room for the edges of the graph.
func (a *GossipADMM) link(v *agent.View) {
	a.edges, a.degree = make([]admmEdge, len(v.In)), 0
	for k, nb := range v.In {
		e := &a.edges[k]
		e.id, e.weight = nb.ID, nb.Weight
		a.degree += nb.Weight
		e.copied = make(tensor.Vec, len(a.x))
		for m := range e.z {
			e.z[m], e.duals[m] = make(tensor.Vec, len(a.x)), make(tensor.Vec, len(a.x))
		}
	}
}

// open sets all Z to the agent's own start model.
func (a *GossipADMM) open() {
	for k := range a.edges {
		for _, z := range a.edges[k].z {
			copy(z, a.x)
		}
	}
}

// greet takes over the start models of neighbors that were heard, on edges that have not
// woken.
func (a *GossipADMM) greet(inbox []agent.Message) {
	for _, m := range inbox {
		at, ok := slices.BinarySearchFunc(a.edges, m.From, func(e admmEdge, id agent.ID) int {
			return int(e.id) - int(id)
		})
		if ok && !a.edges[at].woken && len(m.Body) == len(a.x) {
			copy(a.edges[at].z[1], m.Body)
		}
	}
}

// copies sets every y_h to its minimiser (W/2 x + ρ Z - Λ) / (W/2 + ρ).
func (a *GossipADMM) copies() {
	rho := a.p.Rho
	for k := range a.edges {
		e := &a.edges[k]
		s := e.weight/2 + rho
		tensor.WeightedSum(e.copied, []float64{e.weight / 2 / s, rho / s, -1 / s},
			[]tensor.Vec{a.x, e.z[1], e.duals[1]})
	}
}

// descend takes one gradient step on x. answer is the gradient of the data's loss, nil
// when the budget is spent.
func (a *GossipADMM) descend(answer tensor.Vec) {
	rho, loss := a.p.Rho, a.muC*a.degree
	weights, terms := []float64{loss * 2 * a.lambda}, []tensor.Vec{a.x}
	if answer != nil {
		weights, terms = append(weights, loss), append(terms, answer)
	}
	curvature := loss * a.smooth
	for k := range a.edges {
		e := &a.edges[k]
		weights = append(weights, e.weight/2+rho, -e.weight/2, 1, -rho)
		terms = append(terms, a.x, e.copied, e.duals[0], e.z[0])
		curvature += e.weight/2 + rho
	}
	tensor.WeightedSum(a.g, weights, terms)
	tensor.WeightedSum(a.x, []float64{1, -1 / curvature}, []tensor.Vec{a.x, a.g})
	a.copies()
}

// order returns where the agent's own model and the neighbor's stand in a message: that
// of the lower agent first.
func (a *GossipADMM) order(e *admmEdge) (own, other int) {
	if a.self < e.id {
		return 0, 1
	}
	return 1, 0
}

// propose sends u of both models of the active edge.
func (a *GossipADMM) propose(out *agent.Output) {
	e := &a.edges[a.active]
	own, other := a.order(e)
	d := len(a.x)
	w := []float64{1, 1 / a.p.Rho}
	tensor.WeightedSum(a.u[own*d:(own+1)*d], w, []tensor.Vec{a.x, e.duals[0]})
	tensor.WeightedSum(a.u[other*d:(other+1)*d], w, []tensor.Vec{e.copied, e.duals[1]})
	out.Outbox = append(out.Outbox, agent.Message{To: e.id, Body: a.u})
}

// finishExchange ends the active edge's exchange with the peer's u.
func (a *GossipADMM) finishExchange(peer tensor.Vec) {
	e := &a.edges[a.active]
	own, other := a.order(e)
	d, rho := len(a.x), a.p.Rho
	for m, at := range [2]int{own, other} {
		model := a.x
		if m == 1 {
			model = e.copied
		}
		tensor.WeightedSum(e.z[m], []float64{.5, .5},
			[]tensor.Vec{a.u[at*d : (at+1)*d], peer[at*d : (at+1)*d]})
		tensor.WeightedSum(e.duals[m], []float64{1, rho, -rho}, []tensor.Vec{e.duals[m], model, e.z[m]})
	}
	e.woken, a.active = true, -1
}

// Params returns the agent's own model.
func (a *GossipADMM) Params() tensor.Vec { return a.x }

// Tags of the state, between meetings and in one.
const (
	admmTag        = "gossip-admm/2"
	admmMeetingTag = "gossip-admm meeting/2"
)

// AppendState writes x and, for every edge, its copy, secondary variables and duals;
// between the two halves of a wake also the active edge and what was sent.
func (a *GossipADMM) AppendState(b []byte) []byte {
	tag := admmTag
	if a.active >= 0 {
		tag = admmMeetingTag
	}
	b = agent.AppendTag(b, tag)
	b = binary.LittleEndian.AppendUint64(b, uint64(len(a.x)))
	b = agent.AppendVec(binary.LittleEndian.AppendUint64(b, uint64(len(a.edges))), a.x)
	for k := range a.edges {
		e := &a.edges[k]
		b = binary.LittleEndian.AppendUint64(b, uint64(e.id))
		b = binary.LittleEndian.AppendUint64(b, math.Float64bits(e.weight))
		woken := uint64(0)
		if e.woken {
			woken = 1
		}
		b = binary.LittleEndian.AppendUint64(b, woken)
		for _, v := range e.vectors() {
			b = agent.AppendVec(b, v)
		}
	}
	if a.active >= 0 {
		b = binary.LittleEndian.AppendUint64(b, uint64(a.active))
		b = agent.AppendVec(binary.LittleEndian.AppendUint64(b, uint64(a.step)), a.u)
	}
	return b
}

func (e *admmEdge) vectors() []tensor.Vec {
	return []tensor.Vec{e.copied, e.z[0], e.z[1], e.duals[0], e.duals[1]}
}

// LoadState reads AppendState's bytes.
func (a *GossipADMM) LoadState(b []byte) error {
	tag, meeting := admmTag, bytes.HasPrefix(b, agent.AppendTag(nil, admmMeetingTag))
	if meeting {
		tag = admmMeetingTag
	}
	s := agent.ReadState(b, tag)
	d, n := s.Uint64(), s.Uint64()
	if err := s.Err(); err != nil {
		return err
	}
	if d != uint64(len(a.x)) || n >= uint64(a.agents) {
		return fmt.Errorf("%w: dimension %d and %d neighbors, this run has %d and %d agents", agent.ErrState,
			d, n, len(a.x), a.agents)
	}
	s.Vec(a.x)
	view := agent.View{}
	var woken []bool
	var vectors [][5]tensor.Vec
	for range n {
		if s.Err() != nil {
			break
		}
		view.In = append(view.In, agent.Neighbor{ID: agent.ID(s.Uint64()),
			Weight: math.Float64frombits(s.Uint64())})
		woken = append(woken, s.Uint64() == 1)
		var vs [5]tensor.Vec
		for k := range vs {
			vs[k] = make(tensor.Vec, d)
			s.Vec(vs[k])
		}
		vectors = append(vectors, vs)
	}
	active, step := -1, 0
	if meeting {
		at := s.Uint64()
		if active, step = int(at), int(s.Uint64()); at >= n {
			return fmt.Errorf("%w: edge %d of %d", agent.ErrState, at, n)
		}
		s.Vec(a.u)
	}
	if err := s.Close(); err != nil {
		return err
	}
	a.link(&view)
	for k := range a.edges {
		a.edges[k].woken = woken[k]
		for m, v := range a.edges[k].vectors() {
			copy(v, vectors[k][m])
		}
	}
	a.active, a.step = active, step
	return nil
}
