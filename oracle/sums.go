package oracle

import (
	"math"

	"sotto/agent"
	"sotto/config"
	"sotto/privacy/account"
)

// Sums says how an oracle adds the gradients of records.
type Sums struct {
	Exact bool // in integers: the gate is going to ask for them
	// MaxRecords > 0 charges the rounding of sums in float32 (account.Part.SumError): it
	// bounds the owner's records, and Bind refuses more. 0 leaves it uncharged, and the
	// release says so.
	MaxRecords int
}

// charge sets what rounding adds to a part, or that it is uncharged.
func (s Sums) charge(r *account.Release, sumError func(records int) float64) {
	switch {
	case s.Exact:
	case s.MaxRecords > 0:
		r.Parts[0].SumError = sumError(s.MaxRecords)
	default:
		r.SumsUncharged = true
	}
}

// check refuses more records than are charged for. The error does not say how many there
// are.
func (s Sums) check(r Records) error {
	if s.MaxRecords < 0 || s.MaxRecords > 0 && len(r.Index) > s.MaxRecords {
		return config.Bad("max_records", s.MaxRecords, "at least the number of the owner's records, or 0")
	}
	return nil
}

// rounding is an oracle whose value may be a sum in floating point.
type rounding interface {
	Oracle
	// SumError bounds by how much more than the clip, over it, rounding lets one record
	// move a sum of so many records; +Inf where nothing is proven.
	SumError(clip float64, records int) float64
}

// Beyond bounds the probability that a Poisson batch has more records than Rounding.
const Beyond = 1e-12

// Rounding is what a release leaves uncharged.
type Rounding struct {
	// SumError bounds by how much more than the clip, over it, rounding in float32 lets
	// one record move a sum of up to Records of them; 0: nothing is uncharged; +Inf:
	// nothing is proven.
	SumError float64
	Records  int
	Drawn    bool // a batch has more records with a probability of at most Beyond
}

// Uncharged says what the release that q asks for leaves uncharged. An error is that of
// the oracle's public constants.
func Uncharged(p *Public, q *agent.Query) (Rounding, error) {
	o, err := New(p, q)
	if err != nil {
		return Rounding{}, err
	}
	r, err := Describe(p, q)
	s, ok := o.(rounding)
	if err != nil || !ok || !r.SumsUncharged {
		return Rounding{}, err
	}
	u := Rounding{Records: int(math.Ceil(p.ExpectedBatchSize))}
	switch {
	case p.SingleRecord:
		u.Records = 1
	case r.Sampler.Kind == account.Poisson && r.Sampler.SampleRate < 1:
		u.Records, u.Drawn = mostDrawn(p.ExpectedBatchSize), true
	}
	u.SumError = s.SumError(clipNorm(q, p.ClipNorm), u.Records)
	return u, nil
}

// mostDrawn is a number that a sum of independent coins with the given mean exceeds with
// a probability of at most Beyond: exp(n - mean - n ln(n/mean)) bounds it (Chernoff
// 1952).
func mostDrawn(mean float64) int {
	n := math.Ceil(mean) + 1
	for n*math.Log(n/mean)-n+mean < -math.Log(Beyond) {
		n++
	}
	return int(n)
}
