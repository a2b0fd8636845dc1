package experiment

import (
	"math"

	"sotto/agent"
	"sotto/oracle"
)

// Clips that change, and the noisy count that some follow.

// Clipped lets an algorithm ask with the run's clips; it panics where self was not built.
func (e *Experiment) Clipped(bare agent.Algorithm, self agent.ID) agent.Algorithm {
	p, a := &e.File.Privacy, e.PlanOf(self)
	return p.Clipped(bare, p.MaxGradNorm, a.Noise/a.Public.ExpectedBatchSize, e.Task.Model.Dim())
}

// answerNoise is the standard deviation of all noise in a value of agent i's answers to
// "grad", NaN where it is not the same in all of them; 0 before noise is found.
func answerNoise(e *Experiment, i int) float64 {
	f, a := e.File, &e.Plans[i]
	switch {
	case !f.Private():
		return 0
	case !f.Mechanism().normal() || f.Privacy.Adaptive() || f.Replication.Noise != "":
		return math.NaN()
	}
	return f.Privacy.MaxGradNorm * a.Noise / a.Public.ExpectedBatchSize * Spread(e, i)
}

// partNoise is the noise of a count beside the gradient, over its clip of 1/2, or nil.
func partNoise(p *PrivacyParams) map[string]float64 {
	if p.Extra() == 0 {
		return nil
	}
	return map[string]float64{oracle.CountPart: 2 * p.Count}
}

// clips says what oracles have to do with clips.
func clips(p *PrivacyParams, public *oracle.Public) {
	public.Rescale, public.Count = p.Adaptive(), p.Extra() > 0
}
