package algo

import (
	"math"

	"sotto/agent"
	"sotto/config"
)

// Allocation says how an agent's budget is spread over its updates. Noise that enters at
// wake t of T is multiplied by C^(T-1-t) in the final error, C being the contraction of
// one wake, so that early updates bear more noise: under basic composition the best
// epsilon is proportional to C^((T-1-t)/3), and the best inverse noise multiplier under
// Gaussian composition to C^((T-1-t)/4).
//
//	equal     the same noise each time
//	late      the best, for agents that know the numbers of their wakes beforehand
//	expected  the same at the expected number n r of the agent's own wake r
//	paper     epsilon proportional to C^(t/3): Proposition 2 as published,
//	          the wrong way round (replication)
type Allocation struct {
	// Alloc says how an agent's budget is spread over its updates: "equal" (default),
	// "late", "expected", or "paper" of replications.
	Alloc string `toml:"alloc"`
	// Contraction is C in (0, 1), by which an update is thought to come nearer; not for
	// equal.
	Contraction float64 `toml:"contraction,omitempty"`
	// Root is 4 (of Gaussian noise, default but for paper) or 3 (of Laplace noise).
	Root float64 `toml:"alloc_root,omitempty"`
}

func (a *Allocation) validate() error {
	switch a.Alloc {
	case "equal":
		if a.Contraction != 0 || a.Root != 0 {
			return config.Bad("contraction", a.Contraction, "nothing with alloc equal, nor alloc_root")
		}
		return nil
	case "late", "expected", "paper":
	default:
		return config.Bad("alloc", a.Alloc, "one of equal, expected, late, paper")
	}
	if !(a.Contraction > 0 && a.Contraction < 1) {
		return config.Bad("contraction", a.Contraction, "above 0 and below 1 with alloc "+a.Alloc)
	}
	if a.Root == 0 {
		a.Root = 4
		if a.Alloc == "paper" {
			a.Root = 3
		}
	}
	if a.Root != 3 && a.Root != 4 {
		return config.Bad("alloc_root", a.Root, "3 (Laplace noise) or 4 (Gaussian noise)")
	}
	return nil
}

// maxSpread bounds the largest factor over the smallest: beyond it a share of the budget
// buys nothing.
const maxSpread = 1e6

// Factors returns the noise of each of an agent's updates relative to its quietest one:
// at least 1. wakes are the numbers of the agent's updating wakes where they are known, n
// the number of agents and total that of all wakes.
func (a *Allocation) Factors(updates int, wakes []uint64, n int, total uint64) []float64 {
	f := make([]float64, updates)
	quiet := math.Inf(1)
	for r := range f {
		t := float64(n) * float64(r)
		if a.Alloc != "expected" && r < len(wakes) {
			t = float64(wakes[r])
		}
		left := max(0, float64(total)-1-t) // wakes to come
		switch a.Alloc {
		case "equal":
			f[r] = 0
		case "paper":
			f[r] = t // as much more noise as wakes have passed
		default:
			f[r] = left
		}
		quiet = min(quiet, f[r])
	}
	for r := range f {
		f[r] = min(maxSpread, math.Pow(a.Contraction, -(f[r]-quiet)/max(a.Root, 1)))
		if a.Alloc == "equal" {
			f[r] = 1
		}
	}
	return f
}

// plannedWakes returns those of the agent's known wakes in which it updates: after the
// first skip of them.
func plannedWakes(env agent.Env, skip uint64) []uint64 {
	return env.Wakes[min(uint64(len(env.Wakes)), skip):]
}
