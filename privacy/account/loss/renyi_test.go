package loss

import (
	"math"
	"testing"

	"pgregory.net/rapid"
)

// TestSampledOrders: quadrature and binomial sum are independent computations; they agree
// at integers to the quadrature's error, also where both are far below 1.
func TestSampledOrders(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		q := math.Exp(rapid.Float64Range(-20, -0.05).Draw(t, "ln q"))
		s := math.Exp(rapid.Float64Range(-0.7, 3).Draw(t, "ln s"))
		a := rapid.IntRange(2, 64).Draw(t, "order")
		sum, quad := sampledInteger(q, s, a), sampledQuadrature(q, s, float64(a))
		if math.Abs(sum-quad) > 1e-10*sum {
			t.Fatalf("q %v s %v order %d: sum %v, quadrature %v", q, s, a, sum, quad)
		}
	})
}
