package account

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"strconv"

	"sotto/config"
)

// Result is a calibrated parameter and what it achieves.
type Result struct {
	NoiseMultiplier float64
	SampleRate      float64
	Epsilon         Interval
	Delta           float64
	Accountant      string
}

// Ranges of the calibrated parameters; outside of them a budget is ErrInfeasible.
const (
	minNoise = 1e-3
	maxNoise = 1e9
	minRate  = 1e-300
)

// Noise returns the smallest noise multiplier that meets target, rounded up to 6
// significant digits; the achieved epsilon is computed at the rounded value. Where 2^-11
// meets it the answer is that, and 0 of a plan that costs nothing. ErrInfeasible: even
// 2^30 is not enough.
func Noise(p Plan, target Budget) (Result, error) {
	if err := target.validate(); err != nil {
		return Result{}, err
	}
	upper := func(s float64) (float64, error) {
		q := p
		q.NoiseMultiplier = s
		return q.upperAfter(1, target.Delta)
	}
	lo, hi, err := bracketNoise(upper, target.Epsilon)
	if err != nil {
		return Result{}, err
	}
	if lo == hi { // as little as can be: perhaps nothing is charged at all
		if e, err := upper(0); err == nil && e <= target.Epsilon {
			hi = 0
		}
		return p.result(target, hi, p.SampleRate)
	}
	if hi, err = shrink(upper, target.Epsilon, lo, hi); err != nil {
		return Result{}, err
	}
	for range 20 {
		hi = roundUp(hi)
		r, err := p.result(target, hi, p.SampleRate)
		if err != nil || r.Epsilon.Upper <= target.Epsilon {
			return r, err
		}
		hi *= 1 + 2e-6
	}
	return Result{}, fmt.Errorf("%w: no multiplier near %g meets epsilon %g at the final resolution",
		ErrInfeasible, hi, target.Epsilon)
}

// bracketNoise finds lo with upper(lo) > target >= upper(hi), by factors of 2 from 1.
func bracketNoise(upper func(float64) (float64, error), target float64) (lo, hi float64, err error) {
	e, err := upper(1)
	if err != nil {
		return 0, 0, err
	}
	lo, hi = 1, 1
	if e <= target {
		for e <= target && hi > minNoise {
			hi, lo = lo, lo/2
			if e, err = upper(lo); err != nil {
				return 0, 0, err
			}
		}
		if e <= target {
			return lo, lo, nil
		}
		return lo, hi, nil
	}
	for e > target {
		if hi > maxNoise {
			return 0, 0, fmt.Errorf("%w: epsilon is %.6g at noise multiplier %.3g, target %g", ErrInfeasible,
				e, hi, target)
		}
		lo, hi = hi, 2*hi
		if e, err = upper(hi); err != nil {
			return 0, 0, err
		}
	}
	return lo, hi, nil
}

// shrink narrows a bracket of a non-increasing function to a relative width of 3e-7 and
// returns its safe end. It takes secants in logarithms, where the function is nearly
// linear, through the last two points, and lands a little beyond the root seen from the
// nearer end, so that both ends move; bisection takes over where that fails.
func shrink(upper func(float64) (float64, error), target, lo, hi float64) (float64, error) {
	const pad = 1e-7
	at := func(x float64) (float64, error) {
		e, err := upper(x)
		return math.Log(math.Max(e, 1e-300) / target), err
	}
	flo, err := at(lo)
	if err != nil {
		return 0, err
	}
	fhi, err := at(hi)
	if err != nil {
		return 0, err
	}
	last, flast, before, fbefore := hi, fhi, lo, flo
	for step := 0; hi/lo > 1+3e-7 && step < 100; step++ {
		mid := math.Sqrt(lo) * math.Sqrt(hi)
		if step < 8 || step%2 == 0 {
			ln := flast * math.Log(last/before) / (fbefore - flast)
			if -fhi < flo {
				ln -= pad
			} else {
				ln += pad
			}
			if x := last * math.Exp(ln); x > lo*(1+pad/2) && x < hi*(1-pad/2) {
				mid = x
			}
		}
		if mid <= lo || mid >= hi {
			break
		}
		f, err := at(mid)
		if err != nil {
			return 0, err
		}
		before, fbefore, last, flast = last, flast, mid, f
		if f <= 0 {
			hi, fhi = mid, f
		} else {
			lo, flo = mid, f
		}
	}
	return hi, nil
}

