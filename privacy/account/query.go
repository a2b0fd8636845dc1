package account

import (
	"math"
	"slices"
	"sort"

	"sotto/privacy/account/loss"
)

const (
	coarseMesh = 1e-3 // of the first pass, which only estimates
	fineMesh   = 1e-4 // intervals use at least this
	minMesh    = 1e-9
	driftShare = 2e-5    // rounding may move the upper end by this share
	widthShare = 8e-3    // the lower end may lie this share below the upper
	tableCells = 1 << 21 // of one event
	totalCells = 1 << 24 // of all events in both directions
	passes     = 10
	etaShare   = 1e-3 // of delta: how probably rounding moves the lower end too little
)

// epsilon composes on a coarse grid first, then on finer ones in the direction that
// matters, until the errors are small.
func (w *workload) epsilon(delta float64, lower bool, ways []bool) (Interval, error) {
	if i, done := w.trivial(delta, ways); done {
		return i, nil
	}
	if delta < 1e-200 {
		return w.pureOr(tooSmall(delta, 1e-200))
	}
	q := query{w: w, delta: delta, lower: lower}
	q.pairs, q.counts = w.all()
	if !slices.ContainsFunc(q.pairs, func(p pair) bool { return !p.symmetric }) {
		ways = []bool{false}
	}
	h := w.firstMesh(q.pairs, q.counts, delta)
	coarse, h, err := q.first(h, ways)
	sort.SliceStable(coarse, func(i, j int) bool { return coarse[i].Upper > coarse[j].Upper })
	best := onGrid{}
	if q.upper = math.Inf(1); err == nil {
		q.upper = coarse[0].Upper
	}
	for _, g := range coarse {
		if g.Upper > best.Upper { // else already below the other direction
			g = q.refine(g, h, ways)
		}
		if g.Upper >= best.Upper {
			best.Upper, best.drift, best.cells = g.Upper, g.drift, g.cells
		}
		best.Lower = math.Max(best.Lower, g.Lower)
	}
	if err != nil {
		best.Upper = math.Inf(1)
	}
	if q.wide(best) {
		best.Interval = q.narrower(best.Interval, ways)
	}
	if err != nil && math.IsInf(best.Upper, 1) {
		return w.pureOr(err)
	}
	best.Upper = math.Min(best.Upper, w.pure)
	if math.IsInf(best.Lower, 1) && !(q.impossible() > delta) {
		best.Lower = loss.Steep // grids end at losses of a million
	}
	best.Lower = math.Min(best.Lower, best.Upper)
	return best.Interval, nil
}

// query is one question about a workload.
type query struct {
	w      *workload
	pairs  []pair
	counts []int
	delta  float64
	lower  bool      // whether the lower end is wanted
	upper  float64   // bound from the first grids
	narrow *Interval // see narrowed, once asked for
}

// impossible bounds the probability, in either direction, of outcomes that the other
// world does not have.
func (q *query) impossible() float64 {
	const beyond = 1e300
	var all [2]float64 // -ln of the probability of none
	for k, p := range q.pairs {
		at := p.Scan()
		up, down := at(beyond).PUp, at(-beyond).QLo
		all[0] -= float64(q.counts[k]) * math.Log1p(-up)
		all[1] -= float64(q.counts[k]) * math.Log1p(-down)
	}
	return -math.Expm1(-math.Max(all[0], all[1]))
}

// first answers on the finest grid of step at least h that fits.
func (q *query) first(h float64, ways []bool) ([]onGrid, float64, error) {
	for range passes {
		g, err := q.on(h, ways)
		if f, wide := isTooWide(err); wide {
			h *= 1.1 * f
			continue
		}
		return g, h, err
	}
	return []onGrid{{Interval: Interval{0, math.Inf(1)}}}, h, nil
}

// refine repeats the query in the direction of g, answered at step h, with finer steps
// while errors are large and grids fit, unless none that fits has small ones.
func (q *query) refine(g onGrid, h float64, ways []bool) onGrid {
	best := g.Interval
	for pass := 1; pass < passes; pass++ {
		next := h * g.shrink(q.lower)
		if q.lower && pass == 1 {
			next = math.Min(next, fineMesh)
		}
		if q.w.mesh > 0 || next >= h || g.Upper == 0 || math.IsInf(g.Upper, 1) || h <= minMesh {
			break
		}
		next = math.Max(minMesh, math.Max(1e-3*h, next))
		if g.cells*h/next > manyCells && q.hopeless(g, next, ways) {
			break
		}
		h = next
		all, err := q.on(h, []bool{g.mirrored})
		if err != nil {
			break // too many cells or too much round-off: the grid before was the finest
		}
		g = all[0]
		best = Interval{math.Max(best.Lower, g.Lower), math.Min(best.Upper, g.Upper)}
	}
	g.Interval = best
	return g
}

// pureOr answers with the pure epsilon where grids cannot resolve delta.
func (w *workload) pureOr(err error) (Interval, error) {
	if math.IsInf(w.pure, 1) {
		return Interval{}, err
	}
	return Interval{0, w.pure}, nil
}

