package account

import (
	"math"
	"testing"

	"pgregory.net/rapid"

	"sotto/privacy/account/loss"
)

// subsetLaw is the law of the loss of a batch without replacement: the densities of the
// sampled pair where its loss is above 0, those of its mirror image where that is below
// 0, by the midpoint rule, and the rest at 0.
func subsetLaw(q, mu float64, nodes, count int) *quadrature {
	law := &quadrature{count: float64(count)}
	rest := 1.0
	add := func(l, p float64) {
		if rest -= p; p > 1e-40 {
			law.l, law.p = append(law.l, l), append(law.p, p)
		}
	}
	normal := func(x float64) float64 { return math.Exp(-x*x/2) / math.Sqrt(2*math.Pi) }
	const reach = 13
	dx := (mu/2 + reach) / float64(nodes)
	for i := range nodes {
		far := (float64(i) + .5) * dx // from the point where P and Q are equal
		ratio := math.Expm1(mu * far) // the larger of P and Q over the smaller, less 1
		add(math.Log1p(q*ratio), normal(mu/2+far)*(1+q*ratio)*dx)
		add(-math.Log1p(q*ratio), normal(mu/2+far)*dx)
	}
	add(0, rest)
	return law
}

// fixedSize are so many releases of batches of fixed size, by an accountant.
func fixedSize(name string, population, batch int, noise float64, steps int) (Accountant, error) {
	g, err := Gaussian(noise, 2)
	if err != nil {
		return nil, err
	}
	g.Adjacency = ReplaceOne
	ev, err := FixedSizeSampled(population, batch, g)
	if err != nil {
		return nil, err
	}
	a, err := New(name, ReplaceOne, Record())
	if err == nil {
		err = a.Compose(ev, steps)
	}
	return a, err
}

// TestFixedSizeAgainstQuadrature: the upper end is that of the law that the bound is of,
// composed by other code, and the lower end that of Poisson batches under add-remove,
// which one half of the law is. Google's dp_accounting 0.6.0 gives 1.8282436 for the
// latter in the first case.
func TestFixedSizeAgainstQuadrature(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		population, batch int
		noise             float64
		steps             int
		delta, below      float64
	}{
		{10_000, 100, 2, 1000, 1e-5, 1.828244},
		{2500, 1, 2, 3500, 1e-5, 0},
		{10, 5, 8, 100, 1e-5, 0},
		{1000, 10, 1.5, 20, 1e-8, 0},
	} {
		d, err := fixedSize("pld", c.population, c.batch, c.noise, c.steps)
		if err != nil {
			t.Fatal(err)
		}
		i, err := d.Epsilon(c.delta)
		if err != nil {
			t.Fatal(err)
		}
		q, mu := float64(c.batch)/float64(c.population), 2/c.noise
		law := subsetLaw(q, mu, 1<<12, c.steps)
		law.rough = subsetLaw(q, mu, 1<<10, c.steps)
		at, share, slope := law.profile(i.Upper, c.delta, 1<<16)
		if off := share / slope / i.Upper; !(off < 1e-3) {
			t.Errorf("%+v: the quadrature may err by %.2g of epsilon", c, off)
		}
		if got := at(i.Upper); got > c.delta*(1+share) || got < c.delta*(1-share-slope*2e-3*i.Upper) {
			t.Errorf("%+v: %v; the profile there over delta: %g", c, i, got/c.delta)
		}
		poisson := newPLD(t, AddRemove, Record())
		if err := poisson.Compose(sampledGaussian(t, q, c.noise/2, 1), c.steps); err != nil {
			t.Fatal(err)
		}
		below, err := poisson.Epsilon(c.delta)
		if err != nil || math.Abs(i.Lower-below.Lower) > 1e-9*below.Lower || i.Lower == 0 {
			t.Errorf("%+v: %v above %v, %v", c, i, below, err)
		}
		if c.below > 0 && (i.Lower > c.below || i.Lower < .99*c.below) {
			t.Errorf("%+v: %v, of data sets that attain %v", c, i, c.below)
		}
	}
}

// One release is q delta(b) with e^b = 1+(e^eps-1)/q, which some data sets attain: the
// interval has no width.
func TestFixedSizeOnce(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 5000).Draw(t, "population")
		m := rapid.IntRange(1, n).Draw(t, "batch")
		noise := rapid.Float64Range(.3, 10).Draw(t, "noise")
		eps := rapid.Float64Range(0, 3).Draw(t, "eps")
		d, err := fixedSize("pld", n, m, noise, 1)
		if err != nil {
			t.Fatal(err)
		}
		q, mu := float64(m)/float64(n), 2/noise
		tail := func(x float64) float64 { return math.Erfc(x/math.Sqrt2) / 2 }
		b := math.Log1p(math.Expm1(eps) / q)
		x := b/mu + mu/2
		want := q * (tail(x-mu) - math.Exp(b)*tail(x))
		got, err := d.(*PrivacyLoss).Delta(eps)
		const far = 1e-8
		if err != nil || got.Upper < want*(1-far) || got.Upper > want*(1+far)+1e-15 ||
			got.Lower > want*(1+far) || got.Lower < want*(1-far)-1e-15 {
			t.Fatalf("%v, %v; want %v", got, err, want)
		}
	})
}

// Data sets that attain the bound of one release in one direction at some steps and in
// the other at the other steps stay below the bound of all, and so does it below that of
// Renyi divergences.
func TestFixedSizeBoundsBothDirections(t *testing.T) {
	fewer(t, 10)
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(2, 2000).Draw(t, "population")
		m := rapid.IntRange(1, n-1).Draw(t, "batch")
		noise := rapid.Float64Range(1, 20).Draw(t, "noise")
		there, back := rapid.IntRange(0, 40).Draw(t, "there"), rapid.IntRange(1, 40).Draw(t, "back")
		const delta = 1e-6
		q := float64(m) / float64(n)
		one := poissonPair(q, gaussianPair(2/noise))
		mirrored := func(l float64) loss.Tails { return one.Scan()(-l).Mirrored() }
		other := pair{stateless(mirrored), false, true, nil}
		w := workload{pairs: []pair{one, other}, counts: []int{there, back}, pure: math.Inf(1)}
		if there == 0 {
			w.pairs, w.counts = w.pairs[1:], w.counts[1:]
		}
		mixed, err := w.epsilon(delta, true, bothWays)
		if err != nil {
			t.Fatal(err)
		}
		bound := func(name string) float64 {
			a, err := fixedSize(name, n, m, noise, there+back)
			if err != nil {
				t.Fatal(err)
			}
			i, err := a.Epsilon(delta)
			if err != nil {
				t.Fatal(err)
			}
			return i.Upper
		}
		pld, rdp := bound("pld"), bound("rdp")
		if mixed.Lower > pld || pld > rdp*(1+1e-6) {
			t.Fatalf("some data sets have %v, bounds %v and by Renyi divergences %v", mixed, pld, rdp)
		}
	})
}
