package topology

import (
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/mat"

	"sotto/agent"
)

const (
	denseLimit   = 1024   // agents up to which all eigenvalues are computed
	lanczosLimit = 20_000 // agents up to which the extreme ones are
)

// Info describes a graph and its mixing matrix W.
type Info struct {
	Agents           int     `json:"agents"`
	Links            int     `json:"links"`
	DegreeMin        int     `json:"degree_min"`
	DegreeMean       float64 `json:"degree_mean"`
	DegreeMax        int     `json:"degree_max"`
	Symmetric        bool    `json:"symmetric"`
	DoublyStochastic bool    `json:"doubly_stochastic"`
	Connected        bool    `json:"connected"`
	Draws            int     `json:"draws"` // see [Graph.Draws]
	Spectrum
}

// Spectrum is what the eigenvalues of the mixing matrix W and of the graph say.
type Spectrum struct {
	// Computed says whether the fields below hold; if not, NotComputed says why and they
	// are 0.
	Computed    bool   `json:"spectrum_computed"`
	NotComputed string `json:"spectrum_not_computed,omitempty"`
	// Fiedler is λ2, the second smallest eigenvalue of the Laplacian of the unweighted
	// graph.
	Fiedler float64 `json:"fiedler"`
	// NormalizedFiedler is Fiedler divided by the number of agents: 1 for a complete
	// graph.
	NormalizedFiedler float64 `json:"fiedler_normalized"`
	Lambda2           float64 `json:"lambda_2"` // second largest eigenvalue of W
	LambdaN           float64 `json:"lambda_n"` // smallest eigenvalue of W
	Gap               float64 `json:"gap"`      // 1 - λ2(W)
	// AbsoluteGap is 1 - ρ with ρ = max(|λ2|, |λn|): disagreement shrinks by ρ in each
	// round.
	AbsoluteGap float64 `json:"gap_absolute"`
	// MixingTime is the least number of rounds k >= 1 after which mixing alone has shrunk
	// the worst disagreement by 1/e, ρ^k <= 1/e. 0 where it never does (ρ >= 1).
	MixingTime int `json:"mixing_time"`
}

// Analyze returns degrees and spectrum of a graph that passes [Validate]. Eigenvalues are
// exact to about 1e-9: up to 1,024 agents from a dense symmetric solver, up to 20,000 by
// Lanczos iteration with full reorthogonalisation of at most 1,200 steps; rings and paths
// with one weight on all links have a closed form for any size. Beyond that, for other
// graphs that need more steps (as a wheel of 20,000 does) and for matrices without
// detailed balance (directed graphs) Info says that they are not computed. A matrix that
// is not symmetric but in detailed balance with its stationary weights, as uniform
// weights are, has the real spectrum of its symmetrised form. The error is that of a
// failing eigensolver.
//
// A graph with objective weights is analyzed with its rows scaled to 1 (see
// [Graph.Walk]).
func Analyze(g *Graph) (Info, error) {
	n := g.Agents()
	if g.similar {
		if n > lanczosLimit { // nothing below would be computed either
			g = &Graph{
				name:     g.name,
				start:    g.start,
				in:       g.in,
				self:     g.self,
				outStart: g.outStart,
				out:      g.out,
				marks:    marks{symmetric: true, draws: g.draws},
			}
		} else {
			g = g.Walk()
		}
	}
	info := Info{Agents: n, Links: g.Links(), DegreeMin: n, Symmetric: g.symmetric,
		DoublyStochastic: g.DoublyStochastic(), Connected: g.Connected(), Draws: g.draws}
	for i := range n {
		d := g.Degree(agent.ID(i))
		info.DegreeMin, info.DegreeMax = min(info.DegreeMin, d), max(info.DegreeMax, d)
	}
	info.DegreeMean = float64(entries(g)) / float64(n)
	pi, ok := Stationary(g)
	switch {
	case n == 1:
		info.NotComputed = "one agent has no second eigenvalue"
	case !info.Connected:
		info.NotComputed = "the graph is disconnected"
	case !ok:
		info.NotComputed = "the matrix is not in detailed balance"
	case info.DegreeMax <= 2 && evenlyWeighted(g):
		info.chain(g)
	case implicit(g):
		// the Laplacian is nI - 11', and W = I - w times that, but for its diagonal
		info.Fiedler = float64(n)
		info.Lambda2 = g.self[0] - g.every
		info.LambdaN = info.Lambda2
		info.derive()
	case n > lanczosLimit:
		info.NotComputed = fmt.Sprintf("more than %d agents", lanczosLimit)
	case Validate(g, Claims{}) != nil:
		info.NotComputed = "rows do not sum to 1: weights of push-sum"
	default:
		err := info.spectrum(g, pi)
		return info, err
	}
	return info, nil
}

// spectrum fills the eigenvalue fields.
func (info *Info) spectrum(g *Graph, pi []float64) error {
	n := g.Agents()
	extremes := lanczos
	if n <= denseLimit {
		extremes = dense
	}
	ones, root := make([]float64, n), make([]float64, n)
	for i := range n {
		ones[i], root[i] = 1, math.Sqrt(pi[i])
	}
	lap, ok, err := extremes(n, g.laplacian, ones, lowEnd)
	if err != nil {
		return err
	}
	if ok {
		var w [2]float64
		if w, ok, err = extremes(n, g.symmetrised, root, bothEnds); err != nil {
			return err
		}
		info.Lambda2, info.LambdaN = w[1], w[0]
	}
	if !ok {
		info.Lambda2, info.LambdaN = 0, 0
		info.NotComputed = fmt.Sprintf("Lanczos iteration did not converge in %d steps", lanczosSteps(n))
		return nil
	}
	info.Fiedler = lap[0]
	info.derive()
	return nil
}

