package network

import (
	"fmt"
	"math"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"

	"sotto/config"
)

// WalkPrinted is the published pairwise Renyi divergence at order a > 1 of private SGD by
// a random walk over steps T >= 1 with hops drawn from the rows of a symmetric W
// (Cyffers, Bellet, Upadhyay 2024, arXiv 2402.07471), of every agent u against every
// observer v, with noise s of each update in units of its sensitivity:
//
//	f(u,v) = a T ln T/(s^2 n^2) + (a T/(s^2 n)) [-ln(I - W + 11'/n)]_{uv},
//
// or, where the observer learns who sent the token, the largest value over the neighbors
// of v in place of v. It is claimed, for comparison only.
func WalkPrinted(m *Matrix, agents int, order, noise float64, steps int, senderKnown bool) ([][]float64,
	error) {
	switch {
	case !(order > 1) || math.IsInf(order, 1):
		return nil, config.Bad("order", order, "finite numbers above 1")
	case !(noise > 0):
		return nil, config.Bad("noise_multiplier", noise, "numbers above 0")
	case steps < 1:
		return nil, config.Bad("steps", steps, "at least 1")
	case agents < 1 || m.largest() >= agents:
		return nil, config.Bad("agents", agents, fmt.Sprintf("at least %d", m.largest()+1))
	}
	communicability, err := logarithm(m, agents)
	if err != nil {
		return nil, err
	}
	n, t := float64(agents), float64(steps)
	base, scale := order*t*math.Log(t)/(noise*noise*n*n), order*t/(noise*noise*n)
	f := make([][]float64, agents)
	for u := range f {
		f[u] = make([]float64, agents)
		for v := range f[u] {
			x := communicability.At(u, v)
			if r, has := m.row(v); senderKnown && has {
				x = math.Inf(-1)
				for _, l := range r.In {
					x = math.Max(x, communicability.At(u, l.From))
				}
			}
			f[u][v] = base + scale*x
		}
	}
	return f, nil
}

// WalkPrintedObserver is [WalkPrinted] over its order, of every agent against observer v
// whom nobody tells who sent the token: f(u,v) = a c(u,v), as a power series that graphs
// of thousands of agents allow. ok is false where W mixes too slowly for it.
func WalkPrintedObserver(m *Matrix, agents, v int, noise float64, steps int) (c []float64, ok bool,
	err error) {
	switch {
	case !(noise > 0):
		return nil, false, config.Bad("noise_multiplier", noise, "numbers above 0")
	case steps < 1:
		return nil, false, config.Bad("steps", steps, "at least 1")
	case v < 0 || v >= agents || m.largest() >= agents:
		return nil, false, config.Bad("agents", agents, fmt.Sprintf("at least %d", max(v, m.largest())+1))
	}
	o := (&Gossip{Agents: agents}).operator(m)
	n, t := float64(agents), float64(steps)
	x := make([]float64, agents)
	x[v] = 1
	for i := range x {
		x[i] -= 1 / n
	}
	c = make([]float64, agents) // -ln(I - W + 11'/n) = sum over k >= 1 of (W^k - 11'/n)/k
	for k := 1; k <= mostTerms; k++ {
		x = o.apply(x)
		floats.AddScaled(c, 1/float64(k), x)
		if floats.Norm(x, math.Inf(1)) < 1e-15 {
			for u := range c {
				c[u] = (t*math.Log(t)/n + t*c[u]) / (noise * noise * n)
			}
			return c, true, nil
		}
		if drift := floats.Sum(x) / n; drift != 0 { // rounding along 1, which W keeps
			floats.AddConst(-drift, x)
		}
	}
	return nil, false, nil
}

// mostTerms bounds the power series.
const mostTerms = 20_000

// PrintedEpsilon is epsilon at delta by RDP(a) = a c, the conversion that goes with
// printed formulas: c + 2 sqrt(c ln(1/delta)).
func PrintedEpsilon(c, delta float64) float64 { return c + 2*math.Sqrt(c*math.Log(1/delta)) }

// logarithm is -ln(I - W + 11'/n) of a symmetric W whose eigenvalue 1 belongs to the
// constant vector alone.
func logarithm(m *Matrix, agents int) (*mat.SymDense, error) {
	w := mat.NewSymDense(agents, nil)
	for i := range agents {
		w.SetSym(i, i, 1)
	}
	for _, r := range m.rows {
		w.SetSym(r.Agent, r.Agent, r.Self.Value)
		for _, l := range r.In {
			if back, has := m.row(l.From); !has || weightFrom(back, r.Agent) != l.Weight.Value {
				return nil, config.Bad("weights", l.Weight.Value, "a symmetric matrix")
			}
			w.SetSym(r.Agent, l.From, l.Weight.Value)
		}
	}
	share := 1 / float64(agents)
	for i := range agents {
		for j := i; j < agents; j++ {
			x := share - w.At(i, j)
			if i == j {
				x++
			}
			w.SetSym(i, j, x)
		}
	}
	var eig mat.EigenSym
	if !eig.Factorize(w, true) {
		return nil, config.Bad("weights", "a matrix without eigenvalues", "a symmetric matrix")
	}
	var vectors mat.Dense
	eig.VectorsTo(&vectors)
	values := eig.Values(nil)
	out := mat.NewSymDense(agents, nil)
	for k, x := range values {
		if x < 1e-12 {
			return nil, config.Bad("graph", "a disconnected one", "connected graphs")
		}
		out.SymRankOne(out, -math.Log(x), vectors.ColView(k))
	}
	return out, nil
}

func weightFrom(r Row, agent int) float64 {
	for _, l := range r.In {
		if l.From == agent {
			return l.Weight.Value
		}
	}
	return math.NaN()
}

// CompletePrinted is the published accounting of a random walk on the complete graph
// (Cyffers, Bellet 2022, arXiv 2012.05326). It is claimed, for comparison only; a
// derivation from weak convexity gives twice the coefficient.
type CompletePrinted struct {
	Contributions float64 // 1.2 T/n
	// Coefficient c of RDP(a) = a c: 2 K ln n/(s^2 n) for K contributions, noise s in
	// units of the sensitivity.
	Coefficient  float64
	LargestOrder float64 // s >= sqrt(2 a (a-1)) up to here
	Spotted      int     // contributions at the local price: ceil(2K/n + sqrt(6 K ln(1/delta)/n))
}

// WalkCompletePrinted evaluates the published accounting for T = steps hops among n =
// agents.
func WalkCompletePrinted(agents, steps int, noise, delta float64) (CompletePrinted, error) {
	switch {
	case agents < 2:
		return CompletePrinted{}, config.Bad("agents", agents, "at least 2")
	case steps < 1:
		return CompletePrinted{}, config.Bad("steps", steps, "at least 1")
	case !(noise > 0):
		return CompletePrinted{}, config.Bad("noise_multiplier", noise, "numbers above 0")
	case !(delta > 0 && delta < 1):
		return CompletePrinted{}, config.Bad("delta", delta, "above 0 and below 1")
	}
	n := float64(agents)
	k := 1.2 * float64(steps) / n
	return CompletePrinted{Contributions: k, Coefficient: 2 * k * math.Log(n) / (noise * noise * n),
		LargestOrder: (1 + math.Sqrt(1+2*noise*noise)) / 2, // a^2 - a = s^2/2
		Spotted:      int(math.Ceil(2*k/n + math.Sqrt(6*k*math.Log(1/delta)/n)))}, nil
}
