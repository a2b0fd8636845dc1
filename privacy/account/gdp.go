package account

import "math"

// minContinuous is the smallest sigma_grid at which a discrete Gaussian is read as a
// continuous one.
const minContinuous = 32

// gaussianMu returns the GDP parameter of an unsampled event that is exactly a Gaussian
// mechanism, or is dominated by one without visible loss; mu is +Inf without noise.
//
// A discrete Gaussian of parameter sigma in any dimension is read as the continuous
// Gaussian of variance sigma^2 - 9: release v + N(0, sigma^2-9) and round it to the grid
// by a discrete Gaussian of parameter 3 around it. By Poisson summation the result has
// the law of the discrete mechanism up to a factor within 1 +- 2 exp(-18 pi^2) < 1 +-
// 1e-76 per coordinate, so the discrete mechanism is post-processing of the continuous
// one up to an epsilon below 1e-40 for any admissible dimension and count, far under one
// unit in the last place.
func gaussianMu(b *body) (mu float64, ok bool) {
	switch b.typ {
	case TypeGaussian:
		return b.shift / b.noise, true
	case TypeGDP:
		return b.mu, true
	case TypeDiscreteGaussian:
		return b.l2Grid / math.Sqrt(b.sigmaGrid*b.sigmaGrid-9), b.sigmaGrid >= minContinuous
	case TypeTree:
		return math.Sqrt(float64(treeHeight(b.steps))*float64(b.restarts+1)) / b.noise, true
	case TypeRepeat:
		mu, ok = gaussianMu(b.event)
		return mu * math.Sqrt(float64(b.count)), ok
	case TypeCompose:
		var sum float64
		for _, c := range b.events {
			m, ok := gaussianMu(c)
			if !ok {
				return 0, false
			}
			sum += m * m
		}
		return math.Sqrt(sum), true
	}
	return 0, false
}

// treeHeight is ceil(log2(steps+1)), the number of nodes of a binary tree that one value
// enters.
func treeHeight(steps int) int {
	m := 0
	for s := steps; s > 0; s >>= 1 {
		m++
	}
	return m
}

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
	_, ok := gaussianMu(b)
	if !ok || b.typ == TypeTree && g.unit.members() > 1 {
		return unsupported(b, "gdp", g.adjacency, g.unit,
			"gaussian, gdp, tree (unit record) and discrete_gaussian with sigma_grid >= 32, all without "+
				"sampling")
	}
	return nil
}

// Mu returns the GDP parameter of everything composed, +Inf for non-private events.
func (g *ExactGaussian) Mu() float64 {
	all, nonPrivate := g.branches()
	if nonPrivate {
		return math.Inf(1)
	}
	var worst float64
	for _, l := range all {
		worst = math.Max(worst, totalMu(l, g.unit))
	}
	return worst
}

// totalMu composes entries that are all Gaussian.
func totalMu(l []entry, u Unit) float64 {
	var sum float64
	for _, e := range l {
		m, _ := gaussianMu(e.body)
		m *= float64(u.members())
		sum += m * m * float64(e.count)
	}
	return math.Sqrt(sum)
}

// Epsilon returns the exact epsilon at delta.
func (g *ExactGaussian) Epsilon(delta float64) (Interval, error) {
	if err := checkDelta(delta); err != nil {
		return Interval{}, err
	}
	return gaussianInterval(g.Mu(), delta), nil
}

// gaussianInterval allows 1e-12 for the root and the error function.
func gaussianInterval(mu, delta float64) Interval {
	e := GaussianEpsilon(mu, delta)
	return Interval{Lower: e * (1 - 5e-13), Upper: e * (1 + 5e-13)}
}

// Delta returns the exact delta at epsilon.
func (g *ExactGaussian) Delta(epsilon float64) (Interval, error) {
	if err := checkEpsilon(epsilon); err != nil {
		return Interval{}, err
	}
	d := GaussianDelta(g.Mu(), epsilon)
	return Interval{Lower: d * (1 - 1e-12), Upper: math.Min(1, d*(1+1e-12))}, nil
}

// Describe implements Accountant.
func (g *ExactGaussian) Describe() Description {
	return Description{Method: "exact Gaussian composition", Provenance: "proved",
		Citations: []string{"Balle, Wang 2018, arXiv 1805.06530", "Dong, Roth, Su 2022, arXiv 1905.02383"}}
}
