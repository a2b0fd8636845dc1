package algo_test

import (
	"math"
	"testing"

	"gonum.org/v1/gonum/mat"

	"sotto/algo"
)

// After its updates an agent with after = "average" goes on with the mean of its answers:
// with one update from zero, where the bowls answer -h_i b_i, all reach D_ii (1 + 2 μ c_i
// λ_i) Θ_i - Σ_j W_ij Θ_j = D_ii μ c_i h_i b_i, and nobody asks twice; with more updates
// nobody asks more often than without it.
func TestAnswersAreUsedAgain(t *testing.T) {
	again := func(p *algo.BCDParams) { p.After, p.Updates, p.ConfidencePower = "average", 1, 2 }
	s, bowls := personal(t, "bcd", 60_000, bcd(again))
	a, y := mat.NewDense(personalAgents, personalAgents, nil), mat.NewVecDense(personalAgents, nil)
	for i := range personalAgents {
		c, d := math.Pow(float64(records(i))/maxRecords, 2), 0.
		for j := range personalAgents {
			if i != j {
				a.Set(i, j, -weights(i, j))
				d += weights(i, j)
			}
		}
		a.Set(i, i, d*(1+.7*c*2/float64(records(i))))
		y.SetVec(i, d*.7*c*bowls[i].h*bowls[i].b)
		if n := bowls[i].asked["grad-full"]; n != 1 {
			t.Errorf("agent %d has asked %d times, 1 is allowed", i, n)
		}
	}
	var x mat.VecDense
	if err := x.SolveVec(a, y); err != nil {
		t.Fatal(err)
	}
	near(t, "after average", s, x.RawVector().Data, 1e-5)

	_, silent := personal(t, "bcd", 2000, bcd(func(p *algo.BCDParams) { p.Updates = 3 }))
	_, spoken := personal(t, "bcd", 2000, bcd(func(p *algo.BCDParams) { p.After, p.Updates = "average", 3 }))
	for i := range silent {
		if silent[i].asked["grad-full"] != 3 || spoken[i].asked["grad-full"] != 3 {
			t.Errorf("agent %d has asked %d and %d times, 3 are allowed", i, silent[i].asked["grad-full"],
				spoken[i].asked["grad-full"])
		}
	}
}
