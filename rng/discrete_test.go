package rng

import (
	"fmt"
	"math"
	"math/big"
	"testing"

	"gonum.org/v1/gonum/stat/distuv"
)

// limit is the level of every statistical test: the probability with which it rejects a
// right sampler.
const limit = 1e-6

func stream(seq uint64) *Stream {
	k := Simulated(2024, 0, seq)
	return NewStream(&k, Noise)
}

// cells is a histogram with expected counts of at least 20: neighboring outcomes are
// merged until they reach it.
type cells struct {
	upto     []int64 // last outcome of each cell; the last cell has no end
	expected []float64
}

// newCells merges the outcomes of a symmetric law on |x| <= reach, with probabilities p
// up to a factor.
func newCells(n int, reach int64, p func(x int64) float64) cells {
	sum := 0.
	for x := -reach; x <= reach; x++ {
		sum += p(x)
	}
	var c cells
	acc := 0.
	for x := -reach; x <= reach; x++ {
		if acc += p(x) / sum * float64(n); acc >= 20 {
			c.upto, c.expected, acc = append(c.upto, x), append(c.expected, acc), 0
		}
	}
	c.upto[len(c.upto)-1] = math.MaxInt64
	c.expected[len(c.expected)-1] += acc
	return c
}

// normalCells has k cells of equal probability under a normal law. An integer Gaussian of
// parameter above 10 has the same cell masses to 1e-100 by Poisson summation, when cells
// end half-way between integers.
func normalCells(n, k int, sigma float64) cells {
	var c cells
	last := 0.
	for i := 1; i <= k; i++ {
		x := math.Floor(sigma * distuv.UnitNormal.Quantile(float64(i)/float64(k)))
		mass := 1.
		if i < k {
			mass = distuv.UnitNormal.CDF((x + .5) / sigma)
			c.upto = append(c.upto, int64(x))
		} else {
			c.upto = append(c.upto, math.MaxInt64)
		}
		c.expected = append(c.expected, (mass-last)*float64(n))
		last = mass
	}
	return c
}

// p is the chi-square p-value of the outcomes times scale.
func (c cells) p(x []int64, scale int64) float64 {
	count := make([]float64, len(c.upto))
	for _, v := range x {
		count[c.cell(v*scale)]++
	}
	return c.pValue(count)
}

// cell is the cell of outcome v.
func (c cells) cell(v int64) int {
	lo, hi := 0, len(c.upto)-1
	for lo < hi {
		if m := (lo + hi) / 2; v <= c.upto[m] {
			hi = m
		} else {
			lo = m + 1
		}
	}
	return lo
}

// count adds outcomes to a histogram.
func (c cells) count(x []int64, count []float64) {
	for _, v := range x {
		count[c.cell(v)]++
	}
}

// pValue is the chi-square p-value of a histogram.
func (c cells) pValue(count []float64) float64 {
	chi := 0.
	for i, e := range c.expected {
		chi += (count[i] - e) * (count[i] - e) / e
	}
	return distuv.ChiSquared{K: float64(len(count) - 1)}.Survival(chi)
}

// check compares a sample with the cells, and shows that twice the values, the same law
// for half the stated scale, are told apart.
func (c cells) check(t *testing.T, x []int64) {
	t.Helper()
	if p := c.p(x, 1); p < limit {
		t.Errorf("%d cells: p-value %g", len(c.expected), p)
	}
	if p := c.p(x, 2); p > limit {
		t.Errorf("the test has no power: p-value %g at half the scale", p)
	}
}

// checkMoments compares the first four moments with m2 and m4, each within 4.9 standard
// errors estimated from the sample (false-reject rate 1e-6 each).
func checkMoments(t *testing.T, x []int64, m2, m4 float64) {
	t.Helper()
	n := float64(len(x))
	want := [5]float64{1, 0, m2, 0, m4}
	var sum [9]float64
	for _, v := range x {
		p := 1.
		for k := range sum {
			sum[k] += p / n
			p *= float64(v) / math.Sqrt(m2)
		}
	}
	for k := 1; k <= 4; k++ {
		w := want[k] / math.Pow(m2, float64(k)/2)
		if se := math.Sqrt((sum[2*k] - sum[k]*sum[k]) / n); math.Abs(sum[k]-w) > 4.9*se {
			t.Errorf("moment %d: %g, want %g (standard error %g)", k, sum[k], w, se)
		}
	}
}

// lattice returns second and fourth moment of a symmetric law given up to a factor.
func lattice(reach int64, p func(x int64) float64) (m2, m4 float64) {
	sum := 0.
	for x := -reach; x <= reach; x++ {
		w, y := p(x), float64(x)*float64(x)
		sum, m2, m4 = sum+w, m2+w*y, m4+w*y*y
	}
	return m2 / sum, m4 / sum
}

