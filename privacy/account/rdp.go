package account

import "math"

// RenyiDP is the RDP accountant ("rdp"): it adds Renyi divergences order by order and
// converts at the end (Mironov 2017; Canonne, Kamath, Steinke 2020, Proposition 12). Its
// Lower is 0. Orders are optimised beyond the usual grid.
type RenyiDP struct {
	tally
	orders []float64 // fixed grid; nil: the default grid, refined
}

// NewRDP returns an empty accountant. Without orders, or with an empty list of them, it
// minimises over the default grid (1.1 to 10.9 by 0.1, 11 to 63, 128, 256, 512, 1024) and
// refines the best order by golden-section search; with orders, finite and above 1, it
// uses exactly those.
func NewRDP(a Adjacency, u Unit, orders ...float64) (*RenyiDP, error) {
	r := &RenyiDP{orders: append([]float64(nil), orders...)} // nil for an empty list
	for _, o := range orders {
		if err := bad(positive(o) && o > 1, "orders", o, "finite numbers above 1"); err != nil {
			return nil, err
		}
	}
	var err error
	r.tally, err = newTally("rdp", a, u, func(b *body) error {
		_, err := rdpCurve(b, r.relation)
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
	if err := bad(positive(a) && a > 1, "order", a, "finite, above 1"); err != nil {
		return 0, err
	}
	i, err := r.worst("", anyEpsilon, func(l []entry) (Interval, error) {
		return Interval{0, sumCurve(l, r.relation)(a)}, nil
	})
	return i.Upper, err
}

// Epsilon returns {0, upper}.
func (r *RenyiDP) Epsilon(delta float64) (Interval, error) {
	if err := checkDelta(delta); err != nil {
		return Interval{}, err
	}
	return r.worst(ask("epsilon", delta, r.orders), anyEpsilon, func(l []entry) (Interval, error) {
		e := pureTotal(l, r.relation)
		if delta > 0 && e > 0 {
			c := sumCurve(l, r.relation)
			if delta == 1 || smallEnough(c, delta) {
				return Interval{}, nil
			}
			e = math.Min(e, r.minimise(c, func(a, x float64) float64 { return epsilonAt(a, x, delta) }))
		}
		return Interval{0, e}, nil
	})
}

// Delta returns {0, upper}.
func (r *RenyiDP) Delta(epsilon float64) (Interval, error) {
	if err := checkEpsilon(epsilon); err != nil {
		return Interval{}, err
	}
	return r.worst(ask("delta", epsilon, r.orders), anyDelta, func(l []entry) (Interval, error) {
		if !(pureTotal(l, r.relation) > epsilon) {
			return Interval{}, nil
		}
		c := sumCurve(l, r.relation)
		ln := r.minimise(c, func(a, x float64) float64 { return lnDelta(a, x, epsilon) })
		return r.visible(Interval{0, math.Exp(math.Min(0, ln))}, l, epsilon), nil
	})
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
func pureEpsilon(b *body, r relation) float64 {
	if b.kind.pure == nil {
		return math.Inf(1)
	}
	return b.kind.pure(b, r)
}

// pureTotal is the sum of pure epsilons, which no composition exceeds.
func pureTotal(l []entry, r relation) float64 {
	var sum float64
	for _, e := range l {
		sum += float64(e.count) * pureEpsilon(e.body, r)
	}
	return sum
}

// visible is a delta whose upper end is above 0 where losses above epsilon are possible:
// the smallest number there is, where the true one is smaller.
func (r relation) visible(i Interval, l []entry, epsilon float64) Interval {
	if i.Upper == 0 && pureTotal(l, r) > epsilon {
		i.Upper = math.SmallestNonzeroFloat64
	}
	return i
}

// Describe implements Accountant.
func (r *RenyiDP) Describe() Description {
	return Description{Method: "rdp, optimised orders", Provenance: "proved", Citations: []string{
		"Mironov 2017, arXiv 1702.07476", "Mironov, Talwar, Zhang 2019, arXiv 1908.10530",
		"Wang, Balle, Kasiviswanathan 2019, arXiv 1808.00087",
		"Canonne, Kamath, Steinke 2020, arXiv 2004.00010", "Papernot, Steinke 2022, arXiv 2110.03620"}}
}

// curve is a Renyi divergence as a function of the order a > 1; +Inf where nothing is
// known.
type curve func(a float64) float64

// rdpCurve returns the curve of one event, scaled to the unit, or ErrUnsupported.
func rdpCurve(b *body, r relation) (curve, error) {
	c, err := curve(nil), errNoProof
	if b.kind.rdp != nil {
		c, err = b.kind.rdp(b, r)
	}
	if err == errNoProof {
		return nil, r.unsupported(b, "rdp", rdpSupported)
	}
	return c, err
}

const rdpSupported = "gaussian, discrete_gaussian, gdp and laplace for any unit; for unit record or owner " +
	"also tree, discrete_laplace, " +
	"eps_delta with delta 0, zcdp, rdp, repeat_select of these, randomized_response (replace-one, " +
	"zero-out), poisson of Gaussian events " +
	"(add-remove, zero-out) and fixed_size of Gaussian events (replace-one)"

// rdpSequence is the curve of an event that may be a sequence.
func rdpSequence(b *body, r relation) (curve, error) {
	t := tally{relation: r, lists: make([][]entry, 1), supports: func(b *body) error {
		_, err := rdpCurve(b, r)
		return err
	}}
	if err := t.Compose(Event{body: b}, 1); err != nil {
		return nil, err
	}
	all, nonPrivate := t.branches()
	if nonPrivate {
		return func(float64) float64 { return math.Inf(1) }, nil
	}
	return sumCurve(all[0], r), nil
}

// sumCurve adds the curves of supported entries.
func sumCurve(l []entry, r relation) curve {
	curves := make([]curve, len(l))
	for i, e := range l {
		curves[i], _ = rdpCurve(e.body, r)
	}
	return func(a float64) float64 {
		var sum float64
		for i, e := range l {
			sum += float64(e.count) * curves[i](a)
		}
		return sum
	}
}
