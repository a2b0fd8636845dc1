package rng

// Samplers of discrete laws by integer arithmetic alone: given uniform bits, no law below
// differs from its formula. They take a random time, which depends on their own draws and
// never on what the draws are added to.

// factorial20 is 20!, the common denominator of the thresholds below.
const factorial20 = 2432902008176640000

// chain[k] is 20!/(k+2)!: a uniform u in [0, 20!) falls below it with probability
// 1/(k+2)!.
var chain = [...]uint64{
	factorial20 / 2, factorial20 / 6, factorial20 / 24, factorial20 / 120, factorial20 / 720,
	factorial20 / 5040,
	factorial20 / 40320, factorial20 / 362880, factorial20 / 3628800, factorial20 / 39916800,
	factorial20 / 479001600,
	factorial20 / 6227020800, factorial20 / 87178291200, factorial20 / 1307674368000,
	factorial20 / 20922789888000,
	factorial20 / 355687428096000, factorial20 / 6402373705728000, factorial20 / 121645100408832000, 1,
}

// bernoulliInvE is true with probability exp(-1). The first k at which a Bernoulli
// variable of rate 1/k fails is above k with probability 1/k! and odd with probability
// exp(-1) (Canonne, Kamath, Steinke 2020, Algorithm 1); one uniform value in [0, 20!)
// stands for the first 20 of them.
func (s *Stream) bernoulliInvE() bool {
	u := s.Below(factorial20)
	if u >= factorial20/2 {
		return false // the first failure is at 2
	}
	for k := 1; k < len(chain); k++ {
		if u >= chain[k] {
			return k&1 == 1 // the first failure is at k+2
		}
	}
	for k := uint64(21); ; k++ {
		if s.Below(k) != 0 {
			return k&1 == 1
		}
	}
}

// BernoulliExp is true with probability exp(-num/den), exactly (Canonne, Kamath, Steinke
// 2020, Algorithm 1). It panics for den = 0.
func (s *Stream) BernoulliExp(num, den uint64) bool {
	if den == 0 {
		panic("rng: BernoulliExp with denominator 0")
	}
	for ; num >= den; num -= den {
		if !s.bernoulliInvE() {
			return false
		}
	}
	return s.bernoulliExpBelow1(num, den)
}

// bernoulliExpBelow1 needs num <= den: the first failure among Bernoulli variables of
// rates num/(k den) is odd.
func (s *Stream) bernoulliExpBelow1(num, den uint64) bool {
	if s.Below(den) >= num {
		return true // the first variable fails
	}
	for k := uint64(2); ; k++ {
		if s.Below(k) != 0 || s.Below(den) >= num {
			return k&1 == 1
		}
	}
}

// geometricInvE counts successes of rate exp(-1) before the first failure.
func (s *Stream) geometricInvE() uint64 {
	v := uint64(0)
	for s.bernoulliInvE() {
		v++
	}
	return v
}

// MaxLaplaceScale is the largest scale of DiscreteLaplace.
const MaxLaplaceScale = 1 << 40

// DiscreteLaplace draws an integer x with probability (1-r)/(1+r) r^|x|, r = exp(-1/t),
// exactly (Canonne, Kamath, Steinke 2020, Algorithm 2). t lies in 1..MaxLaplaceScale; it
// panics for others.
func (s *Stream) DiscreteLaplace(t uint64) int64 {
	if t-1 >= MaxLaplaceScale {
		panic("rng: DiscreteLaplace needs a scale from 1 to 2^40")
	}
	for {
		w := s.Below(2 * t)
		u := w >> 1
		if !s.bernoulliExpBelow1(u, t) {
			continue
		}
		x := int64(u + t*s.geometricInvE())
		if w&1 == 0 {
			return x
		}
		if x != 0 { // minus zero is not counted twice
			return -x
		}
	}
}
