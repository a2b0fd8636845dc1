package account

import (
	"math"
	"slices"

	"sotto/privacy/account/gdp"
	"sotto/privacy/account/loss"
)

// workload is what one unit meets, as pairs with counts.
type workload struct {
	mesh    float64 // fixed grid step or 0
	mu      float64 // unsampled Gaussian events, composed exactly
	bound   bool    // of some of these mu is a bound only
	pairs   []pair
	counts  []int
	noNoise bool    // some event has no noise
	pure    float64 // no composition exceeds this epsilon, at any delta
}

func (d *PrivacyLoss) load(l []entry) (workload, error) {
	w := workload{mesh: d.mesh, pure: pureTotal(l, d.relation)}
	var gauss []entry
	for _, e := range l {
		if _, ok := gaussianMu(e.body); ok {
			gauss, w.bound = append(gauss, e), w.bound || e.body.coarse()
			continue
		}
		p, err := d.pairOf(e.body)
		if err != nil {
			return w, err
		}
		if !p.noisy() {
			w.noNoise = true
			continue
		}
		w.pairs, w.counts = append(w.pairs, p), append(w.counts, e.count)
	}
	w.mu = totalMu(gauss, d.unit)
	return w, nil
}

// exact reports a workload whose profile needs no composition.
func (w *workload) exact() bool {
	return len(w.pairs) == 0 || len(w.pairs) == 1 && w.counts[0] == 1 && w.mu == 0
}

// all returns the pairs with the Gaussian events folded into one.
func (w *workload) all() ([]pair, []int) {
	if w.mu == 0 {
		return w.pairs, w.counts
	}
	return append([]pair{gaussianPair(w.mu)}, w.pairs...), append([]int{1}, w.counts...)
}

func (w *workload) tight() bool {
	if w.bound {
		return false
	}
	for _, p := range w.pairs {
		if !p.tight {
			return false
		}
	}
	return true
}

// raise lifts the lower end of an answer to that of a workload that some data sets have,
// where w itself is only a bound and such a workload is known.
func (w *workload) raise(i *Interval, answer func(attained *workload) (Interval, error)) {
	attained, below := *w, false
	attained.pairs = slices.Clone(w.pairs)
	for k, p := range w.pairs {
		if p.tight {
			continue
		}
		if p.under == nil {
			return
		}
		attained.pairs[k], below = *p.under, true
	}
	if !below || w.bound {
		return
	}
	if a, err := answer(&attained); err == nil {
		i.Lower = math.Min(i.Upper, math.Max(i.Lower, a.Lower))
	}
}

// trivial answers what needs no composition of grids.
func (w *workload) trivial(delta float64, ways []bool) (Interval, bool) {
	inf := math.Inf(1)
	switch {
	case delta == 1:
		return Interval{}, true
	case math.IsInf(w.mu, 1):
		return Interval{inf, inf}, true
	case w.noNoise:
		return Interval{0, inf}, true
	case len(w.pairs) == 0:
		i := gaussianInterval(w.mu, delta)
		if w.bound {
			i.Lower = 0
		}
		return i, true
	case delta == 0:
		return Interval{0, w.pure}, true
	case !w.exact():
		return Interval{}, false
	}
	var i Interval
	for _, m := range ways {
		of := func(by float64) float64 {
			return solveProfile(func(eps float64) float64 {
				d, e := profileWithin(w.pairs[0], m, eps)
				return d + by*e
			}, delta)
		}
		e := of(0)
		i.Upper = math.Max(i.Upper, math.Max(e*(1+1e-9), of(1)))
		i.Lower = math.Max(i.Lower, math.Min(e*(1-1e-9), of(-1)))
	}
	i.Upper = math.Min(w.pure, i.Upper)
	i.Lower = math.Min(loss.Steep, math.Min(i.Lower, i.Upper))
	if !w.tight() {
		i.Lower = 0
	}
	return i, true
}

// profileOf is delta at eps of one pair or of its mirror image.
func profileOf(p pair, mirrored bool, eps float64) float64 {
	d, _ := profileWithin(p, mirrored, eps)
	return d
}