func TestDiscreteGaussian(t *testing.T) {
	const n = 1_000_000
	x := make([]int64, n)
	for i, s := range []struct{ num, den uint64 }{
		{7, 10}, {1, 1}, {3, 1}, {173, 10}, {31, 1}, {32, 1}, {40, 1},
	} {
		t.Run(fmt.Sprintf("%d over %d", s.num, s.den), func(t *testing.T) {
			sigma := float64(s.num) / float64(s.den)
			g, err := NewDiscreteGaussian(s.num, s.den)
			if err != nil {
				t.Fatal(err)
			}
			g.Fill(stream(uint64(i)), x)
			law := func(x int64) float64 { return math.Exp(-float64(x*x) / (2 * sigma * sigma)) }
			reach := int64(math.Ceil(12 * sigma))
			newCells(n, reach, law).check(t, x)
			m2, m4 := lattice(reach, law)
			checkMoments(t, x, m2, m4)
		})
	}
	// by the discrete Laplace law, and by blocks
	for i, sigma := range []uint64{1<<20 - 1, 1 << 20, MaxSigma} {
		t.Run(fmt.Sprint(sigma), func(t *testing.T) {
			g, err := NewDiscreteGaussian(sigma, 1)
			if err != nil {
				t.Fatal(err)
			}
			g.Fill(stream(uint64(100+i)), x)
			f := float64(sigma)
			normalCells(n, 500, f).check(t, x)
			checkMoments(t, x, f*f, 3*f*f*f*f)
			low := make([]float64, 16) // the last four bits are uniform to exp(-2 (pi sigma/16)^2)
			for _, v := range x {
				low[v&15]++
			}
			chi := 0.
			for _, c := range low {
				chi += (c - n/16) * (c - n/16) / (n / 16)
			}
			if p := (distuv.ChiSquared{K: 15}).Survival(chi); p < limit {
				t.Errorf("last four bits: p-value %g", p)
			}
		})
	}
}

func TestDiscreteGaussianRefuses(t *testing.T) {
	for _, s := range [][2]uint64{{0, 1}, {1, 0}, {MaxSigma + 1, 1}, {math.MaxUint64, 1}, {1, 1<<15 + 1},
		{MaxSigma - 3, 2}} {
		if _, err := NewDiscreteGaussian(s[0], s[1]); err == nil {
			t.Errorf("sigma %d/%d was accepted", s[0], s[1])
		}
	}
	for num := uint64(1); num <= 1<<10; num += 31 {
		for den := uint64(1); den <= 1<<10; den += 33 {
			if _, err := NewDiscreteGaussian(num, den); err != nil {
				t.Errorf("sigma %d/%d: %v", num, den, err)
			}
		}
	}
}

// The acceptance probability is the quotient of the two laws, up to a constant: for
// fractions of all shapes ln accept(y) = -(|y| - sigma^2/t)^2/(2 sigma^2), computed in
// rational numbers.
func TestAcceptanceIsTheQuotientOfTheLaws(t *testing.T) {
	for _, s := range [][2]int64{{7, 10}, {173, 10}, {12, 18}, {999, 1000}, {31, 1}, {1000, 3},
		{1<<20 - 1, 1}} {
		g, err := NewDiscreteGaussian(uint64(s[0]), uint64(s[1]))
		if err != nil {
			t.Fatal(err)
		}
		sigma2 := new(big.Rat).Mul(big.NewRat(s[0], s[1]), big.NewRat(s[0], s[1]))
		for y := int64(0); y < 4; y++ {
			want := new(big.Rat).Sub(big.NewRat(y, 1), new(big.Rat).Quo(sigma2, new(big.Rat).SetUint64(g.t)))
			want.Mul(want, want).Quo(want, sigma2).Quo(want, big.NewRat(2, 1))
			r := new(big.Rat).SetUint64(g.mul)
			r.Mul(r, big.NewRat(y, 1)).Sub(r, new(big.Rat).SetUint64(g.sub))
			r.Mul(r, r).Quo(r, new(big.Rat).SetUint64(g.den))
			if r.Cmp(want) != 0 {
				t.Errorf("sigma %d/%d, y %d: exponent %v, want %v", s[0], s[1], y, r, want)
			}
		}
	}
}

