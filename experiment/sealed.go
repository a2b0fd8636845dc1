package experiment

import (
	"sotto/algo"
	"sotto/privacy"
	"sotto/sim"
)

// Sealed says that answers carry no noise because nothing leaves an agent: local-only.
func (e *Experiment) Sealed() bool { return e.File.Has(algo.Silent) && !e.File.Private() }

// sends says that something leaves an agent, or would with noise.
func sends(e *Experiment) bool { return !e.Sealed() }

// noNoise is sealed where nothing leaves an agent: the local-only baseline.
func noNoise(e *Experiment) (privacy.Scheme, error) {
	name := "none"
	if e.Sealed() {
		name = "sealed"
	}
	m, err := privacy.NewMechanism(name, 0)
	return privacy.Fixed{Answers: m}, err
}

func privateRemark(e *Experiment, _ sim.Stats) string {
	switch what := derived(e); {
	case e.Sealed() && what != "":
		return "epsilon is infinite though no message leaves an agent: all see what was made from training " +
			"records without noise (" + what + ")"
	case e.Sealed():
		return "no message leaves an agent, so nothing is charged; the models themselves are trained " +
			"without noise and must not be published"
	case !e.File.Private():
		return "not private: no noise is added"
	}
	return ""
}
