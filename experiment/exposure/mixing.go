// Package exposure says who learns what about whom, by the network accountant, from
// public facts alone: graphs, noise and numbers of releases. It sees no records.
package exposure

import (
	"math"
	"math/big"

	"sotto/agent"
	"sotto/privacy/account/network"
	"sotto/topology"
)

// Mixing returns the matrices of a schedule's first rounds for the network accountant,
// one matrix where the graph stays the same. Weights that are fractions with small
// denominators, such as 1/(1+degree), are recognised as such, and an agent's own weight
// as what they leave of 1.
func Mixing(s topology.Schedule, rounds int) ([]*network.Matrix, error) {
	out := make([]*network.Matrix, rounds)
	r := recogniser{}
	var last *topology.Graph
	for k := range out {
		g, err := s.At(uint64(k))
		if err != nil {
			return nil, err
		}
		if k > 0 && g == last {
			out[k] = out[k-1]
			continue
		}
		last = g
		if out[k], err = r.matrix(g); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// recogniser remembers weights, of which a graph has few different ones.
type recogniser map[float64]network.Weight

func (r recogniser) weight(x float64) network.Weight {
	w, ok := r[x]
	if !ok {
		w = network.Recognise(x)
		r[x] = w
	}
	return w
}

func (r recogniser) matrix(g *topology.Graph) (*network.Matrix, error) {
	rows := make([]network.Row, g.Agents())
	for i := range rows {
		row := network.Row{Agent: i}
		counts := map[float64]int64{}
		for _, nb := range g.In(agent.ID(i)) {
			row.In = append(row.In, network.Link{From: int(nb.ID), Weight: r.weight(nb.Weight)})
			counts[nb.Weight]++
		}
		row.Self = r.remainder(g.SelfWeight(agent.ID(i)), counts)
		rows[i] = row
	}
	return network.NewMatrix(rows)
}

// remainder is an agent's own weight: exactly 1 less the others where that is what it was
// rounded from.
func (r recogniser) remainder(self float64, counts map[float64]int64) network.Weight {
	left := big.NewRat(1, 1)
	for x, times := range counts {
		w := r.weight(x)
		if w.Exact == nil {
			return r.weight(self)
		}
		left.Sub(left, new(big.Rat).Mul(w.Exact, big.NewRat(times, 1)))
	}
	if v, _ := left.Float64(); math.Abs(v-self) <= 1e-12 {
		return network.Weight{Value: v, Exact: left}
	}
	return r.weight(self)
}
