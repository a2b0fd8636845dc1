package replication

import (
	"errors"
	"math"
	"slices"

	"sotto/config"
	"sotto/experiment/plan"
	"sotto/oracle"
	"sotto/privacy"
	"sotto/privacy/account"
)

// DP-dKM as published, "A General Differentially Private Learning Framework for
// Decentralized Data": agents go on with an iterate of their own that has no noise, of
// which every round releases a noisy copy and the last round the iterate itself. Noise is
// fitted to Theorem 1 once for the whole run.

// families are those of published noise.
var families = map[string]bool{"laplace": true, "gaussian": true, "truncated-laplace": true,
	"truncated-gaussian": true, generalized: true}

// generalized is the family with a key of its own, shape.
const generalized = "truncated-generalized"

var expected = deviation{
	key: "noise",
	on:  func(p *Params) bool { return families[p.Noise] },
	text: func(p *Params) string {
		return p.Noise + " noise for the expectation of a sensitivity, and an output without noise"
	},
	value: func(p *Params) any { return p.Noise },
	fits: func(p *Params, r *Run) string {
		switch {
		case !r.residuals():
			return "adad2p or constd2p with algorithm " + r.Algorithm
		case r.Mechanism != "gaussian" || r.Adaptive:
			return "nothing beside another mechanism than gaussian, exact noise or clipping"
		case !p.Claim:
			return "nothing without claim = true and a mechanism: the noise has no epsilon, only what is " +
				"claimed for it"
		}
		return ""
	},
	apply: func(_ *Params, s *plan.Setup) error {
		s.Public.Published, s.NoiseFree, s.Unjudged = true, true, true
		return nil
	},
	planned: planExpected,
}

var oneRecord = deviation{
	key:   "one_record",
	on:    func(p *Params) bool { return p.OneRecord },
	text:  func(*Params) string { return "one record a round" },
	value: func(p *Params) any { return p.OneRecord },
	fits: func(p *Params, r *Run) string {
		switch {
		case !r.residuals():
			return "false with algorithm " + r.Algorithm +
				", where sampling = \"one\" takes one record an answer"
		case p.Noise == "" && r.Private:
			return "false with noise that is charged: the draw of one record has no event here"
		}
		return ""
	},
	apply: func(_ *Params, s *plan.Setup) error {
		s.Public.Published, s.Public.OneRecord, s.NoiseFree = true, true, true
		return nil
	},
	planned: func(_ *Params, _ *plan.Setup, agents []plan.Agent) error {
		if !private(agents) {
			return config.Bad("replication.one_record", true, "false without [algorithm] own_state")
		}
		return nil
	},
}

var unsafeAlpha = deviation{
	key:   "unsafe_alpha",
	on:    func(p *Params) bool { return p.UnsafeAlpha },
	text:  func(*Params) string { return "alpha above its bound" },
	value: func(p *Params) any { return p.UnsafeAlpha },
	fits: func(_ *Params, r *Run) string {
		if !r.residuals() {
			return "false with algorithm " + r.Algorithm
		}
		return ""
	},
	apply: func(_ *Params, s *plan.Setup) error { s.Setting.UnsafeAlpha = true; return nil },
}

// private reports whether agents ask an oracle with an iterate of its own.
func private(agents []plan.Agent) bool {
	for _, a := range agents[0].Asks {
		if oracle.Kinds[a.Query.Oracle].Private {
			return true
		}
	}
	return false
}

// Theorem1 is the published bound of the expected sensitivity after K rounds with α_0 ..
// α_{K-1}, residuals of norm at most B, M agents of N records and a mixing matrix with
// λ = max(|λ_2|, |λ_M|):
//
//	2B Σ_k α_k/(NM) + 4B Σ_k (1+2α_k) Σ_{j<k} α_j λ^{k-1-j}
//
// It has the unit of B.
func Theorem1(b float64, alphas []float64, lambda float64, records, agents int) float64 {
	sum, inner := 0., 0.
	for _, alpha := range alphas {
		sum += 2*alpha/(float64(records)*float64(agents)) + 4*(1+2*alpha)*inner
		inner = lambda*inner + alpha
	}
	return b * sum
}

// planExpected sets the noise of Theorem 1. An answer's noise is 1/α_k times that of the
// iterate, which is the same in every round: the first answer's is planned, and the
// oracle scales those that follow.
func planExpected(p *Params, s *plan.Setup, agents []plan.Agent) error {
	t := &s.Target
	ask := &agents[0].Asks[0]
	switch {
	case !private(agents):
		return config.Bad("replication.noise", p.Noise, "nothing without [algorithm] own_state")
	case t.Epsilon == 0 || t.Noise != 0:
		return config.Bad("privacy.target_epsilon", t.Epsilon,
			"above 0, without noise_multiplier, with published noise")
	case t.Adjacency == account.AddRemove:
		return config.Bad("privacy.adjacency", t.Adjacency.String(),
			"replace-one or zero-out with published noise, which is made from record counts")
	}
	records := math.MaxInt
	for i := range agents {
		records = min(records, max(1, agents[i].Public.Records))
	}
	r, err := agents[0].Release(0)
	if err != nil {
		return err
	}
	b, alphas := r.Parts[0].Clip, ask.Steps
	if alphas == nil {
		alphas = slices.Repeat([]float64{ask.Query.Step}, int(s.Steps))
	}
	m, err := privacy.New("published", func(params any) error {
		m := params.(*privacy.PaperNoise)
		m.Family, m.Epsilon, m.Delta = p.Noise, t.Epsilon, t.Delta
		m.Shape = p.Shape
		m.Sensitivity = Theorem1(b, alphas, s.SLEM, records, len(agents)) / (alphas[0] * b)
		return nil
	})
	if err != nil {
		return err
	}
	std, ok := m.(privacy.PaperNoise)
	if !ok {
		return errors.New("replication: mechanism published is of another type")
	}
	s.Scheme, t.Claimer = privacy.Fixed{Answers: m}, expectation{std.Std()}
	return nil
}

// expectation claims target_epsilon for the whole run, from the expectation of a
// sensitivity.
type expectation struct{ std float64 }

func (c expectation) String() string { return "expectation" }

// Claim implements plan.Claimer.
func (c expectation) Claim(_ *plan.Agent, t *plan.Target) (noise, epsilon float64, err error) {
	return c.std, t.Epsilon, nil
}
