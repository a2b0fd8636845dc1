package loss

import "math"

// Sketch has the laws of a composition on points that lie ever denser towards 0: coarse,
// but exact enough at every scale to say where the mass is. The loss of each cell is
// split between its ends so that its P- and Q-probabilities stay, so that expectations of
// exp(lam l) are not understated for lam >= 0 nor for lam <= -1.
type Sketch struct {
	points []float64
	parts  []outline
}

// outline is the law of one event: of each cell, the share of its P-probability at either
// end; of each point, the tails.
type outline struct {
	count     float64
	low, high []float64
	tails     []Tails
}

const (
	nearest = 1e-12 // innermost points
	spread  = 1.03  // of one point to the next
)

// NewSketch returns an empty sketch of losses in [-reach, reach].
func NewSketch(reach float64) *Sketch {
	var up []float64
	for t := nearest; t < spread*reach; t *= spread {
		up = append(up, t)
	}
	s := &Sketch{points: make([]float64, 0, 2*len(up)+1)}
	for i := range up {
		s.points = append(s.points, -up[len(up)-1-i])
	}
	s.points = append(append(s.points, 0), up...)
	return s
}

// Add adds count copies of an event; at is called with ascending losses.
func (s *Sketch) Add(count int, at Scan) {
	n := len(s.points)
	o := outline{float64(count), make([]float64, n), make([]float64, n), make([]Tails, n)}
	for i, t := range s.points {
		o.tails[i] = at(t)
	}
	for i := range n - 1 {
		p, q := between(&o.tails[i], &o.tails[i+1])
		if p == 0 {
			continue
		}
		high := UpperShare(p, q, s.points[i], -math.Expm1(s.points[i]-s.points[i+1]))
		o.low[i], o.high[i+1] = p-high, high
	}
	s.parts = append(s.parts, o)
}

// cumulant is ln E exp(lam L) of the composition, or of all but one of its events if that
// is more: L with losses below points[from] moved up to it, on the event that no loss
// exceeds points[to].
func (s *Sketch) cumulant(lam float64, from, to int) (k float64) {
	ref := s.points[to]
	if lam < 0 {
		ref = s.points[from]
	}
	weights := make([]float64, to-from+1)
	for i := range weights {
		weights[i] = math.Exp(lam * (s.points[from+i] - ref))
	}
	least := 0.0
	for i := range s.parts {
		o := &s.parts[i]
		sum := weights[0] * (o.tails[from].PLo + o.low[from])
		for j := from + 1; j < to; j++ {
			sum += weights[j-from] * (o.low[j] + o.high[j])
		}
		one := math.Log(sum+weights[to-from]*o.high[to]) + lam*ref
		k, least = k+o.count*one, math.Min(least, one)
	}
	return k - least
}

// ladder is an array of tilts above 0 with cumulants.
type ladder struct{ lam, k []float64 }

const rung = 1.2 // of one tilt to the next

// climb returns cumulant(at(lam), from, to) for tilts lam from lo to hi.
func (s *Sketch) climb(lo, hi float64, from, to int, at func(lam float64) float64) ladder {
	var l ladder
	for lam := lo; lam <= hi; lam *= rung {
		if k := s.cumulant(at(lam), from, to); !math.IsNaN(k) && !math.IsInf(k, 0) {
			l.lam, l.k = append(l.lam, lam), append(l.k, k)
		}
	}
	return l
}

// tail is the least of k - lam x over the ladder and 0: the logarithm of a bound on
// P[L >= x], or on P[L <= -x] of a ladder of -lam.
func (l *ladder) tail(x float64) float64 {
	best := 0.0
	for i, lam := range l.lam {
		best = math.Min(best, l.k[i]-lam*x)
	}
	return best
}

// Finest returns the least grid step of which Convolve has a window that fits, at the
// tilt by which delta is read off, and that tilt, where epsilon is at most upper: that of
// nats, or where too much would wrap around that of a quarter of delta's, wider by the
// rest. It is as precise as the sketch.
func (s *Sketch) Finest(delta, upper, nats float64) (h, lam float64) {
	total := -math.Log(delta)
	lam, k, width := s.window(total, nats)
	if k-lam*upper+total > nats-math.Log(200)+.5 { // 10 wrap > delta/10: see UpperEpsilon
		lam, _, width = s.window(total/4, nats+total*3/4)
	}
	return width / MaxCells, lam
}

// window returns the tilt that Chernoff finds on a fine grid, its cumulant, and the width
// of the window that Convolve takes there.
func (s *Sketch) window(total, nats float64) (lam, k, width float64) {
	last := len(s.points) - 1
	at := func(x float64) float64 { return s.cumulant(x, 0, last) }
	const step = 1e-3
	for lo, hi := .02/s.points[last], 1e12; hi > lo*(1+1e-6); {
		lam = math.Sqrt(lo * hi)
		k = at(lam)
		if (at(lam*(1+step))-k)/step-k < total { // lam K' - K
			lo = lam
		} else { // or overflow
			hi = lam
		}
	}
	variance := (at(lam*(1+step)) + at(lam*(1-step)) - 2*k) / (step * lam * step * lam)
	above, below := math.Inf(1), math.Inf(1)
	for _, f := range windowTilts {
		nu := f * math.Sqrt(2*nats/variance)
		above = math.Min(above, (at(lam+nu)-k+nats)/nu)
		below = math.Min(below, (at(lam-nu)-k+nats)/nu)
	}
	return lam, k, above + below
}

// chernoff is an epsilon at which the profile is at most delta, +Inf where none is found.
func (s *Sketch) chernoff(delta float64) float64 {
	last := len(s.points) - 1
	for _, o := range s.parts {
		delta -= o.count * o.tails[last].PUp
	}
	best := math.Inf(1)
	if !(delta > 0) {
		return best
	}
	l := s.climb(.02/s.points[last], 1e12, 0, last, func(lam float64) float64 { return lam })
	for i, lam := range l.lam {
		best = math.Min(best, (l.k[i]-math.Log(delta))/lam)
	}
	return math.Max(0, best)
}
