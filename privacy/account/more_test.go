package account

import (
	"encoding/json"
	"errors"
	"math"
	"strings"
	"testing"

	"gonum.org/v1/gonum/stat/distuv"

	"sotto/privacy/account/gdp"
)

func roundTrip(t *testing.T, s Statement) Statement {
	t.Helper()
	data, err := json.Marshal(s)
	if err != nil {
		t.Fatal(err)
	}
	var back Statement
	if err := json.Unmarshal(data, &back); err != nil {
		t.Fatal(err)
	}
	return back
}

// TestKOVAgainstGrids: the exact formula against the pair on a grid, with the error the
// grid admits, and the grid against the heterogeneous sum rule at its ends.
func TestKOVAgainstGrids(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		e, d  float64
		n     int
		delta float64
	}{{0.1, 0, 100, 1e-5}, {0.5, 1e-6, 50, 1e-4}, {0.01, 1e-9, 2000, 1e-5}, {1, 0, 3, 1e-3}} {
		box := must(t)(EpsDelta(c.e, c.d))
		k, err := NewKOV(AddRemove, Record())
		if err != nil {
			t.Fatal(err)
		}
		exact := upper(t, k, box, c.n, c.delta)
		grid := upper(t, newPLD(t, AddRemove, Record()), box, c.n, c.delta)
		if grid < exact*(1-1e-9) || grid > exact*(1+1e-4)+1e-6 {
			t.Errorf("%+v: exact %v, grid %v", c, exact, grid)
		}
		// An unequal box of negligible cost switches to grids and changes nothing
		// visible.
		almost := upper(t, k, must(t)(EpsDelta(1e-9, 0)), 1, c.delta)
		if math.Abs(almost-exact) > 1e-4*exact+1e-6 {
			t.Errorf("%+v: homogeneous %v, heterogeneous %v", c, exact, almost)
		}
		if d := KOVDelta(c.e, c.d, c.n, exact); math.Abs(d-c.delta) > 1e-8*c.delta {
			t.Errorf("%+v: delta(epsilon) = %v", c, d)
		}
	}
	// Integer Laplace noise at distance 1 is randomized response.
	box, lap := must(t)(EpsDelta(0.1, 0)), must(t)(DiscreteLaplace(0.1, 1))
	within(t, "discrete Laplace", upper(t, newPLD(t, AddRemove, Record()), lap, 100, 1e-5),
		upper(t, newPLD(t, AddRemove, Record()), box, 100, 1e-5), 1e-6)
	// Without a delta the epsilons add up, however small the last delta before that is.
	for _, count := range []int{3, 1200, 40_000} {
		if e := KOVEpsilon(.1, 0, count, 0); math.Abs(e-.1*float64(count)) > 1e-9*float64(count) {
			t.Errorf("%d boxes of epsilon .1 at delta 0: %v", count, e)
		}
	}
	if d := KOVDelta(.1, 0, 40_000, 3000); d == 0 {
		t.Error("delta at 3000 of 4000 is 0")
	}
	if e := KOVEpsilon(0.5, 1e-3, 10, 1e-3); !math.IsInf(e, 1) {
		t.Errorf("ten boxes of delta 1e-3 at 1e-3: %v", e)
	}
}

// saddlePoint is the probability of x successes in n by Loader's saddle-point expansion
// (2000, "Fast and accurate computation of binomial probabilities"), which takes no
// differences of logarithms of factorials. x, n - x > 500.
func saddlePoint(x, n, p float64) float64 {
	stirling := func(n float64) float64 { return 1/(12*n) - 1/(360*n*n*n) }
	deviance := func(x, mean float64) float64 {
		v := (x - mean) / (x + mean)
		s, e := (x-mean)*v, 2*x*v
		for j := 1.; ; j++ {
			e *= v * v
			if next := s + e/(2*j+1); next != s {
				s = next
				continue
			}
			return s
		}
	}
	ln := stirling(n) - stirling(x) - stirling(n-x) - deviance(x, n*p) - deviance(n-x, n*(1-p))
	return math.Exp(ln) * math.Sqrt(n/(2*math.Pi*x*(n-x)))
}

