package experiment

import (
	"math"

	"sotto/agent"
	"sotto/config"
	"sotto/oracle"
	"sotto/privacy"
	"sotto/privacy/account"
	"sotto/privacy/ledger"
)

// Mechanism local-dp perturbs every record once, before training: local differential
// privacy, the baseline of "Personalized and Private Peer-to-Peer Machine Learning"
// (arXiv 1705.08435), which states no mechanism; this is ours. Features get normal noise,
// labels randomized response with labelShare of epsilon. All training is post-processing.
const labelShare = .2 // features to labels 4:1

// localNoise is what perturbs records, the same at every agent.
type localNoise struct {
	Features, Labels privacy.Mechanism
}

func (p *PrivacyParams) validateLocal() error {
	switch {
	case p.adjacency != account.ReplaceOne:
		return config.Bad("adjacency", p.Adjacency,
			"replace-one with mechanism "+p.Mechanism+": perturbed records show their number")
	case !(p.TargetEpsilon > 0) || math.IsInf(p.TargetEpsilon, 1) || p.NoiseMultiplier != 0:
		return config.Bad("target_epsilon", p.TargetEpsilon,
			"above 0 and finite, without noise_multiplier, with mechanism "+p.Mechanism)
	case p.Reserve != 0:
		return config.Bad("reserve", p.Reserve, "nothing with mechanism "+p.Mechanism)
	case p.given():
		return config.Bad("agent_epsilon", p.AgentEpsilon,
			"nothing with mechanism "+p.Mechanism+", nor warm_epsilon")
	case !(p.TargetDelta > 0 && p.TargetDelta < 1):
		return config.Bad("target_delta", p.TargetDelta, "above 0 and below 1")
	}
	p.unbounded()
	return nil
}

// unbounded leaves gradients alone unless the file bounds them.
func (p *PrivacyParams) unbounded() {
	if p.MaxGradNorm == 0 {
		p.MaxGradNorm = math.Inf(1)
	}
}

// calibrateLocal finds the noise of records: randomized response first, normal noise for
// what is left.
func (e planner) calibrateLocal() error {
	p, d := &e.File.Privacy, e.Task.Split.Train
	if d.Classes != 2 {
		return e.File.At("data", config.Bad("dataset", e.File.Data.Dataset,
			"a data set with two classes, with mechanism "+p.Mechanism))
	}
	share := labelShare * p.TargetEpsilon
	var err error
	if e.Task.Local.Labels, err = privacy.New("randomized-response", func(params any) error {
		r := params.(*privacy.RandomizedResponse)
		// The uniform answer has probability q: e^share = (1 - q/2)/(q/2).
		r.Probability, r.Labels = math.Nextafter(2/(1+math.Exp(share))*(1+1e-12), 1), 2
		return nil
	}); err != nil {
		return err
	}
	features, labels, err := e.localReleases(0)
	if err != nil {
		return err
	}
	flip, err := e.Task.Local.Labels.Event(labels)
	if err != nil {
		return err
	}
	gaussian := func(scale float64) (privacy.Mechanism, error) {
		return privacy.NewMechanism("gaussian", scale)
	}
	res, err := account.Noise(account.Plan{
		Accountant: p.Accountant,
		Adjacency:  p.adjacency,
		Unit:       account.Record(),
		SampleRate: 1,
		Steps: []account.PlanStep{account.Fixed(flip, 1),
			privacy.PlanStep(gaussian, features, 1)},
	}, account.Budget{Epsilon: p.TargetEpsilon, Delta: p.TargetDelta})
	if err != nil {
		return err
	}
	for i := range e.Plans {
		e.Plans[i].Noise = res.NoiseMultiplier
	}
	e.Task.Local.Features, err = gaussian(res.NoiseMultiplier)
	return err
}

// LocalOracles read an agent's own records.
func (e *Experiment) LocalOracles(r oracle.Records) (*oracle.Features, *oracle.Labels) {
	return &oracle.Features{Records: r, Radius: e.File.Privacy.featureNorm()}, &oracle.Labels{Records: r}
}

func (e planner) localReleases(i int) (features, labels account.Release, err error) {
	f, l := e.LocalOracles(oracle.Records{Data: e.Task.Split.Train, Index: e.Task.Parts[i]})
	if features, err = f.Describe(nil); err == nil {
		labels, err = l.Describe(nil)
	}
	return features, labels, err
}

// LocalGate answers for records, once each.
func (e *Experiment) LocalGate(i int, r oracle.Records, l ledger.Ledger, keys privacy.Keys) *privacy.Gate {
	f, y := e.LocalOracles(r)
	gate := privacy.Open(l, e.Task.Local.Features,
		map[string]privacy.Oracle{oracle.FeaturesName: f, oracle.LabelsName: y}, keys, agent.ID(i))
	gate.SetMechanism(oracle.LabelsName, e.Task.Local.Labels)
	return gate
}
