package account

import (
	"math"
	"testing"
)

// TestCurvesAreConvex: (a-1) R(a) is convex and R does not fall with the order, for every
// curve.
func TestCurvesAreConvex(t *testing.T) {
	ok := must(t)
	g := ok(Gaussian(2, 2))
	for name, c := range map[string]struct {
		ev  Event
		adj Adjacency
	}{
		"sampled":    {ok(PoissonSampled(0.02, g)), AddRemove},
		"fixed size": {ok(FixedSizeSampled(1000, 20, g)), ReplaceOne},
		"laplace":    {ok(Laplace(2)), AddRemove},
		"pure":       {ok(EpsDelta(0.5, 0)), AddRemove},
		"table":      {ok(RDP([]float64{2, 3, 8, 16}, []float64{0.1, 0.15, 0.4, 1.2})), AddRemove},
		"response":   {ok(RandomizedResponse(0.4, 5)), ReplaceOne},
		"response 0": {ok(RandomizedResponse(0.4, 5)), ZeroOut},
	} {
		f, err := rdpCurve(c.ev.body, relation{c.adj, Record()})
		if err != nil {
			t.Fatal(err)
		}
		for a := 1.5; a < 15; a += 0.5 {
			x, y, z := (a-1.25)*f(a-0.25), (a-1)*f(a), (a-0.75)*f(a+0.25)
			if y > (x+z)/2+1e-9*y+1e-15 {
				t.Errorf("%s: not convex at %v: %v %v %v", name, a, x, y, z)
			}
			if f(a) < f(a-0.25)*(1-1e-9) {
				t.Errorf("%s: falls at %v", name, a)
			}
		}
	}
}

// TestCurvesByQuadrature integrates E_Q[(P/Q)^a] for Laplace and enumerates it for
// randomized response.
func TestCurvesByQuadrature(t *testing.T) {
	const n, reach = 2000000, 60.0
	for _, a := range []float64{1.5, 2, 7} {
		var sum float64
		for i := range n {
			x := -reach + (float64(i)+0.5)*2*reach/n
			sum += math.Exp(-a*math.Abs(x-1)-(1-a)*math.Abs(x)) / 2 * 2 * reach / n
		}
		within(t, "laplace", laplaceCurve(1)(a), math.Log(sum)/(a-1), 1e-8)
		hi, lo := 0.4+0.6/4, 0.6/4
		replace := math.Pow(hi, a)*math.Pow(lo, 1-a) + math.Pow(lo, a)*math.Pow(hi, 1-a) + 2*lo
		within(t, "response", responseReplace(0.6, 4)(a), math.Log(replace)/(a-1), 1e-12)
		pu := math.Pow(hi, a)*math.Pow(0.25, 1-a) + 3*math.Pow(lo, a)*math.Pow(0.25, 1-a)
		up := math.Pow(0.25, a)*math.Pow(hi, 1-a) + 3*math.Pow(0.25, a)*math.Pow(lo, 1-a)
		within(t, "response zero", responseZero(0.6, 4)(a), math.Log(math.Max(pu, up))/(a-1), 1e-12)
		p := 1 / (1 + math.Exp(-0.7))
		pure := math.Pow(p, a)*math.Pow(1-p, 1-a) + math.Pow(1-p, a)*math.Pow(p, 1-a)
		within(t, "pure", pureCurve(0.7)(a), math.Log(pure)/(a-1), 1e-12)
	}
	if r := responseZero(0, 3)(2); !math.IsInf(r, 1) { // the other record has answers that it never gives
		t.Errorf("response without noise, against the uniform one: %v", r)
	}
	within(t, "laplace at 1", laplaceCurve(1)(1+1e-10), 1+math.Expm1(-1), 1e-9)
	within(t, "pure at 1", pureCurve(0.7)(1+1e-10), 0.7*math.Tanh(0.35), 1e-9)
}

// TestRefinement: the production accountant is never above the customary grid, and
// continues it at both ends.
func TestRefinement(t *testing.T) {
	for _, c := range []struct {
		q, s  float64
		times int
		delta float64
	}{{0.01, 1, 1000, 1e-5}, {0.2, 0.3, 5000, 1e-5}, {0.001, 200, 1, 1e-12}, {0.04, 1.5, 2250, 1e-5}} {
		ev := must(t)(PoissonSampled(c.q, must(t)(Gaussian(c.s, 1))))
		free, err := NewRDP(AddRemove, Record())
		if err != nil {
			t.Fatal(err)
		}
		grid, err := NewRDP(AddRemove, Record(), DefaultOrders()...)
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range []*RenyiDP{free, grid} {
			if err := r.Compose(ev, c.times); err != nil {
				t.Fatal(err)
			}
		}
		a, err1 := free.Epsilon(c.delta)
		b, err2 := grid.Epsilon(c.delta)
		if err1 != nil || err2 != nil || a.Upper > b.Upper {
			t.Errorf("%+v: refined %v, grid %v (%v, %v)", c, a, b, err1, err2)
		}
		if c.s > 100 && a.Upper > 0.9*b.Upper { // the best order lies beyond 1024
			t.Errorf("%+v: the grid was not continued: %v, %v", c, a, b)
		}
		d, err := free.Delta(a.Upper)
		if err != nil || d.Upper > c.delta*(1+1e-6) {
			t.Errorf("%+v: delta(epsilon(%v)) is %v, %v", c, c.delta, d, err)
		}
	}
}

