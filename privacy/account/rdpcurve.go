package account

import (
	"math"
	"sort"
)

// curve is a Renyi divergence as a function of the order a > 1; +Inf where nothing is
// known.
type curve func(a float64) float64

// rdpCurve returns the curve of one event, scaled to the unit, or ErrUnsupported.
func rdpCurve(b *body, adj Adjacency, u Unit) (curve, error) {
	k := float64(u.members())
	switch b.typ {
	case TypeGaussian, TypeGDP, TypeTree:
		if mu, _ := gaussianMu(b); k == 1 || b.typ != TypeTree {
			return gaussianCurve(k * mu), nil
		}
	case TypeDiscreteGaussian:
		// Canonne, Kamath, Steinke 2020, Theorem 4: the continuous curve, any dimension
		return gaussianCurve(k * b.l2Grid / b.sigmaGrid), nil
	case TypeLaplace:
		return laplaceCurve(k / b.scale), nil
	}
	if k == 1 {
		if c, err := rdpSingle(b, adj, u); c != nil || err != nil {
			return c, err
		}
	}
	return nil, unsupported(b, "rdp", adj, u, rdpSupported)
}

const rdpSupported = "gaussian, discrete_gaussian, gdp and laplace for any unit; for unit record or owner " +
	"also tree, discrete_laplace, " +
	"eps_delta with delta 0, zcdp, rdp, repeat_select of these, randomized_response (replace-one, " +
	"zero-out), poisson of Gaussian events " +
	"(add-remove, zero-out) and fixed_size of Gaussian events (replace-one)"

// rdpSingle handles events whose curve is known for one record or owner only; nil where
// it is not.
func rdpSingle(b *body, adj Adjacency, u Unit) (curve, error) {
	switch b.typ {
	case TypeDiscreteLaplace:
		return pureCurve(b.a * float64(b.l1Grid)), nil
	case TypeEpsDelta:
		if b.delta == 0 {
			return pureCurve(b.epsilon), nil
		}
	case TypeZCDP:
		return func(a float64) float64 { return b.xi + b.rho*a }, nil
	case TypeRDP:
		return tableCurve(b.orders, b.values), nil
	case TypeRandomizedResponse:
		if adj == ReplaceOne {
			return responseReplace(b.p, b.k), nil
		}
		if adj == ZeroOut {
			return responseZero(b.p, b.k), nil
		}
	case TypePoisson:
		if mu, ok := gaussianMu(b.event); ok && adj != ReplaceOne {
			return func(a float64) float64 { return sampledGaussianRDP(b.rate, 1/mu, a) }, nil
		}
	case TypeFixedSize:
		if mu, ok := gaussianMu(b.event); ok && adj == ReplaceOne {
			return fixedSizeCurve(float64(b.batch)/float64(b.population), 1/mu), nil
		}
	case TypeRepeatSelect:
		inner, err := rdpSequence(b.event, adj, u)
		if err != nil {
			return nil, err
		}
		return selectCurve(inner, b.mean, b.shape), nil
	}
	return nil, nil
}

// rdpSequence is the curve of an event that may be a sequence.
func rdpSequence(b *body, adj Adjacency, u Unit) (curve, error) {
	t := tally{adjacency: adj, unit: u, lists: make([][]entry, 1), supports: func(b *body) error {
		_, err := rdpCurve(b, adj, u)
		return err
	}}
	if err := t.Compose(Event{body: b}, 1); err != nil {
		return nil, err
	}
	all, nonPrivate := t.branches()
	if nonPrivate {
		return func(float64) float64 { return math.Inf(1) }, nil
	}
	return sumCurve(all[0], adj, u), nil
}

// sumCurve adds the curves of supported entries.
func sumCurve(l []entry, adj Adjacency, u Unit) curve {
	curves := make([]curve, len(l))
	for i, e := range l {
		curves[i], _ = rdpCurve(e.body, adj, u)
	}
	return func(a float64) float64 {
		var sum float64
		for i, e := range l {
			sum += float64(e.count) * curves[i](a)
		}
		return sum
	}
}

