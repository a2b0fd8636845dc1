package privacytest

import (
	"math"
	"testing"

	"gonum.org/v1/gonum/stat/distuv"

	"sotto/privacy"
	"sotto/tensor"
)

// falseReject is the probability with which a statistical test of this package rejects a
// right mechanism.
const falseReject = 1e-6

// KS is the Kolmogorov-Smirnov statistic of the sorted x against a distribution function,
// times the root of the sample size. It exceeds 2.694 with a probability of at most 1e-6.
func KS(x []float64, cdf func(float64) float64) float64 { return ks(x, 1, cdf) }

func ks(x []float64, scale float64, cdf func(float64) float64) float64 {
	d, n := 0., float64(len(x))
	for i, v := range x {
		c := cdf(v * scale)
		d = max(d, c-float64(i)/n, float64(i+1)/n-c)
	}
	return d * math.Sqrt(n)
}

// audit attacks one release: is the value 0, or moved by its sensitivity? The
// Clopper-Pearson lower bound of epsilon must not exceed the claim, and the one of the
// mechanism with half the noise must.
func audit(t *testing.T, o Options) {
	const delta = 1e-2
	claim := o.epsilon(t, o.release(1, 1), delta)
	if low := lowerBound(o, o.Mechanism, delta); low > claim {
		t.Errorf("the attack shows epsilon above %g, claimed %g at delta %g", low, claim, delta)
	} else if low <= 0 {
		t.Errorf("the attack shows nothing")
	}
	if low := lowerBound(o, o.Half, delta); low <= claim {
		t.Errorf("the attack has no power: half the noise shows epsilon %g, claimed %g", low, claim)
	}
}

// lowerBound guesses "moved" for outputs at or above a threshold. It is valid at the
// false-reject rate over all thresholds together.
func lowerBound(o Options, m privacy.Mechanism, delta float64) float64 {
	thresholds := []float64{.5, 1, 1.5, 2, 3}
	moved := make(tensor.Vec, draws)
	for i := range moved {
		moved[i] = 1
	}
	with, without := perturb(o, m, moved, 1, 21), perturb(o, m, make(tensor.Vec, draws), 1, 22)
	level := falseReject / float64(2*len(thresholds))
	best := 0.
	for _, c := range thresholds {
		missed, wrong := 0, 0
		for i := range with {
			if float64(with[i]) < c {
				missed++
			}
			if float64(without[i]) >= c {
				wrong++
			}
		}
		fnr, fpr := clopperPearson(missed, draws, level), clopperPearson(wrong, draws, level)
		best = max(best, math.Log((1-fnr-delta)/fpr))
	}
	return best
}

// clopperPearson is the upper confidence limit of a rate of which k of n were seen.
func clopperPearson(k, n int, level float64) float64 {
	if k == n {
		return 1
	}
	return distuv.Beta{Alpha: float64(k) + 1, Beta: float64(n - k)}.Quantile(1 - level)
}

// lowBits compares the last four bits of releases of 0 and of a value whose own last bits
// differ: they must follow one law.
func lowBits(t *testing.T, o Options) {
	const offset = 5 // steps
	moved := make(tensor.Vec, draws)
	for i := range moved {
		moved[i] = float32(offset * o.Step)
	}
	a, b := perturb(o, o.Mechanism, make(tensor.Vec, draws), 1, 31), perturb(o, o.Mechanism, moved, 1, 32)
	limit := distuv.ChiSquared{K: 15}.Quantile(1 - falseReject)
	if x := equality(o, a, b, 0); x > limit {
		t.Errorf("low bits of two values differ: chi-square %g, limit %g", x, limit)
	}
	// Power: noise in steps 16 times as coarse leaves the value's own bits.
	if x := equality(o, a, b, offset); x < limit {
		t.Errorf("the test has no power: chi-square %g for coarse noise, limit %g", x, limit)
	}
}

// equality is the chi-square statistic of two samples' low bits. leak > 0 replaces them
// by those of coarse noise on 0 and on leak.
func equality(o Options, a, b tensor.Vec, leak int64) float64 {
	var count [2][16]float64
	for w, x := range []tensor.Vec{a, b} {
		for _, v := range x {
			n := int64(math.Round(float64(v) / o.Step))
			if leak > 0 {
				n = n>>4<<4 + leak*int64(w)
			}
			count[w][n&15]++
		}
	}
	x := 0.
	for i := range count[0] {
		if e := (count[0][i] + count[1][i]) / 2; e > 0 {
			x += (count[0][i]-e)*(count[0][i]-e)/e + (count[1][i]-e)*(count[1][i]-e)/e
		}
	}
	return x
}
