package experiment

import (
	"cmp"
	"math"

	"sotto/agent"
	"sotto/config"
	"sotto/experiment/plan"
	"sotto/oracle"
)

// PersonalPrivacy are keys of [privacy] for algorithms of full gradients and fits.
type PersonalPrivacy struct {
	// AgentEpsilon gives agents their own budgets, above 0 and finite, in place of
	// target_epsilon: agent i has entry i mod length. For personal models only.
	AgentEpsilon []float64 `toml:"agent_epsilon,omitempty"`
	// WarmEpsilon is the part of the target that the fit of a warm start may cost;
	// without it the fit has the same noise multiplier as the gradients. WarmMechanism is
	// gaussian (default) or k-norm. Both are for runs that ask for a fit.
	WarmEpsilon   float64 `toml:"warm_epsilon,omitempty"`
	WarmMechanism string  `toml:"warm_mechanism,omitempty"`
	// FeatureNorm is the public bound X that a private fit, or mechanism local-dp, scales
	// features to; default 1. Other runs refuse it.
	FeatureNorm float64 `toml:"feature_norm,omitempty"`
}

func (q *PersonalPrivacy) validate(p *PrivacyParams, noisy, personal bool) error {
	private := personal && noisy
	switch {
	case len(q.AgentEpsilon) > 0 && (!private || p.TargetEpsilon != 0 || p.NoiseMultiplier != 0):
		return config.Bad("agent_epsilon", q.AgentEpsilon,
			"nothing beside target_epsilon, noise_multiplier or mechanism none, and only with an "+
				"algorithm of personal models")
	case q.WarmEpsilon != 0 && (!private || !finiteAbove0(q.WarmEpsilon)):
		return config.Bad("warm_epsilon", q.WarmEpsilon,
			"above 0 and finite, with noise and an algorithm of personal models")
	case q.WarmMechanism != "" && (q.WarmEpsilon == 0 || q.WarmMechanism != "gaussian" &&
		q.WarmMechanism != "k-norm"):
		return config.Bad("warm_mechanism", q.WarmMechanism, "gaussian or k-norm, with warm_epsilon")
	case q.FeatureNorm != 0 && (!private || !finiteAbove0(q.FeatureNorm)):
		return config.Bad("feature_norm", q.FeatureNorm,
			"above 0 and finite, with noise and an algorithm of personal models")
	case personal && p.TargetEpsilon != 0 && p.NoiseMultiplier != 0:
		return config.Bad("noise_multiplier", p.NoiseMultiplier,
			"nothing beside target_epsilon with an algorithm of personal models")
	}
	for _, eps := range q.AgentEpsilon {
		if !finiteAbove0(eps) {
			return config.Bad("agent_epsilon", eps, "values above 0 and finite")
		}
	}
	return nil
}

// checkFit refuses what is said of a private fit where none is asked for.
func checkFit(f *File, a *plan.Agent) error {
	q := &f.Privacy.PersonalPrivacy
	switch {
	case a.Names(oracle.FitName):
		return nil
	case q.WarmEpsilon != 0:
		return f.Refuse("privacy.warm_epsilon", q.WarmEpsilon, "nothing without [algorithm] start = \"fit\"")
	case q.FeatureNorm != 0 && !math.IsInf(a.Public.FeatureNorm, 1): // records may be perturbed by it
		return f.Refuse("privacy.feature_norm", q.FeatureNorm, "nothing without [algorithm] start = \"fit\"")
	}
	return nil
}

// featureNorm is the bound in force.
func (q *PersonalPrivacy) featureNorm() float64 { return cmp.Or(q.FeatureNorm, 1) }

// objectiveWeights are those of the objective of personal models, in place of mixing.
const objectiveWeights = "objective"

// given reports whether budgets of single agents, or of a warm start, are stated.
func (q *PersonalPrivacy) given() bool { return len(q.AgentEpsilon) > 0 || q.WarmEpsilon > 0 }

// budget is agent id's, or the one of all agents.
func (p *PrivacyParams) budget(id agent.ID) float64 {
	if b := p.AgentEpsilon; len(b) > 0 {
		return b[int(id)%len(b)]
	}
	return p.TargetEpsilon
}

// stated reports whether something says how much noise there is to be.
func (p *PrivacyParams) stated() bool {
	return p.TargetEpsilon != 0 || p.NoiseMultiplier != 0 || len(p.AgentEpsilon) > 0
}

// shares is what a warm start may cost alone; nil: nothing is said of it.
func (q *PersonalPrivacy) shares() map[string]plan.Share {
	if q.WarmEpsilon == 0 {
		return nil
	}
	return map[string]plan.Share{oracle.FitName: {Epsilon: q.WarmEpsilon, Mechanism: q.WarmMechanism,
		Key: "warm_epsilon"}}
}
