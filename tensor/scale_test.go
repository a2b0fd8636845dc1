package tensor

import (
	"math"
	"testing"
)

// TestFiniteAndScale: one element that is not finite, anywhere, is found; Scale is its
// definition.
func TestFiniteAndScale(t *testing.T) {
	each(func(l level) {
		for n := range 70 {
			v := make(Vec, n)
			for i := range v {
				v[i] = float32(i-9) * 4e36
			}
			if !v.Finite() {
				t.Fatalf("%s: %d finite elements are not", levelNames[l], n)
			}
			got := make(Vec, n)
			got.Scale(.3, v)
			for i := range v {
				if want := float32(.3) * v[i]; got[i] != want {
					t.Fatalf("%s: element %d scaled to %g, want %g", levelNames[l], i, got[i], want)
				}
				for _, bad := range []float64{math.NaN(), math.Inf(1), math.Inf(-1)} {
					was := v[i]
					v[i] = float32(bad)
					if v.Finite() {
						t.Fatalf("%s: %g at %d of %d is called finite", levelNames[l], bad, i, n)
					}
					v[i] = was
				}
			}
		}
	})
}
