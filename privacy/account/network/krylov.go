package network

import "gonum.org/v1/gonum/floats"

// operator applies x -> S W' S^-1 x, which makes the next round's rows B diag(s) of one
// matrix from this round's.
type operator struct {
	m     *Matrix
	noise []float64 // nil: all 1
	keeps []bool    // agents without a row
}

func (g *Gossip) operator(m *Matrix) *operator {
	o := &operator{m: m, noise: g.Noise, keeps: make([]bool, g.Agents)}
	for i := range o.keeps {
		_, has := m.row(i)
		o.keeps[i] = !has
	}
	return o
}

func (o *operator) apply(x []float64) []float64 {
	y := make([]float64, len(x))
	at := func(i int) float64 {
		if o.noise == nil {
			return x[i]
		}
		return x[i] / o.noise[i]
	}
	for i, keeps := range o.keeps {
		if keeps {
			y[i] = at(i)
		}
	}
	for _, r := range o.m.rows {
		xi := at(r.Agent)
		if xi == 0 {
			continue
		}
		y[r.Agent] += r.Self.Value * xi
		for _, l := range r.In {
			y[l.From] += l.Weight.Value * xi
		}
	}
	if o.noise != nil {
		floats.Mul(y, o.noise)
	}
	return y
}

// krylov adds to b the rows that a receives over all rounds of one matrix W. Rows of
// P_k(W), k = 0 .. K-1, with polynomials P_k of degree k span what W' applied up to K-1
// times to the first round's rows spans, so that each round only W' of the directions
// that were new in the one before can add any. Powers of W themselves, whose rows become
// alike, are never formed: that keeps directions that would drown in rounding.
func (g *Gossip) krylov(a Adversary, b *basis) {
	if len(g.Rounds) == 0 {
		return
	}
	var fresh [][]float64
	g.observed(a, 0, func(sum []Link) {
		x := g.combine(sum)
		if !g.SecureSum {
			b.learn(sum[0].From)
			fresh = append(fresh, x)
		} else if b.add(x, floats.Norm(x, 2)) {
			fresh = append(fresh, x)
		}
	})
	w := g.operator(g.Rounds[0])
	for range len(g.Rounds) - 1 {
		var next [][]float64
		for _, x := range fresh {
			if b.full() {
				return
			}
			if y := w.apply(x); b.add(y, max(1, floats.Norm(y, 2))) {
				next = append(next, y)
			}
		}
		fresh = next
	}
}

// combine is a weighted sum of unit rows, times the noise.
func (g *Gossip) combine(sum []Link) []float64 {
	x := make([]float64, g.Agents)
	for _, l := range sum {
		x[l.From] = l.Weight.Value * g.noise(l.From)
	}
	return x
}
