package replication

import (
	"fmt"
	"math"

	"sotto/agent"
	"sotto/algo"
	"sotto/experiment/plan"
	"sotto/privacy"
	"sotto/privacy/account"
)

const gaussSeidel = "gauss-seidel"

// unclipped are noises on gradients that are not clipped: AdaD2P and ConstD2P of
// "Sensitivity-Aware Differentially Private Decentralized Learning with Adaptive Noise".
var unclipped = map[string]bool{"adad2p": true, "constd2p": true}

// gradients reports whether batches of records are asked for in rounds, which is what
// most publications here did.
func gradients(r *Run) bool {
	return r.Spec.Pacing == agent.PacingRounds && r.Spec.Traits.Has(algo.ClipFromAnswer) && !r.Pairwise
}

// only refuses a switch outside of what it is made for.
func only(fits bool, allowed string, r *Run) string {
	if fits {
		return ""
	}
	return allowed + " with algorithm " + r.Algorithm + " and mechanism " + r.Mechanism
}

var claim = deviation{
	key:   "claim",
	on:    func(p *Params) bool { return p.Claim },
	text:  func(*Params) string { return "claim" },
	value: func(p *Params) any { return p.Claim },
	fits: func(p *Params, r *Run) string {
		if !r.Private {
			return "false with mechanism none: there is nothing to claim"
		}
		return only(gradients(r) || families[p.Noise] && r.residuals(), "false", r)
	},
	apply: func(p *Params, s *plan.Setup) error {
		if !families[p.Noise] {
			s.Target.Claimer = RoundsOfRDP{Steps: s.Steps}
		}
		return nil
	},
}

// RoundsOfRDP accounts as publications do: RDP under add-remove adjacency for one release
// a round at the sampling rate.
type RoundsOfRDP struct{ Steps uint64 }

func (c RoundsOfRDP) String() string { return fmt.Sprint("rounds of RDP ", c.Steps) }

// Plan is the agent's as the publication accounts for it.
func (c RoundsOfRDP) Plan(a *plan.Agent, noise float64) account.Plan {
	run := account.DPSGD(account.AddRemove, a.Public.SampleRate, int(c.Steps))
	run.Accountant, run.NoiseMultiplier = "rdp", noise
	return run
}

// Claim implements plan.Claimer: the noise of a claimed target, unless it is given, and
// what is then claimed.
func (c RoundsOfRDP) Claim(a *plan.Agent, t *plan.Target) (noise, epsilon float64, err error) {
	run := c.Plan(a, t.Noise)
	if t.Noise == 0 {
		res, err := account.Noise(run, account.Budget{Epsilon: t.Epsilon, Delta: t.Delta})
		if err != nil {
			return 0, 0, err
		}
		run.NoiseMultiplier = res.NoiseMultiplier
	}
	i, err := account.Epsilon(run, t.Delta)
	return run.NoiseMultiplier, i.Upper, err
}

var mix = deviation{
	key:   "mix",
	on:    func(p *Params) bool { return p.Mix == gaussSeidel },
	text:  func(*Params) string { return "gauss-seidel mixing" },
	value: func(p *Params) any { return p.Mix },
	fits: func(_ *Params, r *Run) string {
		if r.Spec.Traits.Has(algo.Mass) {
			return "snapshot with algorithm " + r.Algorithm + ": mass is kept only in simultaneous rounds"
		}
		return only(gradients(r), "snapshot", r)
	},
	apply: func(_ *Params, s *plan.Setup) error { s.GaussSeidel = true; return nil },
}

var unbalanced = deviation{
	key:   "unbalanced_weights",
	on:    func(p *Params) bool { return p.UnbalancedWeights },
	text:  func(*Params) string { return "unbalanced weights" },
	value: func(p *Params) any { return p.UnbalancedWeights },
	fits: func(_ *Params, r *Run) string {
		return only(r.Spec.Pacing == agent.PacingRounds && !r.Pairwise, "false", r)
	},
	apply: func(_ *Params, s *plan.Setup) error { s.UnbalancedWeights = true; return nil },
}

var microbatches = deviation{
	key:   "microbatches",
	on:    func(p *Params) bool { return p.MicroBatches > 1 },
	text:  func(p *Params) string { return count(p.MicroBatches) },
	value: func(p *Params) any { return p.MicroBatches },
	fits: func(p *Params, r *Run) string {
		if p.Sampling == "one" {
			return "1 with sampling one"
		}
		return only(gradients(r), "0 or 1", r)
	},
	apply: func(p *Params, s *plan.Setup) error { s.Public.Draws = p.MicroBatches; return nil },
}

var uncharged = deviation{
	key:   "uncharged",
	on:    func(p *Params) bool { return p.Uncharged },
	text:  func(*Params) string { return "uncharged use of training records before the run" },
	value: func(p *Params) any { return p.Uncharged },
	fits: func(_ *Params, r *Run) string {
		switch {
		case r.Spec.Pacing == agent.PacingRounds:
			return "false with algorithm " + r.Algorithm
		case !r.Private:
			return "false with mechanism none: nothing is charged for"
		}
		return only(!r.Local, "false", r)
	},
	apply: func(_ *Params, s *plan.Setup) error { s.Uncharged = true; return nil },
}

