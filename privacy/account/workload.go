package account

import "math"

// workload is what one unit meets, as pairs with counts.
type workload struct {
	mesh    float64 // fixed grid step or 0
	mu      float64 // unsampled Gaussian events, composed exactly
	pairs   []pair
	counts  []int
	noNoise bool    // some event has no noise
	pure    float64 // no composition exceeds this epsilon, at any delta
}

func (d *PrivacyLoss) load(l []entry) (workload, error) {
	w := workload{mesh: d.mesh, pure: pureTotal(l, d.adjacency, d.unit)}
	var gauss []entry
	for _, e := range l {
		if _, ok := gaussianMu(e.body); ok {
			gauss = append(gauss, e)
			continue
		}
		p, bounded, err := d.pairFor(e.body)
		if err != nil {
			return w, err
		}
		if !bounded {
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
	for _, p := range w.pairs {
		if !p.tight {
			return false
		}
	}
	return true
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
		return gaussianInterval(w.mu, delta), true
	case delta == 0:
		return Interval{0, w.pure}, true
	case !w.exact():
		return Interval{}, false
	}
	var e float64
	for _, m := range ways {
		e = math.Max(e, solveProfile(func(eps float64) float64 { return profileOf(w.pairs[0], m, eps) }, delta))
	}
	i := Interval{e * (1 - 1e-9), math.Min(w.pure, e*(1+1e-9))}
	if !w.tight() {
		i.Lower = 0
	}
	return i, true
}

// profileOf is delta at eps of one pair or of its mirror image.
func profileOf(p pair, mirrored bool, eps float64) float64 {
	at := p.scan()
	if mirrored {
		v := at(-eps)
		return math.Max(0, v.qLo-math.Exp(eps)*v.pLo)
	}
	v := at(eps)
	if v.qUp == 0 {
		return v.pUp
	}
	return math.Max(0, v.pUp-math.Exp(eps)*v.qUp)
}

// solveProfile is the least eps >= 0 with f(eps) <= delta, +Inf if there is none below 1e6.
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

const (
	coarseMesh = 1e-3 // of the first pass, which only estimates
	fineMesh   = 1e-4 // intervals use at least this
	minMesh    = 1e-9
	driftShare = 2e-5 // rounding may move the upper end by this share
	widthShare = 8e-3 // the lower end may lie this share below the upper
	tableCells = 1 << 21
	passes     = 10
)

// epsilon composes on grids that get finer until the error terms are small.
func (w *workload) epsilon(delta float64, lower bool, ways []bool) (Interval, error) {
	if i, done := w.trivial(delta, ways); done {
		return i, nil
	}
	best := Interval{0, w.pure}
	if delta < 1e-200 {
		return w.pureOr(tooSmall(delta, 1e-200))
	}
	pairs, counts := w.all()
	h := w.firstMesh(pairs, counts, delta)
	for pass := 0; pass < passes; pass++ {
		g, err := w.epsilonOn(h, pairs, counts, delta, ways)
		if f, wide := isTooWide(err); wide {
			if w.mesh == 0 && best.Upper < w.pure {
				break // the grid before was the finest that fits
			}
			h *= 1.1 * f
			continue
		}
		if err != nil {
			return w.pureOr(err)
		}
		best = Interval{math.Max(best.Lower, g.Lower), math.Min(best.Upper, g.Upper)}
		next := h * g.shrink(lower)
		if lower && pass == 0 {
			next = math.Min(next, fineMesh)
		}
		if w.mesh > 0 || next >= h || g.Upper == 0 || math.IsInf(g.Upper, 1) || h <= minMesh {
			break
		}
		h = math.Max(minMesh, math.Max(1e-3*h, next))
	}
	best.Lower = math.Min(best.Lower, best.Upper)
	return best, nil
}

// pureOr answers with the pure epsilon where grids cannot resolve delta.
func (w *workload) pureOr(err error) (Interval, error) {
	if math.IsInf(w.pure, 1) {
		return Interval{}, err
	}
	return Interval{0, w.pure}, nil
}

// onGrid is the answer at one grid step.
type onGrid struct {
	Interval
	drift float64 // how far rounding may have moved the upper end
	slack float64 // how far below it the lower end lies because of rounding
}

// shrink is the factor by which the grid step must fall to make the errors small, at least 1 when they are.
func (g onGrid) shrink(lower bool) float64 {
	f := math.Sqrt((driftShare*g.Upper + 1e-9) / g.drift)
	if lower && g.slack > 0 {
		f = math.Min(f, (widthShare*g.Upper+1e-9)/g.slack)
	}
	if f < 1 {
		f *= 0.9
	}
	return f
}

// firstMesh is coarseMesh, or coarser where a single event is wider than a table, or finer where all events are much
// narrower.
func (w *workload) firstMesh(pairs []pair, counts []int, delta float64) float64 {
	if w.mesh > 0 {
		return w.mesh
	}
	widest := 0.0
	for _, p := range pairs {
		t0, t1 := p.support(gridMass(delta, counts))
		widest = math.Max(widest, t1-t0)
	}
	return math.Max(widest/tableCells, math.Min(coarseMesh, math.Max(minMesh, widest/256)))
}

// gridMass is the probability that may be cut off a single event on either side: all of them together stay below tau/2.
func gridMass(delta float64, counts []int) float64 {
	var n float64
	for _, c := range counts {
		n += float64(c)
	}
	return tauFor(delta) / (4 * n)
}

// tauFor bounds the probability that the grids cut off.
func tauFor(delta float64) float64 { return math.Min(1e-15, 1e-6*delta) }

// grids discretises every pair, in both directions where they differ.
func grids(h float64, pairs []pair, counts []int, delta float64, ways []bool) (remove, add []losses, err error) {
	mass := gridMass(delta, counts)
	symmetric := true
	for _, p := range pairs {
		symmetric = symmetric && p.symmetric
	}
	for k, p := range pairs {
		t0, t1 := p.support(mass)
		if cells := (t1 - t0) / h; cells > 2*tableCells {
			return nil, nil, errTooWide{cells / (2 * tableCells)}
		}
		tab := p.tabulate(h, t0, t1)
		for _, mirrored := range ways {
			switch {
			case mirrored && !symmetric:
				add = append(add, tab.connect(true, counts[k]))
			case !mirrored || len(ways) == 1:
				remove = append(remove, tab.connect(mirrored, counts[k]))
			}
		}
	}
	return remove, add, nil
}

const windowNats = 16 // tilted mass outside the window: 1e-7 on either side, relative to about delta

func (w *workload) epsilonOn(h float64, pairs []pair, counts []int, delta float64, ways []bool) (g onGrid, err error) {
	remove, add, err := grids(h, pairs, counts, delta, ways)
	if err != nil {
		return g, err
	}
	for _, ds := range [][]losses{remove, add} {
		if len(ds) == 0 {
			continue
		}
		c, up, err := composeFor(ds, delta)
		if err != nil {
			return g, err
		}
		// Given the true losses, the grid's sum exceeds theirs by more than t with probability at most eta (Hoeffding), so
		// delta(eps) >= profile(eps + t) - eta - tau.
		eta := 1e-3 * delta
		t := c.drift + math.Sqrt(c.vari*-math.Log(eta))
		lo := c.lowerEpsilon(delta+eta+tauFor(delta)) - t
		g.Upper = math.Max(g.Upper, up)
		g.drift = math.Max(g.drift, (1+c.lam)*c.drift) // in the tail, rounding adds lam times its variance as well
		if w.tight() {
			g.Lower = math.Max(g.Lower, lo)
			g.slack = math.Max(g.slack, t)
		}
	}
	return g, nil
}

// composeFor composes with the tilt that resolves the tail at delta. A bounded loss may have no tail of that size; then
// smaller tilts, the last of them none, resolve it.
func composeFor(ds []losses, delta float64) (c composed, eps float64, err error) {
	for _, f := range []float64{1, 0.25, 0.05, 0} {
		lam, nats := 0.0, 37.0
		if f > 0 {
			var top float64
			nats = windowNats
			if lam, top = chernoff(ds, -f*math.Log(delta)); top <= 0 && f == 1 {
				return composed{}, 0, nil // P[loss > 0] <= delta
			}
		}
		if c, err = compose(ds, lam, nats); err != nil {
			return c, 0, err
		}
		var ok bool
		if eps, ok = c.upperEpsilon(delta); ok {
			return c, eps, nil
		}
	}
	return c, 0, tooSmall(delta, 10*c.err)
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
		d := GaussianDelta(w.mu, eps)
		return Interval{d * (1 - 1e-12), math.Min(1, d*(1+1e-12))}, nil
	case w.exact():
		d := math.Max(profileOf(w.pairs[0], false, eps), profileOf(w.pairs[0], true, eps))
		lower := d * (1 - 1e-9)
		if !w.tight() {
			lower = 0
		}
		return Interval{lower, math.Min(1, d*(1+1e-9))}, nil
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
	remove, add, err := grids(h, pairs, counts, scale, bothWays)
	if err != nil {
		return i, err
	}
	for _, ds := range [][]losses{remove, add} {
		if len(ds) == 0 {
			continue
		}
		lam := tiltAt(ds, eps)
		nats := float64(windowNats)
		if lam == 0 {
			nats = 37
		}
		c, err := compose(ds, lam, nats)
		if err != nil {
			return i, err
		}
		up := c.deltaAt(eps)
		eta := 1e-3 * up
		t := c.drift + math.Sqrt(c.vari*-math.Log(eta))
		at := eps + t
		lo := (c.deltaAt(at)-c.tau)*(1-2*c.round) - 2*c.allowance(at) - c.wrap*math.Exp(c.k-c.lam*at) - eta
		i.Upper = math.Max(i.Upper, up)
		if w.tight() {
			i.Lower = math.Max(i.Lower, lo)
		}
	}
	return i, nil
}
