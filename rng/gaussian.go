package rng

import (
	"errors"
	"math/big"
	"math/bits"
	"sync"
)

// DiscreteGaussian draws integers x with probability proportional to exp(-x^2/(2
// sigma^2)) for a rational sigma, by integer arithmetic. Its zero value is not usable.
//
// Sigmas that are a multiple of 8 from 32 on, those of the noise grid, are drawn from
// blocks of sigma/8 integers: a block by table, a place in it uniformly, then a rejection
// of a few percent. The table holds 256 bits for each block; the law of a value is within
// 2^-240 of the stated one in total variation. All others follow Algorithm 3 of Canonne,
// Kamath, Steinke 2020, rejection from the discrete Laplace law, which is exact.
type DiscreteGaussian struct {
	block uint64 // sigma/8, or 0 for the discrete Laplace proposal:
	t     uint64 // its scale, sigma rounded up
	mul   uint64 // a proposal y is accepted with probability exp(-(|y| mul - sub)^2/den)
	sub   uint64
	den   uint64
}

// MaxSigma is the largest sigma of a DiscreteGaussian.
const MaxSigma = 1 << 30

const (
	blockSigma = 8   // blocks in one standard deviation
	maxBlock   = 152 // exp(-152^2/128) < 2^-260: later blocks are never drawn
)

// NewDiscreteGaussian returns the sampler for sigma = num/den. Integers up to MaxSigma
// are accepted, and fractions whose arithmetic fits 64 bits, among them all with num and
// den up to 2^10.
func NewDiscreteGaussian(num, den uint64) (DiscreteGaussian, error) {
	if num == 0 || den == 0 {
		return DiscreteGaussian{}, errors.New("rng: sigma must be above 0")
	}
	g := gcd(num, den)
	num, den = num/g, den/g
	if num > MaxSigma || den > 1<<15 {
		return DiscreteGaussian{}, errors.New("rng: sigma is above 2^30, or finer than 2^-15")
	}
	if den == 1 && num%blockSigma == 0 && num >= 4*blockSigma {
		block := num / blockSigma
		return DiscreteGaussian{block: block, den: 2 * num * num}, nil
	}
	t := (num + den - 1) / den
	// Accept y with exp(-(|y| - sigma^2/t)^2/(2 sigma^2)) = exp(-(|y| den^2 t -
	// num^2)^2/(2 (num den t)^2)). The greatest common divisor of den^2 t and num^2
	// divides num den t too.
	mul, sub := den*den*t, num*num
	g = gcd(mul, sub)
	over, root := bits.Mul64(num*den, t)
	if root /= g; over != 0 || root > MaxSigma {
		return DiscreteGaussian{},
			errors.New("rng: sigma needs a larger denominator than 64-bit integers hold")
	}
	return DiscreteGaussian{t: t, mul: mul / g, sub: sub / g, den: 2 * root * root}, nil
}

// Fill draws len(dst) values.
func (g *DiscreteGaussian) Fill(s *Stream, dst []int64) {
	if g.block == 0 {
		for i := range dst {
			dst[i] = g.fromLaplace(s)
		}
		return
	}
	t := blockTable()
	for i := range dst {
		dst[i] = g.fromBlocks(s, t)
	}
}

// fromBlocks proposes block i with probability proportional to exp(-i^2/128), place j in
// it and a sign, and accepts x = i B + j with exp(-x^2/(2 sigma^2) + i^2/128) = exp(-j(2
// i B + j)/(2 sigma^2)).
func (g *DiscreteGaussian) fromBlocks(s *Stream, t *blocks) int64 {
	for {
		i := t.draw(s)
		w := s.Below(2 * g.block)
		j := w >> 1
		base := i * g.block
		if num := j * (2*base + j); num < g.den {
			if !s.bernoulliExpBelow1(num, g.den) {
				continue
			}
		} else if !s.BernoulliExp(num, g.den) {
			continue
		}
		x := int64(base + j)
		if w&1 == 0 {
			return x
		}
		if x != 0 { // minus zero is not counted twice
			return -x
		}
	}
}