// TestKOVIsRoundedUp: at 1e8 copies logarithms of factorials have lost eight digits, and
// delta was below the truth by 2.3e-8 of it.
func TestKOVIsRoundedUp(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		e, eps float64
		n      int
	}{{1e-4, 3, 1e8}, {1e-3, 2, 1e6}, {1e-3, 4, 1e6}, {1e-2, 1, 1e5}, {1e-4, 1, 1e7}} {
		n, p, truth := float64(c.n), 1/(1+math.Exp(-c.e)), 0.
		for l := math.Floor((c.eps/c.e+n)/2) + 1; l < n-500; l++ {
			term := saddlePoint(l, n, p) * -math.Expm1(c.eps+(n-2*l)*c.e)
			if truth += term; l > n*p && term < 1e-18*truth {
				break
			}
		}
		if d := KOVDelta(c.e, 0, c.n, c.eps); d < truth*(1-1e-12) || d > truth*(1+2e-6) {
			t.Errorf("%+v: delta %v, truth %v", c, d, truth)
		}
	}
}

// TestBoundedProfiles compares profiles of truncated noise with quadrature of both
// densities, and the strip with its mass.
func TestBoundedProfiles(t *testing.T) {
	for _, b := range []*body{
		{family: BoundedLaplace, scale: 2, truncation: 5},
		{family: BoundedGaussian, scale: 1.5, truncation: 3},
		{family: BoundedGeneralized, scale: 2, truncation: 4, beta: 3},
		{family: BoundedGaussian, scale: 1, truncation: 0.4},
	} {
		g := func(x float64) float64 {
			if math.Abs(x) > b.truncation {
				return 0
			}
			switch b.family {
			case BoundedLaplace:
				return math.Exp(-math.Abs(x) / b.scale)
			case BoundedGaussian:
				return math.Exp(-x * x / (2 * b.scale * b.scale))
			}
			return math.Exp(-math.Pow(math.Abs(x)/b.scale, b.beta))
		}
		const n = 400000
		var norm float64
		for i := range n {
			norm += g(-8+(float64(i)+0.5)*16/n) * 16 / n
		}
		p := func(x float64) float64 { return g(x) / norm }
		q := func(x float64) float64 { return g(x-1) / norm }
		for _, eps := range []float64{0, 0.2, 1, 3} {
			want := hockeyLine(p, q, eps, -8, 8)
			for _, mirrored := range []bool{false, true} {
				if got := profileOf(boundedPair(b), mirrored, eps); math.Abs(got-want) > 2e-5 {
					t.Errorf("%+v eps %v mirrored %v: %v, quadrature %v", b, eps, mirrored, got, want)
				}
			}
		}
	}
}

// TestProfileReadOuts: curve, trade-off and Gaussian parameter of a composed profile
// against the exact Gaussian.
func TestProfileReadOuts(t *testing.T) {
	d := newPLD(t, AddRemove, Record(), 1e-3)
	// mu = 1, through the grids
	if err := d.Compose(must(t)(MixtureGaussian(3, []float64{1}, []float64{1})), 9); err != nil {
		t.Fatal(err)
	}
	p, err := d.Profile()
	if err != nil {
		t.Fatal(err)
	}
	for _, eps := range []float64{-2, 0, 0.5, 2, 4, 8, 100} {
		want := gdp.Delta(1, eps)
		if got := p.Delta(eps); got < want-1e-15 || got > want*(1+1e-4)+1e-11 {
			t.Errorf("delta(%v) = %v, exact %v", eps, got, want)
		}
	}
	within(t, "mu", p.Mu(), 1, 1e-3)
	for fpr, want := range map[float64]float64{1e-3: 0.0183, 1e-4: 3.274e-3, 1e-7: 1.3385e-5} {
		within(t, "TPR", p.TPR(fpr), want, 1e-3*want)
	}
	if err := d.Compose(must(t)(EpsDelta(0.1, 0.01)), 1); err != nil {
		t.Fatal(err)
	}
	if p, err = d.Profile(); err != nil || !math.IsInf(p.Mu(), 1) || p.Delta(1000) < 0.01 {
		t.Errorf("with an infinity atom: mu %v, floor %v, %v", p.Mu(), p.Delta(1000), err)
	}
}

// TestDirections: the two directions of a sampled Gaussian, and that the guarantee is
// their maximum.
func TestDirections(t *testing.T) {
	t.Parallel()
	d := newPLD(t, AddRemove, Record())
	if err := d.Compose(sampledGaussian(t, 0.1, 0.5, 1), 10); err != nil {
		t.Fatal(err)
	}
	add, err1 := d.Add(1e-5)
	remove, err2 := d.Remove(1e-5)
	both, err3 := d.Epsilon(1e-5)
	if err1 != nil || err2 != nil || err3 != nil {
		t.Fatal(err1, err2, err3)
	}
	within(t, "add", add.Upper, 0.9995, 1e-4)
	within(t, "remove", remove.Upper, 12.2612, 1e-4)
	within(t, "both", both.Upper, remove.Upper, 1e-9)
}

