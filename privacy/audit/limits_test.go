package audit

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"sotto/privacy/account"
	"sotto/rng"
	"sotto/tensor"
)

// The upper limit is where k or fewer of n are seen with exactly the level's probability,
// by the binomial sum.
func TestUpperLimit(t *testing.T) {
	for _, c := range []struct {
		k, n  int
		level float64
	}{{0, 10, .05}, {0, 1000, 1e-6}, {1, 10, .05}, {7, 30, .025}, {29, 30, .01}, {412, 1000, 1e-4}} {
		p := UpperLimit(c.k, c.n, c.level)
		below := 1 - binomialTail(c.k+1, c.n, p)
		if math.Abs(below-c.level) > 1e-9+1e-6*c.level {
			t.Errorf("k %d, n %d: P[Bin <= k] is %g at the limit %g, want %g", c.k, c.n, below, p, c.level)
		}
	}
	// tiny levels keep their digits: P[Bin(n, p) <= 1] is (1-p)^(n-1) (1 + (n-1) p)
	for _, level := range []float64{6e-14, 1e-20} {
		const n = 4796
		p := UpperLimit(1, n, level)
		below := math.Exp((n-1)*math.Log1p(-p)) * (1 + (n-1)*p)
		if math.Abs(below/level-1) > 1e-6 {
			t.Errorf("level %g: P[Bin <= 1] is %g at the limit %g", level, below, p)
		}
	}
	if UpperLimit(5, 5, .05) != 1 {
		t.Error("all of n: the limit is not 1")
	}
}

// oneRunP is the published formula, evaluated term by term.
func TestOneRunP(t *testing.T) {
	for _, m := range []int{10, 100} {
		for _, r := range []int{1, 8, 10} {
			for v := range r + 1 {
				for _, eps := range []float64{0, .5, 2} {
					for _, delta := range []float64{0, 1e-6, 1e-3, .1} {
						q := math.Exp(eps) / (1 + math.Exp(eps))
						mass := func(k int) float64 {
							c := 1.
							for j := range k {
								c *= float64(r-j) / float64(j+1)
							}
							return c * math.Pow(q, float64(k)) * math.Pow(1-q, float64(r-k))
						}
						beta, alpha := 0., 0.
						for k := v; k <= r; k++ {
							beta += mass(k)
						}
						for i := 1; i <= v; i++ {
							sum := 0.
							for k := v - i; k < v; k++ {
								sum += mass(k)
							}
							alpha = max(alpha, sum/float64(i))
						}
						want := min(1, beta+2*float64(m)*delta*alpha)
						if got := oneRunP(m, r, v, eps, delta); math.Abs(got-want) > 1e-9 {
							t.Fatalf("m %d, r %d, v %d, epsilon %g, delta %g: %g, want %g", m, r, v, eps,
								delta, got, want)
						}
					}
				}
			}
		}
	}
}

// The vertices of the hull of a ROC are those that no line between two others passes
// above, which the definition finds by brute force.
func TestHull(t *testing.T) {
	s := rng.Public(1, "hull")
	for range 200 {
		x := &Scores{}
		for range 12 {
			x.In, x.Out = append(x.In, float64(s.Below(8))), append(x.Out, float64(s.Below(6)))
		}
		at := slices.Concat(x.In, x.Out)
		slices.Sort(at)
		all := x.tallies(append(slices.Compact(at), math.Inf(1)))
		var want []float64
		for i, b := range all {
			on := true
			for j := range i {
				for k := i + 1; k < len(all); k++ {
					a, c := all[j], all[k]
					// b is on or below the segment from a to c.
					x1, y1 := float64(c.missed-a.missed), float64(a.wrong-c.wrong)
					x2, y2 := float64(b.missed-a.missed), float64(a.wrong-b.wrong)
					if x1*y2 <= y1*x2 {
						on = false
					}
				}
			}
			if on {
				want = append(want, b.threshold)
			}
		}
		var got []float64
		for _, h := range x.hull() {
			got = append(got, h.threshold)
		}
		if !slices.Equal(got, want) {
			t.Fatalf("%v %v: hull at %v, want %v", x.In, x.Out, got, want)
		}
	}
}

