package account

import (
	"math"

	"sotto/privacy/account/gdp"
	"sotto/privacy/account/loss"
)

// Profile is the whole privacy profile of a composition: an upper bound of delta for
// every epsilon. Unlike PrivacyLoss.Epsilon, which resolves any delta, its values are
// good down to about 1e-11 where events were composed. The zero Profile bounds nothing:
// its delta is 1.
type Profile struct {
	ways []func(eps float64) float64 // H_{e^eps} of each direction and branch, any real eps
}

// Profile composes once for many read-outs: curves, trade-off points and the best
// Gaussian bound.
func (d *PrivacyLoss) Profile() (*Profile, error) {
	if d.supports == nil {
		return nil, errNotMade
	}
	all, nonPrivate := d.branches()
	if nonPrivate {
		return &Profile{[]func(float64) float64{func(float64) float64 { return 1 }}}, nil
	}
	p := &Profile{}
	for _, l := range all {
		w, err := d.load(l)
		if err != nil {
			return nil, err
		}
		ways, err := w.profile()
		if err != nil {
			return nil, err
		}
		p.ways = append(p.ways, ways...)
	}
	return p, nil
}

func (w *workload) profile() ([]func(float64) float64, error) {
	switch {
	case math.IsInf(w.mu, 1) || w.noNoise:
		return []func(float64) float64{func(float64) float64 { return 1 }}, nil
	case len(w.pairs) == 0:
		return []func(float64) float64{func(eps float64) float64 { return gdp.Delta(w.mu, eps) }}, nil
	case w.exact():
		return []func(float64) float64{
			func(eps float64) float64 { return profileOf(w.pairs[0], false, eps) },
			func(eps float64) float64 { return profileOf(w.pairs[0], true, eps) }}, nil
	}
	const resolution = 1e-12
	pairs, counts := w.all()
	h := w.firstMesh(pairs, counts, resolution)
	for range passes {
		all, err := grids(h, pairs, counts, resolution, bothWays)
		var out []func(float64) float64
		for _, ds := range all {
			if err != nil {
				break
			}
			var c loss.Sum
			if loss.Infinite(ds) > 1-1e-12 {
				out = append(out, func(float64) float64 { return 1 })
				continue
			}
			if c, err = loss.Convolve(ds, 0, 37); err == nil && !c.Finite() {
				out = append(out, func(float64) float64 { return 1 })
			} else if err == nil {
				out = append(out, c.Reader())
			}
		}
		if f, wide := isTooWide(err); wide {
			h *= 1.1 * f
			continue
		}
		return out, err
	}
	return []func(float64) float64{func(float64) float64 { return 1 }}, nil
}

// Delta is an upper bound of delta at any real epsilon, the larger of both directions.
func (p *Profile) Delta(epsilon float64) float64 {
	if len(p.ways) == 0 {
		return 1
	}
	d := math.Max(0, -math.Expm1(epsilon))
	for _, f := range p.ways {
		d = math.Max(d, f(epsilon))
	}
	return math.Min(1, d)
}

// TPR is the largest true positive rate that any attack can have at the given false
// positive rate in [0, 1]: the least of delta(eps) + e^eps fpr, which is convex in e^eps.
func (p *Profile) TPR(fpr float64) float64 {
	f := func(eps float64) float64 { return p.Delta(eps) + math.Exp(eps)*fpr }
	lo, hi := -40.0, 700.0
	for range 200 {
		a, b := lo+(hi-lo)/3, hi-(hi-lo)/3
		if f(a) <= f(b) {
			hi = b
		} else {
			lo = a
		}
	}
	return math.Min(1, f(lo))
}

// Mu is the parameter of the best Gaussian bound: the least mu with gdp.Delta(mu,
// eps) >= Delta(eps), searched over 400 epsilons from 0 to where delta reaches 1e-10. It
// is +Inf where delta has a floor above that.
func (p *Profile) Mu() float64 {
	const floor = 1e-10
	top := solveProfile(p.Delta, floor)
	if math.IsInf(top, 1) {
		return top
	}
	var mu float64
	for i := 0; i < 400; i++ {
		eps := top * float64(i) / 400
		if d := p.Delta(eps); d > floor && d < 1 {
			mu = math.Max(mu, gdp.Mu(eps, d))
		} else if d >= 1 {
			return math.Inf(1)
		}
	}
	return mu
}