// TestDeltaTooSmall: what round-off cannot resolve is refused with a figure; pure
// mechanisms answer at any delta.
func TestDeltaTooSmall(t *testing.T) {
	t.Parallel()
	d := newPLD(t, AddRemove, Record())
	if err := d.Compose(sampledGaussian(t, 0.01, 1, 1), 100); err != nil {
		t.Fatal(err)
	}
	if _, err := d.Epsilon(1e-250); !errors.Is(err, ErrDeltaTooSmall) {
		t.Errorf("delta 1e-250: %v", err)
	}
	if i, err := d.Epsilon(1e-100); err != nil || i.Upper < 10 {
		t.Errorf("delta 1e-100: %v, %v", i, err)
	}
	l := newPLD(t, AddRemove, Record())
	if err := l.Compose(must(t)(Laplace(2)), 6); err != nil {
		t.Fatal(err)
	}
	if i, err := l.Epsilon(1e-250); err != nil || i.Upper != 3 {
		t.Errorf("six Laplace releases at delta 1e-250: %v, %v", i, err)
	}
}

// TestTruncatedPoisson: truncation that never binds is Poisson sampling; a tighter cap
// costs more.
func TestTruncatedPoisson(t *testing.T) {
	t.Parallel()
	g := must(t)(Gaussian(1.1, 2))
	at := func(ev Event) float64 { return upper(t, newPLD(t, ReplaceOne, Record()), ev, 100, 1e-5) }
	plain := at(sampledGaussian(t, 0.01, 1.1, 2))
	loose := at(must(t)(TruncatedPoissonSampled(0.01, 1000, 1000, g)))
	tight := at(must(t)(TruncatedPoissonSampled(0.01, 1000, 12, g)))
	if math.Abs(loose-plain) > 1e-4*plain || tight <= loose {
		t.Errorf("plain %v, loose cap %v, tight cap %v", plain, loose, tight)
	}
}

// A capped batch is refused under add-remove: which of two neighboring data sets has the
// stated number of records matters. Of -1 and +1, each drawn with probability .9, at most
// one stays, with equal chances where both are drawn, so that the new record displaces
// the other: the truth at epsilon 4 is ninety times the delta of a population of one,
// whose cap never binds.
func TestTruncatedPoissonIsRefusedUnderAddRemove(t *testing.T) {
	const rate, epsilon = .9, 4.
	density := func(law map[float64]float64, y float64) (d float64) {
		for at, w := range law {
			d += w * distuv.UnitNormal.Prob(y-at)
		}
		return d
	}
	one := rate*(1-rate) + rate*rate/2
	with := map[float64]float64{0: (1 - rate) * (1 - rate), 1: one, -1: one}
	without := map[float64]float64{0: 1 - rate, -1: rate}
	up, down := 0., 0.
	const step = 1e-3
	for y := -14.; y < 14; y += step {
		p, q := density(with, y), density(without, y)
		up += step * math.Max(0, p-math.Exp(epsilon)*q)
		down += step * math.Max(0, q-math.Exp(epsilon)*p)
	}
	plain := newPLD(t, AddRemove, Record())
	if err := plain.Compose(sampledGaussian(t, rate, 1, 1), 1); err != nil {
		t.Fatal(err)
	}
	claimed, err := plain.Delta(epsilon)
	if err != nil {
		t.Fatal(err)
	}
	if truth := max(up, down); truth < 90*claimed.Upper {
		t.Errorf("delta %g, that of a population of one is %g: no counterexample", truth, claimed.Upper)
	}
	err = newPLD(t, AddRemove, Record()).Compose(must(t)(TruncatedPoissonSampled(rate, 1, 1,
		must(t)(Gaussian(1, 1)))), 1)
	if !errors.Is(err, ErrUnsupported) {
		t.Errorf("under add-remove: %v", err)
	}
}

