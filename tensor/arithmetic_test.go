package tensor

import (
	"math"
	"testing"
)

// Every set of kernels rounds as proofs assume; a processor that flushes to zero, or
// rounds up, down or toward zero, is told.
func TestArithmetic(t *testing.T) {
	if err := Arithmetic(); err != nil {
		t.Fatal(err)
	}
	right := func(a, b float32) float32 { return a * b }
	plus := func(a, b float32) float32 { return a + b }
	flush := func(f func(a, b float32) float32) func(a, b float32) float32 {
		return func(a, b float32) float32 {
			if x := f(a, b); math.Abs(float64(x)) >= 0x1p-126 {
				return x
			}
			return 0
		}
	}
	toward := func(f func(a, b float64) float64, to float64) func(a, b float32) float32 {
		return func(a, b float32) float32 {
			exact := f(float64(a), float64(b)) // of these operands
			x := float32(exact)
			up := to > 0 || to == 0 && exact < 0
			if float64(x) < exact && up {
				x = math.Nextafter32(x, float32(math.Inf(1)))
			} else if float64(x) > exact && !up {
				x = math.Nextafter32(x, float32(math.Inf(-1)))
			}
			return x
		}
	}
	times, add := func(a, b float64) float64 { return a * b }, func(a, b float64) float64 { return a + b }
	for name, wrong := range map[string]error{
		"products flushed": arithmetic(flush(right), plus), "sums flushed": arithmetic(right, flush(plus)),
		"products up": arithmetic(toward(times, 1), plus), "sums up": arithmetic(right, toward(add, 1)),
		"sums down":            arithmetic(right, toward(add, -1)),
		"sums toward zero":     arithmetic(right, toward(add, 0)),
		"products toward zero": arithmetic(toward(times, 0), plus),
	} {
		if wrong == nil {
			t.Errorf("%s: nothing is told", name)
		}
	}
	if err := arithmetic(right, plus); err != nil {
		t.Error(err)
	}
}
