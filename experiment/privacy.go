package experiment

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"sotto/algo"
	"sotto/config"
	"sotto/oracle"
	"sotto/privacy/account"
)

// PrivacyParams is the [privacy] section. noise_multiplier is the noise standard
// deviation over max_grad_norm under every adjacency.
type PrivacyParams struct {
	// Mechanism is the kind of noise: "gaussian" (default), "decor" (noise that neighbors
	// share), "laplace" and "local-dp" (for personal models), or "none".
	Mechanism string `toml:"mechanism"`
	// TargetEpsilon is the most that all answers of an agent may cost together: the noise
	// is computed from it. Above 0 and finite; 0: not stated.
	TargetEpsilon float64 `toml:"target_epsilon,omitempty"`
	// NoiseMultiplier is the noise's standard deviation (of laplace its scale) divided by
	// max_grad_norm, or by the clip of answers that have one of their own (fits,
	// residuals, questions, boosting, newton), above 0 and finite; 0: not stated. If
	// target_epsilon is given too, which algorithms of personal models and claims refuse,
	// agents answer as often as it admits.
	NoiseMultiplier float64 `toml:"noise_multiplier,omitempty"`
	// TargetDelta is the delta at which epsilon holds, above 0 and below 1, and below
	// 1/(records of an agent); default 1e-5.
	TargetDelta float64 `toml:"target_delta"`
	// Noise "exact" (default) charges for all rounding. "fast" also accepts models whose
	// sums round by an unknown amount, and statements say so.
	Noise string `toml:"noise,omitempty"`
	// MaxGradNorm is the norm to which the gradient of each record, or person, is
	// clipped: above 0, and finite if there is noise. Default: 1 with noise, no clipping
	// without. A fit, all that local-fit and model-propagation ask for, has no such clip.
	MaxGradNorm float64 `toml:"max_grad_norm,omitempty"`
	// BatchSize is the expected number of records in an agent's batch, which is public:
	// above 0 and finite; 0: not stated.
	BatchSize float64 `toml:"batch_size,omitempty"`
	// SampleRate is the probability that a record is in a batch, in place of batch_size;
	// above 0 and at most 1. 0: not stated. With both, which add-remove needs, batch_size
	// is what sums are divided by.
	SampleRate float64 `toml:"sample_rate,omitempty"`
	// Adjacency says which two data sets the guarantee makes hard to tell apart:
	// "zero-out" (default), "replace-one" or "add-remove".
	Adjacency string `toml:"adjacency"`
	Unit      string `toml:"unit"` // what epsilon protects: "record" (default), "person" or "owner"
	// Accountant composes the charges: "pld" (default) is the tightest for batches.
	Accountant string `toml:"accountant"`
	PlannedCounts
	IUnderstand []string `toml:"i_understand,omitempty"` // refusals to override, which are recorded: "delta"
	PersonalPrivacy
	CorrelatedNoise
	algo.Clipping

	adjacency account.Adjacency
	unit      account.Unit
}

// PlannedCounts are public counts that noise is planned for.
type PlannedCounts struct {
	// MinRecords is a public lower bound on the records of an agent, at least 1; with
	// adjacency add-remove only.
	MinRecords int `toml:"min_records,omitempty"`
	// Reserve is a number of further charges, 0 to 2^24, for every kind of answer. The
	// noise is planned for them, and a node's quota admits them, because crashes lose
	// answers that were charged.
	Reserve int `toml:"reserve,omitempty"`
	oracle.Persons
}

const maxReserve = 1 << 24 // far more than crashes can lose

// validateReserve refuses a reserve where no budget sets the noise.
func (p *PrivacyParams) validateReserve(m *Mechanism) error {
	switch {
	case p.Reserve < 0 || p.Reserve > maxReserve:
		return config.Bad("reserve", p.Reserve, fmt.Sprintf("0 to %d", maxReserve))
	case p.Reserve > 0 && (!m.Noisy() || p.NoiseMultiplier != 0 || !p.stated()):
		return config.Bad("reserve", p.Reserve,
			"nothing, unless target_epsilon or agent_epsilon sets the noise of answers")
	}
	return nil
}

