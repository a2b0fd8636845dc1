package account_test

import (
	"encoding/json"
	"errors"
	"fmt"

	"sotto/privacy/account"
)

// spent prints what one event costs at delta 1e-5 by an accountant, add-remove, per
// record.
func spent(accountant string, ev account.Event, err error) {
	if err != nil {
		fmt.Println(err)
		return
	}
	acc, _ := account.New(accountant, account.AddRemove, account.Record())
	if err := acc.Compose(ev, 1); err != nil {
		fmt.Println(err)
		return
	}
	i, err := acc.Epsilon(1e-5)
	fmt.Printf("%.4f %v\n", i.Upper, err)
}

// A mechanism of which only rho-zCDP is known.
func ExampleZCDP() {
	ev, err := account.ZCDP(0.005, 0)
	spent("rdp", ev, err)
	// Output: 0.3753 <nil>
}

// A mechanism of which only mu-GDP is known costs what a Gaussian one of that mu does.
func ExampleGDP() {
	ev, err := account.GDP(0.1)
	spent("exact", ev, err)
	// Output: 0.3407 <nil>
}

// A mechanism of which Renyi divergences at a few orders are known.
func ExampleRDP() {
	ev, err := account.RDP([]float64{2, 8, 32}, []float64{0.01, 0.04, 0.16})
	spent("rdp", ev, err)
	// Output: 0.3878 <nil>
}

// A record takes part in a sum not at all, once or twice, by chance alone.
func ExampleMixtureGaussian() {
	ev, err := account.MixtureGaussian(4, []float64{0, 1, 2}, []float64{0.81, 0.18, 0.01})
	spent("pld", ev, err)
	// Output: 0.2408 <nil>
}

// All prefix sums of 1,000 values by one tree of noisy nodes: a value enters ten of them.
func ExampleTree() {
	ev, err := account.Tree(10, 1000, 0)
	spent("exact", ev, err)
	// Output: 1.1994 <nil>
}

// One event on each of two disjoint parts: the more expensive one counts.
func ExampleParallel() {
	small, _ := account.Gaussian(5, 1)
	large, _ := account.Gaussian(2, 1)
	ev, err := account.Parallel(small, large)
	spent("exact", ev, err)
	spent("exact", large, nil)
	// Output:
	// 1.9931 <nil>
	// 1.9931 <nil>
}

// A filter that admits what a plan needs, and nothing else.
func ExampleNewPlanFilter() {
	plan := account.DPSGD(account.AddRemove, 1, 1) // full batches
	plan.NoiseMultiplier = 10
	f, err := account.NewPlanFilter(plan, account.Budget{Epsilon: 1, Delta: 1e-5})
	if err != nil {
		fmt.Println(err)
		return
	}
	step, _ := account.Gaussian(10, 1)
	fmt.Println(f.Left(step), f.Admit(step, 7), errors.Is(f.Admit(step, 1), account.ErrExhausted))
	// Output: 7 <nil> true
}

// A filter for Gaussian answers whose noise may depend on the answers before.
func ExampleNewGDPFilter() {
	f, err := account.NewGDPFilter(account.AddRemove, account.Record(),
		account.Budget{Epsilon: 1, Delta: 1e-5})
	if err != nil {
		fmt.Println(err)
		return
	}
	rough, _ := account.Gaussian(10, 1)
	fine, _ := account.Gaussian(5, 1)
	fmt.Println(f.Admit(rough, 3), f.Admit(fine, 1), errors.Is(f.Admit(fine, 1), account.ErrExhausted))
	// Output: <nil> <nil> true
}

// A figure that stays true whenever somebody looks at it and stops.
func ExampleNewOdometer() {
	plan := account.DPSGD(account.AddRemove, 1, 1)
	plan.NoiseMultiplier = 100
	o, err := account.NewOdometer(plan, 1e-5)
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, periods := range []int{1, 60, 64} {
		i, err := o.Epsilon(periods)
		fmt.Printf("%.4f %v\n", i.Upper, err)
	}
	// Output:
	// 0.0287 <nil>
	// 0.3496 <nil>
	// 0.3496 <nil>
}

// An accountant is saved in the middle of a run, and goes on elsewhere.
func ExampleRestore() {
	acc, _ := account.New("exact", account.AddRemove, account.Record())
	step, _ := account.Gaussian(10, 1)
	acc.Compose(step, 3)
	saved, _ := json.Marshal(acc)
	again, err := account.Restore(saved)
	if err != nil {
		fmt.Println(err)
		return
	}
	again.Compose(step, 4)
	acc.Compose(step, 4)
	a, _ := acc.Epsilon(1e-5)
	b, _ := again.Epsilon(1e-5)
	fmt.Println(a == b)
	// Output: true
}
