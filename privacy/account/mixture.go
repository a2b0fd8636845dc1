package account

import (
	"fmt"
	"math"

	"sotto/config"
	"sotto/privacy/account/loss"
	"sotto/tensor"
)

var mixtureKind = kind{
	typ:    TypeMixtureGaussian,
	traits: bare,
	fields: func(b *body) []field {
		return []field{{"noise_multiplier", &b.noise, nonNegative}, {"shifts", &b.shifts, rule{}},
			{"probs", &b.probs, rule{}}}
	},
	normalise: leaf((*body).checkMixture),
	pair: func(b *body, r relation) (pair, error) {
		if !r.unit.whole() {
			return noPair, errNoProof
		}
		return r.mixture(b.noise, b.shifts, b.probs), nil
	},
}

// MixtureGaussian is normal noise on a sum in which the unit takes part a random,
// data-independent number of times: with probability probs[j] the value moves by
// shifts[j] clips. shifts ascend from at least 0, probs sum to 1 within 1e-9, and lack at
// most 1e-12 of it: numbers of times that are left out, however rare, are not charged.
// The noise multiplier is finite and at least 0. It keeps copies.
func MixtureGaussian(noiseMultiplier float64, shifts, probs []float64) (Event, error) {
	lacks := 1.
	for _, p := range probs {
		lacks -= p
	}
	if lacks > 1e-12 {
		return Event{}, config.Bad("probs", 1-lacks, "a sum that lacks at most 1e-12 of 1")
	}
	return newEvent(&body{
		kind:   &mixtureKind,
		noise:  noiseMultiplier,
		shifts: append([]float64(nil), shifts...),
		probs:  append([]float64(nil), probs...),
	})
}

func (b *body) checkMixture() error {
	if len(b.shifts) == 0 || len(b.shifts) != len(b.probs) {
		return config.Bad("probs", len(b.probs), "as many as shifts, at least one")
	}
	sum, last := 0.0, -1.0
	for i, c := range b.shifts {
		if !atLeast0(c) || c <= last {
			return config.Bad("shifts", c, "finite, ascending from at least 0")
		}
		if !inUnit(b.probs[i]) {
			return config.Bad("probs", b.probs[i], "0 to 1")
		}
		last = c
		sum += b.probs[i]
	}
	return bad(math.Abs(sum-1) <= 1e-9, "probs", sum, "a sum of 1 within 1e-9")
}

// mixture is the pair of a random number of hits; under replace-one each contribution
// lies within half the shift.
func (r relation) mixture(noise float64, shifts, probs []float64) pair {
	if noise == 0 {
		return noPair
	}
	half := 1.0
	if r.adjacency == ReplaceOne {
		half = 0.5
	}
	var w, c []float64
	for j, p := range probs {
		if p > 0 {
			w, c = append(w, p), append(c, half*shifts[j]/noise)
		}
	}
	return mixturePair(w, c, r.adjacency == ReplaceOne)
}

// binomialMixture is the event of draws Poisson micro-batches under one Gaussian noise
// draw.
func binomialMixture(inner Event, draws int, rate float64) (Event, error) {
	if err := bad(inUnit(rate), "rate", rate, "0 to 1"); err != nil {
		return Event{}, err
	}
	if t := inner.Type(); t == TypeNonPrivate || t == TypeNoOp {
		return inner, nil
	}
	mu, ok := gaussianMu(inner.body)
	if !ok || inner.body.coarse() { // of a coarse one mu is a bound, and the mixture has a lower end
		return Event{}, fmt.Errorf("%w: micro-batches summed before a %s mechanism; supported: gaussian",
			ErrUnsupported, inner.Type())
	}
	if rate == 0 {
		inner.body = noOp
		return inner, nil
	}
	b := &body{kind: &mixtureKind, noise: 1 / mu}
	unit := 1.0
	if inner.Type() == TypeGaussian { // keep the figures that the mechanism stated
		b.noise, unit = inner.body.noise, inner.body.shift
	}
	for j := 0; j <= draws; j++ {
		if p := binomialPMF(draws, j, rate); p > 0 {
			b.shifts = append(b.shifts, float64(j)*unit)
			b.probs = append(b.probs, p)
		}
	}
	n, err := normalise(b)
	inner.body = n
	return inner, err
}

