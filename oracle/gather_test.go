package oracle

import (
	"math"
	"slices"
	"testing"

	"sotto/agent"
	"sotto/data"
	"sotto/model"
	"sotto/privacy"
	"sotto/privacy/account"
	"sotto/rng"
	"sotto/tensor"
)

func labelled(n, cols int) *data.Dataset {
	d := &data.Dataset{X: tensor.NewMat(n, cols), Shape: [3]int{1, cols, 1}, Labels: make([]int32, n),
		Classes: 3}
	for i := range d.X.Data {
		d.X.Data[i] = float32(math.Sin(float64(i)))
	}
	for i := range d.Labels {
		d.Labels[i] = int32(i % 3)
	}
	return d
}

// Rows that follow one another are read where they are, others are copied, and neither
// changes the data set.
func TestGatherInPlace(t *testing.T) {
	d := labelled(10, 5)
	before := labelled(10, 5)
	s := &scratch{}
	for _, tc := range []struct {
		rows  []int32
		whole bool
	}{
		{[]int32{2, 3, 4}, true}, {[]int32{9, 1, 2, 8, 7, 6}, false},
		{[]int32{0, 1, 2, 3, 4, 5, 6, 7, 8, 9}, true}, {[]int32{1, 0}, false}, {[]int32{3, 3}, false},
		{[]int32{7}, true}, {[]int32{4, 6}, false}, {nil, false},
	} {
		b := s.gather(d, tc.rows, &Augmentation{}, nil)
		if b.X.Rows != len(tc.rows) || len(b.Labels) != len(tc.rows) {
			t.Fatalf("%v: %d rows, %d labels", tc.rows, b.X.Rows, len(b.Labels))
		}
		for i, r := range tc.rows {
			if !slices.Equal(b.X.Row(i), before.X.Row(int(r))) || b.Labels[i] != before.Labels[r] {
				t.Errorf("%v: row %d is not record %d", tc.rows, i, r)
			}
		}
		if in := len(tc.rows) > 0 && &b.X.Data[0] == &d.X.Row(int(tc.rows[0]))[0]; in != tc.whole {
			t.Errorf("%v: in place: %v", tc.rows, in)
		}
		b.Labels = append(b.Labels, 99)
		if !slices.Equal(d.X.Data, before.X.Data) || !slices.Equal(d.Labels, before.Labels) {
			t.Fatalf("%v changed the data set", tc.rows)
		}
	}
}

// A full batch has the same bits whether the owner's records lie together or not.
func TestFullBatchBits(t *testing.T) {
	const n, cols = 1000, 40
	together := labelled(n, cols)
	apart := &data.Dataset{X: tensor.NewMat(2*n, cols), Shape: together.Shape, Labels: make([]int32, 2*n),
		Classes: 3}
	var near, far []int32
	for i := range n {
		near, far = append(near, int32(i)), append(far, int32(2*i))
		copy(apart.X.Row(2*i), together.X.Row(i))
		apart.Labels[2*i] = together.Labels[i]
	}
	shape := model.Shape{Height: 1, Width: cols, Channels: 1, Classes: 3}
	m, err := model.New("mlp", shape, func(p any) error {
		p.(*model.MLPParams).Hidden = []int{17}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	at := make(tensor.Vec, m.Dim())
	for i := range at {
		at[i] = float32(math.Cos(float64(i))) / 5
	}
	var sums [2]tensor.Vec
	for k, r := range []Records{{together, near}, {apart, far}} {
		g := &Gradient{Model: m, Records: r, SampleRate: 1, ExpectedBatchSize: n, ClipNorm: 1,
			Adjacency: account.ZeroOut, Unit: account.Record(), Pool: NewPool()}
		v := privacy.Value{Float: make(tensor.Vec, m.Dim())}
		g.Evaluate(&v, &agent.Query{At: at}, &rng.Stream{})
		sums[k] = v.Float
	}
	for i := range sums[0] {
		if math.Float32bits(sums[0][i]) != math.Float32bits(sums[1][i]) {
			t.Fatalf("parameter %d: in place %v, copied %v", i, sums[0][i], sums[1][i])
		}
	}
	if norm := sums[0].Norm(); norm == 0 {
		t.Error("nothing was summed")
	}
}
