package algo

import (
	"math"

	"sotto/agent"
	"sotto/config"
)

// Personal are the parameters of the objective of personal models on a similarity graph,
//
//	Q(Θ) = 1/2 Σ_{i<j} W_ij |Θ_i - Θ_j|² + μ Σ_i D_ii c_i L_i(Θ_i),  D_ii = Σ_j W_ij,
//	L_i(θ) = (1/m_i) Σ_r l(θ; x_r, y_r) + λ_i |θ|²
//
// ("Personalized and Private Peer-to-Peer Machine Learning", arXiv 1705.08435, eq. 3). W
// is a matrix of objective weights, not a mixing matrix. The constants are public: where
// record counts are private, λ and c must be given.
type Personal struct {
	// Mu is the weight of each agent's own loss, above 0: a large weight gives local
	// models, a small one a common model. For local-fit, which mixes nothing, mu and
	// confidence count in the metric objective alone.
	Mu float64 `toml:"mu"`
	// Lambda is the weight λ_i of the regulariser, above 0; 0 means 1/m_i for an agent
	// with m_i records, and 1 without records.
	Lambda float64 `toml:"lambda,omitempty"`
	// Confidence is the weight c_i of each agent's loss, in (0, 1]; 0 means m_i/max m,
	// and 1/(10 max m) without records.
	Confidence float64 `toml:"confidence,omitempty"`
	// ConfidencePower is the power of m_i/max m in c_i, 0 to 4; 0 means 1, as published.
	// The noise that an agent adds to its mean gradient has a variance proportional to
	// 1/m_i², so that under noise 2 weighs agents by their precision.
	ConfidencePower float64 `toml:"confidence_power,omitempty"`
	// Smoothness is a Lipschitz constant of the mean loss's gradient without the
	// regulariser, from a public bound X on the norm of features: X²/4 for the logistic
	// loss, 2X² for the squared one. Default .25. Only gradient steps, of bcd and
	// gossip-admm, depend on it.
	Smoothness float64 `toml:"smoothness"`
}

func defaultPersonal() Personal { return Personal{Mu: .04, Smoothness: .25} }

func (p *Personal) validate() error {
	switch {
	case !positive(p.Mu):
		return config.Bad("mu", p.Mu, "above 0 and finite")
	case !notNegative(p.Lambda):
		return config.Bad("lambda", p.Lambda, "above 0 and finite, or 0 for 1/m_i")
	case !(p.Confidence >= 0 && p.Confidence <= 1):
		return config.Bad("confidence", p.Confidence, "above 0 and at most 1, or 0 for m_i/max m")
	case !(p.ConfidencePower >= 0 && p.ConfidencePower <= 4):
		return config.Bad("confidence_power", p.ConfidencePower, "0 to 4 (0: 1)")
	case p.ConfidencePower > 0 && p.Confidence > 0:
		return config.Bad("confidence_power", p.ConfidencePower, "nothing beside confidence")
	case !positive(p.Smoothness):
		return config.Bad("smoothness", p.Smoothness, "above 0 and finite")
	}
	return nil
}

// objective is one agent's part of Q.
type objective struct {
	muC    float64 // μ c_i
	lambda float64 // λ_i
	smooth float64 // Λ_i, of the gradient of L_i
}

func (p *Personal) of(env agent.Env) (objective, error) {
	o := objective{lambda: p.Lambda}
	c := p.Confidence
	if env.MaxRecords == 0 && (p.Lambda == 0 || c == 0) {
		return o, config.Bad("lambda", p.Lambda,
			"lambda and confidence above 0 where record counts are private or those of others not known, "+
				"or all 0: m_i may not enter them")
	}
	if c == 0 {
		c = float64(env.Records) / float64(env.MaxRecords)
		if env.Records == 0 {
			c = 1 / (10 * float64(env.MaxRecords))
		}
		if p.ConfidencePower > 0 {
			c = math.Pow(c, p.ConfidencePower)
		}
	}
	if o.lambda == 0 {
		o.lambda = 1 / float64(max(1, env.Records))
	}
	o.muC = p.Mu * c
	o.smooth = p.Smoothness + float64(2*o.lambda)
	return o, nil
}

// Objective returns μ c_i and λ_i: what the agent's own loss and the square of its model
// weigh.
func (o objective) Objective() (weight, lambda float64) { return o.muC, o.lambda }