// sixDigits rounds to 6 significant decimal digits, to nearest.
func sixDigits(x float64) float64 {
	r, _ := strconv.ParseFloat(strconv.FormatFloat(x, 'g', 6, 64), 64)
	return r
}

// roundUp rounds x > 0 up to 6 significant digits.
func roundUp(x float64) float64 {
	if r := sixDigits(x); r >= x {
		return r
	}
	return sixDigits(x + math.Pow(10, math.Floor(math.Log10(x))-5))
}

// roundDown rounds x > 0 down to 6 significant digits.
func roundDown(x float64) float64 {
	if r := sixDigits(x); r <= x {
		return r
	}
	return sixDigits(x - math.Pow(10, math.Floor(math.Log10(x))-5))
}

func (p Plan) result(target Budget, noise, rate float64) (Result, error) {
	p.NoiseMultiplier, p.SampleRate = noise, rate
	i, err := p.epsilonAfter(1, target.Delta)
	return Result{noise, rate, i, target.Delta, cmp.Or(p.Accountant, Default)}, err
}

// Steps returns the largest number of periods of the plan that provably meets target. Of
// a plan that costs nothing, or hardly anything, it is as many as accountants count: 2^53
// periods, and as many of each event. ErrInfeasible: one period is too much.
func Steps(p Plan, target Budget) (int, error) {
	if err := target.validate(); err != nil {
		return 0, err
	}
	ok := func(n int) (bool, error) {
		e, err := p.upperAfter(n, target.Delta)
		var count *config.Error
		if n > 1 && (errors.Is(err, ErrDeltaTooSmall) || errors.As(err, &count)) {
			return false, nil // beyond what round-off lets us prove, or what is counted
		}
		return e <= target.Epsilon, err
	}
	fits, err := ok(1)
	if err != nil {
		return 0, err
	}
	if !fits {
		return 0, fmt.Errorf("%w: one period of the plan already exceeds epsilon %g", ErrInfeasible,
			target.Epsilon)
	}
	lo, hi := 1, 2
	for hi <= maxCount {
		if fits, err = ok(hi); err != nil {
			return 0, err
		}
		if !fits {
			break
		}
		lo, hi = hi, 4*hi
	}
	hi = min(hi, maxCount+1)
	for hi-lo > 1 {
		mid := lo + (hi-lo)/2
		if fits, err = ok(mid); err != nil {
			return 0, err
		}
		if fits {
			lo = mid
		} else {
			hi = mid
		}
	}
	return lo, nil
}

// Rate returns the largest sampling probability that meets target, rounded down to 6
// significant digits. ErrInfeasible: not even 1e-300, the smallest that is tried, does.
func Rate(p Plan, target Budget) (Result, error) {
	if err := target.validate(); err != nil {
		return Result{}, err
	}
	upper := func(inverse float64) (float64, error) { // non-increasing in 1/rate
		q := p
		q.SampleRate = 1 / inverse
		return q.upperAfter(1, target.Delta)
	}
	e, err := upper(1)
	if err != nil {
		return Result{}, err
	}
	if e <= target.Epsilon {
		return p.result(target, p.NoiseMultiplier, 1)
	}
	lo, hi := 1.0, 4.0
	for {
		if e, err = upper(hi); err != nil {
			return Result{}, err
		}
		if e <= target.Epsilon {
			break
		}
		if hi >= 1/minRate {
			return Result{}, fmt.Errorf("%w: epsilon is %.6g at sampling rate %g, the smallest, target %g",
				ErrInfeasible, e, minRate, target.Epsilon)
		}
		lo, hi = hi, 4*hi
		if hi > 1<<28 { // few are so small
			hi = math.Min(lo*lo, 1/minRate)
		}
	}
	if hi, err = shrink(upper, target.Epsilon, lo, hi); err != nil {
		return Result{}, err
	}
	rate := 1 / hi
	for range 20 {
		rate = roundDown(rate)
		r, err := p.result(target, p.NoiseMultiplier, rate)
		if err != nil || r.Epsilon.Upper <= target.Epsilon {
			return r, err
		}
		rate *= 1 - 2e-6
	}
	return Result{}, fmt.Errorf("%w: no rate near %g meets epsilon %g at the final resolution", ErrInfeasible,
		rate, target.Epsilon)
}