// blocks is the distribution function of the block index, as 256-bit fractions: low[k]
// holds word k of the probability of an index of at most i.
type blocks struct {
	word  [4][maxBlock]uint64
	start [256]uint8 // least index whose first word reaches the top byte
}

var blockTable = sync.OnceValue(newBlocks)

// newBlocks computes the table with 400-bit arithmetic.
func newBlocks() *blocks {
	const prec = 400
	sum := new(big.Float).SetPrec(prec)
	var cum [maxBlock]*big.Float
	for i := range cum {
		sum.Add(sum, bigExp(-int64(i*i), 2*blockSigma*blockSigma, prec))
		cum[i] = new(big.Float).Copy(sum)
	}
	t := &blocks{}
	for i, c := range cum {
		c.Quo(c, sum)
		v, _ := c.SetMantExp(c, 256).Int(nil)
		for k := range t.word {
			w := new(big.Int).Rsh(v, uint(64*(3-k)))
			t.word[k][i] = w.And(w, new(big.Int).SetUint64(^uint64(0))).Uint64()
		}
		if i == maxBlock-1 { // the whole mass: no draw lies beyond
			for k := range t.word {
				t.word[k][i] = ^uint64(0)
			}
		}
	}
	i := uint8(0)
	for b := range t.start {
		for t.word[0][i] < uint64(b)<<56 {
			i++
		}
		t.start[b] = i
	}
	return t
}

// bigExp is exp(num/den) for num <= 0 by the Taylor series of exp(-1/den).
func bigExp(num, den int64, prec uint) *big.Float {
	f := func(x int64) *big.Float { return new(big.Float).SetPrec(prec).SetInt64(x) }
	base, term := f(1), f(1)
	for k := int64(1); term.Sign() != 0 && term.MantExp(nil) > -int(prec); k++ {
		term.Quo(term.Neg(term), f(k*den))
		base.Add(base, term)
	}
	out := f(1)
	for n := -num; n > 0; n >>= 1 {
		if n&1 == 1 {
			out.Mul(out, base)
		}
		base.Mul(base, base)
	}
	return out
}

// draw returns the least index whose distribution function exceeds a uniform value, of
// which it reads one word, or all four where one does not decide.
func (t *blocks) draw(s *Stream) uint64 {
	u := s.Uint64()
	i := uint64(t.start[u>>56])
	for u > t.word[0][i] {
		i++
	}
	if u == t.word[0][i] {
		return t.resolve([4]uint64{u, s.Uint64(), s.Uint64(), s.Uint64()}, i)
	}
	return i
}

// resolve compares all words, from index i on, where the first ones agree.
func (t *blocks) resolve(u [4]uint64, i uint64) uint64 {
	for ; i < maxBlock-1; i++ {
		k := 0
		for k < len(u)-1 && u[k] == t.word[k][i] {
			k++
		}
		if u[k] < t.word[k][i] {
			break
		}
	}
	return i
}

// fromLaplace accepts a discrete Laplace proposal y with exp(-(|y| - sigma^2/t)^2/(2
// sigma^2)).
func (g *DiscreteGaussian) fromLaplace(s *Stream) int64 {
	for {
		y := s.DiscreteLaplace(g.t)
		if g.accept(s, uint64(max(y, -y))) {
			return y
		}
	}
}

// accept decides exp(-r^2/den) with r = | |y| mul - sub |. A proposal that 64 bits do not
// hold lies beyond 2^16 standard deviations and is rejected.
func (g *DiscreteGaussian) accept(s *Stream, y uint64) bool {
	over, r := bits.Mul64(y, g.mul)
	if over != 0 || r >= 1<<63 {
		return false
	}
	if r -= g.sub; int64(r) < 0 {
		r = -r
	}
	hi, lo := bits.Mul64(r, r)
	if hi >= g.den {
		return false // below exp(-2^64)
	}
	whole, rest := bits.Div64(hi, lo, g.den)
	for ; whole > 0; whole-- {
		if !s.bernoulliInvE() {
			return false
		}
	}
	return s.bernoulliExpBelow1(rest, g.den)
}

func gcd(a, b uint64) uint64 {
	for b != 0 {
		a, b = b, a%b
	}
	return a
}
