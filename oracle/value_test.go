package oracle

import (
	"errors"
	"math"
	"testing"

	"pgregory.net/rapid"

	"sotto/config"
	"sotto/data"
	"sotto/privacy"
	"sotto/privacy/account"
	"sotto/tensor"
)

// valueOf evaluates v on rows.
func valueOf(v Value, rows [][]float32) []float64 {
	d := &data.Dataset{X: tensor.NewMat(len(rows), v.Dim)}
	for i, r := range rows {
		copy(d.X.Row(i), r)
		v.Records.Index = append(v.Records.Index, int32(i))
	}
	v.Records.Data = d
	out := privacy.Value{Float: make(tensor.Vec, v.Dim)}
	v.Evaluate(&out, nil, nil)
	return widen(out.Float)
}

func TestValue(t *testing.T) {
	rows := [][]float32{{3, 4}, {0, .5}, {float32(math.NaN()), 1}, {float32(math.Inf(1)), 0}}
	owner := Value{ClipNorm: 1, Normaliser: 1, Adjacency: account.ReplaceOne, Unit: account.Owner(), Dim: 2}
	record := Value{ClipNorm: 1, Normaliser: 4, Adjacency: account.ZeroOut, Unit: account.Record(), Dim: 2}
	for _, c := range []struct {
		v    Value
		want [2]float64
	}{
		// the mean (3, 4.5)/4, scaled
		{owner, [2]float64{.75 / math.Hypot(.75, 1.125), 1.125 / math.Hypot(.75, 1.125)}},
		// (3, 4)/5 and (0, .5)
		{record, [2]float64{.6, .8 + .5}},
		{Value{
			ClipNorm:   math.Inf(1),
			Normaliser: 1,
			Adjacency:  account.ReplaceOne,
			Unit:       account.Owner(),
			Dim:        2,
		}, [2]float64{.75, 1.125}},
	} {
		got := valueOf(c.v, rows)
		for k := range got {
			if math.Abs(got[k]-c.want[k]) > 5e-6 {
				t.Errorf("unit %v, clip %g: value %v, want %v", c.v.Unit, c.v.ClipNorm, got, c.want)
			}
		}
	}
	if got := valueOf(owner, nil); got[0] != 0 || got[1] != 0 {
		t.Errorf("an owner without records has %v", got)
	}
	r, err := owner.Describe(nil)
	if err != nil || r.Parts[0].Clip != 1 || r.Parts[0].Shift != 2 || r.Scale != 1 ||
		r.Unit != account.Owner() || r.Sampler.Kind != account.FullBatch {
		t.Errorf("release %+v, %v", r, err)
	}
	if r, err = record.Describe(nil); err != nil || r.Parts[0].Shift != 1 || r.Scale != .25 ||
		r.Unit != account.Record() {
		t.Errorf("release %+v, %v", r, err)
	}
}

// What is released moves by at most the stated sensitivity, clip times shift, when its
// unit changes: all records of an owner, or one.
func TestValueSensitivity(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 5).Draw(t, "records")
		hostile := rapid.OneOf(rapid.Float32(), rapid.Float32Range(-2, 2),
			rapid.SampledFrom([]float32{0, math.MaxFloat32, -math.MaxFloat32, 1e-45, float32(math.Inf(-1)),
				float32(math.NaN())}))
		draw := func(label string) [][]float32 {
			rows := make([][]float32, n)
			for i := range rows {
				rows[i] = []float32{hostile.Draw(t, label), hostile.Draw(t, label), hostile.Draw(t, label)}
			}
			return rows
		}
		clip := rapid.SampledFrom([]float64{1e-3, 1, 7}).Draw(t, "clip")
		a, b := draw("a"), draw("b")
		nothing := [][]float32{}
		for range n {
			nothing = append(nothing, make([]float32, 3))
		}
		one, nulled := append([][]float32{b[0]}, a[1:]...), append([][]float32{{0, 0, 0}}, a[1:]...)
		for _, c := range []struct {
			unit      account.Unit
			adjacency account.Adjacency
			other     [][]float32
		}{
			{account.Owner(), account.ReplaceOne, b}, {account.Owner(), account.ZeroOut, nothing},
			{account.Record(), account.ReplaceOne, one}, {account.Record(), account.ZeroOut, nulled},
		} {
			v := Value{ClipNorm: clip, Normaliser: 1, Adjacency: c.adjacency, Unit: c.unit, Dim: 3}
			if c.unit == account.Record() {
				v.Normaliser = float64(n)
			}
			x, y, square := valueOf(v, a), valueOf(v, c.other), 0.
			for k := range x {
				square += (x[k] - y[k]) * (x[k] - y[k])
			}
			r, err := v.Describe(nil)
			if err != nil {
				t.Fatal(err)
			}
			if most := r.Parts[0].Clip * r.Parts[0].Shift; !(math.Sqrt(square) <= most) {
				t.Errorf("%v, %v: the value moves by %g, stated %g", c.unit, c.adjacency, math.Sqrt(square),
					most)
			}
		}
	})
}

func TestValueRefuses(t *testing.T) {
	for key, v := range map[string]Value{
		"max_grad_norm": {Normaliser: 1, Adjacency: account.ZeroOut, Unit: account.Owner()},
		"adjacency":     {ClipNorm: 1, Normaliser: 1, Adjacency: account.AddRemove, Unit: account.Owner()},
		"batch_size":    {ClipNorm: 1, Normaliser: 3, Adjacency: account.ZeroOut, Unit: account.Owner()},
		"unit":          {ClipNorm: 1, Normaliser: 3, Adjacency: account.ZeroOut, Unit: account.Group(2)},
	} {
		var e *config.Error
		if err := v.Validate(); !errors.As(err, &e) || e.Key != key || e.Allowed == "" {
			t.Errorf("%s: %v", key, err)
		}
	}
}
