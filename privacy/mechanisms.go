package privacy

import (
	"fmt"

	"sotto/config"
	"sotto/privacy/account"
)

// Mechanisms lists every mechanism by the name used in run files. decode fills the
// mechanism's own parameters and refuses unknown keys; nil leaves the defaults. No
// mechanism takes an epsilon: each takes a noise scale over the clip, and the sensitivity
// comes with the release.
var Mechanisms = map[string]func(decode func(params any) error) (Mechanism, error){
	"discrete-gaussian":   newDiscreteGaussian,
	"gaussian":            newGaussian,
	"k-norm":              newKNorm,
	"laplace":             newLaplace,
	"none":                func(func(any) error) (Mechanism, error) { return None{}, nil },
	"proportional":        newDataDependent,
	"published":           newPaperNoise,
	"randomized-response": newRandomizedResponse,
	"released":            func(func(any) error) (Mechanism, error) { return PostProcessed{}, nil },
	"sealed":              func(func(any) error) (Mechanism, error) { return Withheld{}, nil },
	"truncated-gaussian":  newTruncatedGaussian,
	"truncated-laplace":   newTruncatedLaplace,
}

// New returns the named mechanism; an unknown name is a config.Error on key "mechanism".
func New(name string, decode func(params any) error) (Mechanism, error) {
	m, ok := Mechanisms[name]
	if !ok {
		return nil, config.Bad("mechanism", name, config.OneOf(Mechanisms))
	}
	if decode == nil {
		decode = func(any) error { return nil }
	}
	return m(decode)
}

// scaled is implemented by parameters whose main value is a noise scale over the clip.
type scaled interface{ setScale(scale float64) }

// Scaled returns m with its noise scale multiplied by factor, as a query asks for it
// (agent.Query.Noise); mechanisms without noise are returned as they are. A factor that
// is not positive and finite, and a mechanism whose noise has no scale over the clip, are
// ErrQuery; a scale that leaves the range of m is a config.Error.
func Scaled(m Mechanism, factor float64) (Mechanism, error) {
	if !positive(factor) {
		return nil, fmt.Errorf("%w: a factor of %v on the noise", ErrQuery, factor)
	}
	switch m := m.(type) {
	case Gaussian:
		if len(m.PartNoise) == 0 {
			m.NoiseMultiplier *= factor
			return m, checkMultipliers(m.NoiseMultiplier, nil)
		}
	case DiscreteGaussian:
		if len(m.PartNoise) == 0 {
			m.NoiseMultiplier *= factor
			return m, m.validate()
		}
	case Laplace:
		m.Scale *= factor
		return m, m.validate()
	case KNorm:
		m.Scale *= factor
		return m, m.validate()
	case Decor: // all its noise: messages over their factors have the joint law of before
		m.NoiseMultiplier *= factor
		m.Pair *= factor
		m.Effective *= factor
		return m, m.validate() // with the blocks that it has
	case None, Withheld, PostProcessed:
		return m, nil
	}
	return nil, fmt.Errorf("%w: the noise of mechanism %T has no scale that a query may change", ErrQuery, m)
}

// NewMechanism returns the named mechanism with all parameters but its noise scale (over
// the clip) at their defaults; mechanisms without noise ignore the scale. Mechanisms with
// integer noise ask for a GridOracle (see Quantise of the mechanisms).
func NewMechanism(name string, scale float64) (Mechanism, error) {
	return New(name, func(p any) error {
		if s, ok := p.(scaled); ok {
			s.setScale(scale)
		}
		return nil
	})
}

// PlanStep is times releases described by r under the mechanism that build gives for a
// noise scale, for instance NewMechanism with a fixed name: what account.GaussianStep is
// for normal noise. Plans calibrated with it are charged by the very events that the
// mechanism will record. A Poisson sampler takes the plan's rate.
func PlanStep(build func(scale float64) (Mechanism, error), r account.Release, times int) account.PlanStep {
	return account.PlanStep{Times: times, Event: func(scale, rate float64) (account.Event, error) {
		m, err := build(scale)
		if err != nil {
			return account.Event{}, err
		}
		q := r
		if q.Sampler.Kind == account.Poisson || q.Sampler.Kind == account.TruncatedPoisson {
			q.Sampler.SampleRate = rate
		}
		return m.Event(q)
	}}
}