// profileWithin is profileOf and the error of that difference: tails have relative errors
// below 2^-49, mixtures of them below 2^-47. Where Q-probabilities have too few digits,
// or are too small for a float64, delta is the bound without them, and may be 0.
func profileWithin(p pair, mirrored bool, eps float64) (delta, err float64) {
	at := p.Scan()
	var up, other, never float64
	if mirrored {
		v := at(-eps)
		up, other, never = v.QLo, v.PLo, at(-1e300).QLo
	} else {
		v := at(eps)
		up, other, never = v.PUp, v.QUp, at(1e300).PUp
	}
	switch {
	case other == 0 && up == never: // of outcomes that cannot be in the other world
		return up, 0x1p-47 * up
	case eps > loss.Steep || other < loss.FewDigits:
		return up, up
	}
	q := math.Exp(eps) * other
	return math.Max(0, up-q), 0x1p-47 * (up + q)
}

// solveProfile is the least eps >= 0 with f(eps) <= delta, +Inf if there is none below
// 1e6.
func solveProfile(f func(float64) float64, delta float64) float64 {
	if f(0) <= delta {
		return 0
	}
	lo, hi := 0.0, 1.0
	for f(hi) > delta {
		if lo, hi = hi, 2*hi; hi > 1e6 {
			return math.Inf(1)
		}
	}
	for range 100 {
		mid := lo + (hi-lo)/2
		if mid <= lo || mid >= hi {
			break
		}
		if f(mid) > delta {
			lo = mid
		} else {
			hi = mid
		}
	}
	return hi
}

// delta answers the inverse question, on one grid.
func (w *workload) delta(eps float64) (Interval, error) {
	switch {
	case math.IsInf(w.mu, 1):
		return Interval{1, 1}, nil
	case w.noNoise:
		return Interval{0, 1}, nil
	case eps >= w.pure || math.IsInf(eps, 1) && len(w.pairs) == 0:
		return Interval{}, nil
	case len(w.pairs) == 0:
		d := gdp.Delta(w.mu, eps)
		return Interval{d * (1 - 1e-12), math.Min(1, d*(1+1e-12))}, nil
	case w.exact():
		var i Interval
		for _, m := range bothWays {
			d, e := profileWithin(w.pairs[0], m, eps)
			i.Upper = math.Max(i.Upper, d+math.Max(1e-9*d, e))
			i.Lower = math.Max(i.Lower, d-math.Max(1e-9*d, e))
		}
		if !w.tight() || eps > loss.Steep {
			i.Lower = 0
		}
		return Interval{i.Lower, math.Min(1, i.Upper)}, nil
	}
	pairs, counts := w.all()
	h := math.Min(fineMesh, w.firstMesh(pairs, counts, 1e-9))
	if w.mesh > 0 {
		h = w.mesh
	}
	for range passes {
		i, err := w.deltaOn(h, pairs, counts, eps)
		if f, wide := isTooWide(err); wide {
			h *= 1.1 * f
			continue
		}
		return i, err
	}
	return Interval{0, 1}, nil
}

func (w *workload) deltaOn(h float64, pairs []pair, counts []int, eps float64) (i Interval, err error) {
	const scale = 1e-30 // resolves any delta that is worth stating
	all, err := grids(h, pairs, counts, scale, bothWays)
	if err != nil {
		return i, err
	}
	for _, ds := range all {
		if inf := loss.Infinite(ds); inf > 1-1e-12 {
			return Interval{i.Lower, 1}, nil
		}
		lam := loss.TiltAt(ds, eps)
		nats := float64(windowNats)
		if lam == 0 {
			nats = 37
		}
		c, err := loss.Convolve(ds, lam, nats)
		if err != nil {
			return i, err
		}
		if !c.Finite() {
			return Interval{i.Lower, 1}, nil
		}
		up := c.Delta(eps)
		eta := 1e-3 * up
		i.Upper = math.Max(i.Upper, up)
		if w.tight() {
			i.Lower = math.Max(i.Lower, c.LowerDelta(eps, eta)-tauFor(scale))
		}
	}
	return i, nil
}
