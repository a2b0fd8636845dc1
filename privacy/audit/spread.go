package audit

import (
	"fmt"
	"math"

	"gonum.org/v1/gonum/mathext"
)

// standard is the noise of all declared parts of n charges, d values each: every value
// replaced by what a normal variable has with the same probability. Under the declared
// laws these are n d independent standard normal values, whatever the laws.
type standard struct {
	n, d                 int
	coordinates, charges spread
	// Bits of values, fair and independent under the declared laws: whether it is
	// positive and whether its size is above the median; by coordinate over charges, and
	// by charge over coordinates.
	byCoordinate, byCharge [2]bitRows
	bias                   float64 // how far from 1/2 a bit's probability may be
	// how many sizes are beyond some standard deviations, at least and at most
	beyond [mostBeyond]struct{ low, high int }
}

const mostBeyond = 6

// deviations are the sizes that tails looks beyond: 1, 1.75, ... 4.75.
func deviations(b int) float64 { return 1 + .75*float64(b) }

// medianSize is the median of the size of a standard normal variable.
const medianSize = .6744897501960817

func standardise(parts []*part) *standard {
	s := &standard{n: parts[0].n}
	for _, p := range parts {
		s.d += p.Dim
		s.bias = max(s.bias, p.mass(p.slack))
	}
	s.coordinates, s.charges = newSpread(s.d, s.n), newSpread(s.n, s.d)
	for k := range s.byCoordinate {
		s.byCoordinate[k], s.byCharge[k] = newBitRows(s.d, s.n), newBitRows(s.n, s.d)
	}
	at := 0
	for _, p := range parts {
		for k := range s.n {
			for i, x := range p.x[k*p.Dim : (k+1)*p.Dim] {
				size := math.Abs(x)
				low, high := score(p.cdf, max(0, size-p.slack)), score(p.cdf, size+p.slack)
				s.coordinates.add(at+i, low, high)
				s.charges.add(k, low, high)
				for b := range s.beyond {
					if low > deviations(b) {
						s.beyond[b].low++
					}
					if !(high <= deviations(b)) {
						s.beyond[b].high++
					}
				}
				for b, yes := range [2]bool{x > 0, score(p.cdf, size) > medianSize} {
					if yes {
						s.byCoordinate[b].set(at+i, k)
						s.byCharge[b].set(k, at+i)
					}
				}
			}
		}
		at += p.Dim
	}
	return s
}

// tails compares how many values are of a size beyond 1 to 4.75 with their binomial laws:
// noise that is cut off has none where some are expected.
func (s *standard) tails(where string, level float64) Check {
	worst, at := 1., 0
	for b, c := range s.beyond {
		p, n := 2*normal(-deviations(b)), s.n*s.d
		tail := min(binomialTail(c.low, n, p), binomialTail(n-c.high, n, 1-p))
		if tail < worst {
			worst, at = tail, b
		}
	}
	return Check{
		Name:      "tails",
		Statistic: Figure(0 - math.Log10(max(worst, 1e-300))),
		Limit:     Figure(-math.Log10(level / (2 * mostBeyond))),
		Text: fmt.Sprintf("-log10 of the probability of %d of %d values beyond %v standard deviations, the "+
			"least likely of %d sizes, %s", s.beyond[at].low, s.n*s.d, deviations(at), mostBeyond, where),
	}
}

// spread tests the variance of rows of standard normal values, and of blocks of 2, 4, 8,
// ... rows one after the other: the sum of squares of m values is chi-square with m
// degrees of freedom, exactly. Squares are bounded from both sides, so that rounding
// makes the test weaker and not wrong. One row without any noise has a sum that is 0 up
// to rounding, which is as good as impossible with any number of rows: at 20 values and a
// grid of 2^-20 its probability is below 1e-100.
type spread struct {
	each      int // values in a row
	low, high []float64
}

func newSpread(rows, each int) spread {
	return spread{each: each, low: make([]float64, rows), high: make([]float64, rows)}
}

func (s *spread) add(row int, low, high float64) {
	s.low[row] += float64(low * low)
	s.high[row] += float64(high * high)
}

// check pays for two tails of every block. Of blocks of one size the smallest and the
// largest sum are the least probable.
func (s *spread) check(name, rows, where string, level float64) Check {
	worst, tests, at, size := math.Inf(1), 0, 0, 1
	see := func(tail float64, row, block int) {
		if !(tail >= worst) {
			worst, at, size = tail, row*block, block
		}
	}
	low, high := s.low, s.high
	for block := 1; len(low) > 0; block *= 2 {
		tests += 2 * len(low)
		half := float64(s.each*block) / 2
		least, most := 0, 0
		for i := range low {
			if high[i] < high[least] || high[i] != high[i] {
				least = i
			}
			if low[i] > low[most] {
				most = i
			}
		}
		see(lowerTail(half, high[least]/2), least, block)
		see(upperTail(half, low[most]/2), most, block)
		low, high = halved(low), halved(high)
	}
	return Check{
		Name:      name,
		Statistic: Figure(0 - math.Log10(max(worst, 1e-300))),
		Limit:     Figure(-math.Log10(level / float64(tests))),
		Text: fmt.Sprintf("-log10 of the probability of the variance of %s %d to %d, the least likely of "+
			"%d and their blocks, %s", rows, at, at+size-1, len(s.low), where),
	}
}

// halved adds two and two; an odd last one is left out.
func halved(x []float64) []float64 {
	h := make([]float64, len(x)/2)
	for i := range h {
		h[i] = x[2*i] + x[2*i+1]
	}
	return h
}

// lowerTail is P[G <= x] of a Gamma variable of that shape and scale 1, upperTail P[G >=
// x]. NaN: not a number.
func lowerTail(shape, x float64) float64 {
	switch {
	case x != x:
		return x
	case x <= 0:
		return 0
	case math.IsInf(x, 1):
		return 1
	}
	return mathext.GammaIncReg(shape, x)
}

func upperTail(shape, x float64) float64 {
	switch {
	case x != x:
		return x
	case x <= 0:
		return 1
	case math.IsInf(x, 1):
		return 0
	}
	return mathext.GammaIncRegComp(shape, x)
}