// The block table against the theta function: sum over all integers of exp(-i^2/128) is
// sqrt(128 pi) times 1 + 2 exp(-128 pi^2), so that block 0 has probability 2/(1 +
// sqrt(128 pi)) to 500 digits.
func TestBlockTable(t *testing.T) {
	pi, _, err := big.ParseFloat(
		"3.141592653589793238462643383279502884197169399375105820974944592307816406286208998628034825"+
			"34211706798", 10, 400, big.ToNearestEven)
	if err != nil {
		t.Fatal(err)
	}
	one := big.NewFloat(1).SetPrec(400)
	want := new(big.Float).SetPrec(400).Mul(pi, big.NewFloat(128))
	want.Sqrt(want).Add(want, one).Quo(new(big.Float).SetPrec(400).SetInt64(2), want)
	tab := blockTable()
	value := func(i int) *big.Int {
		v := new(big.Int)
		for k := range tab.word {
			v.Lsh(v, 64).Add(v, new(big.Int).SetUint64(tab.word[k][i]))
		}
		return v
	}
	got := new(big.Float).SetPrec(400).SetInt(value(0))
	diff := got.Sub(got.SetMantExp(got, -256), want)
	if f, _ := diff.Float64(); math.Abs(f) > 0x1p-250 {
		t.Errorf("block 0 is off by %g", f)
	}
	for i := 1; i < 60; i++ { // differences of the distribution function are the law
		p, _ := new(big.Float).SetInt(new(big.Int).Sub(value(i), value(i-1))).Float64()
		p0, _ := new(big.Float).SetInt(value(0)).Float64()
		if w := math.Exp(-float64(i*i) / 128); math.Abs(p/p0/w-1) > 1e-12 {
			t.Errorf("block %d: weight %g of block 0, want %g", i, p/p0, w)
		}
	}
	// Where first words agree, the index is that of a comparison of all 256 bits.
	s := stream(7)
	for range 2000 {
		i := int(s.Below(maxBlock - 1))
		u := [4]uint64{tab.word[0][i], tab.word[1][i], s.Uint64(), s.Uint64()}
		if s.Below(2) == 0 {
			u[1] = s.Uint64()
		}
		v := new(big.Int)
		for _, w := range u {
			v.Lsh(v, 64).Add(v, new(big.Int).SetUint64(w))
		}
		want, first := 0, 0
		for want < maxBlock-1 && v.Cmp(value(want)) >= 0 {
			want++
		}
		for u[0] > tab.word[0][first] {
			first++
		}
		if got := tab.resolve(u, uint64(first)); got != uint64(want) {
			t.Fatalf("index %d, want %d", got, want)
		}
	}
}

func TestDiscreteLaplace(t *testing.T) {
	const n = 500_000
	x := make([]int64, n)
	for i, scale := range []uint64{1, 2, 17, 1 << 20, MaxLaplaceScale} {
		t.Run(fmt.Sprint(scale), func(t *testing.T) {
			s := stream(uint64(200 + i))
			for i := range x {
				x[i] = s.DiscreteLaplace(scale)
			}
			a := 1 / float64(scale)
			q := math.Exp(-a)
			if scale < 100 {
				newCells(n, int64(40*scale), func(x int64) float64 {
					return math.Exp(-a * math.Abs(float64(x)))
				}).check(t, x)
			} else {
				laplaceCells(n, 300, q).check(t, x)
			}
			// E x^2 = 2q/(1-q)^2 and E x^4 = 2q(1+10q+q^2)/(1-q)^4.
			u := -math.Expm1(-a)
			checkMoments(t, x, 2*q/(u*u), 2*q*(1+10*q+q*q)/(u*u*u*u))
		})
	}
}

// laplaceCells has cells of nearly equal probability: P(x > k) = q^(k+1)/(1+q).
func laplaceCells(n, k int, q float64) cells {
	var c cells
	last := 0.
	tail := func(k float64) float64 { return math.Exp(math.Log(q)*(k+1)) / (1 + q) }
	for i := 1; i <= k; i++ {
		p := float64(i) / float64(k)
		x, mass := int64(math.MaxInt64), 1.
		switch {
		case i == k:
		case p < .5:
			f := math.Floor(-math.Log(2*p) / math.Log(q))
			f = -math.Abs(f)
			x, mass = int64(f), tail(-f-1)
		default:
			f := math.Floor(math.Log(2*(1-p)) / math.Log(q))
			x, mass = int64(f), 1-tail(f)
		}
		c.upto, c.expected = append(c.upto, x), append(c.expected, (mass-last)*float64(n))
		last = mass
	}
	return c
}

func TestBernoulliExp(t *testing.T) {
	const n = 400_000
	for i, r := range []struct {
		num, den uint64
	}{{0, 5}, {1, 3}, {1, 1}, {7, 7}, {7, 2}, {1 << 62, 1<<63 - 1}} {
		s, hits := stream(uint64(300+i)), 0
		for range n {
			if s.BernoulliExp(r.num, r.den) {
				hits++
			}
		}
		// Within 4.9 standard errors: false-reject rate 1e-6.
		p := math.Exp(-float64(r.num) / float64(r.den))
		if math.Abs(float64(hits)-p*n) > 4.9*math.Sqrt(p*(1-p)*n) {
			t.Errorf("exp(-%d/%d): %d hits of %d, want %.0f", r.num, r.den, hits, n, p*n)
		}
	}
	f := uint64(1)
	for k := range chain {
		if f *= uint64(k + 2); chain[k] != factorial20/f || factorial20%f != 0 {
			t.Errorf("threshold %d is not 20!/%d!", k, k+2)
		}
	}
	if chain[len(chain)-1] != 1 {
		t.Errorf("the chain ends at %d", chain[len(chain)-1])
	}
}

func TestSamplersPanicOnImpossibleParameters(t *testing.T) {
	for name, f := range map[string]func(){
		"denominator 0":  func() { stream(0).BernoulliExp(1, 0) },
		"Laplace 0":      func() { stream(0).DiscreteLaplace(0) },
		"Laplace 2^40+1": func() { stream(0).DiscreteLaplace(MaxLaplaceScale + 1) },
	} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%s did not panic", name)
				}
			}()
			f()
		}()
	}
}