// evenlyWeighted reports whether all links carry the same weight w, so that W = I -
// w·Laplacian.
func evenlyWeighted(g *Graph) bool {
	for _, nb := range g.in {
		if nb.Weight != g.in[0].Weight {
			return false
		}
	}
	return true
}

// chain fills the eigenvalues of a connected graph with degrees of at most 2: a ring,
// whose Laplacian has the eigenvalues 2 - 2cos(2πk/n), or a path, 2 - 2cos(πk/n), k = 0
// .. n-1.
func (info *Info) chain(g *Graph) {
	n := float64(info.Agents)
	low, high := math.Pi/n, math.Pi*(n-1)/n
	if info.DegreeMin == 2 {
		low, high = 2*math.Pi/n, 2*math.Pi*math.Floor(n/2)/n
	}
	// 2 - 2cos(x) = 4 sin²(x/2), which keeps its digits for small x.
	eigenvalue := func(x float64) float64 { return 4 * math.Sin(x/2) * math.Sin(x/2) }
	w := g.in[0].Weight
	info.Fiedler = eigenvalue(low)
	info.Lambda2, info.LambdaN = 1-w*info.Fiedler, 1-w*eigenvalue(high)
	info.derive()
}

// derive fills what follows from Fiedler, Lambda2 and LambdaN.
func (info *Info) derive() {
	info.Computed = true
	info.NormalizedFiedler = info.Fiedler / float64(info.Agents)
	info.Gap = 1 - info.Lambda2
	rho := max(math.Abs(info.Lambda2), math.Abs(info.LambdaN))
	info.AbsoluteGap = 1 - rho
	switch {
	case rho >= 1:
	case rho <= math.Exp(-1):
		info.MixingTime = 1
	default:
		info.MixingTime = int(math.Ceil(-1 / math.Log(rho)))
	}
}

// Stationary returns the weights π with πW = π and sum 1 that plain averaging converges
// to, Σ_i π_i x_i at every agent; 1/n each for a doubly stochastic matrix. It returns
// false unless the graph is connected and W is in detailed balance with π, π_i w_ij = π_j
// w_ji within 1e-9, as every matrix built by this package on an undirected graph is.
func Stationary(g *Graph) ([]float64, bool) {
	if g.directed || !g.Connected() {
		return nil, false
	}
	n := g.Agents()
	if implicit(g) {
		return slices.Repeat([]float64{1 / float64(n)}, n), true
	}
	pi := make([]float64, n)
	pi[0] = 1
	total := 1.0
	for queue := []agent.ID{0}; len(queue) > 0; {
		i := queue[0]
		queue = queue[1:]
		out := g.Out(i)
		for k, nb := range g.In(i) {
			if !(nb.Weight > 0 && out[k].Weight > 0) {
				return nil, false
			}
			if pi[nb.ID] == 0 {
				pi[nb.ID] = pi[i] * nb.Weight / out[k].Weight
				total += pi[nb.ID]
				queue = append(queue, nb.ID)
			}
		}
	}
	for i := range pi {
		pi[i] /= total
	}
	for i := range n {
		out := g.Out(agent.ID(i))
		for k, nb := range g.In(agent.ID(i)) {
			a, b := pi[i]*nb.Weight, pi[nb.ID]*out[k].Weight
			if !(math.Abs(a-b) <= 1e-9*max(a, b)) {
				return nil, false
			}
		}
	}
	return pi, true
}

// laplacian sets y = Lx, L = degrees on the diagonal minus adjacency.
func (g *Graph) laplacian(y, x []float64) {
	for i := range y {
		row := g.In(agent.ID(i))
		s := float64(len(row)) * x[i]
		for _, nb := range row {
			s -= x[nb.ID]
		}
		y[i] = s
	}
}

// symmetrised sets y = Sx, S_ij = sqrt(w_ij w_ji): similar to W under detailed balance,
// and equal to W where W is symmetric.
func (g *Graph) symmetrised(y, x []float64) {
	for i := range y {
		s := g.self[i] * x[i]
		out := g.Out(agent.ID(i))
		for k, nb := range g.In(agent.ID(i)) {
			w := nb.Weight
			if !g.symmetric {
				w = math.Sqrt(w * out[k].Weight)
			}
			s += w * x[nb.ID]
		}
		y[i] = s
	}
}

// dense returns the lowest and highest eigenvalue of the symmetric operator apply on the
// complement of its eigenvector known.
func dense(n int, apply func(y, x []float64), known []float64, _ ends) ([2]float64, bool, error) {
	m := mat.NewSymDense(n, nil)
	x, y := make([]float64, n), make([]float64, n)
	for j := range n {
		x[j] = 1
		apply(y, x)
		x[j] = 0
		for i := 0; i <= j; i++ {
			m.SetSym(i, j, y[i])
		}
	}
	// Move the known eigenvalue to the far middle of the rest: λ of known becomes the
	// mean of the others.
	apply(y, known)
	var norm2, rayleigh float64
	for i := range n {
		norm2 += known[i] * known[i]
		rayleigh += known[i] * y[i]
	}
	rayleigh /= norm2
	var trace float64
	for i := range n {
		trace += m.At(i, i)
	}
	shift := (trace-rayleigh)/float64(n-1) - rayleigh
	for j := range n {
		for i := 0; i <= j; i++ {
			m.SetSym(i, j, m.At(i, j)+shift*known[i]*known[j]/norm2)
		}
	}
	var eig mat.EigenSym
	if !eig.Factorize(m, false) {
		return [2]float64{}, false, fmt.Errorf("topology: eigensolver did not converge for %d agents", n)
	}
	v := eig.Values(nil)
	return [2]float64{v[0], v[n-1]}, true, nil
}
