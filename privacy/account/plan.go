package account

import (
	"sotto/config"
)

// Plan is a run to be: Epsilon, Noise, Steps and Rate answer questions about it. Figures
// from a plan are predictions; an accountant fed with the events that happened states the
// guarantee.
type Plan struct {
	Accountant      string // "" means Default
	Adjacency       Adjacency
	Unit            Unit
	NoiseMultiplier float64 // given to every PlanStep.Event; Noise searches for it
	SampleRate      float64 // likewise; Rate searches for it
	Steps           []PlanStep
}

// PlanStep is one kind of release of a plan, Times in every period of the plan (a plain
// run is one period). Event returns the event at a noise multiplier and sampling rate; it
// may ignore either. Epsilon must not rise with the noise multiplier nor fall with the
// rate.
type PlanStep struct {
	Event func(noiseMultiplier, rate float64) (Event, error)
	Times int
}

// DPSGD is the plan of steps Poisson-sampled releases of a clipped gradient sum with
// Gaussian noise: shift 1, or 2 under ReplaceOne. Set NoiseMultiplier (not for Noise)
// and, if wanted, Accountant.
func DPSGD(a Adjacency, rate float64, steps int) Plan {
	return Plan{Adjacency: a, Unit: Record(), SampleRate: rate, Steps: []PlanStep{{
		Times: steps,
		Event: func(noise, rate float64) (Event, error) {
			g, err := Gaussian(noise, ClipShift(a))
			if err != nil {
				return Event{}, err
			}
			return PoissonSampled(rate, g)
		},
	}}}
}

// ClipShift is the sensitivity of a sum of clipped vectors over its clip: 2 under
// ReplaceOne, else 1.
func ClipShift(a Adjacency) float64 {
	if a == ReplaceOne {
		return 2
	}
	return 1
}

// Fixed is a step whose event does not depend on noise multiplier and rate.
func Fixed(ev Event, times int) PlanStep {
	return PlanStep{Times: times, Event: func(float64, float64) (Event, error) { return ev, nil }}
}

// GaussianStep is times Gaussian releases described by r. A Poisson or truncated Poisson
// sampler takes the plan's rate. Parts released together share the noise multiplier.
func GaussianStep(r Release, times int) PlanStep {
	return PlanStep{Times: times, Event: func(noise, rate float64) (Event, error) {
		inner, err := gaussianParts(r, noise)
		if err != nil {
			return Event{}, err
		}
		q := r
		if q.Sampler.Kind == Poisson || q.Sampler.Kind == TruncatedPoisson {
			q.Sampler.SampleRate = rate
		}
		return q.Sampled(inner)
	}}
}

func gaussianParts(r Release, noise float64) (Event, error) {
	if len(r.Parts) == 1 {
		return Gaussian(noise, r.Parts[0].Movement())
	}
	var noises, shifts []float64
	for _, p := range r.Parts {
		noises, shifts = append(noises, noise), append(shifts, p.Movement())
	}
	return JointGaussian(noises, shifts)
}

// compose returns the plan's accountant with periods repetitions of its steps.
func (p Plan) compose(periods int) (Accountant, error) {
	name := p.Accountant
	if name == "" {
		name = Default
	}
	acc, err := New(name, p.Adjacency, p.Unit)
	if err != nil {
		return nil, err
	}
	for _, s := range p.Steps {
		if s.Event == nil {
			return nil, config.Bad("steps.event", "nothing", "a function")
		}
		if s.Times < 0 {
			return nil, config.Bad("steps.times", s.Times, "an integer >= 0")
		}
		n, ok := mulCount(s.Times, periods)
		if !ok {
			return nil, config.Bad("steps.times", s.Times, "a total below 2^53")
		}
		ev, err := s.Event(p.NoiseMultiplier, p.SampleRate)
		if err != nil {
			return nil, err
		}
		if err := acc.Compose(ev, n); err != nil {
			return nil, err
		}
	}
	return acc, nil
}

// epsilonAfter is the epsilon of periods repetitions.
func (p Plan) epsilonAfter(periods int, delta float64) (Interval, error) {
	acc, err := p.compose(periods)
	if err != nil {
		return Interval{}, err
	}
	return acc.Epsilon(delta)
}

// upperAfter is the upper end only, by the shorter way where the accountant has one.
func (p Plan) upperAfter(periods int, delta float64) (float64, error) {
	acc, err := p.compose(periods)
	if err != nil {
		return 0, err
	}
	if q, ok := acc.(interface {
		UpperEpsilon(delta float64) (float64, error)
	}); ok {
		return q.UpperEpsilon(delta)
	}
	i, err := acc.Epsilon(delta)
	return i.Upper, err
}

// Epsilon predicts the epsilon of the plan at its NoiseMultiplier and SampleRate.
func Epsilon(p Plan, delta float64) (Interval, error) { return p.epsilonAfter(1, delta) }
