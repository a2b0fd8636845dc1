package algo

import (
	"sotto/agent"
	"sotto/tensor"
)

// mixer forms Σ_j w_ij x_j from an agent's own vector and its inbox, or a robust rule's
// mean in its place. Element sums run in float64, own term first, then senders in
// ascending order, and are rounded once. It keeps its scratch, no vectors.
type mixer struct {
	rule    Mixing // checked
	weights []float64
	bodies  []tensor.Vec

	distances []float64 // of clipped
	column    []weighed // of trimmed
}

// sum takes at most one message of each sender.
func (m *mixer) sum(dst tensor.Vec, view *agent.View, own tensor.Vec, inbox []agent.Message) {
	m.weights = append(m.weights[:0], view.SelfWeight)
	m.bodies = append(m.bodies[:0], own)
	for i := range inbox {
		m.weights = append(m.weights, view.Weight(inbox[i].From))
		m.bodies = append(m.bodies, inbox[i].Body)
	}
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