var gradientNoise = deviation{
	key:   "noise",
	on:    func(p *Params) bool { return unclipped[p.Noise] },
	text:  func(p *Params) string { return "noise of " + p.Noise + " on gradients that are not clipped" },
	value: func(p *Params) any { return p.Noise },
	fits: func(p *Params, r *Run) string {
		switch {
		case r.Mechanism != "gaussian" || r.Adaptive:
			return "nothing beside another mechanism than gaussian, exact noise or clipping"
		case !p.Claim:
			return "nothing without claim = true and a mechanism: the noise has no epsilon, only what is " +
				"claimed for it"
		}
		return only(gradients(r), "nothing", r)
	},
	apply: func(p *Params, s *plan.Setup) error {
		scheme := privacy.Independent{Name: "proportional"}
		if p.Noise == "constd2p" {
			scheme.Norm = s.MaxGradNorm
		}
		s.Scheme, s.Public.ClipNorm = scheme, math.Inf(1)
		return nil
	},
}

var clipAfter = deviation{
	key:   "clip",
	on:    func(p *Params) bool { return p.Clip != "" },
	text:  func(*Params) string { return "a clip after the noise" },
	value: func(p *Params) any { return p.Clip },
	fits: func(_ *Params, r *Run) string {
		switch {
		case r.Spec.Pacing != agent.PacingTokens:
			return "nothing with algorithm " + r.Algorithm
		case !r.Private:
			return "nothing with mechanism none"
		case !r.Owner:
			return "nothing with unit record or exact noise"
		}
		return ""
	},
	apply: func(_ *Params, s *plan.Setup) error {
		s.Setting.AnswerClip, s.Unjudged = s.MaxGradNorm, true
		s.Target.Claimer = clippedBefore{}
		return nil
	},
	planned: func(_ *Params, s *plan.Setup, agents []plan.Agent) error {
		bound, err := s.GradientBound()
		if err != nil {
			return err
		}
		for i := range agents {
			agents[i].Public.ClipNorm = bound
		}
		s.Scheme = privacy.Independent{Name: "gaussian", Stated: s.MaxGradNorm, Bound: bound}
		return nil
	},
}

// clippedBefore claims for every answer as if the mean gradient had been clipped to
// max_grad_norm before the noise, as the public code of the walk does. Noise is
// noise_multiplier, or what target_epsilon would need, times max_grad_norm. The ledger
// charges what it is, a Gaussian release of a mean gradient that only the model and the
// rows bound.
type clippedBefore struct{}

func (clippedBefore) String() string { return "clipped before the noise" }

// Claim implements plan.Claimer.
func (clippedBefore) Claim(a *plan.Agent, t *plan.Target) (noise, epsilon float64, err error) {
	claimed := func(noise, _ float64) (account.Event, error) {
		return account.Gaussian(noise, account.ClipShift(t.Adjacency))
	}
	run := account.Plan{Accountant: t.Accountant, Adjacency: t.Adjacency, Unit: t.Unit, SampleRate: 1,
		NoiseMultiplier: t.Noise, Steps: []account.PlanStep{{Times: a.Queries(), Event: claimed}}}
	if t.Noise == 0 {
		found, err := account.Noise(run, account.Budget{Epsilon: t.Epsilon, Delta: t.Delta})
		if err != nil {
			return 0, 0, err
		}
		run.NoiseMultiplier = found.NoiseMultiplier
	}
	i, err := account.Epsilon(run, t.Delta)
	return run.NoiseMultiplier, i.Upper, err
}

var single = deviation{
	key:   "sampling",
	on:    func(p *Params) bool { return p.Sampling == "one" },
	text:  func(*Params) string { return "one uniform record an answer" },
	value: func(p *Params) any { return p.Sampling },
	fits: func(p *Params, r *Run) string {
		switch {
		case r.Adjacency != account.ReplaceOne || r.BatchSize != 1 || r.SampleRate != 0:
			return "poisson without adjacency replace-one, where the number of records is public, " +
				"batch_size 1 and no sample_rate"
		case r.Private && !p.Claim:
			return "poisson without claim = true: noise is calibrated for Poisson samples"
		case r.Private && p.Noise == "" && r.Accountant != "rdp":
			return "poisson with accountant " + r.Accountant +
				": rdp accounts for batches of fixed size"
		}
		return only(gradients(r), "poisson", r)
	},
	apply: func(_ *Params, s *plan.Setup) error { s.Public.SingleRecord = true; return nil },
}

var zeroStart = deviation{
	key:   "zero_start",
	on:    func(p *Params) bool { return p.ZeroStart },
	text:  func(*Params) string { return "averaging from zero" },
	value: func(p *Params) any { return p.ZeroStart },
	fits: func(_ *Params, r *Run) string {
		return only(r.Spec.Traits.Has(algo.Recursive) && !r.Pairwise, "false", r)
	},
	apply: func(_ *Params, s *plan.Setup) error { s.Setting.ZeroStart = true; return nil },
}
