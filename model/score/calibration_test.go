package score_test

import (
	"math"
	"testing"

	"sotto/model/score"
	"sotto/rng"
)

// drawnLabels are n labels that follow the probabilities of logits z, and z times
// stretch.
func drawnLabels(t *testing.T, r *rng.Stream, n int, stretch float64) *score.Predictions {
	t.Helper()
	z, labels := make([]float64, n), make([]int32, n)
	r.Normals(z)
	for i := range z {
		z[i] *= 1.5
		if r.Float64() < 1/(1+math.Exp(-z[i])) {
			labels[i] = 1
		}
		z[i] *= stretch
	}
	p, err := score.Logits(z, 1, 2, labels)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// stretchedError is the calibration error of logits of deviation 1.5 that are stretched,
// by the trapezoidal rule on the normal law.
func stretchedError(stretch float64) float64 {
	var bins [score.Bins]float64
	const step = 1e-4
	for x := -8.; x <= 8; x += step {
		z := 1.5 * x
		p := 1 / (1 + math.Exp(-stretch*z))
		bins[min(score.Bins-1, int(p*score.Bins))] += step * math.Exp(-x*x/2) / math.Sqrt(2*math.Pi) *
			(p - 1/(1+math.Exp(-z)))
	}
	sum := 0.
	for _, d := range bins {
		sum += math.Abs(d)
	}
	return sum
}

// A model that states the very probabilities has a calibration error of 0, which its
// figure of n records is above, and one that stretches them has what an integral says.
// Intervals at level .95 miss that in 5 % of samples or fewer: with 60 samples 8 misses
// have a probability below 1 %. The difference of the two models misses no more often,
// and no interval leaves out its own figure.
func TestIntervalOfCalibration(t *testing.T) {
	truth := stretchedError(3)
	if off := stretchedError(1); off > 1e-9 || math.Abs(truth-.11) > .05 {
		t.Fatalf("by integrals %g and %g", off, truth)
	}
	b := score.Usual()
	b.Resamples = 200
	for _, n := range []int{100, 400} {
		r, misses := rng.Public(7, "calibration", uint64(n)), [3]int{}
		for range 60 {
			seed := r.Uint64()
			good := drawnLabels(t, rng.Public(seed, "records"), n, 1)
			bold := drawnLabels(t, rng.Public(seed, "records"), n, 3)
			all := judge(t, b, []score.Scored{good}, []score.Scored{bold})
			for k, f := range []score.Figure{all[0].Figures["calibration_error"],
				all[1].Figures["calibration_error"], all[1].Less(&all[0], "calibration_error")} {
				if *f.Value < f.Interval[0] || *f.Value > f.Interval[1] {
					t.Fatalf("%d records: %v is outside of %v", n, *f.Value, *f.Interval)
				}
				if want := [3]float64{0, truth, truth}[k]; f.Interval[0] > want || f.Interval[1] < want {
					misses[k]++
				}
			}
		}
		if max(misses[0], misses[1], misses[2]) > 7 {
			t.Errorf("%d records: of 60 intervals of two models and their difference %v miss", n, misses)
		}
	}
}
