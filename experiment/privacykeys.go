package experiment

import (
	"cmp"
	"math"
	"slices"

	"sotto/algo"
	"sotto/config"
	"sotto/privacy/account"
)

// privacyParams is the [privacy] section. noise_multiplier is the noise standard
// deviation over max_grad_norm under every adjacency.
type privacyParams struct {
	Mechanism       string  `toml:"mechanism"`
	TargetEpsilon   float64 `toml:"target_epsilon,omitempty"`
	NoiseMultiplier float64 `toml:"noise_multiplier,omitempty"`
	TargetDelta     float64 `toml:"target_delta"`
	// "fast" (default): rounded normals; "exact": integers throughout
	Noise       string   `toml:"noise,omitempty"`
	MaxGradNorm float64  `toml:"max_grad_norm,omitempty"`
	BatchSize   float64  `toml:"batch_size,omitempty"`
	SampleRate  float64  `toml:"sample_rate,omitempty"`
	Adjacency   string   `toml:"adjacency"`
	Unit        string   `toml:"unit"`
	Accountant  string   `toml:"accountant"`
	MinRecords  int      `toml:"min_records,omitempty"`
	IUnderstand []string `toml:"i_understand,omitempty"`
	PersonalPrivacy
	CorrelatedNoise
	algo.Clipping

	adjacency account.Adjacency
	unit      account.Unit
}

// Overrides that a run file may ask for; each is recorded in every ledger and statement
// of the run.
const overrideDelta = "delta"

func (p *privacyParams) validate(algorithm string) error {
	var err error
	if p.adjacency, err = account.ParseAdjacency(p.Adjacency); err != nil {
		return config.Bad("adjacency", p.Adjacency, "one of add-remove, replace-one, zero-out")
	}
	p.Adjacency = p.adjacency.String()
	pacing := algo.PacingOf(algorithm)
	// whose queries may protect all data of an owner
	owners := pacing == algo.Tokens || algorithm == averageAlgorithm
	switch {
	case p.Unit == "record":
		p.unit = account.Record()
	case p.Unit == "owner" && owners:
		p.unit = account.Owner()
	case owners:
		return config.Bad("unit", p.Unit, "one of owner, record")
	default:
		return config.Bad("unit", p.Unit, "record with algorithm "+algorithm)
	}
	if _, ok := account.Accountants[p.Accountant]; !ok {
		_, err := account.New(p.Accountant, p.adjacency, p.unit)
		return err
	}
	for _, o := range p.IUnderstand {
		if o != overrideDelta {
			return config.Bad("i_understand", o, "delta")
		}
	}
	if p.Noise != "" && (p.Mechanism != "gaussian" || p.Noise != "fast" && p.Noise != "exact") {
		return config.Bad("noise", p.Noise, "fast or exact, with mechanism gaussian")
	}
	personal := pacing.Clocked()
	if err := p.PersonalPrivacy.validate(p, personal); err != nil {
		return err
	}
	if err := p.validateCorrelated(algorithm); err != nil {
		return err
	}
	switch p.Mechanism {
	case decorMechanism:
	case "none":
		if p.TargetEpsilon != 0 || p.NoiseMultiplier != 0 {
			return config.Bad("mechanism", p.Mechanism,
				"gaussian with target_epsilon or noise_multiplier: mechanism none has no noise")
		}
		if p.MaxGradNorm == 0 {
			p.MaxGradNorm = math.Inf(1)
		}
	case "gaussian":
		if err := p.validateNoise(); err != nil {
			return err
		}
	case "laplace":
		if !personal {
			return config.Bad("mechanism", p.Mechanism, "gaussian or none: algorithm "+algorithm+
				" clips in L2, which does not bound what Laplace noise has to hide")
		}
		if err := p.validateNoise(); err != nil {
			return err
		}
	case localMechanism:
		if !personal {
			return config.Bad("mechanism", p.Mechanism, "gaussian or none with algorithm "+algorithm)
		}
		if err := p.validateLocal(); err != nil {
			return err
		}
	default:
		return config.Bad("mechanism", p.Mechanism, "one of decor, gaussian, laplace, local-dp, none")
	}
	if !(p.MaxGradNorm > 0) {
		return config.Bad("max_grad_norm", p.MaxGradNorm, "above 0")
	}
	if personal || pacing == algo.Tokens {
		if p.Clipping != (algo.Clipping{}) {
			return config.Bad("clipping", cmp.Or(p.Kind, "parameters of it"),
				"nothing with algorithm "+algorithm+", which has no rounds")
		}
		if p.unit == account.Owner() {
			return p.validateOwner()
		}
		return p.validateFullBatch()
	}
	if algorithm == averageAlgorithm {
		return p.validateAverage()
	}
	if err := p.validateBatch(); err != nil {
		return err
	}
	return p.Clipping.Complete(p.MaxGradNorm, p.BatchSize)
}