// Values of the key noise.
const (
	fastNoise  = "fast"
	exactNoise = "exact"
)

// Overrides that a run file may ask for; every ledger and statement records each.
const overrideDelta = "delta"

func (p *PrivacyParams) understands(o string) bool { return slices.Contains(p.IUnderstand, o) }

// parse reads the words of the section that stand for types.
func (p *PrivacyParams) parse(f *File) error {
	var err error
	if p.adjacency, err = account.ParseAdjacency(p.Adjacency); err != nil {
		return config.Bad("adjacency", p.Adjacency, "one of add-remove, replace-one, zero-out")
	}
	p.Adjacency = p.adjacency.String()
	switch p.Unit {
	case "record":
		p.unit = account.Record()
	case "owner":
		p.unit = account.Owner()
	case "person":
		p.unit = account.Person(f.Data.UnitColumn)
	default:
		allowed := "one of person, record"
		if f.Has(algo.OwnerUnit) {
			allowed = "one of owner, record"
		}
		return config.Bad("unit", p.Unit, allowed)
	}
	if err := p.parsePersons(f); err != nil {
		return err
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
	return nil
}

// validatePrivacy checks the section's values; what its mechanism needs is checked by the
// mechanism's own row.
func validatePrivacy(f *File) error {
	p, m := &f.Privacy, f.Mechanism()
	switch {
	case p.Noise != "" && !m.Exact:
		return config.Bad("noise", p.Noise, "nothing with mechanism "+p.Mechanism+
			", also where [sweep] or --set names it: the key is gaussian's")
	case p.Noise != "" && p.Noise != fastNoise && p.Noise != exactNoise:
		return config.Bad("noise", p.Noise, "fast or exact")
	case !m.Noisy() && !(p.TargetDelta >= 0 && p.TargetDelta < 1):
		return config.Bad("target_delta", p.TargetDelta, "0 to below 1")
	}
	if err := p.PersonalPrivacy.validate(p, m.Noisy(), f.Pace.OwnPlans); err != nil {
		return err
	}
	if err := p.validateReserve(m); err != nil {
		return err
	}
	if err := p.CorrelatedNoise.validate(p, m.Pairwise); err != nil {
		return err
	}
	if err := m.check(p); err != nil {
		return err
	}
	if !(p.MaxGradNorm > 0) {
		return config.Bad("max_grad_norm", p.MaxGradNorm, "above 0")
	}
	if err := validateBatches(f); err != nil {
		return err
	}
	batch := p.BatchSize
	if b := f.Kind().Batches; b == oracle.Mean || b == oracle.Sum {
		batch = 0
	}
	return p.Clipping.Complete(p.MaxGradNorm, batch)
}

// clippingFound is what stands for the keys of clipping in an error.
func (p *PrivacyParams) clippingFound() string { return cmp.Or(p.Kind, "parameters of it") }

// validateNoise checks the keys of noise that is calibrated.
func (p *PrivacyParams) validateNoise() error {
	if p.MaxGradNorm == 0 {
		p.MaxGradNorm = 1
	}
	switch {
	case math.IsInf(p.MaxGradNorm, 1):
		return config.Bad("max_grad_norm", p.MaxGradNorm,
			"above 0 and finite with mechanism "+p.Mechanism)
	case !p.stated():
		return config.Bad("target_epsilon", "nothing above 0", "target_epsilon or noise_multiplier with "+
			"mechanism "+p.Mechanism+"; mechanism = \"none\" trains without noise")
	case p.TargetEpsilon != 0 && !finiteAbove0(p.TargetEpsilon):
		return config.Bad("target_epsilon", p.TargetEpsilon, "above 0 and finite")
	case p.NoiseMultiplier != 0 && !finiteAbove0(p.NoiseMultiplier):
		return config.Bad("noise_multiplier", p.NoiseMultiplier, "above 0 and finite")
	case !(p.TargetDelta > 0 && p.TargetDelta < 1):
		return config.Bad("target_delta", p.TargetDelta, "above 0 and below 1")
	}
	return nil
}

// validateBatches keeps every sampling constant public. Which keys there may be follows
// from how the run's queries read their records.
func validateBatches(f *File) error {
	p, k := &f.Privacy, f.Kind()
	switch {
	case k.Batches == oracle.Mean:
		return p.validateMean(f.Algorithm.Name)
	case k.Batches == oracle.Sum:
		return p.validateSum(f.Algorithm.Name, f.Mechanism().Noisy())
	case !k.Record:
		return p.validateOwner()
	case k.Batches == oracle.FullBatch:
		return p.validateFullBatch()
	}
	return p.validateSampled()
}

// validateOwner refuses what counts records: an owner's mean gradient is clipped as a
// whole.
func (p *PrivacyParams) validateOwner() error {
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

// validateMean checks the keys that a value has.
func (p *PrivacyParams) validateMean(algorithm string) error {
	switch {
	case p.adjacency.HidesCount():
		return config.Bad("adjacency", p.Adjacency, "replace-one or zero-out with algorithm "+algorithm+
			": the number of owners, and of records in a mean, is public")
	case p.SampleRate != 0:
		return config.Bad("sample_rate", p.SampleRate,
			"nothing with algorithm "+algorithm+", which reads all records")
	case p.BatchSize != 0:
		return config.Bad("batch_size", p.BatchSize,
			"nothing with algorithm "+algorithm+", which reads all records")
	case p.MinRecords != 0:
		return config.Bad("min_records", p.MinRecords, "nothing with algorithm "+algorithm)
	}
	return nil
}

// validateFullBatch is validateSampled for queries that use all records each time.
func (p *PrivacyParams) validateFullBatch() error {
	switch {
	case p.SampleRate != 0:
		return config.Bad("sample_rate", p.SampleRate, "nothing: this algorithm uses all records each time")
	case p.adjacency.HidesCount() && !finiteAbove0(p.BatchSize):
		return config.Bad("batch_size", p.BatchSize,
			"a public normaliser above 0: under add-remove the number of records is private")
	case !p.adjacency.HidesCount() && p.BatchSize != 0:
		return config.Bad("batch_size", p.BatchSize,
			"nothing: the public number of records divides their sum")
	}
	return p.validateMinRecords()
}

func (p *PrivacyParams) validateMinRecords() error {
	if p.MinRecords < 0 || p.MinRecords > 0 && !p.adjacency.HidesCount() {
		return config.Bad("min_records", p.MinRecords,
			"at least 1, and only under add-remove: elsewhere record counts are public")
	}
	return nil
}

// validateSampled checks the keys of Poisson batches.
func (p *PrivacyParams) validateSampled() error {
	switch {
	case p.SampleRate != 0 && !(p.SampleRate > 0 && p.SampleRate <= 1):
		return config.Bad("sample_rate", p.SampleRate, "above 0 and at most 1")
	case p.BatchSize != 0 && !finiteAbove0(p.BatchSize):
		return config.Bad("batch_size", p.BatchSize, "above 0 and finite")
	case p.adjacency.HidesCount() && p.SampleRate == 0:
		return config.Bad("sample_rate", "nothing", "a public rate: under add-remove a rate computed from "+
			"batch_size would use the private number of records")
	case p.adjacency.HidesCount() && p.BatchSize == 0:
		return config.Bad("batch_size", "nothing", "a public expected batch size: under add-remove one "+
			"computed from sample_rate would use the private number of records")
	case p.SampleRate == 0 && p.BatchSize == 0:
		return config.Bad("batch_size", "nothing", "batch_size (expected) or "+
			"sample_rate; --suggest of sotto run and sotto plan finds one, and algorithm newton needs none")
	}
	return p.validateMinRecords()
}

// ownState reports that the answers of algorithm km come from a state that lasts.
func ownState(f *File) bool { own, _ := f.doc.Given("algorithm.own_state"); return own == true }

// finiteAbove0 is the range of most parameters.
func finiteAbove0(x float64) bool { return x > 0 && !math.IsInf(x, 1) }
