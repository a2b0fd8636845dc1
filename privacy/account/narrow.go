package account

import (
	"math"

	"sotto/privacy/account/loss"
)

const (
	wideShare  = 1e-2    // of epsilon: a wider interval is narrowed
	loose      = 1e-3    // where only the upper end is wanted, rounding may move it by this share
	closer     = 1e-4    // and by this one afterwards
	manyCells  = 1 << 20 // it is worth asking whether so many are of use
	shrinkable = 0.9     // a finer grid's window is at least this share of that of the sketch
)

// wide reports that the grids of the tail's tilt were too coarse.
func (q *query) wide(g onGrid) bool {
	switch {
	case q.w.mesh > 0:
		return false
	case math.IsInf(g.Upper, 1):
		return true
	case q.lower && q.w.tight():
		return g.Upper-g.Lower > wideShare*g.Upper
	}
	return g.drift > loose*g.Upper || g.cells == 0 && g.Upper > 0 // the largest loss
}

// hopeless reports that no grid of step h fits the tail's tilt, or that g will be wide on
// the finest one that does.
func (q *query) hopeless(g onGrid, h float64, ways []bool) bool {
	upper := q.narrower(g.Interval, ways).Upper
	finest, lam := q.side(g.mirrored).Sketch.Finest(q.delta, upper, windowNats)
	if finest *= shrinkable; h < finest {
		return true
	}
	finest = math.Max(minMesh, finest)
	n := tauFor(q.delta) / (4 * gridMass(q.delta, q.counts)) // events
	g.drift, g.Upper = (1+lam)*n*finest*finest/8, upper/(1-wideShare)
	g.Lower = g.Upper - finest*math.Sqrt(n/2*-math.Log(etaShare*q.delta))
	return q.wide(g)
}

// narrower intersects i with what the narrowed windows say.
func (q *query) narrower(i Interval, ways []bool) Interval {
	if q.narrow == nil {
		n := q.narrowed(ways)
		q.narrow = &n
	}
	return Interval{math.Max(i.Lower, q.narrow.Lower), math.Min(i.Upper, q.narrow.Upper)}
}

// narrowed answers by windows that fit the law better than that of the tail's tilt.
func (q *query) narrowed(ways []bool) (i Interval) {
	var sides []*loss.Side
	for _, mirrored := range ways {
		sides = append(sides, q.side(mirrored))
	}
	ask := loss.Question{Delta: q.delta, Upper: q.upper, Drift: closer, Width: widthShare}
	_, i.Upper = ask.Narrow(sides...)
	if q.lower && q.w.tight() { // the upper end is then at most what it is alone
		ask.Upper, ask.Lower = i.Upper, true
		i.Lower, i.Upper = ask.Narrow(sides...)
	}
	return i
}

// side is the workload in one direction.
func (q *query) side(mirrored bool) *loss.Side {
	reach := 0.0
	for _, p := range q.pairs {
		t0, t1 := loss.Support(p.Scan, gridMass(q.delta, q.counts))
		reach = math.Max(reach, math.Max(-t0, t1))
	}
	s := loss.NewSketch(reach)
	for k, p := range q.pairs {
		at := p.Scan()
		s.Add(q.counts[k], func(t float64) loss.Tails {
			if mirrored {
				return at(-t).Mirrored()
			}
			return at(t)
		})
	}
	return &loss.Side{Sketch: s, Laws: func(h, from, to float64) (out []loss.Law, err error) {
		if mirrored {
			from, to = -to, -from
		}
		for k, p := range q.pairs {
			t0, t1 := loss.Support(p.Scan, gridMass(q.delta, q.counts))
			t0, t1 = math.Max(t0, from), math.Min(t1, to)
			if f := (t1 - t0) / h / cellsFor(q.pairs); !(f > 0 && f <= 1.1) {
				return nil, loss.TooWide{Factor: f}
			}
			out = append(out, loss.Tabulate(p.Source, h, t0, t1).Connect(mirrored, q.counts[k]))
		}
		return out, nil
	}}
}
