package account

import (
	"encoding/json"
	"math"

	"sotto/config"
)

var selectKind = kind{
	typ:    TypeRepeatSelect,
	traits: holdsOne | bare,
	fields: func(b *body) []field {
		return []field{{"mean", &b.mean, rule{}}, {"shape", &b.shape, rule{}}}
	},
	normalise: leaf((*body).checkSelect),
	rdp: func(b *body, r relation) (curve, error) {
		if !r.alone() {
			return nil, errNoProof
		}
		inner, err := rdpSequence(b.event, r)
		if err != nil {
			return nil, err
		}
		return selectCurve(inner, b.mean, b.shape), nil
	},
}

// shape of the distribution of the number of runs in private selection: truncated
// negative binomial with parameter eta >= 0, or Poisson.
type shape struct {
	eta     float64
	poisson bool
}

// RepeatSelect runs ev a random number of times and publishes the best run (Papernot,
// Steinke 2022). The number of runs has the given mean and a truncated negative binomial
// law of parameter eta >= 0 (0 logarithmic, 1 geometric); both are finite, mean above 1.
// ev has no RepeatSelect and no Parallel in it, at any depth.
func RepeatSelect(mean, eta float64, ev Event) (Event, error) {
	return ev.wrap(&body{kind: &selectKind, mean: mean, shape: shape{eta: eta}})
}

// RepeatSelectPoisson is RepeatSelect with a Poisson number of runs, of a mean above 0.
func RepeatSelectPoisson(mean float64, ev Event) (Event, error) {
	return ev.wrap(&body{kind: &selectKind, mean: mean, shape: shape{poisson: true}})
}

func (b *body) checkSelect() error {
	if b.event.contains(TypeRepeatSelect) || b.event.contains(TypeParallel) {
		return config.Bad("event", string(b.event.kind.typ),
			"a mechanism or a sequence, without parallel events and without selections")
	}
	if b.shape.poisson {
		return bad(positive(b.mean), "mean", b.mean, "a finite number > 0")
	}
	return first(bad(atLeast0(b.shape.eta), "shape", b.shape.eta, "a finite number >= 0 or \"poisson\""),
		bad(positive(b.mean) && b.mean > 1, "mean", b.mean, "a finite number > 1"))
}

// MarshalJSON writes a number, or "poisson".
func (s shape) MarshalJSON() ([]byte, error) {
	if s.poisson {
		return []byte(`"poisson"`), nil
	}
	return json.Marshal(s.eta)
}

// UnmarshalJSON reads what MarshalJSON writes.
func (s *shape) UnmarshalJSON(b []byte) error {
	if string(b) == `"poisson"` {
		*s = shape{poisson: true}
		return nil
	}
	*s = shape{}
	return json.Unmarshal(b, &s.eta)
}

// selectCurve is the curve of publishing the best of a random number of runs, each with
// curve r (Papernot, Steinke 2022). Truncated negative binomial (Theorem 2), parameter g:
//
//	R'(a) = R(a) + (1+eta) min_b [(1-1/b) R(b) + ln(1/g)/b] + ln(mean)/(a-1)
//
// Poisson (Theorem 6), d(a) the delta of one run at ln(1+1/(a-1)):
//
//	e^((a-1) R'(a)) = mean e^((a-1) (R(a) + mean d(a))) + e^-mean
//
// The printed theorem leaves out the last term, the mass of no run on both sides, and is
// then below the truth, and even below 0, at means below 1. With it the bound follows
// from the theorem's own proof at any mean.
//
// Renyi divergence does not fall with the order, so the least bound at any larger order
// holds as well.
func selectCurve(r curve, mean float64, s shape) curve {
	orders := DefaultOrders()
	rs := make([]float64, len(orders))
	for i, a := range orders {
		rs[i] = r(a)
	}
	direct := func(a, ra float64) float64 {
		x := ra + mean*deltaAt(orders, rs, math.Log1p(1/(a-1)))
		some := math.Log(mean) + (a-1)*x // ln of what outcomes with a run have
		return (math.Max(some, -mean) + math.Log1p(math.Exp(-math.Abs(some+mean)))) / (a - 1)
	}
	if !s.poisson {
		lnInvG := -math.Log(negativeBinomialParameter(mean, s.eta))
		least := math.Inf(1)
		for i, b := range orders {
			least = math.Min(least, (1-1/b)*rs[i]+lnInvG/b)
		}
		direct = func(a, ra float64) float64 { return ra + (1+s.eta)*least + math.Log(mean)/(a-1) }
	}
	repaired := make([]float64, len(orders))
	later := math.Inf(1)
	for i := len(orders) - 1; i >= 0; i-- {
		later = math.Min(later, math.Max(0, direct(orders[i], rs[i])))
		repaired[i] = later
	}
	return func(a float64) float64 {
		x := math.Max(0, direct(a, r(a)))
		for i, b := range orders {
			if b >= a {
				return math.Min(x, repaired[i])
			}
		}
		return x
	}
}

// negativeBinomialParameter is the g in (0,1) at which the truncated negative binomial
// law of parameter eta has the given mean > 1: mean = eta (1-g)/(g (1-g^eta)), or
// (1/g-1)/ln(1/g) at eta = 0. The mean falls with g.
func negativeBinomialParameter(mean, eta float64) float64 {
	m := func(g float64) float64 {
		if eta == 0 {
			return (1 - g) / g / -math.Log(g)
		}
		return eta * (1 - g) / (g * -math.Expm1(eta*math.Log(g)))
	}
	lo, hi := 1e-300, 1.0 // invariant: m(lo) > mean; lo underestimates g, which only raises the bound
	for range 2000 {
		mid := math.Sqrt(lo) * math.Sqrt(hi)
		if mid <= lo || mid >= hi {
			break
		}
		if m(mid) >= mean {
			lo = mid
		} else {
			hi = mid
		}
	}
	return lo
}

// deltaAt is the least delta at eps over stored orders, at most 1.
func deltaAt(orders, rs []float64, eps float64) float64 {
	best := 0.0
	for i, a := range orders {
		best = math.Min(best, lnDelta(a, rs[i], eps))
	}
	return math.Exp(best)
}
