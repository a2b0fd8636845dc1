package account

import "math"

// KOV composes (epsilon, delta) black boxes optimally ("kov"; Kairouz, Oh, Viswanath
// 2015; Murtagh, Vadhan 2016). Equal boxes compose by the exact formula; unequal ones,
// for which the exact problem is #P-hard, by the privacy loss distributions of their
// worst pairs. Mechanisms with pure epsilon are read as (epsilon, 0) boxes. Lower is 0: a
// black box may be better than it says.
type KOV struct{ tally }

// NewKOV returns an empty accountant.
func NewKOV(a Adjacency, u Unit) (*KOV, error) {
	k := &KOV{}
	var err error
	k.tally, err = newTally("kov", a, u, func(b *body) error {
		_, _, err := k.box(b)
		return err
	})
	return k, err
}

// box reads one event as an (epsilon, delta) box; epsilon is +Inf without noise.
func (k *KOV) box(b *body) (eps, delta float64, err error) {
	if b.kind.box != nil {
		if eps, delta, ok := b.kind.box(b, k.relation); ok {
			return eps, delta, nil
		}
	}
	return 0, 0, k.unsupported(b, "kov",
		"eps_delta (unit record or owner), laplace and discrete_laplace, randomized_response "+
			"(replace-one, zero-out), poisson of pure mechanisms (add-remove, zero-out)")
}

// Epsilon returns {0, upper}.
func (k *KOV) Epsilon(delta float64) (Interval, error) {
	if err := checkDelta(delta); err != nil {
		return Interval{}, err
	}
	return k.worst(ask("epsilon", delta), anyEpsilon, func(l []entry) (Interval, error) {
		e, err := k.boxes(l).epsilon(delta)
		return Interval{0, e}, err
	})
}

// Delta returns {0, upper}.
func (k *KOV) Delta(epsilon float64) (Interval, error) {
	if err := checkEpsilon(epsilon); err != nil {
		return Interval{}, err
	}
	return k.worst(ask("delta", epsilon), anyDelta, func(l []entry) (Interval, error) {
		b := k.boxes(l)
		switch {
		case b.w.noNoise:
			return Interval{0, 1}, nil
		case b.exact():
			return k.visible(Interval{0, KOVDelta(b.e0, b.d0, b.count, epsilon)}, l, epsilon), nil
		}
		i, err := b.w.delta(epsilon)
		return k.visible(Interval{0, i.Upper}, l, epsilon), err
	})
}

// boxes are the entries of one branch: count equal ones (e0, d0), or a workload of
// unequal ones.
type boxes struct {
	w      workload
	equal  bool
	count  int
	e0, d0 float64
}

func (k *KOV) boxes(l []entry) boxes {
	b := boxes{equal: true}
	for i, e := range l {
		eps, d, _ := k.box(e.body)
		if math.IsInf(eps, 1) {
			b.w.noNoise = true
			continue
		}
		if i == 0 {
			b.e0, b.d0 = eps, d
		}
		b.equal = b.equal && eps == b.e0 && d == b.d0
		b.count += e.count
		if d == 0 {
			b.w.pure += float64(e.count) * eps
		} else {
			b.w.pure = math.Inf(1)
		}
		b.w.pairs, b.w.counts = append(b.w.pairs, epsDeltaPair(eps, d)), append(b.w.counts, e.count)
	}
	return b
}

// exact reports that the closed formula applies; the logarithms of its binomials lose
// their digits beyond 1e9.
func (b boxes) exact() bool { return b.equal && b.count <= 1e9 }

func (b boxes) epsilon(delta float64) (float64, error) {
	switch {
	case delta == 1 || b.count == 0 && !b.w.noNoise:
		return 0, nil
	case b.w.noNoise:
		return math.Inf(1), nil
	case b.exact():
		return KOVEpsilon(b.e0, b.d0, b.count, delta), nil
	}
	i, err := b.w.epsilon(delta, false, []bool{false})
	return i.Upper, err
}

// Describe implements Accountant.
func (k *KOV) Describe() Description {
	return Description{Method: "kov, optimal composition of black boxes", Provenance: "proved",
		Citations: []string{"Kairouz, Oh, Viswanath 2015, arXiv 1311.0776",
			"Murtagh, Vadhan 2016, arXiv 1507.03113"}}
}

// KOVDelta is the exact delta at eps of count copies of an (e0, d0) box, rounded up by
// what logarithms of factorials lose:
//
//	1-(1-d0)^k + (1-d0)^k sum_l C(k,l) [e^(l e0) - e^(eps+(k-l) e0)]+ / (1+e^e0)^k
//
// e0, eps and count are at least 0, d0 is in [0, 1]; it is 1 for what is not.
func KOVDelta(e0, d0 float64, count int, eps float64) float64 {
	if !box(e0, d0, count) || !(eps >= 0) {
		return 1
	}
	k := float64(count)
	keep := k * math.Log1p(-d0) // ln (1-d0)^k
	if d0 == 1 || math.IsInf(e0, 1) && count > 0 {
		return 1
	}
	if count == 0 {
		return 0
	}
	first := math.Floor((eps/e0+k)/2) + 1 // 2l - k > eps/e0
	p := 1 / (1 + math.Exp(-e0))
	mean, sd := k*p, math.Sqrt(k*p*(1-p))
	first = math.Max(0, math.Max(first, math.Floor(mean-40*sd-2)))
	var sum float64
	all, _ := math.Lgamma(k + 1) // the largest of three, of which each has an error of some ulp
	slack := 8 * (math.Nextafter(all, math.Inf(1)) - all)
	if e0 > 0 {
		for l := first; l <= k; l++ {
			ln := slack + lnChoose(k, l) + (l-k)*e0 - k*math.Log1p(math.Exp(-e0))
			term := math.Exp(ln) * -math.Expm1(eps+(k-2*l)*e0)
			sum += math.Max(0, term)
			if l > mean && term < 1e-22*sum || ln < -745 && l > mean {
				break
			}
		}
	}
	delta := math.Min(1, -math.Expm1(keep)+math.Exp(keep)*sum)
	if delta == 0 && eps < k*e0 { // it is not 0, but below what a float64 can say
		return math.SmallestNonzeroFloat64
	}
	return delta
}

// box says that e0, d0 and count are an epsilon, a delta and a number of releases.
func box(e0, d0 float64, count int) bool { return e0 >= 0 && d0 >= 0 && d0 <= 1 && count >= 0 }

// KOVEpsilon inverts KOVDelta, solved continuously to 1e-12 and rounded up; +Inf where
// 1-(1-d0)^k exceeds delta, and outside KOVDelta's ranges. delta is in [0, 1].
func KOVEpsilon(e0, d0 float64, count int, delta float64) float64 {
	if !box(e0, d0, count) || !(delta >= 0) {
		return math.Inf(1)
	}
	total := float64(count) * e0
	if KOVDelta(e0, d0, count, 0) <= delta {
		return 0
	}
	if -math.Expm1(float64(count)*math.Log1p(-d0)) > delta {
		return math.Inf(1)
	}
	lo, hi := 0.0, total
	for hi-lo > 1e-13*hi {
		mid := lo + (hi-lo)/2
		if mid <= lo || mid >= hi {
			break
		}
		if KOVDelta(e0, d0, count, mid) <= delta {
			hi = mid
		} else {
			lo = mid
		}
	}
	return hi
}
