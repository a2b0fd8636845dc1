package account

import (
	"math"
	"testing"

	"gonum.org/v1/gonum/stat/distuv"
)

// twoPoint is a mechanism with two outputs, the first with probability p with the record
// and q without it.
type twoPoint struct{ p, q float64 }

// divergence is its Renyi divergence at an order.
func (m twoPoint) divergence(order float64) float64 {
	term := func(p, q float64) float64 { return order*math.Log(p) + (1-order)*math.Log(q) }
	a, b := term(m.p, m.q), term(1-m.p, 1-m.q)
	return (math.Max(a, b) + math.Log1p(math.Exp(-math.Abs(a-b)))) / (order - 1)
}

// exhausting are two-point mechanisms whose divergence at an order is what is left there.
func exhausting(order, left float64) (all []twoPoint) {
	for e := -16.; e < -.2; e += .1 {
		q := math.Exp(e)
		lo, hi := q, 1-1e-12
		for range 60 {
			if mid := (lo + hi) / 2; (twoPoint{mid, q}).divergence(order) < left {
				lo = mid
			} else {
				hi = mid
			}
		}
		all = append(all, twoPoint{lo, q})
	}
	return all
}

// An adversary asks for one Gaussian release and then, by its outcome, for the two-point
// mechanism that exhausts the budget at the order that suits best. Where the filter
// admits each of them, the whole has twice the budget's delta; where the order is fixed
// before the first answer, it does not exceed it. The delta of the whole is computed
// directly.
func TestRDPFilterHoldsAgainstAdaptiveEvents(t *testing.T) {
	orders := []float64{2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 128}
	const mu = .1
	first := must(t)(Gaussian(1/mu, 1))
	for _, b := range []Budget{{1, 1e-5}, {4, 1e-5}, {8, 1e-6}} {
		var admitted []twoPoint
		kinds := 0
		for _, o := range orders {
			limit := b.Epsilon - math.Log1p(-1/o) + (math.Log(b.Delta)+math.Log(o))/(o-1)
			left := limit - o*mu*mu/2
			if left <= 0 {
				continue
			}
			some := false
			for _, m := range exhausting(o, left*(1-1e-9)) {
				f, err := NewRDPFilter(AddRemove, Record(), b)
				if err != nil {
					t.Fatal(err)
				}
				if err := f.Admit(first, 1); err != nil {
					t.Fatal(err)
				}
				values := make([]float64, len(orders))
				for k, a := range orders {
					values[k] = max(0, m.divergence(a))
				}
				if f.Admit(must(t)(RDP(orders, values)), 1) == nil {
					admitted, some = append(admitted, m), true
				}
			}
			if some {
				kinds++
			}
		}
		// the adversary takes, at every outcome, the mechanism with the largest delta
		// left
		delta := 0.
		const step = .01
		for x := -8.; x < 8; x += step {
			loss := mu*(x+mu) - mu*mu/2 // of outcome x+mu, which has density φ(x) with the record
			worst := 0.
			for _, m := range admitted {
				rest := math.Exp(b.Epsilon - loss)
				worst = math.Max(worst, math.Max(0, m.p-rest*m.q)+math.Max(0, 1-m.p-rest*(1-m.q)))
			}
			delta += step * distuv.UnitNormal.Prob(x) * worst
		}
		if delta > b.Delta || kinds == 0 {
			t.Errorf("budget %v: %d orders' mechanisms are admitted, together delta %.3g, %.2f times the "+
				"budget",
				b, kinds, delta, delta/b.Delta)
		}
	}
}
