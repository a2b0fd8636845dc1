package account

import "math"

// RenyiDP is the RDP accountant ("rdp"): it adds Renyi divergences order by order and
// converts at the end (Mironov 2017; Canonne, Kamath, Steinke 2020, Proposition 12). Its
// Lower is 0. Orders are optimised beyond the usual grid.
type RenyiDP struct {
	tally
	orders []float64 // fixed grid; nil: the default grid, refined
}

// NewRDP returns an empty accountant. Without orders it minimises over the default grid
// (1.1 to 10.9 by 0.1, 11 to 63, 128, 256, 512, 1024) and refines the best order by
// golden-section search; with orders it uses exactly those.
func NewRDP(a Adjacency, u Unit, orders ...float64) (*RenyiDP, error) {
	r := &RenyiDP{orders: orders}
	for _, o := range orders {
		if err := bad(positive(o) && o > 1, "orders", o, "finite numbers above 1"); err != nil {
			return nil, err
		}
	}
	var err error
	r.tally, err = newTally("rdp", a, u, func(b *body) error {
		_, err := rdpCurve(b, a, u)
		return err
	})
	return r, err
}

// DefaultOrders is the customary grid of orders.
func DefaultOrders() []float64 {
	var out []float64
	for i := 11; i <= 109; i++ {
		out = append(out, float64(i)/10)
	}
	for i := 11; i <= 63; i++ {
		out = append(out, float64(i))
	}
	return append(out, 128, 256, 512, 1024)
}

// AtOrder returns the composed Renyi divergence of order a > 1.
func (r *RenyiDP) AtOrder(a float64) (float64, error) {
	if err := bad(a > 1, "order", a, "above 1"); err != nil {
		return 0, err
	}
	all, nonPrivate := r.branches()
	if nonPrivate {
		return math.Inf(1), nil
	}
	var worst float64
	for _, l := range all {
		worst = math.Max(worst, sumCurve(l, r.adjacency, r.unit)(a))
	}
	return worst, nil
}

// Epsilon returns {0, upper}.
func (r *RenyiDP) Epsilon(delta float64) (Interval, error) {
	if err := checkDelta(delta); err != nil {
		return Interval{}, err
	}
	all, nonPrivate := r.branches()
	if nonPrivate {
		return Interval{math.Inf(1), math.Inf(1)}, nil
	}
	var worst float64
	for _, l := range all {
		e := pureTotal(l, r.adjacency, r.unit)
		if delta > 0 && e > 0 {
			c := sumCurve(l, r.adjacency, r.unit)
			if delta == 1 || smallEnough(c, delta) {
				continue
			}
			e = math.Min(e, r.minimise(c, func(a, x float64) float64 { return epsilonAt(a, x, delta) }))
		}
		worst = math.Max(worst, e)
	}
	return Interval{0, worst}, nil
}

// Delta returns {0, upper}.
func (r *RenyiDP) Delta(epsilon float64) (Interval, error) {
	if err := checkEpsilon(epsilon); err != nil {
		return Interval{}, err
	}
	all, nonPrivate := r.branches()
	if nonPrivate {
		return Interval{1, 1}, nil
	}
	worst := 0.0
	for _, l := range all {
		ln := r.minimise(sumCurve(l, r.adjacency, r.unit), func(a, x float64) float64 {
			return lnDelta(a, x, epsilon)
		})
		if pureTotal(l, r.adjacency, r.unit) > epsilon {
			worst = math.Max(worst, math.Exp(math.Min(0, ln)))
		}
	}
	return Interval{0, worst}, nil
}

// smallEnough: total variation is at most sqrt(1-exp(-KL)) (Bretagnolle, Huber 1979) and
// R(a) bounds KL.
func smallEnough(c curve, delta float64) bool {
	return delta*delta+math.Expm1(-c(1.01)) > 0
}