func (p *privacyParams) validateNoise() error {
	if p.MaxGradNorm == 0 {
		p.MaxGradNorm = 1
	}
	if math.IsInf(p.MaxGradNorm, 1) {
		return config.Bad("max_grad_norm", p.MaxGradNorm, "above 0 and finite with mechanism "+p.Mechanism)
	}
	if p.TargetEpsilon == 0 && p.NoiseMultiplier == 0 && len(p.AgentEpsilon) == 0 {
		return config.Bad("target_epsilon", "nothing",
			"target_epsilon or noise_multiplier with mechanism "+p.Mechanism)
	}
	if p.TargetEpsilon != 0 && (!(p.TargetEpsilon > 0) || math.IsInf(p.TargetEpsilon, 1)) {
		return config.Bad("target_epsilon", p.TargetEpsilon, "above 0 and finite")
	}
	if p.NoiseMultiplier != 0 && (!(p.NoiseMultiplier > 0) || math.IsInf(p.NoiseMultiplier, 1)) {
		return config.Bad("noise_multiplier", p.NoiseMultiplier, "above 0 and finite")
	}
	if !(p.TargetDelta > 0 && p.TargetDelta < 1) {
		return config.Bad("target_delta", p.TargetDelta, "above 0 and below 1")
	}
	return nil
}

// validateOwner refuses what counts records: an owner's mean gradient is clipped as a
// whole.
func (p *privacyParams) validateOwner() error {
	switch {
	case p.SampleRate != 0:
		return config.Bad("sample_rate", p.SampleRate,
			"nothing with unit owner, whose records are used each time")
	case p.BatchSize != 0:
		return config.Bad("batch_size", p.BatchSize,
			"nothing with unit owner: a mean of gradients is clipped as a whole")
	case p.MinRecords != 0:
		return config.Bad("min_records", p.MinRecords, "nothing with unit owner")
	}
	return nil
}

// validateBatch keeps every sampling constant public.
func (p *privacyParams) validateBatch() error {
	if p.SampleRate != 0 && !(p.SampleRate > 0 && p.SampleRate <= 1) {
		return config.Bad("sample_rate", p.SampleRate, "above 0 and at most 1")
	}
	if p.BatchSize != 0 && (!(p.BatchSize > 0) || math.IsInf(p.BatchSize, 1)) {
		return config.Bad("batch_size", p.BatchSize, "above 0 and finite")
	}
	if p.MinRecords < 0 || p.MinRecords > 0 && p.adjacency != account.AddRemove {
		return config.Bad("min_records", p.MinRecords,
			"at least 1, and only under add-remove: elsewhere record counts are public")
	}
	if p.adjacency == account.AddRemove {
		if p.SampleRate == 0 {
			return config.Bad("sample_rate", "nothing",
				"a public rate: under add-remove a rate computed from batch_size would use the private "+
					"number of records")
		}
		if p.BatchSize == 0 {
			return config.Bad("batch_size", "nothing",
				"a public expected batch size: under add-remove one computed from sample_rate would use "+
					"the private number of records")
		}
		return nil
	}
	if p.SampleRate == 0 && p.BatchSize == 0 {
		return config.Bad("batch_size", "nothing", "batch_size (expected) or sample_rate")
	}
	return nil
}

func (p *privacyParams) understands(o string) bool { return slices.Contains(p.IUnderstand, o) }
