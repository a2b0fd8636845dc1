package rng

import (
	"encoding/binary"
	"math"
	"math/big"
	"sync"
)

// pair is two normal values r cos z and r sin z, r = sqrt(-2 ln u), of two uniform
// numbers with infinitely many bits: u, and an angle whose first two bits are an axis.
// The first 64 bits of each are words; others are derived where they are asked for, the
// same each time.
type pair struct {
	stream *Stream
	at     uint64 // where words stand in the key stream
	words  []byte
}

// round is the whole number nearest to value + sigma times the first or second normal
// value, by integer arithmetic of as many bits as decide it.
func (p pair) round(value, sigma float64, second bool) float64 {
	whole := math.RoundToEven(value)
	rest := value - whole
	if rest-rest != 0 { // what is not finite stays so
		return value
	}
	u := new(big.Int).SetUint64(binary.LittleEndian.Uint64(p.words))
	direction := binary.LittleEndian.Uint64(p.words[8:])
	angle := big.NewInt(int64(direction<<2) >> 2)
	for k := uint32(1); ; k++ {
		n := interval{bits: 64 * uint(k), u: u, angle: angle}
		if lo, hi, ok := n.sum(rest, sigma, direction, second); ok && lo == hi {
			return whole + lo
		}
		a, b := p.stream.beyond(p.at, k)
		u = new(big.Int).Lsh(u, 64)
		u.Add(u, new(big.Int).SetUint64(a))
		angle = new(big.Int).Lsh(angle, 64)
		angle.Add(angle, new(big.Int).SetUint64(b))
	}
}

// interval is what is known of a pair: that 2^bits u lies between u and u+1, and the
// angle to its axis between angle and angle+1 units of 2^-bits turns.
type interval struct {
	bits  uint
	u     *big.Int
	angle *big.Int
}

// guard is how many bits fixed-point numbers have after those of the interval. Each has
// an error of at most slack units.
const (
	guard = 64
	slack = 1 << 20
)

// sum bounds rest + sigma times a normal value and rounds the bounds to whole numbers;
// ok is false where there is no bound, or a bound is half-way.
func (n interval) sum(rest, sigma float64, direction uint64, second bool) (lo, hi float64, ok bool) {
	if n.u.Sign() == 0 {
		return 0, 0, false // the radius has no bound
	}
	f := fixed{n.bits + guard}
	one := big.NewInt(1)
	s := f.ln(new(big.Int).Lsh(n.u, guard))
	s.Neg(s).Lsh(s, 1)
	longest := f.root(new(big.Int).Add(s, big.NewInt(slack)))
	longest.Add(longest, one)
	// ln(u+1) - ln u < 1/u
	width := new(big.Int).Lsh(big.NewInt(2), f.bits)
	width.Quo(width, n.u).Add(width, big.NewInt(slack+1))
	shortest := f.root(s.Sub(s, width))

	turn := new(big.Int).Mul(f.pi(), n.angle)
	sin, cos := f.sincos(turn.Rsh(turn, n.bits-1))
	trig := cos
	if direction>>62&1 == 1 {
		trig.Neg(trig)
	}
	if second != (direction>>63 == 1) {
		trig = sin
	}
	// 2 pi units of the angle make at most 8 x 2^guard units of sine or cosine.
	width.Lsh(big.NewInt(8), guard)
	width.Add(width, big.NewInt(slack))

	// |r t - shortest trig| <= (longest - shortest) |t| + shortest |t - trig|
	z := f.mul(shortest, trig)
	off := f.mul(longest, width)
	off.Add(off, longest).Sub(off, shortest).Add(off, big.NewInt(slack))

	scale := f.of(sigma) // exact: sigma >= 2^20 has at most 32 bits after the point
	y := f.of(rest)
	y.Add(y, f.mul(scale, z))
	off = f.mul(scale, off)
	off.Add(off, big.NewInt(slack))
	below, exactly := f.nearest(new(big.Int).Sub(y, off))
	above, also := f.nearest(new(big.Int).Add(y, off))
	return below, above, !exactly && !also
}

// fixed is arithmetic on integers that stand for numbers times 2^bits. Every operation
// rounds down by less than one unit.
type fixed struct{ bits uint }

func (f fixed) mul(a, b *big.Int) *big.Int {
	c := new(big.Int).Mul(a, b)
	return c.Rsh(c, f.bits)
}

// of is the number x, below 2^62.
func (f fixed) of(x float64) *big.Int {
	v, _ := new(big.Float).SetMantExp(big.NewFloat(x), int(f.bits)).Int(nil)
	return v
}

