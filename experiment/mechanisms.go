package experiment

import (
	"math"

	"sotto/config"
	"sotto/experiment/plan"
	"sotto/privacy"
)

// Mechanism is what a run file may name as [privacy] mechanism: which keys it has, and
// how the agents of a run make their noise by it.
type Mechanism struct {
	check func(p *PrivacyParams) error
	// scheme builds the noise of all agents. It is called once, when graphs, models and
	// the agents' constants are known.
	scheme func(e *Experiment) (privacy.Scheme, error)
	// calibrate finds the noise that budgets need; it is not called without noise.
	calibrate func(p planner) error

	Clocked    bool    // for algorithms of personal models only
	Exact      bool    // its noise rests on no assumption about floating point: has the key noise
	Deployable bool    // a daemon runs it
	ExactView  bool    // normal noise of each agent's own, whose sums are exact
	Pairwise   bool    // neighbors share noise
	Perturbs   bool    // records are perturbed once, before training
	Spread     float64 // standard deviation of a value's noise over its scale; 0 for 1
}

// mechanisms lists them by name.
var mechanisms = map[string]*Mechanism{
	"none": {check: checkNone, scheme: noNoise},
	"gaussian": {check: (*PrivacyParams).validateNoise, scheme: gaussianNoise,
		calibrate: planner.calibrate,
		Exact:     true, Deployable: true, ExactView: true},
	"laplace": {check: (*PrivacyParams).validateNoise, scheme: independentNoise,
		calibrate: planner.calibrate, Clocked: true,
		Deployable: true, Spread: math.Sqrt2},
	"decor": {check: (*PrivacyParams).validateNoise, scheme: sharedNoise,
		calibrate: planner.calibrate, Deployable: true,
		Pairwise: true},
	"local-dp": {check: (*PrivacyParams).validateLocal, scheme: releasedRecords,
		calibrate: planner.calibrateLocal, Clocked: true,
		Perturbs: true},
}

// Noisy reports whether answers are charged.
func (m *Mechanism) Noisy() bool { return m.calibrate != nil }

// Mechanism is the run's.
func (f *File) Mechanism() *Mechanism { return f.mech }

func checkNone(p *PrivacyParams) error {
	if p.TargetEpsilon != 0 || p.NoiseMultiplier != 0 {
		return config.Bad("mechanism", p.Mechanism,
			"gaussian with target_epsilon or noise_multiplier: mechanism none has no noise")
	}
	p.unbounded()
	return nil
}

// gaussianNoise is every agent's own. A count beside the gradient has noise of its own,
// over its clip of 1/2.
func gaussianNoise(e *Experiment) (privacy.Scheme, error) {
	p := &e.File.Privacy
	return privacy.Independent{Name: p.Mechanism, PartNoise: partNoise(p)}, nil
}

// independentNoise is every agent's own, by a mechanism whose scale is over the clip.
func independentNoise(e *Experiment) (privacy.Scheme, error) {
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
	return plan.Target{Accountant: p.Accountant, Adjacency: p.adjacency, Unit: p.unit, Delta: p.TargetDelta,
		Epsilon: p.TargetEpsilon, Noise: p.NoiseMultiplier, Reserve: p.Reserve, Shares: p.shares()}
}
