package modeltest

import (
	"math"
	"slices"
	"testing"

	"sotto/model"
	"sotto/tensor"
)

// viewSlack is subject.slack where a record has several rows: any layer may then use Gram
// matrices.
const viewSlack = 2e-3

// checkViews: rows that are views of one record count as one sample, whose gradient is
// the mean of theirs.
func checkViews(t *testing.T, s *subject) {
	if model.Explain(s.m) == nil {
		t.Skip("a model of another package need not know Batch.Views")
	}
	want, stats := s.sum(s.batch, 0.5)
	one := *s.batch
	one.Views = 1
	if got, again := s.sum(&one, 0.5); !slices.Equal(got, want) || again != stats {
		t.Error("Views 1 and 0 differ")
	}
	for _, views := range []int{2, 3, 32} {
		records := min(s.batch.Len()/views, 5)
		if views == 32 {
			records = min(records, 1)
		}
		if records > 0 {
			s.checkRecords(t, views, records)
		}
	}
}

// record returns the rows of record r.
func (s *subject) record(views, r int) *model.Batch {
	var rows []int
	for i := range views {
		rows = append(rows, r*views+i)
	}
	b := Take(s.batch, rows...)
	b.Views = views
	for i := range views { // the label of the record is that of its first row
		if b.Labels != nil {
			b.Labels[i] = b.Labels[0]
		}
		if b.Targets != nil {
			b.Targets[i] = b.Targets[0]
		}
	}
	return b
}

func join(batches []*model.Batch) *model.Batch {
	all := &model.Batch{Views: batches[0].Views}
	for _, b := range batches {
		all.X.Cols, all.X.Stride = b.X.Cols, b.X.Cols
		all.X.Rows += b.Len()
		all.X.Data = append(all.X.Data, b.X.Data...)
		all.Labels, all.Targets = append(all.Labels, b.Labels...), append(all.Targets, b.Targets...)
	}
	return all
}

func (s *subject) checkRecords(t *testing.T, views, records int) {
	var batches []*model.Batch
	var means []tensor.Vec
	var norms []float64
	for r := range records {
		b := s.record(views, r)
		sum := make(tensor.Vec, s.m.Dim())
		for i := range views {
			row := Take(b, i)
			g, _ := s.sum(row, math.Inf(1))
			sum.AddScaled(1/float64(views), g)
		}
		got, stats := s.sum(b, math.Inf(1))
		if tolerance := 1e-5 * (1 + sum.Norm()); stats.Samples != 1 || !near(got, sum, tolerance) {
			t.Errorf("%d views: %+v, gradient of a record is not the mean of its rows'", views, stats)
		}
		batches, means, norms = append(batches, b), append(means, sum), append(norms, sum.Norm())
		for _, clip := range []float64{1e-30, 1e-3 * norms[r], 0.5 * norms[r], norms[r]} {
			if g, _ := s.sum(b, clip); !(g.Norm() <= clip) {
				t.Errorf("%d views: norm %v, clip %v", views, g.Norm(), clip)
			}
		}
	}
	all := join(batches)
	clip := median(norms)
	want := make([]float64, s.m.Dim())
	for r, g := range means {
		for j, v := range g {
			want[j] += min(1, clip/norms[r]) * float64(v)
		}
	}
	got, stats := s.sum(all, clip)
	for j, v := range got {
		if math.Abs(float64(v)-want[j]) > viewSlack*(clip+slices.Max(norms))*float64(records) {
			t.Fatalf("%d views, parameter %d: sum %v, one by one %v", views, j, v, want[j])
		}
	}
	if stats.Samples != records || stats.NonFinite != 0 {
		t.Errorf("%d views: %+v, want %d records", views, stats, records)
	}
	s.checkRecordGrid(t, batches, clip)
	all.X.Row(views - 1)[0] = float32(math.NaN())
	if _, stats := s.sum(all, clip); stats.NonFinite > 1 {
		t.Errorf("%d views: %+v: one view spoils more than its record", views, stats)
	}
}

// checkRecordGrid: a record's integers obey the bound, and sums are exact.
func (s *subject) checkRecordGrid(t *testing.T, batches []*model.Batch, clip float64) {
	g, ok := s.m.(model.GridModel)
	if !ok {
		return
	}
	total, step := make([]int64, s.m.Dim()), clip/(1<<20)
	for _, b := range batches {
		one := make([]int64, s.m.Dim())
		g.ClippedGradientGrid(one, s.theta, b, clip, step, s.w)
		var squares int64
		for j, v := range one {
			total[j] += v
			squares += v * v
		}
		if want, _ := s.sum(b, clip); squares > 1<<40 ||
			math.Abs(math.Sqrt(float64(squares))*step-want.Norm()) > (viewSlack+1e-3)*clip {
			t.Errorf("%d views: squared norm %d on the grid, %v of the sum", b.Views, squares, want.Norm())
		}
	}
	got := make([]int64, s.m.Dim())
	if stats := g.ClippedGradientGrid(got, s.theta, join(batches), clip, step, s.w); !slices.Equal(got,
		total) || stats.Samples != len(batches) {
		t.Errorf("%d views: %+v, the sum of the batch is not exactly the sum of its records",
			batches[0].Views, stats)
	}
}
