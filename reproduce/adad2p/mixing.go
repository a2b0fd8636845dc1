package adad2p

import (
	"math"

	"gonum.org/v1/gonum/mat"

	"sotto/agent"
	"sotto/topology"
)

// contraction are C and q of a sequence of mixing matrices: models that agents change by
// vectors G lie by at most C q^m ‖G‖ from their mean after m further rounds, in the norm
// over all agents. Of all admissible pairs it has the least C/(1-q), all that the bounds
// (11) and (13) depend on.
type contraction struct{ c, q float64 }

// factor is C/(1-q).
func (c contraction) factor() float64 { return c.c / (1 - c.q) }

const (
	mixingStarts = 40 // rounds in which the products begin
	mixingRounds = 60 // and their longest length
)

// contractionOf measures the products P^{s+m-1} ... P^s of a family of graphs, with the
// push weights that the agents have then: largest singular values of
// diag(w^{s+m})^{-1} P^{s+m-1} ... P^s - 11ᵀ/n.
func contractionOf(graph string, agents int) (contraction, error) {
	s, err := topology.Build(topology.Spec{Graph: graph, Agents: agents, Push: true},
		func(any) error { return nil })
	if err != nil {
		return contraction{}, err
	}
	p := make([]*mat.Dense, mixingStarts+mixingRounds)
	for k := range p {
		g, err := s.At(uint64(k))
		if err != nil {
			return contraction{}, err
		}
		p[k] = matrixOf(g)
	}
	return leastContraction(deviations(p, agents)), nil
}

// matrixOf is the mixing matrix of a graph.
func matrixOf(g *topology.Graph) *mat.Dense {
	n := g.Agents()
	m := mat.NewDense(n, n, nil)
	for i := range n {
		m.Set(i, i, g.SelfWeight(agent.ID(i)))
		for _, nb := range g.In(agent.ID(i)) {
			m.Set(i, int(nb.ID), nb.Weight)
		}
	}
	return m
}

// deviations are by number of rounds the largest over all starts.
func deviations(p []*mat.Dense, n int) []float64 {
	worst := make([]float64, mixingRounds+1)
	w := mat.NewVecDense(n, nil) // push weights at round s
	for i := range n {
		w.SetVec(i, 1)
	}
	for s := range mixingStarts {
		at, product := mat.VecDenseCopyOf(w), mat.DenseCopyOf(identity(n))
		for m := range mixingRounds {
			worst[m] = max(worst[m], deviation(product, at))
			next, mass := mat.NewDense(n, n, nil), mat.NewVecDense(n, nil)
			next.Mul(p[s+m], product)
			mass.MulVec(p[s+m], at)
			product, at = next, mass
		}
		worst[mixingRounds] = max(worst[mixingRounds], deviation(product, at))
		next := mat.NewVecDense(n, nil)
		next.MulVec(p[s], w)
		w = next
	}
	return worst
}

func identity(n int) *mat.DiagDense {
	ones := make([]float64, n)
	for i := range ones {
		ones[i] = 1
	}
	return mat.NewDiagDense(n, ones)
}

// deviation is the largest singular value of diag(w)^{-1} product - 11ᵀ/n.
func deviation(product *mat.Dense, w *mat.VecDense) float64 {
	n, _ := product.Dims()
	d := mat.NewDense(n, n, nil)
	d.Apply(func(i, j int, x float64) float64 { return x/w.AtVec(i) - 1/float64(n) }, product)
	var svd mat.SVD
	if !svd.Factorize(d, mat.SVDNone) {
		return math.NaN()
	}
	return svd.Values(nil)[0]
}

// leastContraction finds q on a grid of thousandths. Deviations below 1e-12 are rounding.
func leastContraction(deviation []float64) contraction {
	best := contraction{math.Inf(1), 0}
	for k := range 999 {
		c := contraction{0, float64(1+k) / 1000}
		for m, x := range deviation {
			if x > 1e-12 {
				c.c = max(c.c, x/math.Pow(c.q, float64(m)))
			}
		}
		if c.factor() < best.factor() {
			best = c
		}
	}
	return best
}
