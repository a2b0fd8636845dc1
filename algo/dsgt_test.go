package algo_test

import (
	"math"
	"testing"

	"gonum.org/v1/gonum/mat"

	"sotto/algo"
	"sotto/rng"
)

// star is Metropolis or uniform (row-normalised A+I) weights on a star with n agents,
// agent 0 the hub.
func star(n int, uniform bool) *mat.Dense {
	w := mat.NewDense(n, n, nil)
	leaf, hub := 1/float64(n), 1/float64(n)
	if uniform {
		leaf = .5
	}
	for i := 1; i < n; i++ {
		w.Set(i, 0, leaf)
		w.Set(0, i, hub)
		w.Set(i, i, 1-leaf)
	}
	w.Set(0, 0, hub)
	return w
}

// Σ_i y_i^k = Σ_i G̃_i^k in every round, noise on, for weights with column sums 1 (to
// float32 rounding), and not for row-normalised weights on a star.
func TestDSGTTracksTheSumOfGradients(t *testing.T) {
	for name, tc := range map[string]struct {
		w    *mat.Dense
		hold bool
	}{"metropolis star": {star(10, false), true}, "uniform star": {star(10, true), false}} {
		noise := rng.Public(7, "dsgt test")
		var z [1]float64
		l := newLockstep(t, factory(t, "dsgt", set(func(p *algo.DSGTParams) {
			p.StepSize.StepSize = .02
		})), tc.w, 201, 1,
			func(i int, at float32) float32 {
				noise.Normals(z[:])
				return quadratic(i%len(curvature), at) + float32(z[0])
			})
		worst, scale := 0., 0.
		for k := range uint64(200) {
			l.round(t, k)
			sumY, sumG := 0., 0.
			for i := range l.algs {
				sumY += float64(l.sent[i][1])
				sumG += l.latest[i]
				scale = max(scale, math.Abs(l.latest[i]))
			}
			worst = max(worst, math.Abs(sumY-sumG))
		}
		if got := worst / scale; (got < 5e-5) != tc.hold {
			t.Errorf("%s: Σy and ΣG̃ differ by %g of the largest gradient", name, got)
		}
	}
}

// Without noise DSGT reaches the minimiser of the sum, Σ h_i b_i / Σ h_i, at a constant
// step on heterogeneous quadratics; DSGD at the same step does not.
func TestDSGTReachesTheCommonMinimum(t *testing.T) {
	num, den := 0., 0.
	for i, h := range curvature {
		num += h * minimum[i]
		den += h
	}
	want := num / den
	for name, exact := range map[string]bool{"dsgt": true, "dsgd": false} {
		f := factory(t, name, func(params any) error {
			switch p := params.(type) {
			case *algo.DSGTParams:
				p.StepSize.StepSize = .1
			case *algo.DSGDParams:
				p.StepSize.StepSize = .1
			}
			return nil
		})
		l := newLockstep(t, f, ring(5), 1000, 0, quadratic)
		for k := range uint64(1000) {
			l.round(t, k)
		}
		worst := 0.
		for _, x := range l.theta() {
			worst = max(worst, math.Abs(x-want))
		}
		if (worst < 5e-6*math.Abs(want)+1e-6) != exact {
			t.Errorf("%s ends %g away from the common minimum %g", name, worst, want)
		}
	}
}

// K rounds ask K-1 times, since the answer of the last round would enter no model, and
// the first round moves nothing when all start together.
func TestDSGTCharges(t *testing.T) {
	const rounds = 12
	l := newLockstep(t, factory(t, "dsgt", set(func(*algo.DSGTParams) {})), ring(5), rounds, 3, quadratic)
	for k := range uint64(rounds) {
		l.round(t, k)
		if k == 0 {
			for i, x := range l.theta() {
				if math.Abs(x-3) > 1e-6 {
					t.Errorf("agent %d moved to %g in the first round", i, x)
				}
			}
		}
	}
	if want := 5 * (rounds - 1); l.asked != want {
		t.Errorf("%d queries, want %d", l.asked, want)
	}
}
