package loss

import (
	"math"
	"sort"
)

// plan says how to compose near an epsilon: which losses of one event to tell apart, by
// which tilt, and on which window.
type plan struct {
	most     float64 // the epsilon up to which it holds
	from, to int     // points of the sketch: losses below are moved up, above they are one outcome
	// what that may add to a profile, and what it may leave out of it
	low, high float64
	tail      ladder  // of the sum of losses from..to
	steep     float64 // tilt of the tail
	count     float64 // of events
	frame
}

// frame is a tilt, the distances to it of those that bound the mass above and below a
// window, and the window.
type frame struct{ lam, up, down, start, end float64 }

const (
	spare       = 14   // nats by which each error of a window is planned to be below delta
	shareBeyond = 1e-4 // of delta may be lost to losses below from, and to those above to
)

// planned makes a plan for epsilons from lo to up.
//
// Let A be the outcomes of which no loss is above points[to], and B the others. Of these
// delta(eps) takes P(B) - e^eps Q(B) at least, and, as it takes no outcome whose loss is
// below eps, at most e^eps Q(B and L < eps) more: at most e^up times the sum over the
// events of Q[its loss is above points[to]] Q[the others together are below up -
// points[to]], the latter by Chernoff's bound.
//
// Moving losses below points[from] up to it raises the profile by at most the sum over
// the events of P[its loss is below] P[the others together are above -points[from]].
func (s *Sketch) planned(delta, lo, up, nats float64) plan {
	last := len(s.points) - 1
	p := plan{most: up}
	small, large := .02/s.points[last], 100*(spare-math.Log(delta))/up
	q := s.climb(small, large, 0, last, func(lam float64) float64 { return -1 - lam })
	outside := 0.0
	for _, o := range s.parts {
		p.count += o.count
		outside += o.count * o.tails[0].QLo
	}
	beyond := func(i int) (d float64) {
		for _, o := range s.parts {
			d += o.count * o.tails[i].QUp
		}
		return d * math.Exp(up) * math.Min(1, math.Exp(q.tail(s.points[i]-up))+outside)
	}
	first := sort.SearchFloat64s(s.points, up)
	p.to = min(last, first+sort.Search(last-first, func(i int) bool {
		return beyond(first+i) <= shareBeyond*delta
	}))
	p.high = beyond(p.to)
	same := func(lam float64) float64 { return lam }
	p.tail = s.climb(small, large, 0, p.to, same)
	moved := func(i int) (d float64) {
		for _, o := range s.parts {
			d += o.count * o.tails[i].PLo
		}
		return d * math.Exp(p.tail.tail(-s.points[i]))
	}
	zero := last / 2
	p.from = zero - max(1, sort.Search(zero, func(i int) bool { return moved(zero-i) <= shareBeyond*delta }))
	if p.from > 0 {
		p.tail = s.climb(small, large, p.from, p.to, same)
	}
	p.low = moved(p.from)
	if len(p.tail.lam) > 0 { // else all tilts overflow
		p.choose(s, delta, lo, 0, nats)
	}
	return p
}

// choose sets the tilt and the window for a grid of step h, or for a fine one: of those
// by which untilting multiplies round-off by at most exp(nats) delta, or by few nats more
// than the best does, the narrowest.
func (p *plan) choose(s *Sketch, delta, lo, h, nats float64) {
	goal := spare - math.Log(delta)
	// what rounding to the grid adds to a cumulant
	grid := func(lam float64) float64 { return p.count * h * h / 8 * (lam*lam + math.Abs(lam)) }
	down := s.climb(p.tail.lam[0], p.tail.lam[len(p.tail.lam)-1], p.from, p.to,
		func(lam float64) float64 { return -lam })
	weights := make([]float64, len(p.tail.lam))
	least := math.Inf(1)
	for i, lam := range p.tail.lam {
		w := p.tail.k[i] + grid(lam) - lam*lo - math.Log(delta)
		if h > 0 {
			w += math.Log(reach(lam, p.end, h))
		}
		if weights[i] = w; w < least {
			if least = w; h == 0 {
				p.steep = lam
			}
		}
	}
	best := math.Inf(1)
	for i, lam := range p.tail.lam {
		if weights[i] > math.Max(nats, least+math.Max(.5, nats-roundNats+6)) {
			continue
		}
		end, nu := math.Inf(1), 0.0
		for j := i + 1; j < len(p.tail.lam); j++ {
			mu := p.tail.lam[j]
			if b := (p.tail.k[j] + grid(mu) - lam*lo + goal) / (mu - lam); b < end {
				end, nu = b, mu-lam
			}
		}
		end = math.Max(end, 1.2*p.most)
		width, sigma := goal/lam, 0.0
		for j, t := range down.lam {
			if w := (down.k[j] + grid(t) + t*end + goal) / (t + lam); w < width {
				width, sigma = w, t
			}
		}
		if width = math.Max(width, end+4*h); width < best {
			best = width
			p.frame = frame{lam, nu, sigma, end - width, end}
		}
	}
}

// excess is ln of a bound on the probability that a sum is at most eps before rounding
// and above eps + t after it, or above eps and moved by more than t. Given the sum L,
// rounding R has mean at most drift and is sub-Gaussian of variance vari (Hoeffding). For
// s >= lam >= 0, P[R > t + max(0, eps - L)] is at most the mean of exp(s (R - t) - lam
// (eps - L)); s is the best one.
func (p *plan) excess(eps, t, drift, vari float64) float64 {
	s := (t - drift) / vari
	if !(s > 0) {
		return 0
	}
	k := 0.0
	for i, lam := range p.tail.lam {
		if lam > s {
			break
		}
		k = math.Min(k, p.tail.k[i]-lam*eps)
	}
	return k - (t-drift)*(t-drift)/(2*vari)
}