// Of a discrete Gaussian with few grid steps no lower bound is stated by the continuous
// one that bounds it, nor is the method called exact: at sigma = 32 steps and a shift of
// as many epsilon is 4.376902 at delta 1e-5, where the bound has 4.399608.
func TestCoarseDiscreteGaussianHasNoLowerBoundAboveTheTruth(t *testing.T) {
	const sigma, shift, delta = 32, 32, 1e-5
	mass := func(x float64) float64 { return math.Exp(-x * x / (2 * sigma * sigma)) }
	total := 0.
	for x := -60. * sigma; x <= 60*sigma; x++ {
		total += mass(x)
	}
	at := func(epsilon float64) (d float64) {
		for x := -60. * sigma; x <= 60*sigma; x++ {
			d += math.Max(0, mass(x-shift)-math.Exp(epsilon)*mass(x)) / total
		}
		return d
	}
	lo, hi := 0., 10.
	for range 60 {
		if mid := (lo + hi) / 2; at(mid) > delta {
			lo = mid
		} else {
			hi = mid
		}
	}
	truth := hi
	if math.Abs(truth-4.376902) > 1e-6 {
		t.Errorf("the direct sum gives epsilon %.7f, want 4.376902", truth)
	}
	ev := must(t)(DiscreteGaussian(sigma, shift, shift, 1))
	for _, name := range []string{"gdp", "pld"} {
		a, err := New(name, AddRemove, Record())
		if err != nil {
			t.Fatal(err)
		}
		if err := a.Compose(ev, 1); err != nil {
			t.Fatal(err)
		}
		i, err := a.Epsilon(delta)
		if err != nil || i.Lower > truth || i.Upper < truth {
			t.Errorf("%s: %v, %v; the truth is %.6f", name, i, err, truth)
		}
		if m := a.Describe().Method; name == "gdp" && strings.Contains(m, "exact") {
			t.Errorf("method %q", m)
		}
	}
}

// TestGroups: groups of one are records; a sampled group of two lies between twice the
// noise-to-signal and independent records; under replace-one the aligned group is at
// least the record.
func TestGroups(t *testing.T) {
	ev := sampledGaussian(t, 0.01, 1, 2)
	one := upper(t, newPLD(t, ReplaceOne, Group(1), 1e-3), ev, 100, 1e-5)
	if record := upper(t, newPLD(t, ReplaceOne, Record(), 1e-3), ev, 100, 1e-5); one != record {
		t.Errorf("group of one %v, record %v", one, record)
	}
	two := upper(t, newPLD(t, ReplaceOne, Group(2), 1e-3), ev, 100, 1e-5)
	// Two records that always fall into the batch together are worse than two that fall
	// in apart.
	together := upper(t, newPLD(t, ReplaceOne, Record(), 1e-3), sampledGaussian(t, 0.02, 1, 4), 100, 1e-5)
	if two <= one || two >= together {
		t.Errorf("one %v, two %v, two together %v", one, two, together)
	}
	for _, u := range []Unit{{}, {Kind: UnitGroup, Size: 1}, {Kind: UnitRecord, Size: 2}, Group(0),
		Group(MaxGroup + 1)} {
		if _, err := NewPLD(AddRemove, u); err == nil {
			t.Errorf("unit %+v was accepted", u)
		}
	}
	if _, err := NewRDP(0, Record()); err == nil {
		t.Error("the zero adjacency was accepted")
	}
}

func TestReleaseSampled(t *testing.T) {
	g := must(t)(Gaussian(1.5, 1))
	base := Release{
		Oracle:    "gradient",
		Adjacency: AddRemove,
		Unit:      Record(),
		Scale:     0.01,
		Parts:     []Part{{Name: "g", Clip: 2, Shift: 1, Norm: L2, Dim: 3}},
	}
	with := func(s Sampler, change func(*Release)) (Event, error) {
		r := base
		r.Sampler = s
		if change != nil {
			change(&r)
		}
		return r.Sampled(g)
	}
	ev := must(t)(with(Sampler{Kind: Poisson, SampleRate: 0.02}, nil))
	if ev.Adjacency != AddRemove || ev.Unit != Record() || ev.Clip != 2 || ev.Oracle != "gradient" ||
		ev.Sampler != "poisson/1" || ev.Type() != TypePoisson {
		t.Errorf("root fields: %s", ev.Key())
	}
	mix := must(t)(with(Sampler{Kind: Poisson, SampleRate: 0.5}, func(r *Release) { r.Draws = 2 }))
	if mix.Type() != TypeMixtureGaussian || mix.body.shifts[2] != 2 ||
		math.Abs(mix.body.probs[1]-0.5) > 1e-12 {
		t.Errorf("two draws: %s", mix.Key())
	}
	shuffled := func(a Adjacency) (Event, error) {
		return with(Sampler{Kind: Shuffled, Period: 10}, func(r *Release) { r.Adjacency = a })
	}
	if e := must(t)(shuffled(ZeroOut)); e.Type() != TypeCyclic {
		t.Errorf("shuffled: %s", e.Key())
	}
	if _, err := shuffled(AddRemove); !errors.Is(err, ErrUnsupported) {
		t.Errorf("shuffled under add-remove: %v", err)
	}
	if e := must(t)(with(Sampler{Kind: FullBatch}, nil)); e.Type() != TypeGaussian {
		t.Errorf("full: %s", e.Key())
	}
	for name, f := range map[string]func() (Event, error){
		"fixed size under add-remove": func() (Event, error) {
			return with(Sampler{Kind: FixedSize, Population: 10, BatchSize: 2}, nil)
		},
		"owner": func() (Event, error) {
			return with(Sampler{Kind: Poisson, SampleRate: 0.1}, func(r *Release) { r.Unit = Owner() })
		},
		"draws of full batches": func() (Event, error) {
			return with(Sampler{Kind: FullBatch}, func(r *Release) { r.Draws = 3 })
		},
	} {
		if _, err := f(); !errors.Is(err, ErrUnsupported) {
			t.Errorf("%s: %v", name, err)
		}
	}
	for name, change := range map[string]func(*Release){
		"clip":      func(r *Release) { r.Parts = []Part{{Clip: math.NaN(), Shift: 1, Norm: L2, Dim: 1}} },
		"norm":      func(r *Release) { r.Parts = []Part{{Clip: 1, Shift: 1, Dim: 1}} },
		"no parts":  func(r *Release) { r.Parts = nil },
		"adjacency": func(r *Release) { r.Adjacency = 0 },
		"unit":      func(r *Release) { r.Unit = Unit{} },
		"sampler":   func(r *Release) { r.Sampler.Kind = 0 },
		"draws":     func(r *Release) { r.Draws = -1 },
	} {
		if _, err := with(Sampler{Kind: Poisson, SampleRate: 0.1}, change); err == nil {
			t.Errorf("%s: accepted", name)
		}
	}
}

