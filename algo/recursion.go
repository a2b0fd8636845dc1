package algo

import (
	"math"

	"sotto/agent"
	"sotto/config"
	"sotto/tensor"
)

// Recursion says how rounds of averaging follow each other, y^0 being where they begin:
//
//	y^{k+1} = a_k W y^k + b_k y^k - c_k y^{k-1},  a_k + b_k - c_k = 1,  c_0 = 0
//
// so that the mean of all agents' y is kept by a doubly stochastic W.
//
//	plain         a = 1, b = c = 0
//	chebyshev     a_0 = 1; then a = ω, c = ω-1,  ω = 2/(1 + sqrt(1-ρ²))
//	chebyshev-ns  a_0 = 1; then a_k = ω_k, c_k = ω_k - 1,  ω_1 = 1/(1-ρ²/2),
//	              ω_{k+1} = 1/(1-ρ²ω_k/4)  (Golub, Varga 1961)
//	paper         a_0 = 1; then a = ω, c = ω-1,  ω = 2(1 - sqrt(L(1-L/4)))/(1-L/2)²,
//	              L = 1-λ_2
//	jacobi        a_0 = (D+4)/(2(D+2)), b_0 = D/(2(D+2)), and for k >= 1
//	              a_k = (2k+D/2+1)(2k+D/2+2)/(2(k+1+D/2)²),
//	              b_k = D²(2k+D/2+1)/(8(k+1+D/2)²(2k+D/2)),
//	              c_k = k²(2k+D/2+2)/((k+1+D/2)²(2k+D/2))
//	              (Berthier, Bach, Gaillard 2020, D the spectral dimension)
//
// paper is the acceleration of Cyffers, Even, Bellet, Massoulié (2022), which is the best
// one for (I+W)/2: slower than chebyshev.
type Recursion struct {
	// Acceleration is "plain", "chebyshev", "chebyshev-ns", "jacobi" or "paper". If the
	// graph's spectrum is not known, newton and boosting use plain in place of chebyshev.
	Acceleration string `toml:"acceleration"`
	// Rho is ρ = max(|λ_2|, |λ_n|) of the mixing matrix, or λ_2 with paper, in [0, 1); 0:
	// the value of the first round's graph.
	Rho float64 `toml:"rho,omitempty"`
	// Dimension is D > 0, with jacobi: 1 for a ring or path, 2 for a grid.
	Dimension float64 `toml:"spectral_dimension,omitempty"`

	// ZeroStart takes y^{-1} = 0 in the first round too, as the published code does: a_0
	// = ω. It multiplies the mean by a factor that tends to 1/(2-ω). Replication only: it
	// is no key of [algorithm].
	ZeroStart bool `toml:"-"`
}

// accelerations by name.
var accelerations = map[string]bool{"plain": true, "chebyshev": true, "chebyshev-ns": true, "jacobi": true,
	"paper": true}

// Set implements Settable.
func (r *Recursion) Set(s Setting) { r.ZeroStart = s.ZeroStart }

func (r *Recursion) check() error {
	switch {
	case !accelerations[r.Acceleration]:
		return config.Bad("acceleration", r.Acceleration, config.OneOf(accelerations))
	case !(r.Rho >= 0 && r.Rho < 1):
		return config.Bad("rho", r.Rho, "at least 0 (0: that of the graph) and below 1")
	case r.Rho > 0 && !r.spectral():
		return config.Bad("rho", r.Rho, "no value with acceleration "+r.Acceleration)
	case r.Acceleration == "jacobi" && !(r.Dimension > 0 && r.Dimension <= 1000):
		return config.Bad("spectral_dimension", r.Dimension,
			"above 0 and at most 1000 with acceleration jacobi: 1 for a ring or path, 2 for a grid")
	case r.Acceleration != "jacobi" && r.Dimension != 0:
		return config.Bad("spectral_dimension", r.Dimension, "no value with acceleration "+r.Acceleration)
	case r.ZeroStart && r.Acceleration != "chebyshev" && r.Acceleration != "paper":
		return config.Bad("acceleration", r.Acceleration, "chebyshev or paper with zero_start")
	}
	return nil
}

// spectral says that coefficients depend on the mixing matrix.
func (r *Recursion) spectral() bool {
	return r.Acceleration == "chebyshev" || r.Acceleration == "chebyshev-ns" || r.Acceleration == "paper"
}