// binomialPMF is P[Bin(n,q) = j].
func binomialPMF(n, j int, q float64) float64 {
	if q == 0 || q == 1 {
		if float64(j) == q*float64(n) {
			return 1
		}
		return 0
	}
	return math.Exp(lnChoose(float64(n), float64(j)) + float64(j)*math.Log(q) + float64(n-j)*math.Log1p(-q))
}

func lnChoose(n, k float64) float64 {
	a, _ := math.Lgamma(n + 1)
	b, _ := math.Lgamma(k + 1)
	c, _ := math.Lgamma(n - k + 1)
	return a - b - c
}

// mixturePair is sum_j w_j N(c_j) against N(0) with unit variance (remove), or against
// sum_j w_j N(-c_j) when antipodal, where c ascends from at least 0. The loss grows with
// x and is inverted by safeguarded Newton steps.
func mixturePair(w, c []float64, antipodal bool) pair {
	lnW := make([]float64, len(w))
	for j := range w {
		lnW[j] = math.Log(w[j])
	}
	at := func(x float64) (l, slope float64) {
		l, slope = lnMixture(lnW, c, x)
		if antipodal {
			m, s := lnMixture(lnW, c, -x)
			l, slope = l-m, slope+s
		}
		return l, slope
	}
	floor := math.Inf(-1) // the loss stays above ln w_0 when a record may miss altogether
	if c[0] == 0 && !antipodal {
		floor = lnW[0]
	}
	scan := func() loss.Scan {
		x := 0.0
		return func(t float64) loss.Tails {
			if t <= floor {
				return loss.AllAbove
			}
			x = invertLoss(at, t, x)
			v := loss.Tails{QUp: upperTail(x), QLo: upperTail(-x)}
			if antipodal {
				v.QUp, v.QLo = 0, 0
			}
			for j := range w {
				v.PUp += w[j] * upperTail(x-c[j])
				v.PLo += w[j] * upperTail(c[j]-x)
				if antipodal {
					v.QUp += w[j] * upperTail(x+c[j])
					v.QLo += w[j] * upperTail(-c[j]-x)
				}
			}
			return v
		}
	}
	return pair{loss.Source{Scan: scan}, antipodal, true, nil}
}

// lnMixture is ln sum_j w_j exp(c_j x - c_j^2/2) and its derivative.
func lnMixture(lnW, c []float64, x float64) (l, slope float64) {
	top := math.Inf(-1)
	for j := range c {
		top = math.Max(top, lnW[j]+c[j]*x-c[j]*c[j]/2)
	}
	var s0, s1 float64
	for j := range c {
		e := math.Exp(lnW[j] + c[j]*x - c[j]*c[j]/2 - top)
		s0 += e
		s1 += e * c[j]
	}
	return top + math.Log(s0), s1 / s0
}

// invertLoss solves at(x) = t for an increasing loss, starting near x; it stops at +-1e3,
// where every tail is 0 or 1.
func invertLoss(at func(float64) (float64, float64), t, x float64) float64 {
	lo, hi := -1e3, 1e3
	x = math.Min(hi, math.Max(lo, x))
	for range 200 {
		l, s := at(x)
		if l > t {
			hi = x
		} else {
			lo = x
		}
		next := x - (l-t)/s
		if !(next > lo && next < hi) {
			next = lo + (hi-lo)/2
		}
		if math.Abs(next-x) <= 1e-15*(1+math.Abs(x)) || hi-lo <= 1e-15*(1+math.Abs(x)) {
			return next
		}
		x = next
	}
	return x
}

// upperTail is P[Z > x] for a standard normal Z, see [tensor.NormalTail].
func upperTail(x float64) float64 {
	up, _ := tensor.NormalTail(x)
	return up
}