func TestNames(t *testing.T) {
	for a := AddRemove; a <= ZeroOut; a++ {
		if b, err := ParseAdjacency(a.String()); err != nil || b != a {
			t.Errorf("%v: %v, %v", a, b, err)
		}
	}
	var none Event
	if s := none.Adjacency.String() + " " + none.Unit.String(); s != "nothing nothing" {
		t.Errorf("what is not set is called %q", s)
	}
	if a, err := ParseAdjacency("nothing"); err == nil {
		t.Errorf("nothing is adjacency %v", a)
	}
	if a, err := ParseAdjacency("replace_one"); err != nil || a != ReplaceOne {
		t.Errorf("underscore: %v, %v", a, err)
	}
	for k := FullBatch; k <= Cyclic; k++ {
		if b, err := ParseSampler(k.String()); err != nil || b != k {
			t.Errorf("%v: %v, %v", k, b, err)
		}
	}
	if _, err := ParseSampler("uniform"); err == nil {
		t.Error("unknown sampler was accepted")
	}
	if _, err := New("moments", AddRemove, Record()); err == nil {
		t.Error("unknown accountant was accepted")
	}
	if s := Group(3).String() + Owner().String() + Record().String(); s != "group(3)ownerrecord" {
		t.Error(s)
	}
}

func TestWarnings(t *testing.T) {
	r := Release{
		Oracle:    "gradient",
		Adjacency: AddRemove,
		Unit:      Record(),
		Scale:     0.01,
		Sampler:   Sampler{Kind: Poisson, SampleRate: 0.1},
	}
	if w := Warnings(r, 1, 1e-4, 1000); w != nil { // 1/(10 n) itself
		t.Errorf("delta 1e-4: %q", w)
	}
	if w := Warnings(r, 1, 1e-5, 1000); w != nil {
		t.Errorf("a sound plan: %q", w)
	}
	for name, c := range map[string]struct {
		change       func(*Release)
		noise, delta float64
		want         int
	}{
		"delta 1/n":    {func(*Release) {}, 1, 1e-3, 1},
		"delta 1/(2n)": {func(*Release) {}, 1, 5e-4, 1},
		"scale":        {func(r *Release) { r.Scale = 0.02 }, 1, 1e-5, 1},
		"noise":        {func(*Release) {}, 0.2, 1e-5, 1},
		"sampler":      {func(r *Release) { r.Sampler = Sampler{Kind: Shuffled, Period: 10} }, 1, 1e-5, 1},
		"fixed size":   {func(r *Release) { r.Sampler.Kind = FixedSize }, 0.2, 1e-5, 1},
		"owner": {func(r *Release) {
			r.Unit, r.Oracle, r.Sampler.Kind = Owner(), "grad", FullBatch
		}, 1, 1e-5, 1},
	} {
		q := r
		c.change(&q)
		if w := Warnings(q, c.noise, c.delta, 1000); len(w) != c.want {
			t.Errorf("%s: %q, want %d warnings", name, w, c.want)
		}
	}
}
