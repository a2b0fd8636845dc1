package data_test

import (
	"math"
	"slices"
	"testing"

	"sotto/data"
)

func TestGlyphsAreDeterministic(t *testing.T) {
	a := load(t, "glyphs", "", "train = 300\ntest = 50")
	b := load(t, "glyphs", "", "train = 300\ntest = 50")
	if a.Train.Digest != b.Train.Digest || !slices.Equal(a.Train.X.Data, b.Train.X.Data) ||
		!slices.Equal(a.Test.Labels, b.Test.Labels) {
		t.Error("two loads of one seed differ")
	}
	longer := load(t, "glyphs", "", "train = 400\ntest = 50")
	if !slices.Equal(longer.Train.X.Data[:len(a.Train.X.Data)], a.Train.X.Data) {
		t.Error("more records change the first ones")
	}
	if slices.Equal(a.Train.X.Row(0), a.Test.X.Row(0)) {
		t.Error("training and test records are the same")
	}
	other, err := data.Load("glyphs", "", 2, params("train = 300\ntest = 50"))
	if err != nil {
		t.Fatal(err)
	}
	if other.Train.Digest == a.Train.Digest || slices.Equal(other.Train.Labels, a.Train.Labels) {
		t.Error("the seed has no effect")
	}
	if r := load(t, "glyphs", "", "train = 5\ntest = 5\nresize = 32"); r.Train.Shape != [3]int{32, 32, 1} {
		t.Errorf("resized shape %v", r.Train.Shape)
	}
}

// Each of ten classes is Binomial(6000, .1): 600 ± 5 sd (23.2), false reject below 1e-5
// over seeds.
func TestGlyphsClassCounts(t *testing.T) {
	s := load(t, "glyphs", "", "test = 10")
	for c, n := range counts(s.Train.Labels, 10) {
		if math.Abs(float64(n)-600) > 5*math.Sqrt(6000*.1*.9) {
			t.Errorf("%d records of class %d", n, c)
		}
	}
	moments(t, s.Train, 0, 1, .05)
}

func BenchmarkGlyphs8000(b *testing.B) {
	for b.Loop() {
		if _, err := data.Load("glyphs", "", 1, params("")); err != nil {
			b.Fatal(err)
		}
	}
}
