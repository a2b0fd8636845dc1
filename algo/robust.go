package algo

import (
	"fmt"
	"math"
	"slices"

	"sotto/config"
	"sotto/tensor"
)

// Mixing says how an agent takes in its neighbors' vectors. All of it is post-processing
// of what was sent: the guarantee is that of plain mixing. Other rules than plain do not
// keep the mean of all models.
type Mixing struct {
	// Mixing is "plain" (default), Σ_j w_ij x_j; "clipped" or "trimmed", of which a
	// neighbor that sends anything moves the result by a bounded amount only:
	//
	//	clipped  x_i + Σ_j w_ij c_j (x_j - x_i),  c_j = min(1, τ/‖x_j - x_i‖)
	//	trimmed  by coordinate, without the f largest and f smallest values of
	//	         neighbors; weights of the others, x_i's own among them, are scaled
	//	         to sum to what all did
	//
	// clipped is ClippedGossip of He, Karimireddy, Jaggi, "Byzantine-Robust Decentralized
	// Learning via ClippedGossip" (arXiv 2202.01545). A vector that is not finite counts
	// as x_i.
	Mixing string `toml:"mixing,omitempty"`
	// Clip is τ > 0, public. With clipped, 0 stands for the (f+1)-th largest of the
	// distances ‖x_j - x_i‖, computed anew in every round, as in the authors' code for f
	// = 1.
	Clip float64 `toml:"mixing_clip,omitempty"`
	// Trim is f >= 1, the number of neighbors that may be adversaries.
	Trim int `toml:"mixing_trim,omitempty"`
}

// room is v where mixing is plain, so that a runtime may form the sum; otherwise nil.
func (m *Mixing) room(v tensor.Vec) tensor.Vec {
	if m.Mixing != "" {
		return nil
	}
	return v
}

// checkMixing checks m. Plain mixing has one form, so that naming the default is the same
// run.
func (m *Mixing) checkMixing() error {
	if m.Mixing == "plain" {
		m.Mixing = ""
	}
	switch m.Mixing {
	case "":
		if m.Clip != 0 {
			return config.Bad("mixing_clip", m.Clip, "nothing with mixing plain")
		}
		if m.Trim != 0 {
			return config.Bad("mixing_trim", m.Trim, "nothing with mixing plain")
		}
	case "clipped":
		if m.Clip != 0 && !positive(m.Clip) {
			return config.Bad("mixing_clip", m.Clip, "above 0 and finite")
		}
		if m.Clip != 0 && m.Trim != 0 {
			return config.Bad("mixing_trim", m.Trim,
				"nothing beside mixing_clip: it chooses the radius where none is given")
		}
		if m.Clip == 0 && m.Trim < 1 {
			return config.Bad("mixing_trim", m.Trim,
				"at least 1, or mixing_clip in its place, with mixing clipped")
		}
	case "trimmed":
		if m.Clip != 0 {
			return config.Bad("mixing_clip", m.Clip, "nothing with mixing trimmed")
		}
		if m.Trim < 1 {
			return config.Bad("mixing_trim", m.Trim, "at least 1 with mixing trimmed")
		}
	default:
		return config.Bad("mixing", m.Mixing, "one of clipped, plain, trimmed")
	}
	return nil
}

// fits refuses a rule that would leave an agent with as many neighbors none of them; 0:
// their number is not known.
func (m *Mixing) fits(neighbors int) error {
	switch {
	case neighbors == 0:
	case m.Mixing == "trimmed" && 2*m.Trim >= neighbors:
		return config.Bad("mixing_trim", m.Trim,
			fmt.Sprintf("below half of the %d neighbors of an agent of this graph", neighbors))
	case m.Mixing == "clipped" && m.Trim >= neighbors:
		return config.Bad("mixing_trim", m.Trim,
			fmt.Sprintf("below the %d neighbors of an agent of this graph", neighbors))
	}
	return nil
}

// onlyPlain refuses robust rules for an algorithm that they would not protect.
func (m *Mixing) onlyPlain(algorithm, why string) error {
	if m.Mixing != "" && m.Mixing != "plain" {
		return config.Bad("mixing", m.Mixing, "plain with algorithm "+algorithm+": "+why)
	}
	return m.checkMixing()
}

// clip turns the weights of vectors that are further than τ from the first, own one into
// those of clipped differences: w c on the vector and w (1-c) on the own.
func (m *mixer) clip() {
	own, others := m.bodies[0], m.bodies[1:]
	m.distances = m.distances[:0]
	for j, x := range others {
		d := distance(x, own)
		if !(d <= math.MaxFloat64) { // not finite
			others[j], d = own, math.Inf(1)
		}
		m.distances = append(m.distances, d)
	}
	radius := m.rule.Clip
	if radius == 0 {
		radius = largest(m.distances, m.rule.Trim)
	}
	for j, d := range m.distances {
		if d > radius {
			w := m.weights[1+j]
			m.weights[1+j] = w * (radius / d)
			m.weights[0] += w - m.weights[1+j]
		}
	}
}

// distance is ‖x - y‖, summed in float64 in order.
func distance(x, y tensor.Vec) float64 {
	s := 0.
	for k, v := range x[:len(y)] {
		d := float64(v) - float64(y[k])
		s += float64(d * d)
	}
	return math.Sqrt(s)
}

// largest returns the (f+1)-th largest of xs; 0 where there are fewer.
func largest(xs []float64, f int) float64 {
	if f >= len(xs) {
		return 0
	}
	sorted := slices.Clone(xs)
	slices.Sort(sorted)
	return sorted[len(sorted)-1-f]
}

// trim forms the trimmed mean of m.bodies, whose first is the own vector. Where 2f or
// more values are not there to be left out, it is the own value.
func (m *mixer) trim(dst tensor.Vec) {
	own, others := m.bodies[0], m.bodies[1:]
	f, n := m.rule.Trim, len(others)
	whole := m.weights[0]
	for _, w := range m.weights[1:] {
		whole += w
	}
	for k, mine := range own {
		m.column = m.column[:0]
		for j, x := range others {
			v := float64(x[k])
			if math.IsNaN(v) || math.IsInf(v, 0) {
				v = float64(mine)
			}
			m.column = append(m.column, weighed{v, m.weights[1+j]})
			for i := j; i > 0 && m.column[i-1].value > v; i-- { // neighbors are few: by insertion
				m.column[i-1], m.column[i] = m.column[i], m.column[i-1]
			}
		}
		sum, kept := float64(m.weights[0]*float64(mine)), m.weights[0]
		for j := f; j < n-f; j++ {
			sum += float64(m.column[j].weight * m.column[j].value)
			kept += m.column[j].weight
		}
		if kept > 0 {
			dst[k] = float32(sum / kept * whole)
		} else {
			dst[k] = mine
		}
	}
}

// weighed is one neighbor's value of a coordinate.
type weighed struct{ value, weight float64 }
