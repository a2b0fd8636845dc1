package oracle

import (
	"errors"
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"sotto/config"
	"sotto/data"
	"sotto/privacy"
	"sotto/privacy/account"
	"sotto/tensor"
)

// sumOf evaluates o on rows, in steps of the grid; persons are those of the rows.
func sumOf(t interface{ Fatal(...any) }, o Statistic, rows [][]float32, persons []int32) []int64 {
	d := &data.Dataset{X: tensor.NewMat(len(rows), o.Dim), Units: persons}
	var index []int32
	for i, r := range rows {
		copy(d.X.Row(i), r)
		index = append(index, int32(i))
	}
	if err := o.Bind(Records{d, index}, nil); err != nil {
		t.Fatal(err)
	}
	out := privacy.Value{Float: make(tensor.Vec, o.Dim)}
	o.Evaluate(&out, nil, nil)
	grid := make([]int64, o.Dim)
	o.EvaluateGrid(grid, nil, nil)
	if !slices.Equal(grid, out.Grid) || out.Step != privacy.GridStep(o.ClipNorm) {
		t.Fatal("both values differ")
	}
	return grid
}

func TestStatistic(t *testing.T) {
	o := Statistic{ClipNorm: 1, Adjacency: account.AddRemove, Unit: account.Record(), Dim: 2}
	// (3, 4)/5, (0, 1/2) and nothing of what is not finite, in steps of 2^-20
	got := sumOf(t, o, [][]float32{{3, 4}, {0, .5}, {float32(math.NaN()), 1}, {float32(math.Inf(1)), 0}}, nil)
	if want := []int64{1 << 20 * 3 / 5, 1<<20*4/5 + 1<<19}; math.Abs(float64(got[0]-want[0])) > 1 ||
		math.Abs(float64(got[1]-want[1])) > 1 {
		t.Errorf("%v, want %v", got, want)
	}
	if got := sumOf(t, o, nil, nil); got[0] != 0 || got[1] != 0 {
		t.Errorf("no records: %v", got)
	}
	// a person's mean: (1, 0) and (0, 1) are (.5, .5); a third row is not read
	o.Unit, o.Persons = account.Person("id"), Persons{MaxRows: 2, Gradient: MeanOfPerson}
	got = sumOf(t, o, [][]float32{{1, 0}, {0, 1}, {0, .25}, {1, 1}}, []int32{0, 0, 1, 0})
	if want := []int64{1 << 19, 1<<19 + 1<<18}; !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
	r, err := o.Describe(nil)
	if err != nil || r.Parts[0].Clip != 1 || r.Parts[0].Shift != 1 || r.Parts[0].Dim != 2 || r.Scale != 1 ||
		r.Sampler.Kind != account.FullBatch || r.Parts[0].Norm != account.L2 {
		t.Errorf("%+v, %v", r, err)
	}
	o.Adjacency = account.ReplaceOne
	if r, err := o.Describe(nil); err != nil || r.Parts[0].Shift != 2 {
		t.Errorf("%+v, %v", r, err)
	}
	o.Unit = account.Owner()
	var bad *config.Error
	if err := o.Validate(); !errors.As(err, &bad) || bad.Key != "unit" {
		t.Error(err)
	}
}

// What is released moves by at most the clip times the shift, in whole steps, when one
// record or one person with all its records goes or changes.
func TestStatisticSensitivity(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 6).Draw(t, "records")
		hostile := rapid.OneOf(rapid.Float32(), rapid.Float32Range(-2, 2),
			rapid.SampledFrom([]float32{0, math.MaxFloat32, -math.MaxFloat32, 1e-45, float32(math.Inf(-1)),
				float32(math.NaN())}))
		rows, persons := make([][]float32, n), make([]int32, n)
		for i := range rows {
			rows[i] = []float32{hostile.Draw(t, "x"), hostile.Draw(t, "y"), hostile.Draw(t, "z")}
			persons[i] = rapid.Int32Range(0, 2).Draw(t, "person")
		}
		o := Statistic{ClipNorm: rapid.Float64Range(1e-3, 1e3).Draw(t, "clip"), Adjacency: account.AddRemove,
			Unit: account.Record(), Dim: 3}
		gone := func(k int) bool { return k == 0 }
		if rapid.Bool().Draw(t, "by person") {
			o.Unit, o.Persons = account.Person("id"), Persons{MaxRows: 2, Gradient: MeanOfPerson}
			gone = func(k int) bool { return persons[k] == persons[0] }
		}
		var left [][]float32
		var those []int32
		for k := range rows {
			if !gone(k) {
				left, those = append(left, rows[k]), append(those, persons[k])
			}
		}
		if those == nil {
			those = []int32{}
		}
		a, b := sumOf(t, o, rows, persons), sumOf(t, o, left, those)
		squares := 0.
		for c := range a {
			squares += math.Pow(float64(a[c]-b[c]), 2)
		}
		if squares > 1<<40 {
			t.Fatalf("moved by %v of %v steps", math.Sqrt(squares), 1<<20)
		}
	})
}
