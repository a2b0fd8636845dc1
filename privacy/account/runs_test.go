package account_test

import (
	"errors"
	"math"
	"testing"

	"gonum.org/v1/gonum/stat/distuv"

	"sotto/config"
	"sotto/privacy/account"
	"sotto/privacy/account/gdp"
)

// The number of runs inverts the distribution function of its law: geometric and Poisson
// in closed form, the negative binomial of eta = 2 and the logarithmic law by their
// published probabilities, whose parameter is found here from the mean.
func TestSelectionRunsFollowTheirLaws(t *testing.T) {
	geometric := func(m float64) func(k int) float64 {
		return func(k int) float64 { return -math.Expm1(float64(k) * math.Log1p(-1/m)) }
	}
	poisson := func(m float64) func(k int) float64 {
		return func(k int) float64 { return distuv.Poisson{Lambda: m}.CDF(float64(k)) }
	}
	logarithmic := func(m float64) func(k int) float64 {
		g := parameter(m, func(g float64) float64 { return (1/g - 1) / math.Log(1/g) })
		return func(k int) (sum float64) {
			for j := 1; j <= k; j++ {
				sum += math.Pow(1-g, float64(j)) / float64(j) / math.Log(1/g)
			}
			return sum
		}
	}
	two := func(m float64) func(k int) float64 { // (1-g)^k (k+1) / (g^-2 - 1)
		g := parameter(m, func(g float64) float64 { return 2 * (1 - g) / (g * (1 - g*g)) })
		return func(k int) (sum float64) {
			for j := 1; j <= k; j++ {
				sum += math.Pow(1-g, float64(j)) * float64(j+1) / (1/(g*g) - 1)
			}
			return sum
		}
	}
	for name, law := range map[string]struct {
		eta float64
		cdf func(m float64) func(k int) float64
	}{"geometric": {1, geometric}, "logarithmic": {0, logarithmic}, "two": {2, two},
		"poisson": {math.NaN(), poisson}} {
		for _, mean := range []float64{1.5, 4, 40} {
			cdf := law.cdf(mean)
			sum, n := 0., 4001
			for i := range n {
				u := (float64(i) + .5) / float64(n)
				k, err := account.SelectionRunsPoisson(mean, u)
				if !math.IsNaN(law.eta) {
					k, err = account.SelectionRuns(mean, law.eta, u)
				}
				if err != nil {
					t.Fatal(err)
				}
				least := 1
				if math.IsNaN(law.eta) {
					least = 0
				}
				if k < least || cdf(k) < u-1e-9 || k > least && cdf(k-1) > u+1e-9 {
					t.Fatalf("%s, mean %g: %d runs at %g, where the law has %g and %g", name, mean, k, u,
						cdf(k-1), cdf(k))
				}
				sum += float64(k)
			}
			if got := sum / float64(n); math.Abs(got-mean) > .01*mean {
				t.Errorf("%s: mean %g, want %g", name, got, mean)
			}
		}
	}
	if k, err := account.SelectionRuns(10, 1, 1-0x1p-53); err != nil || k < 100 || k > 10_000 {
		t.Errorf("at the upper end: %d runs, %v", k, err)
	}
}

// parameter solves mean(g) = m for g in (0, 1), where mean falls.
func parameter(m float64, mean func(g float64) float64) float64 {
	lo, hi := 1e-12, 1-1e-12
	for range 200 {
		if mid := (lo + hi) / 2; mean(mid) > m {
			lo = mid
		} else {
			hi = mid
		}
	}
	return lo
}

func TestSelectionRunsRefuse(t *testing.T) {
	for name, f := range map[string]func() (int, error){
		"mean 1":       func() (int, error) { return account.SelectionRuns(1, 1, .5) },
		"eta":          func() (int, error) { return account.SelectionRuns(4, -1, .5) },
		"u":            func() (int, error) { return account.SelectionRuns(4, 1, 1) },
		"no number":    func() (int, error) { return account.SelectionRuns(4, 1, math.NaN()) },
		"poisson mean": func() (int, error) { return account.SelectionRunsPoisson(701, .5) },
		"poisson u":    func() (int, error) { return account.SelectionRunsPoisson(4, -.1) },
	} {
		var bad *config.Error
		if k, err := f(); !errors.As(err, &bad) {
			t.Errorf("%s: %d, %v", name, k, err)
		}
	}
}

// Laws that would be summed for ever, or whose first term is no number, are refused.
func TestSelectionRunsOutOfReach(t *testing.T) {
	for _, c := range []struct{ mean, eta float64 }{{1e12, 1}, {1e300, 1}, {3, 1e300}, {2e3, 1e4}} {
		k, err := account.SelectionRuns(c.mean, c.eta, .5)
		var bad *config.Error
		if err != nil && !errors.As(err, &bad) || err == nil && (k < 1 || float64(k) > 100*c.mean) {
			t.Errorf("mean %g, eta %g: %d, %v", c.mean, c.eta, k, err)
		}
	}
	if _, err := account.SelectionRuns(1e12, 1, .5); err == nil {
		t.Error("a mean of 1e12 is summed")
	}
}

// What is no epsilon, no delta or no number of releases has no bound: 0 was answered.
func TestBoundsOfNothing(t *testing.T) {
	nan := math.NaN()
	for name, got := range map[string]float64{
		"mu -1":      gdp.Epsilon(-1, 1e-5),
		"mu NaN":     gdp.Epsilon(nan, 1),
		"delta NaN":  gdp.Epsilon(1, nan),
		"e0 NaN":     account.KOVEpsilon(nan, 0, 3, 1e-5),
		"e0 -1":      account.KOVEpsilon(-1, 0, 3, 1e-5),
		"d0 -1":      account.KOVEpsilon(1, -1, 3, 1e-5),
		"d0 NaN":     account.KOVEpsilon(1, nan, 3, 1e-5),
		"d0 2":       account.KOVEpsilon(1, 2, 3, 1e-5),
		"count -3":   account.KOVEpsilon(1, 0, -3, 1e-5),
		"kov, NaN":   account.KOVEpsilon(1, 0, 3, nan),
		"kov, -1e-5": account.KOVEpsilon(1, 0, 3, -1e-5),
	} {
		if !math.IsInf(got, 1) {
			t.Errorf("%s: epsilon %g", name, got)
		}
	}
	for name, got := range map[string]float64{"d0 -1": account.KOVDelta(1, -1, 3, 1),
		"e0 NaN": account.KOVDelta(nan, 0, 3, 1), "eps NaN": account.KOVDelta(1, 0, 3, nan)} {
		if got != 1 {
			t.Errorf("%s: delta %g", name, got)
		}
	}
}
