package account

import (
	"math"

	"sotto/config"
)

// ScheduledPlan is a run of full-batch releases whose noise varies with time.
type ScheduledPlan struct {
	Adjacency Adjacency
	Unit      Unit
	Family    string // "gaussian" or "laplace"
	// sensitivity over clip, as in Gaussian; Laplace scales are relative to the
	// sensitivity
	Shift   float64
	Weights []float64 // weight of the noise of each release in the final error, all > 0
}

// ContractionWeights are the error weights of steps releases when every step contracts
// errors by c in (0, 1]: c^(steps-1-t). They rise with t, so noise should fall with time.
func ContractionWeights(c float64, steps int) []float64 {
	w := make([]float64, steps)
	for t := range w {
		w[t] = math.Pow(c, float64(steps-1-t))
	}
	return w
}

// Schedule splits a budget over releases so that sum_t weight_t variance_t is least.
// Gaussian: minimise sum r_t s_t^2 with sum 1/s_t^2 = mu^2, so s_t^2 is proportional to
// r_t^(-1/2). Laplace: minimise sum r_t/e_t^2 with sum e_t = epsilon, so e_t is
// proportional to r_t^(1/3). The events together meet target under the exact (Gaussian)
// or basic (Laplace) composition.
func Schedule(p ScheduledPlan, target Budget) ([]Event, error) {
	if err := first(checkPair(p.Adjacency, p.Unit), target.validate(),
		bad(len(p.Weights) > 0, "weights", len(p.Weights), "at least one")); err != nil {
		return nil, err
	}
	var roots []float64
	var sum float64
	power := map[string]float64{"gaussian": 0.5, "laplace": 1. / 3}[p.Family]
	if power == 0 {
		return nil, config.Bad("family", p.Family, "gaussian or laplace")
	}
	for _, r := range p.Weights {
		if !positive(r) {
			return nil, config.Bad("weights", r, "finite numbers > 0")
		}
		roots = append(roots, math.Pow(r, power))
		sum += roots[len(roots)-1]
	}
	if p.Family == "gaussian" {
		if err := first(bad(positive(p.Shift), "shift", p.Shift, "a finite number > 0"),
			bad(target.Delta > 0, "target_delta", target.Delta, "above 0")); err != nil {
			return nil, err
		}
	}
	k := float64(p.Unit.members())
	mu := GaussianMu(target.Epsilon*(1-1e-9), math.Max(target.Delta, 1e-300))
	events := make([]Event, len(roots))
	for t, r := range roots {
		var ev Event
		var err error
		if p.Family == "gaussian" {
			ev, err = Gaussian(p.Shift*k/mu*math.Sqrt(sum/r), p.Shift)
		} else {
			ev, err = Laplace(k * sum / (r * target.Epsilon * (1 - 1e-12)))
		}
		if err != nil {
			return nil, err
		}
		ev.Adjacency, ev.Unit = p.Adjacency, p.Unit
		events[t] = ev
	}
	return events, nil
}
