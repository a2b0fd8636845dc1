package loss

import "math"

// Side is one direction of a composition.
type Side struct {
	Sketch *Sketch
	// Laws are those of the events on a grid of step h, on which losses below from may be
	// moved up, and those above to may go to Inf and InfQ. It refuses with TooWide.
	Laws func(h, from, to float64) ([]Law, error)

	lower, upper float64 // bounds of epsilon so far
	guess        float64 // a likely upper bound, no larger than upper
	h            float64 // grid step of the next pass, at most; 0 before any
	nats         float64 // by which untilting may multiply round-off, over delta
	left         int     // passes that may still help
	cells        float64 // of all passes
}

// Question is what is asked of the larger epsilon of some sides.
type Question struct {
	Delta float64
	Upper float64 // a bound known so far, or +Inf
	Lower bool    // whether the lower end is wanted
	Drift float64 // share of epsilon by which rounding may move the upper end
	Width float64 // share below the upper end at which the lower one is good enough
}

const (
	leastCells = 1 << 13
	firstCells = 1 << 17 // of a first pass at most
	mostCells  = 3 << 20
	allCells   = 4 << 20 // after which there is no further pass
	roundNats  = 18
	narrowings = 8
)

// rounding are the shares of delta that go to sums which rounding moved further than is
// allowed for: a larger one allows for less, but is itself felt where delta hardly
// changes with epsilon.
var rounding = [...]float64{1e-5, 1e-3}

// Narrow bounds the larger epsilon of sides by windows that fit what the laws look like.
// A loss of one event that is so large that every sum with it exceeds epsilon needs no
// cell of its own: all of them are one outcome, of known P- and Q-probability. Of the
// rest the tilt is taken that has the narrowest window, which where rare losses are large
// is far below the tilt of the tail. Sides that were asked before start from what they
// have.
func (q Question) Narrow(sides ...*Side) (lower, upper float64) {
	for _, s := range sides {
		first := s.h == 0
		if first {
			s.upper, s.nats = s.Sketch.chernoff(q.Delta), roundNats
		}
		s.upper = math.Min(s.upper, q.Upper)
		s.guess, s.left, s.cells = s.upper, narrowings, 0
		if first {
			s.pass(&q)
		}
	}
	for {
		worst := sides[0]
		for _, s := range sides {
			if s.upper > worst.upper {
				worst = s
			}
		}
		if worst.left == 0 {
			break
		}
		worst.pass(&q)
	}
	for _, s := range sides {
		lower, upper = math.Max(lower, s.lower), math.Max(upper, s.upper)
	}
	return lower, upper
}

// pass composes once more near the guess and improves it and the bounds.
func (s *Side) pass(q *Question) {
	if s.left--; s.upper <= 0 || math.IsInf(s.upper, 1) {
		s.left = 0
		return
	}
	p, ds, largest := s.laws(q)
	if ds == nil {
		s.left = 0
		return
	}
	c := convolveOn(ds, &p)
	if !c.Finite() || !finite(p.low+p.high) { // exponents that no float64 holds: what is known stands
		s.left = 0
		return
	}
	up, ok := c.UpperEpsilon(q.Delta)
	low, slack := 0.0, 0.0
	for _, share := range rounding {
		eta := share * q.Delta
		low = c.LowerEpsilon(q.Delta + eta + p.low)
		slack = p.slack(&c, low, math.Log(eta))
		s.lower = math.Max(s.lower, low-slack)
	}
	s.guess = up     // a bound whether ok or not: round-off is charged by its norm
	if up > p.most { // but none there
		s.guess = math.Min(s.upper, 2*p.most)
	} else {
		s.upper = math.Min(s.upper, up)
	}
	finer := math.Sqrt(q.Drift * s.guess / ((1 + p.steep) * c.Drift))
	fine := finer >= 1
	if q.Lower {
		finer = math.Min(finer, q.Width/2*s.guess/slack)
		fine = s.upper-s.lower <= q.Width*s.upper
	}
	switch {
	case !ok:
		s.nats -= 3
		finer = 1 // this plan was for another epsilon
	case up-low > math.Max(q.Width/4, 10*q.Drift)*up:
		s.nats-- // round-off blurs
	}
	s.cells += c.Cells()
	if ok && (fine || largest && s.guess > .99*p.most) || s.cells > allCells {
		s.left = 0
	}
	s.h = c.h * math.Max(1e-3, math.Min(1, .9*finer))
}

// laws makes a plan and the laws that it is for, nil where none fit; largest says that no
// larger grid is allowed.
func (s *Side) laws(q *Question) (p plan, ds []Law, largest bool) {
	lo := math.Max(s.lower, s.guess/2)
	p = s.Sketch.planned(q.Delta, lo, s.guess, s.nats)
	width := p.end - p.start
	if !(width > 0) { // no tilt has a window that a float64 holds
		return p, nil, true
	}
	cells := math.Max(leastCells, 4*width*p.steep*math.Sqrt(p.count))
	if s.h > 0 {
		cells = math.Min(mostCells, math.Max(cells, width/s.h))
	} else {
		cells = math.Min(firstCells, cells)
	}
	h := width / cells
	for range 2 {
		p.choose(s.Sketch, q.Delta, lo, h, s.nats)
		h = (p.end - p.start) / cells
	}
	points := s.Sketch.points
	ds, err := s.Laws(h, points[p.from], points[p.to])
	if wide, is := err.(TooWide); is && wide.Factor > 1 {
		cells, h = mostCells, 1.1*wide.Factor*h
		p.choose(s.Sketch, q.Delta, lo, h, s.nats)
		ds, err = s.Laws(h, points[p.from], points[p.to])
	}
	if err != nil {
		return p, nil, true
	}
	return p, ds, cells >= mostCells
}

// slack is a t so that rounding raised a sum above eps from below eps - t with a
// probability of at most exp(eta).
func (p *plan) slack(c *Sum, eps, eta float64) float64 {
	lo, hi := c.Drift, c.Slack(math.Exp(eta))
	if c.worst > 0 {
		return hi
	}
	for range 40 {
		t := (lo + hi) / 2
		if p.excess(math.Max(0, eps-t), t, c.Drift, c.vari/2) <= eta {
			hi = t
		} else {
			lo = t
		}
	}
	return hi
}