// onGrid is the answer in one direction at one grid step.
type onGrid struct {
	Interval
	mirrored bool
	drift    float64 // how far rounding may have moved the upper end
	slack    float64 // how far below it the lower end lies because of rounding
	cells    float64 // of the window
}

// shrink is the factor by which the grid step must fall to make the errors small, at
// least 1 when they are.
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

// firstMesh is coarseMesh, or coarser where a single event is wider than a table, or
// finer where all events are much narrower.
func (w *workload) firstMesh(pairs []pair, counts []int, delta float64) float64 {
	if w.mesh > 0 {
		return w.mesh
	}
	widest := 0.0
	for _, p := range pairs {
		t0, t1 := loss.Support(p.Scan, gridMass(delta, counts))
		widest = math.Max(widest, t1-t0)
	}
	return math.Max(widest/cellsFor(pairs), math.Min(coarseMesh, math.Max(minMesh, widest/256)))
}

// cellsFor is the largest table of each of many pairs.
func cellsFor(pairs []pair) float64 {
	return math.Min(tableCells, totalCells/2/float64(len(pairs)))
}

// gridMass is the probability that may be cut off a single event on either side: all of
// them together stay below tau/2.
func gridMass(delta float64, counts []int) float64 {
	var n float64
	for _, c := range counts {
		n += float64(c)
	}
	return tauFor(delta) / (4 * n)
}

// tauFor bounds the probability that the grids cut off.
func tauFor(delta float64) float64 { return math.Min(1e-15, 1e-6*delta) }

// grids discretises every pair, once for each of ways (false: the pair, true: its mirror
// image).
func grids(h float64, pairs []pair, counts []int, delta float64, ways []bool) ([][]loss.Law, error) {
	mass := gridMass(delta, counts)
	out := make([][]loss.Law, len(ways))
	for k, p := range pairs {
		t0, t1 := loss.Support(p.Scan, mass)
		if cells := (t1 - t0) / h; cells > 1.1*cellsFor(pairs) {
			return nil, loss.TooWide{Factor: cells / cellsFor(pairs)}
		}
		tab := loss.Tabulate(p.Source, h, t0, t1)
		for i, mirrored := range ways {
			out[i] = append(out[i], tab.Connect(mirrored, counts[k]))
		}
	}
	return out, nil
}

const windowNats = 16 // tilted mass outside the window: 1e-7 on either side, relative to about delta

// on answers at grid step h in each of ways.
func (q *query) on(h float64, ways []bool) ([]onGrid, error) {
	all, err := grids(h, q.pairs, q.counts, q.delta, ways)
	if err != nil {
		return nil, err
	}
	out := make([]onGrid, len(ways))
	for i, ds := range all {
		c, up, err := composeFor(ds, q.delta)
		if err != nil {
			return nil, err
		}
		// in the tail, lam times the variance of rounding adds to its drift
		g := onGrid{Interval: Interval{0, up}, mirrored: ways[i], drift: (1 + c.Lam) * c.Drift,
			cells: c.Cells()}
		if q.w.tight() {
			// Given the true losses, the grid's sum exceeds theirs by more than t with
			// probability at most eta, so delta(eps) >= profile(eps + t) - eta - tau.
			eta := etaShare * q.delta
			g.slack = c.Slack(eta)
			g.Lower = math.Max(0, c.LowerEpsilon(q.delta+eta+tauFor(q.delta))-g.slack)
		}
		out[i] = g
	}
	return out, nil
}

// composeFor composes with the tilt that resolves the tail at delta. A bounded loss may
// have no tail of that size; then smaller tilts, the last of them none, resolve it.
func composeFor(ds []loss.Law, delta float64) (c loss.Sum, eps float64, err error) {
	inf := loss.Infinite(ds)
	if inf > 1-1e-12 {
		return loss.Sum{Inf: inf}, math.Inf(1), nil
	}
	finite := math.Max(delta-inf, 1e-3*delta)
	works := 0.0
	for _, f := range []float64{1, 0.25, 0.05, 0} {
		lam, nats := 0.0, windowNats-(1-f)*math.Log(delta) // the smaller the tilt, the wider the window
		if f > 0 {
			lam = loss.Chernoff(ds, -f*math.Log(finite))
			if k, _, _ := loss.Total(ds, lam); k <= math.Log(delta-inf) {
				return loss.Sum{}, 0, nil // P[loss > 0] <= delta
			}
		}
		if c, err = loss.Convolve(ds, lam, nats); err != nil {
			if f < 1 {
				break // a wider window than the tail needs
			}
			return c, 0, err
		}
		var ok bool
		if eps, ok = c.UpperEpsilon(delta); ok {
			return c, eps, nil
		}
		works = math.Max(works, 20*c.Err)
	}
	if inf < delta/2 { // a sum of bounded losses does not exceed its largest value
		if top := loss.Largest(ds); top <= loosestTop {
			return loss.Sum{}, math.Max(0, top), nil
		}
	}
	return c, 0, tooSmall(delta, math.Max(works, 10*delta))
}

// loosestTop is the largest epsilon that is stated because no outcome exceeds it, where
// round-off hides the profile.
const loosestTop = 50
