package account

import (
	"math"
	"slices"

	"sotto/privacy/account/gdp"
)

// ExactGaussian is the accountant of unsampled Gaussian events ("gdp" and "exact"): mu =
// sqrt(sum_t (shift_t/noise_t)^2), converted exactly. Adaptive, heterogeneous composition
// loses nothing (Dong, Roth, Su 2022; Balle, Wang 2018). A group of k records multiplies
// mu by k. Lower and Upper differ by 1e-12 relative, the error of the root.
type ExactGaussian struct{ tally }

// NewExactGaussian returns an empty accountant.
func NewExactGaussian(a Adjacency, u Unit) (*ExactGaussian, error) {
	g := &ExactGaussian{}
	var err error
	g.tally, err = newTally("gdp", a, u, g.check)
	return g, err
}

func (g *ExactGaussian) check(b *body) error {
	if _, ok := g.mu(b); !ok {
		return g.unsupported(b, "gdp", "gaussian, gdp, tree (unit record) and discrete_gaussian with "+
			"sigma_grid >= 32, all without sampling")
	}
	return nil
}

// Mu returns the GDP parameter of everything composed, +Inf for non-private events and of
// the zero accountant.
func (g *ExactGaussian) Mu() float64 {
	mu, err := g.total()
	if err != nil {
		return math.Inf(1)
	}
	return mu
}

func (g *ExactGaussian) total() (float64, error) {
	i, err := g.worst("", anyEpsilon, func(l []entry) (Interval, error) {
		return Interval{0, totalMu(l, g.unit)}, nil
	})
	return i.Upper, err
}

// totalMu composes entries that are all Gaussian.
func totalMu(l []entry, u Unit) float64 {
	var root rootSum
	for _, e := range l {
		m, _ := gaussianMu(e.body)
		root.add(m*float64(u.members()), float64(e.count))
	}
	return root.value()
}

// rootSum is the square root of a sum of count * m * m. A power of two is taken out of
// every m, so that no square is 0, or infinite, where the root is not.
type rootSum struct {
	sum   float64
	power int // sum is of m / 2^power
}

func (r *rootSum) add(m, count float64) {
	if m == 0 || count == 0 {
		return
	}
	if _, power := math.Frexp(m); r.sum == 0 || power > r.power {
		r.sum = math.Ldexp(r.sum, 2*(r.power-power))
		r.power = power
	}
	m = math.Ldexp(m, -r.power)
	r.sum += m * m * count
}

func (r *rootSum) value() float64 { return math.Ldexp(math.Sqrt(r.sum), r.power) }

// Epsilon returns the exact epsilon at delta; of discrete Gaussians with a coarse grid an
// upper end alone.
func (g *ExactGaussian) Epsilon(delta float64) (Interval, error) {
	if err := checkDelta(delta); err != nil {
		return Interval{}, err
	}
	mu, err := g.total()
	if err != nil {
		return Interval{}, err
	}
	i := gaussianInterval(mu, delta)
	if g.coarse() {
		i.Lower = 0
	}
	return i, nil
}

// gaussianInterval allows 1e-12 for the root and the error function.
func gaussianInterval(mu, delta float64) Interval {
	e := gdp.Epsilon(mu, delta)
	return Interval{Lower: e * (1 - 5e-13), Upper: e * (1 + 5e-13)}
}

// Delta returns the exact delta at epsilon, as Epsilon does.
func (g *ExactGaussian) Delta(epsilon float64) (Interval, error) {
	if err := checkEpsilon(epsilon); err != nil {
		return Interval{}, err
	}
	mu, err := g.total()
	if err != nil {
		return Interval{}, err
	}
	d := gdp.Delta(mu, epsilon)
	i := Interval{Lower: d * (1 - 1e-12), Upper: math.Min(1, d*(1+1e-12))}
	if g.coarse() {
		i.Lower = 0
	}
	if i.Upper == 0 && mu > 0 {
		i.Upper = math.SmallestNonzeroFloat64 // the true one is smaller than any number there is
	}
	return i, nil
}

// coarse reports whether what was composed is bounded by Gaussian noise rather than equal
// to it: discrete Gaussians of few grid steps.
func (g *ExactGaussian) coarse() bool {
	for _, l := range g.lists {
		if slices.ContainsFunc(l, func(e entry) bool { return e.body.coarse() }) {
			return true
		}
	}
	return false
}

// Describe implements Accountant.
func (g *ExactGaussian) Describe() Description {
	method := "exact Gaussian composition"
	if g.coarse() {
		method = "Gaussian composition, of discrete Gaussians by a bound"
	}
	return Description{Method: method, Provenance: "proved",
		Citations: []string{"Balle, Wang 2018, arXiv 1805.06530", "Dong, Roth, Su 2022, arXiv 1905.02383"}}
}