// TestSelection: publishing the best of a random number of runs costs more than one run
// and less than running all of a larger fixed number, and a mean near 1 costs one run and
// its selection term.
func TestSelection(t *testing.T) {
	ok := must(t)
	run := ok(Repeat(100, ok(PoissonSampled(0.01, ok(Gaussian(1, 1))))))
	at := func(ev Event, n int) float64 {
		r, err := NewRDP(AddRemove, Record())
		if err != nil {
			t.Fatal(err)
		}
		if err := r.Compose(ev, n); err != nil {
			t.Fatal(err)
		}
		i, err := r.Epsilon(1e-5)
		if err != nil {
			t.Fatal(err)
		}
		return i.Upper
	}
	one := at(run, 1)
	for name, ev := range map[string]Event{"geometric": ok(RepeatSelect(20, 1, run)),
		"logarithmic": ok(RepeatSelect(20, 0, run)), "poisson": ok(RepeatSelectPoisson(20, run))} {
		if e := at(ev, 1); e <= one || e >= at(run, 200) {
			t.Errorf("%s: %v, one run %v, 200 runs %v", name, e, one, at(run, 200))
		}
	}
	for _, eta := range []float64{0, 0.5, 1, 3} { // the mean of the law, by summing it
		g := negativeBinomialParameter(7, eta)
		var mean, mass, weight float64 = 0, 0, 1
		for k := 1; k < 20000; k++ { // P(k) prop. to (1-g)^k prod_{l<k} (l+eta)/(l+1), logarithmic at eta = 0
			if k == 1 {
				weight = (1 - g)
			} else {
				weight *= (1 - g) * (float64(k-1) + eta) / float64(k)
			}
			mean += float64(k) * weight
			mass += weight
		}
		within(t, "mean runs", mean/mass, 7, 1e-6)
	}
}

// Noise far below the sensitivity: one record of 500 a step, s down to 1e-4. The bound is
// finite and not below the exact epsilon of one Gaussian release at delta over the
// probability that a step draws the record, since what a step draws is not seen.
func TestFixedSizeOfLittleNoise(t *testing.T) {
	t.Parallel()
	const population, delta = 500, 1e-5
	for _, s := range []float64{.02, .004, .001, 1e-4} {
		g, err := Gaussian(s, 1)
		if err != nil {
			t.Fatal(err)
		}
		g.Adjacency = ReplaceOne
		ev, err := FixedSizeSampled(population, 1, g)
		if err != nil {
			t.Fatal(err)
		}
		upper := func(name string, ev Event, delta float64) float64 {
			a, err := New(name, ReplaceOne, Record())
			if err == nil {
				err = a.Compose(ev, 1)
			}
			if err != nil {
				t.Fatal(err)
			}
			e, err := a.Epsilon(delta)
			if err != nil {
				t.Fatal(err)
			}
			return e.Upper
		}
		got, least := upper("rdp", ev, delta), upper("exact", g, delta*population)-math.Log(population)
		if !(got >= least) || math.IsInf(got, 1) {
			t.Errorf("s = %v: epsilon %v, want a finite one of at least %v", s, got, least)
		}
	}
}

// An empty list of orders is that of no list, and what becomes of a list later changes
// nothing. An empty one had no bound at all.
func TestOrders(t *testing.T) {
	epsilon := func(orders ...float64) func(delta float64) (Interval, error) {
		r, err := NewRDP(AddRemove, Record(), orders...)
		if err == nil {
			err = r.Compose(must(t)(Gaussian(2, 1)), 3)
		}
		if err != nil {
			t.Fatal(err)
		}
		return r.Epsilon
	}
	own := []float64{8}
	of := epsilon(own...)
	own[0] = 2
	for name, c := range map[string][2]func(float64) (Interval, error){
		"empty":   {epsilon([]float64{}...), epsilon()},
		"changed": {of, epsilon(8)},
	} {
		got, err := c[0](1e-5)
		want, err2 := c[1](1e-5)
		if err != nil || err2 != nil || got != want || !(want.Upper < 100) {
			t.Errorf("%s: %v, %v, want %v, %v", name, got, err, want, err2)
		}
	}
	for _, bad := range [][]float64{{1}, {2, 0}, {math.NaN()}, {math.Inf(1)}, {2, -3}} {
		if _, err := NewRDP(AddRemove, Record(), bad...); err == nil {
			t.Errorf("orders %v were accepted", bad)
		}
	}
}