// minimise returns the least f(a, R(a)) over the orders. f is evaluated on the grid
// first; the golden section between the neighbours of the best order, and the search
// beyond the ends, can only lower the result.
func (r *RenyiDP) minimise(c curve, f func(a, x float64) float64) float64 {
	at := func(a float64) float64 { return f(a, c(a)) }
	orders := r.orders
	if orders == nil {
		orders = DefaultOrders()
	}
	best, where := math.Inf(1), -1
	for i, a := range orders {
		if v := at(a); v < best {
			best, where = v, i
		}
	}
	if r.orders != nil || where < 0 {
		return best
	}
	lo, hi := orders[max(0, where-1)], orders[min(len(orders)-1, where+1)]
	if where == 0 {
		lo = 1 + 1e-3
	}
	for where == len(orders)-1 && hi < 1e8 { // the grid ends too early
		v := at(2 * hi)
		if !(v < best) {
			hi *= 2
			break
		}
		best, lo, hi = v, hi, 2*hi
	}
	return math.Min(best, goldenMin(at, lo, hi))
}

// goldenMin minimises f over [lo, hi] in the logarithm of order - 1.
func goldenMin(f func(float64) float64, lo, hi float64) float64 {
	const ratio = 0.6180339887498949
	g := func(t float64) float64 { return f(1 + math.Exp(t)) }
	a, b := math.Log(lo-1), math.Log(hi-1)
	x, y := b-ratio*(b-a), a+ratio*(b-a)
	fx, fy := g(x), g(y)
	for range 24 {
		if fx <= fy {
			b, y, fy = y, x, fx
			x = b - ratio*(b-a)
			fx = g(x)
		} else {
			a, x, fx = x, y, fy
			y = a + ratio*(b-a)
			fy = g(y)
		}
	}
	return math.Min(fx, fy)
}

// epsilonAt converts divergence x of order a: x + ln(1-1/a) - ln(delta a)/(a-1), at least
// 0.
func epsilonAt(a, x, delta float64) float64 {
	return math.Max(0, x+math.Log1p(-1/a)-(math.Log(delta)+math.Log(a))/(a-1))
}

// lnDelta converts divergence x of order a: (a-1)(x - eps + ln(1-1/a)) - ln a.
func lnDelta(a, x, eps float64) float64 {
	return (a-1)*(x-eps+math.Log1p(-1/a)) - math.Log(a)
}

// pureEpsilon is the smallest e for which the event is e-DP with delta 0, +Inf if there
// is none.
func pureEpsilon(b *body, adj Adjacency, u Unit) float64 {
	k := float64(u.members())
	switch b.typ {
	case TypeLaplace:
		return k / b.scale
	case TypeDiscreteLaplace:
		return k * b.a * float64(b.l1Grid)
	case TypeEpsDelta:
		if b.delta == 0 && k == 1 {
			return b.epsilon
		}
	case TypeRandomizedResponse:
		hi, lo := 1-b.p+b.p/float64(b.k), b.p/float64(b.k)
		if adj == ReplaceOne && k == 1 {
			return math.Log(hi / lo)
		}
		if adj == ZeroOut && k == 1 {
			return math.Max(math.Log(hi*float64(b.k)), -math.Log(lo*float64(b.k)))
		}
	case TypePoisson: // e^eps' = 1 + q (e^eps - 1), both directions
		if e := pureEpsilon(b.event, adj, u); adj != ReplaceOne && k == 1 {
			if e > 700 {
				return e
			}
			return math.Log1p(b.rate * math.Expm1(e))
		}
	case TypeGaussian, TypeGDP, TypeTree:
		if mu, _ := gaussianMu(b); mu == 0 {
			return 0
		}
	}
	return math.Inf(1)
}

// pureTotal is the sum of pure epsilons, which no composition exceeds.
func pureTotal(l []entry, adj Adjacency, u Unit) float64 {
	var sum float64
	for _, e := range l {
		sum += float64(e.count) * pureEpsilon(e.body, adj, u)
	}
	return sum
}

// Describe implements Accountant.
func (r *RenyiDP) Describe() Description {
	return Description{Method: "rdp, optimised orders", Provenance: "proved", Citations: []string{
		"Mironov 2017, arXiv 1702.07476", "Mironov, Talwar, Zhang 2019, arXiv 1908.10530",
		"Wang, Balle, Kasiviswanathan 2019, arXiv 1808.00087",
		"Canonne, Kamath, Steinke 2020, arXiv 2004.00010", "Papernot, Steinke 2022, arXiv 2110.03620"}}
}