// fill takes ρ from the graph where none is given.
func (r *Recursion) fill(env agent.Env) error {
	if r.Rho == 0 {
		if r.Rho = env.Graph.SLEM; r.Acceleration == "paper" {
			r.Rho = env.Graph.Lambda2
		}
	}
	least := 0.
	if r.Acceleration == "paper" { // λ_2 may be negative, by rounding on a complete graph
		least = math.Nextafter(-1, 0)
	}
	if r.spectral() && !(r.Rho >= least && r.Rho < 1) {
		return config.Bad("acceleration", r.Acceleration,
			"plain, or rho below 1, for a graph whose spectrum is not known or that does not mix")
	}
	return nil
}

// Coefficients returns a, b and c of the first rounds on a graph with env's spectrum, Rho
// and Second; nil where they are 1, 0 and 0 in all. Settings that averaging refuses give
// a *config.Error.
func (r Recursion) Coefficients(env agent.Env, rounds int) ([][3]float64, error) {
	if err := r.check(); err != nil {
		return nil, err
	}
	if err := r.fill(env); err != nil {
		return nil, err
	}
	return r.first(rounds), nil
}

// Rounds is after how many rounds what agents differ by is at most the tolerance, above
// 0, of what they differed by at first, by the graph's spectrum; 0: after none of
// 65,536, or the spectrum is not known. Settings that averaging refuses give a
// *config.Error.
func (r Recursion) Rounds(env agent.Env, tolerance float64) (uint64, error) {
	if err := r.check(); err != nil {
		return 0, err
	}
	if err := r.fill(env); err != nil {
		return 0, err
	}
	rate := max(env.Graph.SLEM, r.Rho)
	if !(rate < 1) {
		return 0, nil
	}
	const points = 128 // on either side of 0, at which the polynomial of k rounds is looked at
	now, before := make([]float64, 2*points+1), make([]float64, 2*points+1)
	for i := range now {
		now[i] = 1
	}
	omega := 0.
	for k := range uint64(1 << 16) {
		first, own, back := r.at(k, omega)
		most := 0.
		for i, y := range now {
			eigenvalue := rate * float64(i-points) / points
			now[i], before[i] = (first*eigenvalue+own)*y-back*before[i], y
			most = max(most, math.Abs(now[i]))
		}
		if omega = first; most <= tolerance {
			return k + 1, nil
		}
	}
	return 0, nil
}

// first is Coefficients of settings that have been checked and filled.
func (r *Recursion) first(rounds int) [][3]float64 {
	if r.Acceleration == "plain" {
		return nil
	}
	all, omega := make([][3]float64, rounds), 0.
	for k := range all {
		a, b, c := r.at(uint64(k), omega)
		all[k], omega = [3]float64{a, b, c}, a
	}
	return all
}

// at returns the coefficients of the round from y^k to y^{k+1}; omega is a_{k-1}, which
// chebyshev-ns needs.
func (r *Recursion) at(k uint64, omega float64) (a, b, c float64) {
	if r.Acceleration == "jacobi" {
		return jacobi(float64(k), r.Dimension)
	}
	a = r.omega(k, omega)
	return a, 0, a - 1
}

func (r *Recursion) omega(k uint64, omega float64) float64 {
	square := r.Rho * r.Rho
	switch {
	case r.Acceleration == "plain" || k == 0 && !r.ZeroStart:
		return 1
	case r.Acceleration == "chebyshev":
		return 2 / (1 + math.Sqrt(1-square))
	case r.Acceleration == "paper":
		gap := 1 - r.Rho
		return 2 * (1 - math.Sqrt(gap*(1-gap/4))) / ((1 - gap/2) * (1 - gap/2))
	case k == 1:
		return 1 / (1 - square/2)
	}
	return 1 / (1 - float64(square*omega)/4)
}

// jacobi are the coefficients of Jacobi iteration.
func jacobi(k, d float64) (a, b, c float64) {
	if k == 0 {
		return (d + 4) / (2 * (d + 2)), d / (2 * (d + 2)), 0
	}
	m, square := 2*k+d/2, (k+1+d/2)*(k+1+d/2)
	return (m + 1) * (m + 2) / (2 * square), d * d * (m + 1) / (8 * square * m),
		k * k * (m + 2) / (square * m)
}

// advance sets next, which holds W y, to y^{k+1}; previous is y^{k-1}.
func (r *Recursion) advance(next, y, previous tensor.Vec, a, b, c float64) {
	if a != 1 {
		next.Scale(a, next)
	}
	if b != 0 {
		next.AddScaled(b, y)
	}
	if c != 0 {
		next.AddScaled(-c, previous)
	}
}
