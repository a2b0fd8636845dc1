package oracle

import (
	"math"

	"sotto/agent"
	"sotto/config"
	"sotto/privacy"
	"sotto/privacy/account"
	"sotto/rng"
	"sotto/tensor"
)

var _ privacy.Oracle = (*Value)(nil)

// ValueName is the oracle "value".
const ValueName = "value"

// Value is the oracle "value": what an owner brings to a private average, whatever the
// query's point is. Where the unit is the owner, it is the mean of its records' features,
// scaled to norm at most ClipNorm: all data of the owner together move it by that when
// they are nulled, by twice that when they change. Where the unit is one record, it is
// the sum of the records' features, each scaled to norm at most ClipNorm, over the public
// number of records. An owner without records has the value 0.
type Value struct {
	Records  Records
	ClipNorm float64 // C > 0; +Inf: none, for runs that are not private
	// public number of records, above 0 and at most 4,000,000, where the unit is one
	// record; 1 where it is the owner
	Normaliser float64
	Adjacency  account.Adjacency // replace-one or zero-out
	Unit       account.Unit      // record or owner
	Dim        int               // of the features
}

// Validate names the first field that cannot be used. It reads no records.
func (v *Value) Validate() error {
	switch {
	case !(v.ClipNorm > 0):
		return config.Bad("max_grad_norm", v.ClipNorm, "above 0")
	case v.Adjacency == account.AddRemove:
		return config.Bad("adjacency", v.Adjacency.String(),
			"replace-one or zero-out: the number of owners, and of records in a mean, is public")
	case v.Unit == account.Owner() && v.Normaliser != 1:
		return config.Bad("batch_size", v.Normaliser, "1 where the unit is the owner")
	case v.Normaliser > mostSummed:
		return config.Bad("batch_size", v.Normaliser,
			"at most 4000000 where the unit is one record: a sum of more leaves single precision no room")
	case v.Unit != account.Owner() && v.Unit != account.Record():
		return config.Bad("unit", v.Unit.String(), "owner or record")
	}
	return checkPositive("batch_size", v.Normaliser)
}

// Describe states the release.
func (v *Value) Describe(*agent.Query) (account.Release, error) {
	if err := v.Validate(); err != nil {
		return account.Release{}, err
	}
	part := account.Part{Name: ValueName, Clip: v.ClipNorm, Shift: shift(v.Adjacency), Norm: account.L2,
		Dim: v.Dim}
	return fullBatch(ValueName, v.Adjacency, v.Unit, part, 1/v.Normaliser), nil
}

// Evaluate writes the value. Records that are not finite count as 0.
func (v *Value) Evaluate(dst *privacy.Value, _ *agent.Query, _ *rng.Stream) {
	limit := math.Inf(1)
	if v.Unit == account.Record() {
		limit = v.ClipNorm
	}
	sum := make([]float64, v.Dim)
	for _, r := range v.Records.Index {
		row := v.Records.Data.X.Row(int(r))
		if f, ok := v.factor(norm(widen(row)), limit); ok {
			for c, x := range row {
				sum[c] += float64(f * float64(x))
			}
		}
	}
	f := 1.
	if v.Unit == account.Owner() {
		for c := range sum {
			sum[c] /= float64(max(1, len(v.Records.Index)))
		}
		f, _ = v.factor(norm(sum), v.ClipNorm) // a mean of float32 is finite in float64
	}
	out := tensor.Vec(dst.Float)
	for c, x := range sum {
		out[c] = float32(float64(f * x))
	}
	clear(sum)
	finite(out, math.Inf(1))
}

// mostSummed is the number of records up to which factor leaves room: two sums of n of
// them are off by at most 2n(2^-24 + n 2^-53) of the limit.
const mostSummed = 4_000_000

// factor scales a vector of the given norm to at most limit, less what rounding the sum
// of all of them to float32 may add; false for one that is not finite.
func (v *Value) factor(norm, limit float64) (float64, bool) {
	limit *= 1 - min(.5, 1e-6+v.Normaliser*0x1p-22)
	switch {
	case !(norm <= math.MaxFloat64):
		return 0, false
	case norm > limit:
		return limit / norm, true
	}
	return 1, true
}
