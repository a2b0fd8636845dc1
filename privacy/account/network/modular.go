package network

import (
	"crypto/sha256"
	"encoding/binary"
	"math/big"
	"math/bits"
	"slices"
)

// modulus is arithmetic modulo a prime p of 61 bits; numbers are in Montgomery form, x
// 2^64 mod p.
type modulus struct {
	p, inverse uint64 // inverse of p modulo 2^64
	shift      uint64 // 2^128 mod p: mul by it enters the form
	one        uint64
}

func newModulus(p uint64) modulus {
	inv := p // five Newton steps double the correct bits from 3
	for range 5 {
		inv *= 2 - p*inv
	}
	_, r := bits.Div64(1, 0, p) // 2^64 mod p
	hi, lo := bits.Mul64(r, r)
	_, rr := bits.Div64(hi, lo, p)
	return modulus{p: p, inverse: inv, shift: rr, one: r}
}

// mul is a b / 2^64 mod p.
func (m modulus) mul(a, b uint64) uint64 {
	hi, lo := bits.Mul64(a, b)
	sub, _ := bits.Mul64(lo*m.inverse, m.p)
	if hi < sub {
		return hi + m.p - sub
	}
	return hi - sub
}

func (m modulus) sub(a, b uint64) uint64 {
	if a < b {
		return a + m.p - b
	}
	return a - b
}

func (m modulus) add(a, b uint64) uint64 { return m.sub(a, m.p-b) }

// invert is the inverse of a nonzero number.
func (m modulus) invert(a uint64) uint64 {
	r := m.one
	for e, b := m.p-2, a; e > 0; e >>= 1 {
		if e&1 == 1 {
			r = m.mul(r, b)
		}
		b = m.mul(b, b)
	}
	return r
}

// reduce brings a fraction whose denominator p does not divide into the form.
func (m modulus) reduce(x *big.Rat) uint64 {
	p := new(big.Int).SetUint64(m.p)
	num := new(big.Int).Mod(x.Num(), p).Uint64()
	den := new(big.Int).Mod(x.Denom(), p).Uint64()
	return m.mul(m.mul(num, m.shift), m.invert(m.mul(den, m.shift)))
}

// primes returns two primes of 61 bits that divide no denominator. They are drawn from a
// digest of the weights: nobody chooses weights for them.
func (g *Gossip) primes() []modulus {
	h := sha256.New()
	weights := g.weights()
	for _, w := range weights {
		h.Write([]byte(w.String() + " "))
	}
	var out []modulus
	for n := uint64(0); len(out) < 2; n++ {
		d := sha256.Sum256(binary.LittleEndian.AppendUint64(h.Sum(nil), n))
		p := new(big.Int).SetUint64(binary.LittleEndian.Uint64(d[:])>>4 | 1<<60 | 1)
		if p.ProbablyPrime(20) && dividesNone(p, weights) {
			out = append(out, newModulus(p.Uint64()))
		}
	}
	return out
}

// dividesNone reports that p divides no denominator.
func dividesNone(p *big.Int, weights []*big.Rat) bool {
	var rest big.Int
	for _, w := range weights {
		if rest.Mod(w.Denom(), p).Sign() == 0 {
			return false
		}
	}
	return true
}

// weights lists the distinct weights of all rounds, in order of first use.
func (g *Gossip) weights() []*big.Rat {
	var out []*big.Rat
	seen := map[*big.Rat]bool{}
	use := func(w Weight) {
		if !seen[w.Exact] {
			seen[w.Exact] = true
			out = append(out, w.Exact)
		}
	}
	var last *Matrix
	for _, m := range g.Rounds {
		if m == last {
			continue
		}
		last = m
		for _, r := range m.rows {
			use(r.Self)
			for _, l := range r.In {
				use(l.Weight)
			}
		}
	}
	return out
}

// echelon is a set of independent rows modulo p, each with 1 at a column where all later
// ones have 0.
type echelon struct {
	m     modulus
	known []bool
	rank  int // with known columns
	rows  [][]uint64
	pivot []int
}

func newEchelon(m modulus, agents int, members []int) *echelon {
	e := &echelon{m: m, known: make([]bool, agents)}
	for _, u := range members {
		e.learn(u)
	}
	return e
}

// learn adds a unit row, before all rows that are not zero there.
func (e *echelon) learn(u int) {
	if !e.known[u] {
		e.known[u] = true
		e.rank++
	}
}

func (e *echelon) full() bool { return e.rank == len(e.known) }

// reduce subtracts from x what the rows span and reports whether anything is left.
func (e *echelon) reduce(x []uint64) bool {
	for u, k := range e.known {
		if k {
			x[u] = 0
		}
	}
	for i, r := range e.rows {
		c := x[e.pivot[i]]
		if c == 0 {
			continue
		}
		for u, v := range r {
			if v != 0 {
				x[u] = e.m.sub(x[u], e.m.mul(c, v))
			}
		}
	}
	for _, v := range x {
		if v != 0 {
			return true
		}
	}
	return false
}

// add reduces x and keeps it if anything is left, which it reports.
func (e *echelon) add(x []uint64) bool {
	if !e.reduce(x) {
		return false
	}
	pivot := slices.IndexFunc(x, func(v uint64) bool { return v != 0 })
	inv := e.m.invert(x[pivot])
	for u, v := range x {
		x[u] = e.m.mul(v, inv)
	}
	e.rows, e.pivot = append(e.rows, x), append(e.pivot, pivot)
	e.rank++
	return true
}
