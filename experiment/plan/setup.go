package plan

import (
	"sotto/algo"
	"sotto/oracle"
	"sotto/privacy"
)

// Setup is what the agents of a run are planned from; all of it is public. Deviations of
// publications edit it, once, before anything is planned.
type Setup struct {
	Spec    algo.Spec
	Setting algo.Setting
	// Public is every agent's, but for constants that follow from its record count.
	Public oracle.Public
	Scheme privacy.Scheme
	Target Target

	Agents int
	Steps  uint64  // rounds, wakes of all agents together, or steps of each token
	SLEM   float64 // max(|λ_2|, |λ_n|) of the first round's mixing matrix, 1 where it is not known
	// MaxGradNorm is the clip that noise multipliers are stated over. It differs from
	// Public.ClipNorm where a deviation clips elsewhere.
	MaxGradNorm float64
	// GradientBound is the largest norm of a mean gradient that the model and a public
	// bound of the rows allow. An error says what the run lacks for one.
	GradientBound func() (float64, error)

	// Uncharged admits what is made from training records before the run.
	Uncharged bool
	// UnbalancedWeights admits mixing weights whose columns do not sum to 1.
	UnbalancedWeights bool
	// GaussSeidel steps agents one after the other (sim.Config).
	GaussSeidel bool
	// Unjudged says that the noise is not to be judged by the multiplier, which is stated
	// over something else than the clip.
	Unjudged bool
	// NoiseFree says that the publication puts out a model without noise beside the
	// other.
	NoiseFree bool
}
