package tensor

import (
	"math"
	"testing"

	"pgregory.net/rapid"
)

func TestVecArithmetic(t *testing.T) {
	v, x := Vec{1, -2, 3}, Vec{4, 5, -6}
	v.AddScaled(0.5, x)
	if want := (Vec{3, 0.5, 0}); !equal(v, want) {
		t.Errorf("AddScaled: %v, want %v", v, want)
	}
	v.Scale(-2, v)
	if want := (Vec{-6, -1, 0}); !equal(v, want) {
		t.Errorf("Scale in place: %v, want %v", v, want)
	}
	if got := (Vec{3, 4}).Norm(); got != 5 {
		t.Errorf("Norm: %v, want 5", got)
	}
	if got := x.Dot(Vec{1, 1, 1}); got != 3 {
		t.Errorf("Dot: %v, want 3", got)
	}
	v.Zero()
	if want := (Vec{0, 0, 0}); !equal(v, want) {
		t.Errorf("Zero: %v", v)
	}
}

func TestVecFinite(t *testing.T) {
	for _, bad := range []float64{math.NaN(), math.Inf(1), math.Inf(-1)} {
		if (Vec{1, float32(bad), 2}).Finite() {
			t.Errorf("a vector with %v is called finite", bad)
		}
	}
	if !(Vec{math.MaxFloat32, -math.MaxFloat32, 0}).Finite() || !(Vec{}).Finite() {
		t.Error("a finite vector is called not finite")
	}
}

func TestWeightedSum(t *testing.T) {
	a, b := Vec{1, 2}, Vec{10, 20}
	WeightedSum(a, []float64{0.25, 0.5}, []Vec{a, b}) // dst is one of xs
	if want := (Vec{5.25, 10.5}); !equal(a, want) {
		t.Errorf("WeightedSum: %v, want %v", a, want)
	}
	defer func() {
		if recover() == nil {
			t.Error("WeightedSum accepted two weights for one vector")
		}
	}()
	WeightedSum(a, []float64{1, 1}, []Vec{b})
}

// What is summed stays as it was, longer vectors too; shorter ones are refused.
func TestWeightedSumLeavesItsTerms(t *testing.T) {
	each(func(l level) {
		long, dst := make(Vec, 40), make(Vec, 33)
		xs := []Vec{long}
		if WeightedSum(dst, []float64{1}, xs); len(xs[0]) != len(long) {
			t.Errorf("%s: a term was cut to %d elements", levelNames[l], len(xs[0]))
		}
		defer func() {
			if recover() == nil {
				t.Errorf("%s: a term that is too short was accepted", levelNames[l])
			}
		}()
		WeightedSum(dst, []float64{1}, []Vec{long[:32]})
	})
}

// TestWeightedSumKeepsMean: doubly stochastic weights leave the mean within one rounding
// of each term.
func TestWeightedSumKeepsMean(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		x := rapid.SliceOfN(rapid.Float32Range(-1e3, 1e3), 3, 3).Draw(t, "x")
		w := rapid.Float64Range(0, 0.5).Draw(t, "w")
		var before, after float64
		out := make(Vec, 1)
		for i := range x {
			WeightedSum(out, []float64{1 - 2*w, w, w}, []Vec{{x[i]}, {x[(i+1)%3]}, {x[(i+2)%3]}})
			before += float64(x[i])
			after += float64(out[0])
		}
		if math.Abs(before-after) > 3*1e3*0x1p-24+1e-9 {
			t.Fatalf("sum moved from %v to %v", before, after)
		}
	})
}

func equal(a, b Vec) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		if a[i] != b[i] {
			return false
		}
	}
	return true
}
