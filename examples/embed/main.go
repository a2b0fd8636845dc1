// Command embed shows sotto inside another module: three owners of one number each agree
// on their mean. Every number leaves its owner once, clipped, noised and charged to the
// owner's own budget; all that follows is public mixing.
package main

import (
	"errors"
	"fmt"
	"log"

	"sotto/agent"
	"sotto/privacy"
	"sotto/privacy/account"
	"sotto/privacy/ledger"
	"sotto/rng"
	"sotto/tensor"
)

const (
	clip  = 10.0
	noise = 2.0 // standard deviation over clip
	delta = 1e-6
)

// value is an oracle over one private number, clipped to [-clip, clip].
type value float64

func (v value) Describe(*agent.Query) (account.Release, error) {
	return account.Release{
		Oracle: "value", Adjacency: account.ZeroOut, Unit: account.Owner(),
		Sampler: account.Sampler{Kind: account.FullBatch},
		Parts:   []account.Part{{Name: "value", Clip: clip, Shift: 1, Norm: account.L2, Dim: 1}}, Scale: 1,
	}, nil
}

func (v value) Evaluate(dst *privacy.Value, _ *agent.Query, _ *rng.Stream) {
	dst.Float[0] = float32(max(-clip, min(clip, float64(v))))
}

func main() {
	owners := []value{3, 5, 40}
	released := make([]tensor.Vec, len(owners))
	weights := make([]float64, len(owners))
	for i, v := range owners {
		mechanism := privacy.Gaussian{NoiseMultiplier: noise}
		// A budget of one answer: the second query is refused before any data are read.
		budget, err := account.NewGDPFilter(account.ZeroOut, account.Owner(),
			account.Budget{Epsilon: 3, Delta: delta})
		if err != nil {
			log.Fatal(err)
		}
		book := ledger.NewMemory(budget)
		gate := privacy.NewGate(book, mechanism, map[string]privacy.Oracle{"value": v})
		q := &agent.Query{Oracle: "value", At: tensor.Vec{}}
		released[i], weights[i] = make(tensor.Vec, 1), 1/float64(len(owners))
		if err := gate.Answer(q, released[i]); err != nil {
			log.Fatal(err)
		}
		if err := gate.Answer(q, make(tensor.Vec, 1)); !errors.Is(err, privacy.ErrExhausted) {
			log.Fatalf("the budget did not hold: %v", err)
		}

		acc, err := account.New("exact", account.ZeroOut, account.Owner())
		if err != nil {
			log.Fatal(err)
		}
		var charges uint64
		for r, err := range book.Records() { // what was charged, not what was meant
			if err != nil {
				log.Fatal(err)
			}
			if r.Kind != ledger.Charge {
				continue
			}
			if err := acc.Compose(*r.Event, int(r.Count)); err != nil {
				log.Fatal(err)
			}
			charges += r.Count
		}
		eps, err := acc.Epsilon(delta)
		if err != nil {
			log.Fatal(err)
		}
		fmt.Printf("owner %d: %d charge, epsilon %.3f at delta %g\n", i, charges, eps.Upper, delta)
	}
	mean := make(tensor.Vec, 1)
	tensor.WeightedSum(mean, weights, released)
	fmt.Println("everybody knows one noisy mean; nobody saw another's number:",
		mean[0] > -100 && mean[0] < 100)
}
