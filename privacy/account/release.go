package account

import (
	"fmt"
	"math"

	"sotto/config"
)

// SamplerKind says how the records of one release are chosen. Its zero value is invalid.
type SamplerKind uint8

const (
	FullBatch        SamplerKind = iota + 1 // every record, every time
	Poisson                                 // each record independently with probability SampleRate
	TruncatedPoisson                        // Poisson, surplus over MaxBatchSize dropped uniformly
	FixedSize                               // BatchSize of Population without replacement
	// epochs of Period releases in random order: accounted without amplification
	Shuffled
	Cyclic // each record in exactly one of every Period releases
)

var samplerNames = [...]string{
	FullBatch:        "full",
	Poisson:          "poisson",
	TruncatedPoisson: "truncated-poisson",
	FixedSize:        "fixed-size",
	Shuffled:         "shuffled",
	Cyclic:           "cyclic",
}

// String returns the name that run files use, for instance "poisson".
func (k SamplerKind) String() string {
	if k < FullBatch || k > Cyclic {
		return fmt.Sprintf("SamplerKind(%d)", uint8(k))
	}
	return samplerNames[k]
}

// ParseSampler reads the names that SamplerKind.String writes, and "none" for a full
// batch.
func ParseSampler(s string) (SamplerKind, error) {
	if s == "none" {
		return FullBatch, nil
	}
	for k := FullBatch; k <= Cyclic; k++ {
		if samplerNames[k] == s {
			return k, nil
		}
	}
	return 0, config.Bad("sampler", s, "full, poisson, truncated-poisson, fixed-size, shuffled or cyclic")
}

// Sampler is the public description of how a release's records are chosen. SampleRate is
// used by Poisson and TruncatedPoisson, Population by TruncatedPoisson and FixedSize,
// BatchSize by FixedSize, MaxBatchSize by TruncatedPoisson, Period by Shuffled and
// Cyclic. Their ranges are those of PoissonSampled and of the functions after it.
type Sampler struct {
	Kind         SamplerKind
	SampleRate   float64
	Population   int
	BatchSize    int
	MaxBatchSize int
	Period       int
}

// String names the sampler and the version of its drawing procedure, for instance
// "poisson/1".
func (s Sampler) String() string { return s.Kind.String() + "/1" }

// Part is one vector of a (joint) release.
type Part struct {
	Name  string
	Clip  float64 // public bound of one record's contribution, in Norm
	Shift float64 // sensitivity over Clip under the release's adjacency
	// SumError bounds what rounding of sums adds to Shift; 0: nothing, or see
	// SumsUncharged; +Inf: nothing is proven, and noise on floats refuses the part.
	SumError float64
	Norm     Norm
	Dim      int
	Integers bool // every coordinate is a whole number
}

// Movement is Shift and SumError, rounded up: what mechanisms on floats charge.
func (p Part) Movement() float64 {
	if p.SumError == 0 {
		return p.Shift
	}
	return math.Nextafter(p.Shift+p.SumError, math.Inf(1))
}

// Release is what a query is going to release, known before any data are touched.
type Release struct {
	Oracle    string
	Adjacency Adjacency
	Unit      Unit
	Sampler   Sampler
	Parts     []Part
	// micro-batches, each sampled anew, that are summed before one noise draw; 0 and 1
	// mean one; at most 65,536
	Draws int
	Scale float64 // public factor applied to sum and noise alike, for instance 1/L; it costs nothing
	// SumsUncharged says that a floating-point sum rounds and no SumError has it: whoever
	// states the guarantee has to name by how much it is too good.
	SumsUncharged bool
}

// Validate checks every field but Sampler, which Sampled checks; the error names the
// field, the value and the range.
func (r Release) Validate() error {
	if !r.Adjacency.valid() {
		return config.Bad("adjacency", r.Adjacency, adjacencyAllowed)
	}
	if err := r.Unit.validate(); err != nil {
		return err
	}
	if len(r.Parts) == 0 {
		return config.Bad("parts", 0, "at least one")
	}
	for i, p := range r.Parts {
		key := fmt.Sprintf("parts[%d]", i)
		err := first(bad(positive(p.Clip), key+".clip", p.Clip, "a finite number > 0"),
			bad(positive(p.Shift), key+".shift", p.Shift, "a finite number > 0"),
			bad(p.SumError >= 0, key+".sum_error", p.SumError, "a number >= 0"),
			bad(p.Norm == L1 || p.Norm == L2, key+".norm", p.Norm, "l1 or l2"),
			bad(p.Dim >= 1, key+".dim", p.Dim, "an integer >= 1"))
		if err != nil {
			return err
		}
	}
	return first(bad(r.Draws >= 0 && r.Draws <= 1<<16, "draws", r.Draws, "0 to 65536"),
		bad(atLeast0(r.Scale), "scale", r.Scale, "a finite number >= 0"))
}

