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

// Bins have more records than are summed in float32 in less than one of 10^12: the exact
// tail of the binomial law, summed from its logarithms.
func TestFewBinsAreLarger(t *testing.T) {
	for _, c := range []struct {
		n    int
		rate float64
	}{{50, .1}, {1000, .001}, {1000, .25}, {60_000, 256. / 60_000}, {100, .99}} {
		tail, n, most := 0., float64(c.n), mostDrawn(c.rate*float64(c.n))
		for k := most + 1; k <= c.n; k++ {
			all, _ := math.Lgamma(n + 1)
			in, _ := math.Lgamma(float64(k) + 1)
			out, _ := math.Lgamma(n - float64(k) + 1)
			tail += math.Exp(all - in - out + float64(k)*math.Log(c.rate) +
				(n-float64(k))*math.Log1p(-c.rate))
		}
		mean := c.rate * n
		if !(tail <= beyond) || float64(most) > mean+60+10*math.Sqrt(mean) {
			t.Errorf("%+v: more than %d records with probability %g", c, most, tail)
		}
	}
}

// A record's bin follows from that record alone: where lists keep their places, another
// record's absence leaves it where it is; else bins are drawn one for each record, from
// as many as public constants say.
func TestBinsAreStable(t *testing.T) {
	m, err := model.New("logistic", model.Shape{Height: 1, Width: 3, Channels: 1, Classes: 2}, nil)
	if err != nil {
		t.Fatal(err)
	}
	rows := make([]int32, 3000)
	for i := range rows {
		rows[i] = int32(i)
	}
	binOf := func(l layout, rows []int32) map[int32]int {
		s := new(scratch)
		ends := (&adder{scratch: s}).deal(l, rows, rng.Public(7, "bins"))
		of, lo := map[int32]int{}, 0
		for b, hi := range ends {
			for _, r := range s.dealt[lo:hi] {
				of[r] = b
			}
			lo = hi
		}
		if len(of) != len(rows) || lo != len(rows) {
			t.Fatalf("%d of %d rows are in bins", len(of), len(rows))
		}
		return of
	}
	place := newLayout(m, 3000, true, true, 1, Sums{})
	if place.bins != 0 || place.most != chunk {
		t.Fatalf("by place: %+v", place)
	}
	replaced := slices.Clone(rows)
	replaced[17] = 5000
	was, is := binOf(place, rows), binOf(place, replaced)
	for _, r := range replaced {
		if r != 5000 && was[r] != is[r] {
			t.Fatalf("row %d moved from bin %d to %d when another was replaced", r, was[r], is[r])
		}
	}

	drawn := newLayout(m, 3000, false, false, 1, Sums{})
	if drawn.bins != 12 || drawn.most < perBin || drawn.most > 2*perBin {
		t.Fatalf("drawn: %+v", drawn)
	}
	if other := newLayout(m, 3000, false, false, 1, Sums{}); other != drawn {
		t.Fatalf("%+v for the same constants", other)
	}
	count := make([]float64, drawn.bins)
	for _, b := range binOf(drawn, rows) {
		count[b]++
	}
	for b, n := range count { // 250 each, standard deviation 15.1: 6 of them, 2e-9 a bin
		if math.Abs(n-250) > 91 {
			t.Errorf("bin %d has %g of 3000 records", b, n)
		}
	}
	// The draws do not look at rows: another record at a place has the same bin.
	was, is = binOf(drawn, rows), binOf(drawn, replaced)
	if was[17] != is[5000] {
		t.Errorf("bin %d for one record, %d for another with the same draw", was[17], is[5000])
	}
}

// Where records arrive, places move: bins are drawn, and by place they are refused.
func TestArrivingRecordsHaveDrawnBins(t *testing.T) {
	const n = 3000
	d := labelled(n, 3)
	d.Classes = 2
	for i := range d.Labels {
		d.Labels[i] %= 2
	}
	m, err := model.New("logistic", model.Shape{Height: 1, Width: 3, Channels: 1, Classes: 2}, nil)
	if err != nil {
		t.Fatal(err)
	}
	r := Records{Data: d}
	for i := range n {
		r.Index = append(r.Index, int32(i))
	}
	for _, moving := range []bool{false, true} {
		for _, name := range []string{"grad", FullName} {
			o, err := New(&Public{Model: m, SampleRate: 1, ExpectedBatchSize: n, ClipNorm: 1, Records: n,
				Adjacency: account.ZeroOut, Unit: account.Record(), Sums: Sums{Moving: moving}},
				&agent.Query{Oracle: name})
			if err != nil {
				t.Fatal(err)
			}
			if _, err := Arrive(o, r, make([]uint32, n), NewPool()); (err == nil) != moving {
				t.Errorf("%s, moving %v: %v", name, moving, err)
			}
			if _, err := Arrive(o, r, make([]uint32, 1), NewPool()); err == nil {
				t.Error("rows without a round of arrival are taken")
			}
			if _, err := Arrive(o, r, nil, NewPool()); err != nil {
				t.Errorf("%s, all there: %v", name, err)
			}
		}
	}
}