// nearest rounds to a whole number below 2^53, and reports whether x is half-way.
func (f fixed) nearest(x *big.Int) (whole float64, halfway bool) {
	half := new(big.Int).Lsh(big.NewInt(1), f.bits-1)
	x = new(big.Int).Add(x, half)
	n := new(big.Int).Rsh(x, f.bits)
	whole, _ = new(big.Float).SetInt(n).Float64()
	return whole, n.Lsh(n, f.bits).Cmp(x) == 0
}

// root is the square root, rounded down, of what is above 0, else 0.
func (f fixed) root(x *big.Int) *big.Int {
	if x.Sign() <= 0 {
		return new(big.Int)
	}
	x = new(big.Int).Lsh(x, f.bits)
	return x.Sqrt(x)
}

// ln is the logarithm of u, 0 < u <= 1: with m in [2/3, 4/3) and u = m 2^e, it is 2
// atanh((m-1)/(m+1)) + e ln 2. Its error is below 4 units a bit.
func (f fixed) ln(u *big.Int) *big.Int {
	e := u.BitLen() - int(f.bits) // u 2^-e is in [1/2, 1)
	m := new(big.Int).Lsh(u, uint(max(0, -e)))
	if e > 0 { // u = 1
		e = 0
	}
	one := new(big.Int).Lsh(big.NewInt(1), f.bits)
	if three := new(big.Int).Mul(m, big.NewInt(3)); three.Cmp(new(big.Int).Lsh(one, 1)) < 0 {
		m.Lsh(m, 1)
		e--
	}
	sum := f.atanh(new(big.Int).Sub(m, one), new(big.Int).Add(m, one))
	return sum.Lsh(sum, 1).Add(sum, new(big.Int).Mul(big.NewInt(int64(e)), f.ln2()))
}

// atanh is the inverse hyperbolic tangent of num/den, at most 1/3, by its series.
func (f fixed) atanh(num, den *big.Int) *big.Int {
	x := new(big.Int).Lsh(num, f.bits)
	term := x.Quo(x, den)
	square, sum := f.mul(term, term), new(big.Int)
	for k := int64(1); term.Sign() != 0; k += 2 {
		sum.Add(sum, new(big.Int).Quo(term, big.NewInt(k)))
		term = new(big.Int).Mul(term, square)
		term.Quo(term, new(big.Int).Lsh(big.NewInt(1), f.bits)) // toward zero: it ends
	}
	return sum
}

// sincos sums the Taylor series at x, |x| < 1.
func (f fixed) sincos(x *big.Int) (sin, cos *big.Int) {
	one := new(big.Int).Lsh(big.NewInt(1), f.bits)
	sin, cos = new(big.Int), new(big.Int)
	term := new(big.Int).Set(one)
	for k := int64(0); term.Sign() != 0; k++ {
		to := cos
		if k%2 == 1 {
			to = sin
		}
		if k%4 < 2 {
			to.Add(to, term)
		} else {
			to.Sub(to, term)
		}
		term = new(big.Int).Mul(term, x)
		term.Quo(term, new(big.Int).Mul(one, big.NewInt(k+1)))
	}
	return sin, cos
}

// constants are ln 2 and pi with so many bits that a longer interval is never needed.
const constantBits = 1024 + guard

var constants = sync.OnceValue(func() [2]*big.Int {
	f := fixed{constantBits + guard}
	ln2 := f.atanh(big.NewInt(1), big.NewInt(3))
	// Machin 1706: pi/4 = 4 arctan(1/5) - arctan(1/239)
	pi := f.arctan(5)
	pi.Lsh(pi, 2).Sub(pi, f.arctan(239)).Lsh(pi, 2)
	return [2]*big.Int{ln2.Lsh(ln2, 1), pi}
})

// arctan is that of 1/n.
func (f fixed) arctan(n int64) *big.Int {
	power := new(big.Int).Lsh(big.NewInt(1), f.bits)
	power.Quo(power, big.NewInt(n))
	sum := new(big.Int)
	for k := int64(1); power.Sign() != 0; k += 2 {
		term := new(big.Int).Quo(power, big.NewInt(k))
		if k%4 == 3 {
			term.Neg(term)
		}
		sum.Add(sum, term)
		power.Quo(power, big.NewInt(n*n))
	}
	return sum
}

func (f fixed) ln2() *big.Int { return f.constant(0) }
func (f fixed) pi() *big.Int  { return f.constant(1) }

func (f fixed) constant(i int) *big.Int {
	if f.bits > constantBits {
		panic("rng: a random number needs more than 1024 bits, whose probability is 2^-900")
	}
	return new(big.Int).Rsh(constants()[i], constantBits+guard-f.bits)
}
