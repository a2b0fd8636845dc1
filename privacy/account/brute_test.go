package account

import (
	"math"
	"math/big"
	"testing"

	"pgregory.net/rapid"

	"sotto/privacy/account/loss"
)

// discrete is a pair of laws on few outcomes with rational probabilities.
type discrete struct{ p, q []*big.Rat }

// drawDiscrete makes random weights; a zero weight gives an infinite loss.
func drawDiscrete(t *rapid.T, smallest int64) discrete {
	n := rapid.IntRange(2, 6).Draw(t, "outcomes")
	law := func(name string) []*big.Rat {
		var sum int64
		w := make([]int64, n)
		for i := range w {
			w[i] = rapid.Int64Range(smallest, 12).Draw(t, name)
			sum += w[i]
		}
		if sum == 0 {
			w[0], sum = 1, 1
		}
		out := make([]*big.Rat, n)
		for i := range out {
			out[i] = big.NewRat(w[i], sum)
		}
		return out
	}
	return discrete{law("p"), law("q")}
}

// product is the joint law of two independent mechanisms.
func (d discrete) product(e discrete) discrete {
	var out discrete
	for i := range d.p {
		for j := range e.p {
			out.p = append(out.p, new(big.Rat).Mul(d.p[i], e.p[j]))
			out.q = append(out.q, new(big.Rat).Mul(d.q[i], e.q[j]))
		}
	}
	return out
}

// delta is H_a(P||Q), exactly.
func (d discrete) delta(a *big.Rat) float64 {
	sum := new(big.Rat)
	for i := range d.p {
		x := new(big.Rat).Sub(d.p[i], new(big.Rat).Mul(a, d.q[i]))
		if x.Sign() > 0 {
			sum.Add(sum, x)
		}
	}
	f, _ := sum.Float64()
	return f
}

func float(r *big.Rat) float64 { f, _ := r.Float64(); return f }

func (d discrete) pair() pair {
	var atoms []atom
	var pInf, qInf float64
	for i := range d.p {
		p, q := float(d.p[i]), float(d.q[i])
		switch {
		case p > 0 && q > 0:
			atoms = append(atoms, atom{math.Log(p / q), p, q})
		case p > 0:
			pInf += p
		default:
			qInf += q
		}
	}
	return atomPair(atoms, pInf, qInf, false)
}

// TestBruteForceComposition enumerates all output sequences of random discrete mechanisms
// with exact arithmetic and compares delta(eps) with the interval of the grids, both
// directions.
func TestBruteForceComposition(t *testing.T) {
	fewer(t, 6)
	rapid.Check(t, func(t *rapid.T) {
		one, two := drawDiscrete(t, 0), drawDiscrete(t, 1)
		m, n := rapid.IntRange(1, 3).Draw(t, "m"), rapid.IntRange(0, 2).Draw(t, "n")
		all := one
		for range m - 1 {
			all = all.product(one)
		}
		w := workload{pairs: []pair{one.pair()}, counts: []int{m}, pure: math.Inf(1)}
		for range n {
			all = all.product(two)
		}
		if n > 0 {
			w.pairs, w.counts = append(w.pairs, two.pair()), append(w.counts, n)
		}
		a := big.NewRat(rapid.Int64Range(8, 64).Draw(t, "a"), 8)
		eps := math.Log(float(a))
		want := math.Max(all.delta(a), discrete{all.q, all.p}.delta(a))
		got, err := w.delta(eps)
		if err != nil {
			t.Fatal(err)
		}
		const tiny = 1e-12
		if want > got.Upper+tiny || want < got.Lower-tiny || got.Upper > want+1e-3*want+1e-6 ||
			want-got.Lower > 0.01*want+1e-3 && want < 0.999 {
			t.Fatalf("delta(%v) is %v, got %v", eps, want, got)
		}
		if want < 1e-6 || m+n == 1 {
			return
		}
		i, err := w.epsilon(want, true, bothWays)
		if err != nil {
			t.Fatal(err)
		}
		// The least epsilon at delta = want is eps, unless the profile is flat there;
		// then it is smaller.
		if i.Lower > eps+1e-9 || all.delta(a) > 0 && i.Upper < eps-1e-9 &&
			math.Max(all.delta(bigExpRat(i.Upper)), discrete{all.q, all.p}.delta(bigExpRat(i.Upper))) >
				want*(1+1e-9) {
			t.Fatalf("epsilon at %v is %v, got %v; %v %v, %v %v", want, eps, i, m, one, n, two)
		}
	})
}

func bigExpRat(x float64) *big.Rat {
	r := new(big.Rat)
	r.SetFloat64(math.Exp(x))
	return r
}

