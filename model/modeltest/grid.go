package modeltest

import (
	"math"
	"slices"
	"testing"

	"sotto/model"
)

func checkGrid(t *testing.T, s *subject) {
	g, ok := s.m.(model.GridModel)
	if !ok {
		t.Skip("not a GridModel")
	}
	_, norms := s.each()
	clip := median(norms)
	step := clip / (1 << 20)
	total := make([]int64, s.m.Dim())
	for i := range s.batch.Len() {
		one := make([]int64, s.m.Dim())
		g.ClippedGradientGrid(one, s.theta, Take(s.batch, i), clip, step, s.w)
		want, _ := s.sum(Take(s.batch, i), clip)
		var squares int64 // at most 2^40 if the bound holds, and far from overflow if it nearly does
		for j, v := range one {
			total[j] += v
			squares += v * v
			if math.Abs(float64(v)*step-float64(want[j])) > step+s.slack*clip {
				t.Fatalf("sample %d, parameter %d: %v on the grid, %v", i, j, float64(v)*step, want[j])
			}
		}
		if squares > 1<<40 {
			t.Errorf("sample %d: squared norm %d, want at most 2^40", i, squares)
		}
	}
	got := make([]int64, s.m.Dim())
	stats := g.ClippedGradientGrid(got, s.theta, s.batch, clip, step, s.w)
	if !slices.Equal(got, total) {
		t.Error("the sum of the batch is not exactly the sum of its samples")
	}
	if stats.Samples != s.batch.Len() || stats.NonFinite != 0 {
		t.Errorf("%+v, want %d finite samples", stats, s.batch.Len())
	}
}
