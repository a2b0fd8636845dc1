// Package loss has privacy losses as numbers: on a grid the law of the loss of one event,
// the law of the sum of many, and the epsilon or delta that a sum has; and the Renyi
// divergences of one event. It knows no events and no mechanisms; package account makes
// the laws and says what they mean.
package loss

import "math"

// Law is a privacy loss distribution on the grid H*(Off+i): P[i] is the probability of
// that loss, Inf that of +Inf; it is composed Count times.
type Law struct {
	H     float64
	Off   int
	P     []float64
	Inf   float64
	Count float64
	InfQ  float64 // Q-probability of the outcomes of Inf
}

// Trim drops zeros at both ends; at least one cell stays.
func (d Law) Trim() Law {
	lo, hi := 0, len(d.P)
	for lo+1 < hi && d.P[lo] == 0 {
		lo++
	}
	for hi > lo+1 && d.P[hi-1] == 0 {
		hi--
	}
	d.P, d.Off = d.P[lo:hi], d.Off+lo
	return d
}

// Infinite is the probability that some loss of the composition is +Inf.
func Infinite(ds []Law) float64 {
	var lnFinite float64
	for i := range ds {
		lnFinite += ds[i].Count * math.Log1p(-math.Min(1, ds[i].Inf))
	}
	return -math.Expm1(lnFinite)
}

// infiniteQ is the same under Q.
func infiniteQ(ds []Law) float64 {
	var lnFinite float64
	for i := range ds {
		lnFinite += ds[i].Count * math.Log1p(-math.Min(1, ds[i].InfQ))
	}
	return -math.Expm1(lnFinite)
}

// Largest is the largest finite loss of the composition.
func Largest(ds []Law) float64 {
	var top float64
	for i := range ds {
		top += ds[i].Count * ds[i].H * float64(ds[i].Off+len(ds[i].P)-1)
	}
	return top
}

// cumulants returns ln sum_i p_i e^(lam t_i) and its first two derivatives in lam, of a
// single copy.
func (d *Law) cumulants(lam float64) (k, k1, k2 float64) {
	const block = 64
	ref := d.H * float64(d.Off)
	if lam > 0 {
		ref = d.H * float64(d.Off+len(d.P)-1)
	}
	ratio := math.Exp(lam * d.H)
	var s0, s1, s2 float64
	for lo := 0; lo < len(d.P); lo += block {
		t := d.H * float64(d.Off+lo)
		e := math.Exp(lam * (t - ref))
		for _, p := range d.P[lo:min(lo+block, len(d.P))] {
			if p != 0 {
				w := p * e
				s0 += w
				s1 += w * t
				s2 += w * t * t
			}
			e *= ratio
			t += d.H
		}
	}
	k1 = s1 / s0
	return lam*ref + math.Log(s0), k1, math.Max(0, s2/s0-k1*k1)
}

// Total is the cumulant function of a composition: the sum of those of its parts.
func Total(ds []Law, lam float64) (k, k1, k2 float64) {
	for i := range ds {
		a, b, c := ds[i].cumulants(lam)
		k, k1, k2 = k+ds[i].Count*a, k1+ds[i].Count*b, k2+ds[i].Count*c
	}
	return k, k1, k2
}

// maxTilt/h bounds tilts so that twice that, times the 64 cells of a block, stays in the
// range of exp.
const maxTilt = 5

// Chernoff finds lam > 0 with lam K'(lam) - K(lam) = nats, where the Chernoff bound exp(K
// - lam x) on the tail above x = K'(lam) is exp(-nats). The left side grows with lam;
// where a bounded loss cannot reach nats, half of what it can reach is taken instead.
func Chernoff(ds []Law, nats float64) (lam float64) {
	_, _, variance := Total(ds, 0)
	if variance == 0 {
		return 0
	}
	lo, hi := 0.0, maxTilt/ds[0].H
	f := func(l float64) (v, k2 float64) {
		k, k1, k2 := Total(ds, l)
		return l*k1 - k, k2
	}
	if top, _ := f(hi); top < 1.05*nats {
		nats = top / 2
	}
	l := math.Min(hi/2, math.Sqrt(2*nats/variance))
	for range 100 {
		v, k2 := f(l)
		if math.Abs(v-nats) <= 1e-3*nats || hi-lo <= 1e-6*hi {
			break
		}
		if v > nats {
			hi = l
		} else {
			lo = l
		}
		next := l + (nats-v)/(l*k2) // d/dl (l K' - K) = l K''
		if !(next > lo && next < hi) {
			next = math.Max((lo+hi)/2/8, math.Sqrt(lo*hi))
		}
		l = next
	}
	return l
}

// TiltAt finds lam >= 0 with K'(lam) = x, 0 where x is below the mean.
func TiltAt(ds []Law, x float64) float64 {
	lo, hi := 0.0, maxTilt/ds[0].H
	_, mean, variance := Total(ds, 0)
	if x <= mean || variance == 0 {
		return 0
	}
	l := math.Min(hi/2, (x-mean)/variance)
	for range 60 {
		_, k1, k2 := Total(ds, l)
		if math.Abs(k1-x) <= 1e-3*(x-mean) || hi-lo <= 1e-6*hi {
			break
		}
		if k1 > x {
			hi = l
		} else {
			lo = l
		}
		next := l + (x-k1)/k2
		if !(next > lo && next < hi) {
			next = (lo + hi) / 2
		}
		l = next
	}
	return l
}

// windowTilts are the tilts of these bounds over that which is best for a normal law.
var windowTilts = [...]float64{0.25, 0.5, 0.7, 0.85, 1, 1.25, 1.75, 3}

// window returns [a, b] such that the tilted sum lies outside on either side with
// probability at most exp(-nats), by the best of a few Chernoff bounds.
func window(ds []Law, lam, nats float64) (a, b float64) {
	k, mean, variance := Total(ds, lam)
	if variance == 0 {
		return mean - ds[0].H, mean + ds[0].H
	}
	a, b = math.Inf(-1), math.Inf(1)
	for _, f := range windowTilts {
		nu := math.Min(f*math.Sqrt(2*nats/variance), maxTilt/ds[0].H)
		up, _, _ := Total(ds, lam+nu)
		down, _, _ := Total(ds, lam-nu)
		b = math.Min(b, (up-k+nats)/nu)
		a = math.Max(a, (down-k+nats)/-nu)
	}
	return a, b
}

// Edge returns a t in [-1e6, 1e6] near the least at which the monotone done holds, to
// 1e-3 relative.
func Edge(done func(float64) bool) float64 {
	lo, hi := -1e6, 1e6
	if !done(hi) {
		return hi
	}
	step := 1e-6
	if done(0) {
		for hi = 0; done(-step) && step < 1e6; step *= 2 {
			hi = -step
		}
		lo = -step
	} else {
		for lo = 0; !done(step) && step < 1e6; step *= 2 {
			lo = step
		}
		hi = step
	}
	for range 12 {
		mid := (lo + hi) / 2
		if done(mid) {
			hi = mid
		} else {
			lo = mid
		}
	}
	return hi
}

// FewDigits is where probabilities begin to have fewer digits, as numbers near the
// smallest do.
const FewDigits = 1e-300

// UpperShare is the part of a cell's probability p that goes to its upper end, for lower
// end l and up = 1-e^-h; all of it where q has no digits.
func UpperShare(p, q, l, up float64) float64 {
	if q < FewDigits || l > Steep {
		return p
	}
	return min(p, max(0, (p-math.Exp(l)*q)/up))
}