// TestBruteForceSamplers enumerates all batches of three records, of which the first is
// the one that changes, under randomized response on their number of ones, and checks
// that the samplers' bounds hold: Poisson is attained, and so is fixed-size in one
// direction.
func TestBruteForceSamplers(t *testing.T) {
	const q, keep = 0.3, 0.8 // the mechanism answers "some one in the batch" truthfully with probability keep
	law := func(records []bool, weight func(batch int) float64) (yes float64) {
		for batch := 0; batch < 1<<len(records); batch++ {
			some := false
			for i, r := range records {
				some = some || r && batch>>i&1 == 1
			}
			p := 1 - keep
			if some {
				p = keep
			}
			yes += weight(batch) * p
		}
		return yes
	}
	poisson := func(n int) func(int) float64 {
		return func(batch int) float64 {
			w := 1.0
			for i := range n {
				if batch>>i&1 == 1 {
					w *= q
				} else {
					w *= 1 - q
				}
			}
			return w
		}
	}
	eps0 := math.Log(keep / (1 - keep))
	rr := epsDeltaPair(eps0, 0)
	sampled := poissonPair(q, rr)
	for _, eps := range []float64{0, 0.05, 0.1, 0.2, 0.3} {
		with, without := law([]bool{true, false, false}, poisson(3)), law([]bool{false, false}, poisson(2))
		exact := hockey(with, without, eps)
		if bound := profileOf(sampled, false, eps); math.Abs(exact-bound) > 1e-12 {
			t.Errorf("remove at %v: exact %v, bound %v", eps, exact, bound)
		}
		exact = hockey(without, with, eps)
		if bound := profileOf(sampled, true, eps); math.Abs(exact-bound) > 1e-12 {
			t.Errorf("add at %v: exact %v, bound %v", eps, exact, bound)
		}
	}
	fixedSizeOfThree(t, eps0, law)
}

// fixedSizeOfThree: two of three records without replacement, one replaced: delta is the
// bound in one direction and not above it in the other, and the Renyi divergence stays
// below the amplified bound of a Gaussian mechanism that is at least as bad at every
// order.
func fixedSizeOfThree(t *testing.T, eps0 float64, law func([]bool, func(int) float64) float64) {
	two := func(batch int) float64 {
		if batch == 3 || batch == 5 || batch == 6 {
			return 1. / 3
		}
		return 0
	}
	p, r := law([]bool{true, false, false}, two), law([]bool{false, false, false}, two)
	sampled := pair{loss.Subset(2./3, epsDeltaPair(eps0, 0).Source), true, false, nil}
	for _, eps := range []float64{0, .05, .2, .5, .8, 1} {
		there, back := hockey(p, r, eps), hockey(r, p, eps)
		for _, mirrored := range []bool{false, true} {
			bound := profileOf(sampled, mirrored, eps)
			if math.Abs(there-bound) > 1e-12 || back > bound+1e-12 {
				t.Errorf("fixed size at %v: exact %v and %v, bound %v", eps, there, back, bound)
			}
		}
	}
	pure := must(t)(FixedSizeSampled(3, 2, must(t)(EpsDelta(eps0, 0))))
	acc := newPLD(t, ReplaceOne, Record())
	if err := acc.Compose(pure, 1); err != nil {
		t.Fatal(err)
	}
	i, err := acc.Epsilon(0)
	if err != nil || hockey(p, r, i.Upper) > 1e-12 || hockey(p, r, i.Upper-.01) < 1e-4 {
		t.Errorf("fixed size at delta 0: %v, %v", i, err)
	}
	// a/(2 s^2) >= R(a) of randomized response: R(a) <= a R(1)/2 fails, so use twice
	s := 1 / math.Sqrt(eps0*math.Tanh(eps0/2))
	c := loss.FixedSizeRenyi(2./3, s/math.Sqrt2)
	for _, a := range []float64{2, 3, 5, 8} {
		exact := math.Log(math.Pow(p, a)*math.Pow(r, 1-a)+math.Pow(1-p, a)*math.Pow(1-r, 1-a)) / (a - 1)
		if inner := pureCurve(eps0)(a); inner > a/(s*s) {
			t.Fatalf("order %v: the Gaussian is not worse: %v > %v", a, inner, a/(s*s))
		}
		if exact > c(a) {
			t.Errorf("order %v: exact %v above the bound %v", a, exact, c(a))
		}
	}
}

func hockey(p, q, eps float64) float64 {
	e := math.Exp(eps)
	return math.Max(0, p-e*q) + math.Max(0, (1-p)-e*(1-q))
}

