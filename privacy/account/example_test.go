package account_test

import (
	"fmt"

	"sotto/privacy/account"
)

// A run of 1,000 Poisson-sampled gradient steps: its cost, the noise that a budget of 1
// needs, and the same charges composed one event at a time.
func Example() {
	plan := account.DPSGD(account.AddRemove, 0.01, 1000)
	plan.NoiseMultiplier = 1
	eps, err := account.Epsilon(plan, 1e-5)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Printf("epsilon at most %.3f at delta 1e-5\n", eps.Upper)

	fit, err := account.Noise(plan, account.Budget{Epsilon: 1, Delta: 1e-5})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Printf("epsilon 1 needs noise multiplier %.3f\n", fit.NoiseMultiplier)

	acc, _ := account.New("pld", account.ReplaceOne, account.Record())
	g, _ := account.Gaussian(1, 2) // replacing a record moves a clipped sum by twice the clip
	step, _ := account.PoissonSampled(0.01, g)
	if err := acc.Compose(step, 1000); err != nil {
		fmt.Println(err)
		return
	}
	i, _ := acc.Epsilon(1e-5)
	fmt.Printf("under replace-one: %.3f\n", i.Upper)
	// Output:
	// epsilon at most 1.828 at delta 1e-5
	// epsilon 1 needs noise multiplier 1.415
	// under replace-one: 2.843
}
