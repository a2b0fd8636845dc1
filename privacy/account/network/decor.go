package network

import (
	"fmt"
	"math"

	"gonum.org/v1/gonum/mat"

	"sotto/config"
)

// Decor is one round of correlated noise (Allouah, Koloskova, El Firdoussi, Jaggi,
// Guerraoui 2024, arXiv 2405.01031): every agent adds noise of its own and, for each
// link, noise that its neighbor subtracts, drawn from a secret of the two.
type Decor struct {
	Agents int
	Links  [][2]int // pairs of agents, each once
	// Own and Pair are the standard deviations of an agent's own noise and of one link's,
	// over the clip, finite and at least 0. Without Own no value is protected.
	Own, Pair float64
}

func (d Decor) validate() error {
	switch {
	case d.Agents < 1 || d.Agents > maxAgents:
		return config.Bad("agents", d.Agents, fmt.Sprintf("1 to %d", maxAgents))
	case !(d.Own >= 0) || math.IsInf(d.Own, 1):
		return config.Bad("own_noise", d.Own, "a finite number, at least 0")
	case !(d.Pair >= 0) || math.IsInf(d.Pair, 1):
		return config.Bad("pair_noise", d.Pair, "a finite number, at least 0")
	}
	seen := map[[2]int]bool{}
	for _, l := range d.Links {
		l = [2]int{min(l[0], l[1]), max(l[0], l[1])}
		if l[0] < 0 || l[1] >= d.Agents || l[0] == l[1] || seen[l] {
			return config.Bad("link", l, fmt.Sprintf("two agents of 0 to %d, each pair once", d.Agents-1))
		}
		seen[l] = true
	}
	return nil
}

// Multipliers returns each agent's effective noise multiplier against who sees every
// message and has the secrets of the curious agents, who know the noise of their own
// links: 1/sqrt of the diagonal of (Own^2 I + Pair^2 L_H)^-1, L_H the Laplacian of the
// links among the others. Curious agents have 0. Agents that curious ones cut off from
// the rest count with what is left to them; with all neighbors curious Own alone
// protects. The view of one round is exactly a Gaussian mechanism of that noise, and
// rounds compose as those of any Gaussian mechanism.
func (d Decor) Multipliers(curious []int) ([]float64, error) {
	if err := d.validate(); err != nil {
		return nil, err
	}
	for _, c := range curious {
		if c < 0 || c >= d.Agents {
			return nil, config.Bad("curious", c, fmt.Sprintf("agents 0 to %d", d.Agents-1))
		}
	}
	out := make([]float64, d.Agents)
	// the sum over a component has no noise, nor then has any value, as the others may be
	// known
	if d.Own == 0 {
		return out, nil
	}
	for _, part := range d.components(curious) {
		d.invert(part, out)
	}
	return out, nil
}

// components lists the agents that are not curious by connected component of the links
// among them.
func (d Decor) components(curious []int) [][]int {
	neighbors := make([][]int, d.Agents)
	for _, l := range d.Links {
		neighbors[l[0]], neighbors[l[1]] = append(neighbors[l[0]], l[1]), append(neighbors[l[1]], l[0])
	}
	seen := make([]bool, d.Agents)
	for _, c := range curious {
		seen[c] = true
	}
	var parts [][]int
	for i := range d.Agents {
		if seen[i] {
			continue
		}
		seen[i] = true
		part := []int{i}
		for at := 0; at < len(part); at++ {
			for _, j := range neighbors[part[at]] {
				if !seen[j] {
					seen[j] = true
					part = append(part, j)
				}
			}
		}
		parts = append(parts, part)
	}
	return parts
}

// invert fills in the multipliers of one component.
func (d Decor) invert(part []int, out []float64) {
	at := map[int]int{}
	for k, i := range part {
		at[i] = k
	}
	m := mat.NewSymDense(len(part), nil)
	for k := range part {
		m.SetSym(k, k, d.Own*d.Own)
	}
	for _, l := range d.Links {
		i, ok := at[l[0]]
		j, both := at[l[1]]
		if !ok || !both {
			continue
		}
		p := d.Pair * d.Pair
		m.SetSym(i, i, m.At(i, i)+p)
		m.SetSym(j, j, m.At(j, j)+p)
		m.SetSym(i, j, -p)
	}
	var chol mat.Cholesky
	var inverse mat.SymDense
	whole := 0. // what is to be added to the inverse: a share of the vector of ones
	right := chol.Factorize(m)
	if !right || chol.Cond() > sharpest { // the sum of all has Own alone: it is taken out
		n, p := float64(len(part)), d.Pair*d.Pair
		for k := range part {
			for j := range k + 1 {
				m.SetSym(k, j, m.At(k, j)+p)
			}
		}
		right = chol.Factorize(m) && chol.Cond() < sharpest
		whole = (1/(d.Own*d.Own) - 1/(d.Own*d.Own+n*p)) / n
	}
	// no digits left: what holds without any pair noise
	if !right || chol.InverseTo(&inverse) != nil || math.IsInf(whole, 1) {
		for _, i := range part {
			out[i] = d.Own
		}
		return
	}
	for k, i := range part {
		out[i] = math.Max(d.Own, 1/math.Sqrt(inverse.At(k, k)+whole)) // pair noise never harms
	}
}

// sharpest is the condition up to which an inverse has the digits that are stated.
const sharpest = 1e6

// AgainstAnyOne returns each agent's least multiplier over all choices of one other agent
// that is curious; of the only agent there is, its own noise.
func (d Decor) AgainstAnyOne() ([]float64, error) {
	if err := d.validate(); err != nil {
		return nil, err
	}
	if d.Agents == 1 {
		return []float64{d.Own}, nil
	}
	least := make([]float64, d.Agents)
	for i := range least {
		least[i] = math.Inf(1)
	}
	for v := range d.Agents {
		all, err := d.Multipliers([]int{v})
		if err != nil {
			return nil, err
		}
		for i, m := range all {
			if i != v {
				least[i] = math.Min(least[i], m)
			}
		}
	}
	return least, nil
}