// quadrature of the hockey-stick divergence of two densities on the line.
func hockeyLine(p, q func(float64) float64, eps, lo, hi float64) float64 {
	const n = 100000 // a bend costs h^2/8 times the change of slope: below 6e-9
	var sum float64
	e, h := math.Exp(eps), (hi-lo)/n
	for i := range n {
		x := lo + (float64(i)+0.5)*h
		sum += math.Max(0, p(x)-e*q(x))
	}
	return sum * h
}

// density is the standard normal density.
func density(x float64) float64 { return math.Exp(-0.5*x*x) / math.Sqrt(2*math.Pi) }

// TestMixtureProfiles compares profiles of one-dimensional mixtures with quadrature.
func TestMixtureProfiles(t *testing.T) {
	t.Parallel()
	type mix struct{ w, c []float64 }
	law := func(m mix, sign float64) func(float64) float64 {
		return func(x float64) float64 {
			var s float64
			for j := range m.w {
				s += m.w[j] * density(x-sign*m.c[j])
			}
			return s
		}
	}
	for _, m := range []mix{
		{[]float64{0.9, 0.1}, []float64{0, 1}},
		{[]float64{0.5, 0.5}, []float64{0, 0.3}},
		{[]float64{0.6, 0.3, 0.1}, []float64{0, 1, 2}},
		{[]float64{0.7, 0.3}, []float64{0.5, 2.5}},
	} {
		one, both := mixturePair(m.w, m.c, false), mixturePair(m.w, m.c, true)
		zero := law(mix{[]float64{1}, []float64{0}}, 1)
		for _, eps := range []float64{0, 0.1, 0.5, 1.5} {
			for name, c := range map[string][2]float64{
				"remove":    {profileOf(one, false, eps), hockeyLine(law(m, 1), zero, eps, -14, 16)},
				"add":       {profileOf(one, true, eps), hockeyLine(zero, law(m, 1), eps, -14, 16)},
				"antipodal": {profileOf(both, false, eps), hockeyLine(law(m, 1), law(m, -1), eps, -16, 16)},
			} {
				if math.Abs(c[0]-c[1]) > 2e-8 {
					t.Errorf("%v %s at %v: %v, quadrature %v", m, name, eps, c[0], c[1])
				}
			}
			if m.c[0] == 0 && len(m.w) == 2 {
				a, b := profileOf(antipodalPair(m.w[1], m.c[1]), false, eps), profileOf(both, false, eps)
				x, y := profileOf(poissonPair(m.w[1], gaussianPair(m.c[1])), true, eps),
					profileOf(one, true, eps)
				if math.Abs(a-b) > 1e-13 || math.Abs(x-y) > 1e-13 {
					t.Errorf("%v at %v: closed forms %v, %v; general %v, %v", m, eps, a, x, b, y)
				}
			}
		}
	}
}

// TestAntipodalDominates: sampled replace-one mixtures with contributions g, g' of norm
// at most 1 in the plane never exceed the antipodal pair. The hockey-stick divergence is
// integrated on a square grid of midpoints. Away from the line where the integrand bends
// the rule is exact to round-off; a bend in a cell costs at most h^2/8 times the change
// of slope, which is at most (1 + e^eps) max|density'| = .242 (1 + e^eps) on each line of
// the grid, for at most two bends.
func TestAntipodalDominates(t *testing.T) {
	const n, reach, h = 400, 9.0, 18.0 / 400
	at := func(i int) float64 { return -reach + (float64(i)+0.5)*h }
	rapid.Check(t, func(t *rapid.T) {
		angle := rapid.Float64Range(0, math.Pi).Draw(t, "angle")
		r1, r2 := rapid.Float64Range(0, 1).Draw(t, "r1"), rapid.Float64Range(0, 1).Draw(t, "r2")
		s, q := rapid.Float64Range(0.8, 2).Draw(t, "s"), rapid.Float64Range(0.05, 0.9).Draw(t, "q")
		eps := rapid.Float64Range(0, 1).Draw(t, "eps")
		gx, hx, hy := r1/s, r2*math.Cos(angle)/s, r2*math.Sin(angle)/s
		var zero, g, ox, oy [n]float64
		for i := range n {
			zero[i], g[i], ox[i], oy[i] = density(at(i)), density(at(i)-gx), density(at(i)-hx),
				density(at(i)-hy)
		}
		var sum float64
		e := math.Exp(eps)
		for i := range n {
			for j := range n {
				base := (1 - q) * zero[i] * zero[j]
				sum += math.Max(0, base+q*g[i]*zero[j]-e*(base+q*ox[i]*oy[j]))
			}
		}
		slack := 2 * 0.242 * (1 + e) * h * h / 8
		if got, bound := sum*h*h, profileOf(antipodalPair(q, 1/s), false, eps); got > bound+slack {
			t.Fatalf("divergence %v above the bound %v", got, bound)
		}
	})
}