// A bound that is proven exceeds the truth in at most beta of all repetitions: scores of
// mu = 1, epsilon 4.377 at delta 1e-5, mu-GDP with mu = 1. With beta .05 and 400
// repetitions 40 or more excesses have a probability below 3e-5 for each of the bounds.
func TestProvenBoundsHold(t *testing.T) {
	t.Parallel()
	const repetitions, n, beta, delta, truth = 400, 100, .05, 1e-5, 4.377178095681133
	s := rng.Public(2, "coverage")
	excess := map[string]int{}
	powerful := 0.
	for range repetitions {
		x := &Scores{In: make([]float64, n), Out: make([]float64, n)}
		s.Normals(x.In)
		s.Normals(x.Out)
		for i := range x.In {
			x.In[i]++
		}
		for _, r := range []Rule{{Kind: Fixed, At: .5}, {Kind: Split}, {Kind: Split, Part: .2},
			{Kind: All, Candidates: []float64{0, .5, 1, 2}}} {
			g := x.ByGDP(r, beta, delta)
			if g.Mu > 1 || g.Epsilon > truth {
				excess[fmt.Sprintf("%s %g gdp", r.Kind, r.Part)]++
			}
			if r.Kind == Fixed {
				powerful += g.Mu / repetitions
			}
			c := x.ByClopperPearson(r, beta, delta)
			if c.Epsilon > truth {
				excess[fmt.Sprintf("%s %g cp", r.Kind, r.Part)]++
			}
			if !g.Proven || !c.Proven || r.Validate() != nil {
				t.Fatalf("rule %+v is not proven", r)
			}
		}
	}
	t.Log(excess, powerful)
	for name, k := range excess {
		if k >= 40 {
			t.Errorf("%s: %d excesses in %d repetitions", name, k, repetitions)
		}
	}
	if powerful < .3 {
		t.Errorf("the mean bound of mu is %g: no power", powerful)
	}
	if x := deterministic(100, 1); x.ByGDP(Rule{Kind: Hull}, beta, delta).Proven {
		t.Error("thresholds that the same observations choose are called proven")
	}
	for _, r := range []Rule{{Kind: "best"}, {Kind: Fixed, At: math.NaN()}, {Kind: All},
		{Kind: Split, Part: 1}} {
		if r.Validate() == nil {
			t.Errorf("rule %+v is accepted", r)
		}
	}
}

// guessed composes one guess a release. For guesses that are right with probability
// e/(1+e) in both worlds it is randomised response of epsilon 1, whose composition the
// accountant knows.
func TestGuessed(t *testing.T) {
	p := math.E / (1 + math.E)
	for _, n := range []int{1, 2, 10, 100} {
		acc, err := account.New("kov", account.AddRemove, account.Record())
		if err != nil {
			t.Fatal(err)
		}
		ev, err := account.EpsDelta(1, 0)
		if err == nil {
			err = acc.Compose(ev, n)
		}
		if err != nil {
			t.Fatal(err)
		}
		want, err := acc.Epsilon(1e-5)
		if err != nil {
			t.Fatal(err)
		}
		if got := guessed(p, 1-p, n, 1e-5); math.Abs(got-want.Upper) > 1e-3*want.Upper {
			t.Errorf("%d guesses: epsilon %g, want %g", n, got, want.Upper)
		}
	}
	if guessed(.5, .5, 10, 1e-5) != 0 {
		t.Error("guesses that tell nothing have an epsilon")
	}
}