func gaussianCurve(mu float64) curve {
	return func(a float64) float64 { return a * mu * mu / 2 }
}

// laplaceCurve is Mironov 2017, Proposition 6, for e = sensitivity/scale, in the form
// that keeps digits: e + log1p((a-1) expm1((1-2a) e)/(2a-1))/(a-1).
func laplaceCurve(e float64) curve {
	return func(a float64) float64 {
		if math.IsInf(e, 1) {
			return e
		}
		if a-1 < 1e-9 {
			return e + math.Expm1(-e)
		}
		return e + math.Log1p((a-1)*math.Expm1((1-2*a)*e)/(2*a-1))/(a-1)
	}
}

// pureCurve is the curve of binary randomized response with loss e, which dominates every
// e-DP mechanism: e + log1p(p' expm1(-2 (a-1) e))/(a-1) with p' = 1/(1+exp(e)).
func pureCurve(e float64) curve {
	return func(a float64) float64 {
		if a-1 < 1e-9 {
			return e * math.Tanh(e/2)
		}
		return e + math.Log1p(math.Expm1(-2*(a-1)*e)/(1+math.Exp(e)))/(a-1)
	}
}

// tableCurve interpolates (a-1) R(a), which is convex and 0 at order 1, linearly between
// stored orders.
func tableCurve(orders, values []float64) curve {
	return func(a float64) float64 {
		i := sort.SearchFloat64s(orders, a)
		if i == len(orders) {
			return math.Inf(1)
		}
		lo, at := 1.0, 0.0
		if i > 0 {
			lo, at = orders[i-1], (orders[i-1]-1)*values[i-1]
		}
		w := (a - lo) / (orders[i] - lo)
		// Renyi divergence does not fall with the order, so the next stored value bounds
		// it as well.
		return math.Min(values[i], ((1-w)*at+w*(orders[i]-1)*values[i])/(a-1))
	}
}

// responseReplace is randomized response over k values under replace-one: the truth has
// probability hi, each other value lo.
func responseReplace(p float64, k int) curve {
	hi, lo := 1-p+p/float64(k), p/float64(k)
	return func(a float64) float64 {
		if lo == 0 {
			return math.Inf(1)
		}
		l := math.Log(hi / lo)
		// lo (k-2) + hi^a lo^(1-a) + lo^a hi^(1-a), by the largest term
		return logSumExp(math.Log(hi)+(a-1)*l, math.Log(lo)-(a-1)*l, math.Log(float64(k-2)*lo)) / (a - 1)
	}
}

// responseZero is the same when the null record answers uniformly.
func responseZero(p float64, k int) curve {
	hi, lo, n := 1-p+p/float64(k), p/float64(k), float64(k)
	return func(a float64) float64 {
		if lo == 0 {
			return math.Max(math.Log(n), 0)
		}
		// One order serves both directions: the larger of D(P||U) and D(U||P).
		pu := math.Log(n) + logSumExp(a*math.Log(hi), math.Log(n-1)+a*math.Log(lo))/(a-1)
		up := -math.Log(n)*a/(a-1) + logSumExp((1-a)*math.Log(hi), math.Log(n-1)+(1-a)*math.Log(lo))/(a-1)
		return math.Max(pu, up)
	}
}

func logSumExp(xs ...float64) float64 {
	m := math.Inf(-1)
	for _, x := range xs {
		m = math.Max(m, x)
	}
	if math.IsInf(m, 0) {
		return m
	}
	var sum float64
	for _, x := range xs {
		sum += math.Exp(x - m)
	}
	return m + math.Log(sum)
}

// ExponentialKL is the Renyi divergence of order 1 of an exponential mechanism of bounded
// range e: t/(1-exp(-t)) - 1 - ln(t/(1-exp(-t))) at t = e (Dong, Durfee, Rogers 2020). At
// other orders min(a e^2/8, e) holds.
func ExponentialKL(e float64) float64 {
	if e == 0 {
		return 0
	}
	r := e / -math.Expm1(-e)
	return r - 1 - math.Log(r)
}