// A batch of more records than are summed in float32 is summed in double precision, one
// record at a time, and is still within what is charged of the real sum.
func TestLargerBatchesAreSummedOneByOne(t *testing.T) {
	const n, dim = 900, 7
	d := &data.Dataset{X: tensor.NewMat(n, dim), Labels: make([]int32, n), Shape: [3]int{1, 1, dim},
		Classes: 2}
	chance := rng.Public(3, "records")
	var index []int32
	for i := range n {
		for k := range d.X.Row(i) {
			d.X.Row(i)[k] = float32(chance.Float64()*4 - 2)
		}
		d.Labels[i], index = int32(chance.Below(2)), append(index, int32(i))
	}
	m, err := model.New("logistic", model.Shape{Height: 1, Width: dim, Channels: 1, Classes: 2}, nil)
	if err != nil {
		t.Fatal(err)
	}
	at := make(tensor.Vec, m.Dim())
	want := make([]float64, m.Dim())
	var w model.Workspace
	for i := range n {
		one := make(tensor.Vec, m.Dim())
		m.ClippedGradientSum(one, at, &model.Batch{X: tensor.Mat{Rows: 1, Cols: dim, Stride: dim,
			Data: d.X.Row(i)}, Labels: d.Labels[i : i+1]}, .5, &w)
		for k, x := range one {
			want[k] += float64(x)
		}
	}
	for _, expected := range []float64{20, 300, 700, 2000} { // overflow, overflow, one sum, drawn bins
		g := &Full{Model: m, Normaliser: expected, ClipNorm: .5, Norm: account.L2,
			Adjacency: account.AddRemove, Unit: account.Record(), Pool: NewPool(),
			Records: Records{Data: d, Index: index}}
		if err := g.Validate(); err != nil {
			t.Fatal(err)
		}
		v := privacy.Value{Float: make(tensor.Vec, m.Dim())}
		g.Evaluate(&v, &agent.Query{At: at}, rng.Public(1, "bins"))
		if wide := len(v.Wide) > 0; wide != (expected != 700) {
			t.Errorf("%g expected of %d records: double precision %v", expected, n, wide)
		}
		off := 0.
		for k := range want {
			x := float64(v.Float[k])
			if len(v.Wide) > 0 {
				x = v.Wide[k]
			}
			off += (x - want[k]) * (x - want[k])
		}
		if off = math.Sqrt(off) / .5; !(2*off <= g.SumError(.5)) {
			t.Errorf("%g expected of %d records: off by %g clips, charged %g", expected, n, off,
				g.SumError(.5))
		}
	}
}

// A model that sums positions of records together is charged little too: its sums are
// cut into smaller bins.
func TestLargeErrorsMakeSmallBins(t *testing.T) {
	m, err := model.New("resnet18", model.Shape{Height: 32, Width: 32, Channels: 3, Classes: 10},
		func(any) error { return nil })
	if err != nil {
		t.Fatal(err)
	}
	if e := 2 * model.SumError(m, 384, chunk, 1, 1); !(e > .03) {
		t.Fatalf("the model's sums of 384 records lose %g", e)
	}
	for _, l := range []layout{newLayout(m, 256, false, false, 1, Sums{}),
		newLayout(m, 6000, true, true, 1, Sums{}),
		newLayout(m, 6000, false, false, 3, Sums{})} {
		if e := l.sumError(m, 1, 1); l.bins == 1 || !(e < .05*float64(l.views)) {
			t.Errorf("%+v: %g is charged", l, e)
		}
	}
}

// An oracle whose public constants change is laid out anew when it is validated.
func TestValidateLaysOutAnew(t *testing.T) {
	m, err := model.New("logistic", model.Shape{Height: 1, Width: 3, Channels: 1, Classes: 2}, nil)
	if err != nil {
		t.Fatal(err)
	}
	g := &Gradient{Model: m, SampleRate: .1, ExpectedBatchSize: 10, ClipNorm: 1, Adjacency: account.ZeroOut,
		Unit: account.Record()}
	before := g.SumError(1)
	g.ExpectedBatchSize = 700
	if err := g.Validate(); err != nil {
		t.Fatal(err)
	}
	if after := g.SumError(1); !(after > before) || g.layout().most < 700 {
		t.Errorf("700 records in a batch are charged %v, 10 of them %v", after, before)
	}
}