// sampledMu inverts the trade-off function of a record that is drawn with probability q,
// at limits that are exact rates.
func TestSampledMu(t *testing.T) {
	const n = 1 << 40 // limits are rates then
	for _, q := range []float64{1, .1, .01} {
		for _, mu := range []float64{.5, 1, 3} {
			fpr := .1
			hit := q*normal(quantile(fpr)+mu) + (1-q)*fpr
			x := tally{
				missed: int(math.Round((1 - hit) * n)),
				in:     n,
				wrong:  int(math.Round(fpr * n)),
				absent: n,
			}
			if got := sampledMu(&x, .5, q); math.Abs(got-mu) > .01*mu {
				t.Errorf("rate %g, mu %g: got %g", q, mu, got)
			}
		}
	}
	// One in a hundred cannot explain guesses that are right in half of all cases.
	x := tally{missed: 500, in: 1000, wrong: 10, absent: 1000}
	if got := sampledMu(&x, .05, .01); !math.IsInf(got, 1) {
		t.Errorf("got %g, want infinity", got)
	}
}

// Batches of one of two records in two runs are the same or complementary, each by a fair
// coin: the check of the two runs may call as many such pairs of runs violated as its
// level says, by the binomial law of the rounds that agree. Two batches that always agree
// are found.
func TestTwoRunsOfFixedBatches(t *testing.T) {
	const rounds, level = 60, .01
	claim := Claim{Sampler: account.Sampler{Kind: account.FixedSize, Population: 2, BatchSize: 1}}
	alarms := 0.
	for agree := range rounds + 1 {
		var runs [2][][]int
		for k := range rounds {
			runs[0] = append(runs[0], []int{1, 0})
			runs[1] = append(runs[1], [][]int{{0, 1}, {1, 0}}[min(1, max(0, agree-k))])
		}
		for _, c := range counts(runs, &claim) {
			if c[0].name != "two runs" {
				continue
			}
			check := c[0].check(level)
			if check.Violated() {
				alarms += binomialMass(rounds, agree, .5)
			} else if agree == rounds {
				t.Error("equal batches are not found")
			}
		}
	}
	if alarms > level {
		t.Errorf("a right sampler is called violated with probability %.4f, allowed %v", alarms, level)
	}
}

// Without a declared law one value of noise comes again by chance: pairs of equal ones
// among n normal values on a grid of 2^-20 of their deviation are nearly Poisson with
// mean n^2/2 times the sum of the squared masses, 2^-20/(2 sqrt(pi)). The limit is beyond
// what comes with probability level, for any level; a second half that repeats the first
// is beyond the limit.
func TestRepeatsByChance(t *testing.T) {
	for _, n := range []int{10, 300, 1000, 1020, 3000} {
		var answers []tensor.Vec
		for k := range n {
			answers = append(answers, tensor.Vec{float32(k % (n / 2))})
		}
		for _, level := range []float64{.025, 1e-3, 1e-6, 1e-9} {
			c := repeats(Out, answers, n, level)
			mean := float64(n) * float64(n) / 2 * 0x1p-20 / (2 * math.Sqrt(math.Pi))
			mass, tail := math.Exp(-mean), 0.
			for k := 1; k < int(c.Limit)+50; k++ {
				if mass *= mean / float64(k); k > int(c.Limit) {
					tail += mass
				}
			}
			if tail > level || !c.Violated() || int(c.Statistic) != n-n/2 {
				t.Errorf("%d charges at level %g: limit %v comes with probability %.3g; %v come again", n,
					level, c.Limit, tail, c.Statistic)
			}
		}
	}
}

// What a report says is at least there is no more than what was proved, in a row, a bound
// and a finding alike; nor does it claim more confidence than it has.
func TestReportsRoundDown(t *testing.T) {
	target := &Target{Name: "rounding", Claim: Claim{Total: .5, Delta: 1e-5}}
	r := target.report("runs", Options{Beta: 1e-9})
	r.Bounds = []Bound{{Name: GDP, Epsilon: 1.23459, Mu: .123456}}
	target.bounded(r, 1.23459)
	var b strings.Builder
	if err := r.WriteText(&b); err != nil {
		t.Fatal(err)
	}
	text := b.String()
	least := strings.Count(text, "epsilon at least 1.234,") +
		strings.Count(text, "at least 1.234, claimed 0.5")
	if strings.Contains(text, "1.235") || least != 4 ||
		!strings.Contains(text, "mu at least 0.1234 ") || !strings.Contains(text, "confidence 0.999999)") {
		t.Errorf("the report says %s", text)
	}
}
