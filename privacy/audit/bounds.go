package audit

import (
	"math"

	"gonum.org/v1/gonum/stat/distuv"

	"sotto/privacy/account/gdp"
)

// Names of bounds.
const (
	ClopperPearson = "clopper-pearson"
	GDP            = "gdp"
	OneRun         = "one-run"
	OneRunFDP      = "one-run-fdp"
)

// Bound is a lower bound of epsilon, from guesses "the record was there where the score
// is at least the threshold".
type Bound struct {
	Name         string  `json:"bound"`
	Score        string  `json:"score,omitempty"`
	Epsilon      float64 `json:"epsilon_lower"` // at Delta, at least 0
	Delta        float64 `json:"delta"`
	Beta         float64 `json:"beta"` // probability with which the bound may exceed the truth
	Mu           float64 `json:"mu_lower,omitempty"`
	Thresholds   string  `json:"thresholds"` // the rule: fixed, split, all, hull
	Tested       int     `json:"thresholds_tested"`
	Threshold    float64 `json:"threshold"`    // the best one; at most the largest float64
	Observations int     `json:"observations"` // in both worlds, without those that chose the threshold
	// whether the bound holds with confidence 1 - Beta; only then may it raise an alarm
	Proven bool   `json:"proven"`
	Valid  string `json:"valid"` // under which condition it does
}

// UpperLimit is the Clopper-Pearson upper confidence limit of a rate of which k of n were
// seen: a larger rate shows k or fewer with probability below level. 0 <= k <= n, level
// in (0, 1).
func UpperLimit(k, n int, level float64) float64 {
	switch {
	case k >= n:
		return 1
	case k == 0:
		return -math.Expm1(math.Log(level) / float64(n))
	}
	if level < exactLevel {
		return limitOf(k, n, level)
	}
	return distuv.Beta{Alpha: float64(k) + 1, Beta: float64(n - k)}.Quantile(1 - level)
}

// exactLevel is where 1 - level begins to lose digits that matter.
const exactLevel = 1e-7

// limitOf is UpperLimit by bisection on the binomial sum, for small levels.
func limitOf(k, n int, level float64) float64 {
	lo, hi := float64(k)/float64(n), 1.
	for {
		p := lo + (hi-lo)/2
		if p <= lo || p >= hi {
			return hi
		}
		if binomialTail(n-k, n, 1-p) > level { // P[Bin(n,p) <= k]
			lo = p
		} else {
			hi = p
		}
	}
}

// tally is what guesses at one threshold came to.
type tally struct {
	threshold     float64
	missed, in    int // of the scores with the record, those below the threshold
	wrong, absent int // of the scores without it, those at or above it
}

// limits are the upper limits of the miss rate and of the false alarm rate; both hold
// with probability 1 - level.
func (t *tally) limits(level float64) (fnr, fpr float64) {
	return UpperLimit(t.missed, t.in, level/2), UpperLimit(t.wrong, t.absent, level/2)
}

// clopperPearson is ln((1 - FNR - delta)/FPR) at the upper limits of both rates, or with
// their roles exchanged where that is more: a mechanism must hide both worlds from each
// other. Both follow from one pair of limits.
func clopperPearson(t *tally, level, delta float64) float64 {
	fnr, fpr := t.limits(level)
	eps := 0.
	if hit := 1 - fnr - delta; hit > 0 {
		eps = max(eps, math.Log(hit/fpr))
	}
	if hit := 1 - fpr - delta; hit > 0 {
		eps = max(eps, math.Log(hit/fnr))
	}
	return eps
}

// gdpMu is the largest mu that the limits exclude, -PhiInv(FPR) - PhiInv(FNR), or 0
// (Dong, Roth, Su 2022, equation 6).
func gdpMu(t *tally, level float64) float64 {
	fnr, fpr := t.limits(level)
	if fnr >= 1 || fpr >= 1 {
		return 0
	}
	return max(0, -quantile(fpr)-quantile(fnr))
}

func underGDP(t *tally, level, delta float64) float64 {
	return gdp.Epsilon(gdpMu(t, level), delta)
}

func quantile(p float64) float64 { return distuv.UnitNormal.Quantile(p) }

func normal(x float64) float64 { return distuv.UnitNormal.CDF(x) }

const (
	anyMechanism = "any mechanism; observations are independent given the world"
	gdpClaim     = "a test of the claim \"mu-GDP\" (Gaussian noise); for another mechanism it is an " +
		"extrapolation; observations are independent given the world"
	oneRunCoins = "any mechanism under which the canaries' coins are independent and fair"
	oneRunGauss = "a test of the claim that the run's trade-off function is Gaussian; the canaries' " +
		"coins are independent and fair"
)

// method is how one tally becomes an epsilon at a level, and what that rests on. It may
// return any value below best where it can tell that it does not exceed best.
type method struct {
	name    string
	epsilon func(t *tally, level, delta, best float64) float64
	mu      func(t *tally, level float64) float64 // nil: none
	valid   string
}

var (
	clopperPearsonMethod = method{ClopperPearson, func(t *tally, level, delta, _ float64) float64 {
		return clopperPearson(t, level, delta)
	}, nil, anyMechanism}
	gdpMethod = method{GDP, func(t *tally, level, delta, _ float64) float64 {
		return underGDP(t, level, delta)
	}, gdpMu, gdpClaim}
	oneRunMethod    = method{OneRun, oneRun, nil, oneRunCoins}
	oneRunFDPMethod = method{OneRunFDP, oneRunFDP, nil, oneRunGauss}
)

// ByClopperPearson bounds epsilon for any mechanism. beta in (0, 1), delta in [0, 1).
func (s *Scores) ByClopperPearson(r Rule, beta, delta float64) Bound {
	return s.bound(&clopperPearsonMethod, r, beta, delta)
}

// ByGDP bounds mu, and epsilon by it, of a mechanism that is mu-GDP for some mu. beta in
// (0, 1), delta in (0, 1).
func (s *Scores) ByGDP(r Rule, beta, delta float64) Bound {
	return s.bound(&gdpMethod, r, beta, delta)
}

// ByOneRun bounds epsilon from canaries of one run, each of which had a fair coin: In are
// the scores of those that were there.
func (s *Scores) ByOneRun(r Rule, beta, delta float64) Bound {
	b := s.bound(&oneRunMethod, r, beta, delta)
	if m := float64(len(s.In) + len(s.Out)); 10*m*delta > beta {
		b.Valid += "; canaries x delta is not far below beta, which weakens the bound"
	}
	return b
}

// ByOneRunFDP is ByOneRun for a run whose trade-off function is claimed to be Gaussian.
// delta in (0, 1).
func (s *Scores) ByOneRunFDP(r Rule, beta, delta float64) Bound {
	return s.bound(&oneRunFDPMethod, r, beta, delta)
}
