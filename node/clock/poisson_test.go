package clock_test

import (
	"math"
	"slices"
	"testing"
	"time"

	"sotto/node/clock"
)

// The times between rings are exponential: Kolmogorov's distance of 2000 of them exceeds
// 2.3/sqrt(n) with probability 5e-5.
func TestClockIsPoisson(t *testing.T) {
	const n = 2000
	c := clock.NewPoisson(time.Hour)
	gaps := make([]float64, n)
	for i := range gaps {
		last := c.Next
		if w := c.Wait(); w < 0 || w > time.Until(c.Next)+time.Minute {
			t.Fatalf("a wait of %v", w)
		}
		if next := c.Next; c.Wait() > time.Until(next)+time.Minute || c.Next != next {
			t.Fatal("a ring that has not come was drawn again")
		}
		c.Rung()
		gaps[i] = c.Next.Sub(last).Hours()
	}
	slices.Sort(gaps)
	for i, x := range gaps {
		p := -math.Expm1(-x)
		if d := max(p-float64(i)/n, float64(i+1)/n-p); d > 2.3/math.Sqrt(n) {
			t.Fatalf("distance %g at %g of the mean", d, x)
		}
	}
}

// A clock that fell behind rings at once and forgets what it missed.
func TestClockHasNoBacklog(t *testing.T) {
	c := clock.NewPoisson(time.Second)
	c.Next = time.Now().Add(-time.Hour)
	if w := c.Wait(); w != 0 || time.Since(c.Next) > time.Minute {
		t.Errorf("a wait of %v, next ring at %v", w, c.Next)
	}
}