// Sampled wraps inner, the event of the mechanism on one fixed batch, with the release's
// sampler and root fields (adjacency, unit, clip, oracle, sampler). Draws > 1 gives the
// binomial mixture of a record that falls into several of the summed micro-batches; it
// needs Poisson sampling and a Gaussian inner event. A shuffled sampler becomes a cyclic
// event: no amplification. Sampling of records under the owner unit, and any but full
// batches and Poisson sampling under AddRemove, are ErrUnsupported.
func (r Release) Sampled(inner Event) (Event, error) {
	if err := r.Validate(); err != nil {
		return Event{}, err
	}
	if inner.body == nil {
		return Event{}, errInvalidEvent
	}
	if r.Unit.Kind == UnitOwner && r.Sampler.Kind != FullBatch {
		return Event{}, fmt.Errorf("%w: %v sampling of records under the owner unit; supported: full batch",
			ErrUnsupported, r.Sampler.Kind)
	}
	inner.Adjacency, inner.Unit = r.Adjacency, r.Unit
	ev, err := r.wrapSampler(inner)
	if err != nil {
		return Event{}, err
	}
	ev.Clip, ev.Oracle, ev.Sampler = r.Parts[0].Clip, r.Oracle, r.Sampler.String()
	return ev, nil
}

func (r Release) wrapSampler(inner Event) (Event, error) {
	s := r.Sampler
	if r.Draws > 1 && s.Kind != Poisson {
		return Event{},
			fmt.Errorf("%w: %d micro-batches before one noise draw with %v sampling; supported: Poisson",
				ErrUnsupported, r.Draws, s.Kind)
	}
	switch s.Kind {
	case FullBatch:
		return inner, nil
	case Poisson:
		if r.Draws > 1 {
			return binomialMixture(inner, r.Draws, s.SampleRate)
		}
		return PoissonSampled(s.SampleRate, inner)
	case TruncatedPoisson:
		if r.Adjacency == AddRemove {
			return Event{},
				fmt.Errorf("%w: truncated Poisson sampling under add-remove; supported: replace-one: "+
					"it draws from a public number of records", ErrUnsupported)
		}
		return TruncatedPoissonSampled(s.SampleRate, s.Population, s.MaxBatchSize, inner)
	case FixedSize:
		if r.Adjacency == AddRemove {
			return Event{},
				fmt.Errorf("%w: fixed-size sampling under add-remove, where the number of records is "+
					"private; supported: replace-one", ErrUnsupported)
		}
		return FixedSizeSampled(s.Population, s.BatchSize, inner)
	case Shuffled, Cyclic:
		if r.Adjacency == AddRemove {
			return Event{}, fmt.Errorf("%w: %v sampling under add-remove; supported: %s",
				ErrUnsupported, s.Kind, movesOthers)
		}
		return CyclicSampled(s.Period, inner)
	}
	return Event{}, config.Bad("sampler.kind", s.Kind,
		"full, poisson, truncated-poisson, fixed-size, shuffled or cyclic")
}

// JointGaussian is one Gaussian event for several vectors released together from one
// batch: part k with noise noise[k] (noise standard deviation over its clip) and
// sensitivity shift[k] clips. Their joint effective multiplier s has 1/s^2 = sum_k
// (shift[k]/noise[k])^2, exactly; the event states it with shift 1.
func JointGaussian(noise, shift []float64) (Event, error) {
	if len(noise) == 0 || len(noise) != len(shift) {
		return Event{}, config.Bad("noise", len(noise), "as many as shifts, at least one")
	}
	var sum float64
	for k := range noise {
		if err := first(bad(atLeast0(noise[k]), "noise_multiplier", noise[k], "a finite number >= 0"),
			bad(positive(shift[k]), "shift", shift[k], "a finite number > 0")); err != nil {
			return Event{}, err
		}
		x := shift[k] / noise[k]
		sum += x * x
	}
	return Gaussian(1/math.Sqrt(sum), 1)
}
