package experiment

import (
	"math"

	"sotto/config"
	"sotto/experiment/plan"
	"sotto/oracle"
	"sotto/privacy"
)

// Mechanism is what a run file may name as [privacy] mechanism: which keys it has, and
// how the agents of a run make their noise by it.
type Mechanism struct {
	check func(p *PrivacyParams) error
	// scheme builds the noise of all agents. It is called once, when graphs, models and
	// the agents' constants are known.
	scheme func(e *Experiment) (privacy.Scheme, error)

	Noisy      bool    // answers are charged
	Clocked    bool    // for algorithms of personal models only
	Integers   bool    // has a form in Integers: noise = "exact"
	Deployable bool    // a daemon runs it
	ExactView  bool    // normal noise of each agent's own, whose sums are exact
	Pairwise   bool    // neighbors share noise
	Perturbs   bool    // records are perturbed once, before training
	Spread     float64 // standard deviation of a value's noise over its scale; 0 for 1
}

// mechanisms lists them by name.
var mechanisms = map[string]Mechanism{
	"none": {check: checkNone, scheme: noNoise},
	"gaussian": {check: (*PrivacyParams).validateNoise, scheme: gaussianNoise, Noisy: true,
		Integers: true, Deployable: true, ExactView: true},
	"laplace": {check: (*PrivacyParams).validateNoise, scheme: laplaceNoise, Noisy: true, Clocked: true,
		Deployable: true, Spread: math.Sqrt2},
	"decor": {check: (*PrivacyParams).validateNoise, scheme: sharedNoise, Noisy: true, Deployable: true,
		Pairwise: true},
	"local-dp": {check: (*PrivacyParams).validateLocal, scheme: releasedRecords, Noisy: true, Clocked: true,
		Perturbs: true},
}

// Mechanism is the run's.
func (f *File) Mechanism() Mechanism { return f.mech }

func checkNone(p *PrivacyParams) error {
	if p.TargetEpsilon != 0 || p.NoiseMultiplier != 0 {
		return config.Bad("mechanism", p.Mechanism,
			"gaussian with target_epsilon or noise_multiplier: mechanism none has no noise")
	}
	p.unbounded()
	return nil
}

// noNoise is sealed where nothing leaves an agent: the local-only baseline.
func noNoise(e *Experiment) (privacy.Scheme, error) {
	name := "none"
	if e.Sealed() {
		name = "sealed"
	}
	m, err := privacy.NewMechanism(name, 0)
	return privacy.Fixed{Answers: m}, err
}

// gaussianNoise is every agent's own; exact noise is the discrete Gaussian on integer
// gradients. A count beside the gradient has noise of its own, over its clip of 1/2.
func gaussianNoise(e *Experiment) (privacy.Scheme, error) {
	p := &e.File.Privacy
	s := privacy.Independent{Name: p.Mechanism, Exact: p.Noise == exactNoise}
	if p.Extra() > 0 {
		s.PartNoise = map[string]float64{oracle.CountPart: 2 * p.Count}
	}
	return s, nil
}

func laplaceNoise(e *Experiment) (privacy.Scheme, error) {
	return privacy.Independent{Name: e.File.Privacy.Mechanism}, nil
}

// releasedRecords charges nothing for answers about records that have been released.
func releasedRecords(*Experiment) (privacy.Scheme, error) {
	m, err := privacy.NewMechanism("released", 0)
	return privacy.Fixed{Answers: m}, err
}

// targetOf is what the run's plans are calibrated to.
func targetOf(f *File) plan.Target {
	p := &f.Privacy
	t := plan.Target{Accountant: p.Accountant, Adjacency: p.adjacency, Unit: p.unit,
		Delta: p.TargetDelta, Epsilon: p.TargetEpsilon, Noise: p.NoiseMultiplier}
	if p.WarmEpsilon > 0 {
		t.Shares = map[string]plan.Share{oracle.FitName: {Epsilon: p.WarmEpsilon,
			Mechanism: p.WarmMechanism, Key: "warm_epsilon"}}
	}
	return t
}
