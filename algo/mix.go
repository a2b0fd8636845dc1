package algo

import (
	"sotto/agent"
	"sotto/tensor"
)

// mixer forms Σ_j w_ij x_j from an agent's own vector and its inbox, or a robust rule's
// mean in its place. Element sums run in float64 over agents in ascending order, the own
// one in its place, each product rounded before it is added, and are rounded once: where
// all weights are one number, all agents of a complete graph have the same bits. It keeps
// its scratch, no vectors.
type mixer struct {
	self    agent.ID
	rule    Mixing // checked
	weights []float64
	bodies  []tensor.Vec

	distances []float64 // of clipped
	column    []weighed // of trimmed
}

// sum takes at most one message of each sender.
func (m *mixer) sum(dst tensor.Vec, view *agent.View, own tensor.Vec, inbox []agent.Message) {
	m.weights, m.bodies = m.weights[:0], m.bodies[:0]
	before := 0 // messages that come before the own vector
	if m.rule.Mixing == "" {
		for before < len(inbox) && inbox[before].From < m.self {
			before++
		}
	}
	m.take(view, inbox[:before])
	m.weights, m.bodies = append(m.weights, view.SelfWeight), append(m.bodies, own)
	m.take(view, inbox[before:])
	switch m.rule.Mixing {
	case "trimmed":
		m.trim(dst)
	case "clipped":
		m.clip()
		fallthrough
	default:
		tensor.WeightedSum(dst, m.weights, m.bodies)
	}
	clear(m.bodies)
}

// take appends messages, which are sorted by sender as the view is.
func (m *mixer) take(view *agent.View, inbox []agent.Message) {
	for i := range inbox {
		m.weights = append(m.weights, view.Weight(inbox[i].From))
		m.bodies = append(m.bodies, inbox[i].Body)
	}
}

// recur forms a Σ_j w_ij x_j + b x_i - c previous in one sum, rounded once, of plain
// mixing.
func (m *mixer) recur(dst tensor.Vec, view *agent.View, own tensor.Vec, inbox []agent.Message, a, b,
	c float64, previous tensor.Vec) {
	m.weights = append(m.weights[:0], float64(a*view.SelfWeight)+b)
	m.bodies = append(m.bodies[:0], own)
	for i := range inbox {
		m.weights = append(m.weights, a*view.Weight(inbox[i].From))
		m.bodies = append(m.bodies, inbox[i].Body)
	}
	if c != 0 {
		m.weights, m.bodies = append(m.weights, -c), append(m.bodies, previous)
	}
	tensor.WeightedSum(dst, m.weights, m.bodies)
	clear(m.bodies)
}

// total forms Σ_j x_j over the inbox alone, in the same way.
func (m *mixer) total(dst tensor.Vec, inbox []agent.Message) {
	m.weights, m.bodies = m.weights[:0], m.bodies[:0]
	for i := range inbox {
		m.weights, m.bodies = append(m.weights, 1), append(m.bodies, inbox[i].Body)
	}
	tensor.WeightedSum(dst, m.weights, m.bodies)
	clear(m.bodies)
}
