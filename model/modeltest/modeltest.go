// Package modeltest is the conformance suite of model.Model: what every caller of a model
// relies on. A model outside this module runs the same suite as the built-in ones.
//
//	func TestMine(t *testing.T) {
//		modeltest.Run(t, func() (model.Model, *model.Batch) {
//			return newMine(), someBatch()
//		})
//	}
package modeltest

import (
	"math"
	"slices"
	"testing"

	"sotto/model"
	"sotto/tensor"
)

// Source is a seeded model.Source (SplitMix64: Steele, Lea, Flood 2014) for tests.
type Source uint64

// Uint64 returns the next 64 bits.
func (s *Source) Uint64() uint64 {
	*s += 0x9e3779b97f4a7c15
	z := uint64(*s)
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb
	return z ^ z>>31
}

// subject is one model with a batch, its initial parameters and a workspace.
type subject struct {
	m     model.Model
	batch *model.Batch
	theta tensor.Vec
	w     *model.Workspace

	// slack is how much less than the clip norm a gradient may be scaled to: 1e-5 for
	// rounding, as much again for the comparison; more where norms come from Gram
	// matrices, whose error is added to the norm.
	slack float64
}

// slack returns the tolerance that a model's way to take norms asks for.
func slack(m model.Model) float64 {
	for _, l := range model.Explain(m) {
		if l.Norm == "ghost" {
			return 2e-3
		}
	}
	return 2e-5
}

// sum returns the clipped gradient sum of b, added to zero.
func (s *subject) sum(b *model.Batch, clip float64) (tensor.Vec, model.Stats) {
	dst := make(tensor.Vec, s.m.Dim())
	stats := s.m.ClippedGradientSum(dst, s.theta, b, clip, s.w)
	return dst, stats
}

// Run checks the model that build returns on its batch. The batch needs 2 samples or
// more, all finite; 40 or more exercise chunk borders. The model should be smooth near
// its initial parameters, up to kinks on which few samples lie.
func Run(t *testing.T, build func() (model.Model, *model.Batch)) {
	t.Helper()
	m, batch := build()
	if batch.Len() < 2 {
		t.Fatal("modeltest: the batch needs 2 samples or more")
	}
	s := &subject{
		m:     m,
		batch: batch,
		theta: make(tensor.Vec, m.Dim()),
		w:     new(model.Workspace),
		slack: slack(m),
	}
	source := Source(1)
	m.Init(s.theta, &source)
	for _, c := range []struct {
		name  string
		check func(*testing.T, *subject)
	}{
		{"init", checkInit},
		{"empty batch", checkEmpty},
		{"adds to destination", checkAdds},
		{"finite differences", checkDerivative},
		{"clipped sum", checkClippedSum},
		{"clip bound", checkBound},
		{"not finite", checkNotFinite},
		{"same bits", checkBits},
		{"rows are independent", checkRows},
		{"arguments unchanged", checkArguments},
		{"no allocation", checkAllocations},
		{"grid", checkGrid},
		{"views", checkViews},
	} {
		t.Run(c.name, func(t *testing.T) { c.check(t, s) })
	}
}

func checkInit(t *testing.T, s *subject) {
	if s.m.Dim() < 1 || s.m.Outputs() < 1 {
		t.Fatalf("Dim %d, Outputs %d: want both at least 1", s.m.Dim(), s.m.Outputs())
	}
	again, other := make(tensor.Vec, s.m.Dim()), make(tensor.Vec, s.m.Dim())
	for i := range again {
		again[i] = float32(math.NaN()) // Init must write every element
	}
	a, b := Source(1), Source(2)
	s.m.Init(again, &a)
	s.m.Init(other, &b)
	if !slices.Equal(again, s.theta) {
		t.Error("the same source gives other parameters")
	}
	if !s.theta.Finite() {
		t.Error("initial parameters are not finite")
	}
	if slices.Equal(other, s.theta) {
		t.Error("another source gives the same parameters")
	}
}

func checkEmpty(t *testing.T, s *subject) {
	b := Take(s.batch)
	dst, stats := s.sum(b, 1)
	if norm := dst.Norm(); norm != 0 || stats != (model.Stats{}) {
		t.Errorf("sum of norm %v, %+v: want zero", norm, stats)
	}
	if loss := s.m.Loss(s.theta, b, s.w); loss != 0 {
		t.Errorf("loss %v, want 0", loss)
	}
	if e := model.Evaluate(s.m, s.theta, b, s.w); e != (model.Evaluation{}) || e.Accuracy() != 0 {
		t.Errorf("evaluation %+v, want zero", e)
	}
	s.m.Predict(tensor.NewMat(0, s.m.Outputs()), s.theta, b.X, s.w)
}

func checkAdds(t *testing.T, s *subject) {
	one := Take(s.batch, 0)
	want, stats := s.sum(one, 1)
	if stats.Samples != 1 {
		t.Errorf("%d samples counted, want 1", stats.Samples)
	}
	dst := make(tensor.Vec, s.m.Dim())
	for i := range dst {
		dst[i] = 1
	}
	s.m.ClippedGradientSum(dst, s.theta, one, 1, s.w)
	for i, v := range dst {
		if got := float64(v) - 1; math.Abs(got-float64(want[i])) > 1e-7 {
			t.Fatalf("parameter %d: added %v, want %v", i, got, want[i])
		}
	}
}

// checkDerivative compares the unclipped gradient of the mean loss with central
// differences of Loss: along itself, and on up to 64 coordinates. Loss is float32 inside,
// so this finds wrong formulas, not rounding.
func checkDerivative(t *testing.T, s *subject) {
	g, stats := s.sum(s.batch, math.Inf(1))
	if stats.NonFinite != 0 || stats.Clipped != 0 {
		t.Fatalf("%+v: want a batch with finite gradients and no clipping at +Inf", stats)
	}
	g.Scale(1/float64(s.batch.Len()), g)
	norm := g.Norm()
	if norm == 0 {
		t.Fatal("the gradient is zero: choose another batch")
	}
	along := func(direction tensor.Vec, h float64) float64 {
		p, q := slices.Clone(s.theta), slices.Clone(s.theta)
		p.AddScaled(h, direction)
		q.AddScaled(-h, direction)
		return (s.m.Loss(p, s.batch, s.w) - s.m.Loss(q, s.batch, s.w)) / (2 * h)
	}
	const h = 2e-3
	if got := along(g, h/norm) / norm; math.Abs(got-norm) > 0.02*norm {
		t.Errorf("difference quotient along the gradient %v, norm of the gradient %v", got, norm)
	}
	r := Source(3)
	for range min(64, s.m.Dim()) {
		j := int(r.Uint64() % uint64(s.m.Dim()))
		unit := make(tensor.Vec, s.m.Dim())
		unit[j] = 1
		if got, want := along(unit, h), float64(g[j]); math.Abs(got-want) > 0.02*math.Abs(want)+0.01*norm {
			t.Errorf("parameter %d: difference quotient %v, gradient %v", j, got, want)
		}
	}
}

// each returns every sample's own unclipped gradient and its norm.
func (s *subject) each() (gradients []tensor.Vec, norms []float64) {
	for i := range s.batch.Len() {
		g, _ := s.sum(Take(s.batch, i), math.Inf(1))
		gradients = append(gradients, g)
		norms = append(norms, g.Norm())
	}
	return gradients, norms
}

// median returns a clip norm that some samples exceed and others do not.
func median(norms []float64) float64 {
	sorted := slices.Sorted(slices.Values(norms))
	return (sorted[(len(sorted)-1)/2] + sorted[len(sorted)/2]) / 2
}

func checkClippedSum(t *testing.T, s *subject) {
	gradients, norms := s.each()
	for _, clip := range []float64{median(norms) / 100, median(norms), 100 * slices.Max(norms)} {
		want, surely, maybe := make([]float64, s.m.Dim()), 0, 0
		for i, g := range gradients {
			f := min(1, clip/norms[i])
			if norms[i] > clip*(1+s.slack) {
				surely++
			}
			if norms[i] > clip*(1-s.slack) {
				maybe++
			}
			for j, v := range g {
				want[j] += f * float64(v)
			}
		}
		got, stats := s.sum(s.batch, clip)
		// The bound on a clip norm may be shrunk by 1e-5; sums of float32 round in
		// proportion to their terms.
		tolerance := s.slack * clip * float64(len(gradients))
		for j, v := range got {
			if math.Abs(float64(v)-want[j]) > tolerance {
				t.Fatalf("clip %v, parameter %d: sum %v, one by one %v", clip, j, v, want[j])
			}
		}
		if stats.Samples != len(gradients) || stats.NonFinite != 0 || stats.Clipped < surely ||
			stats.Clipped > maybe {
			t.Errorf("clip %v: %+v, want %d samples, %d to %d clipped", clip, stats, len(gradients), surely,
				maybe)
		}
	}
}

func checkBound(t *testing.T, s *subject) {
	_, norms := s.each()
	for i := range s.batch.Len() {
		for _, clip := range []float64{0, 1e-30, 1e-3 * norms[i], 0.5 * norms[i], norms[i],
			math.Nextafter(norms[i], 0)} {
			g, _ := s.sum(Take(s.batch, i), clip)
			if norm := g.Norm(); !(norm <= clip) {
				t.Errorf("sample %d: norm %v, clip %v", i, norm, clip)
			}
		}
	}
	for _, clip := range []float64{-1, math.NaN()} {
		if g, _ := s.sum(s.batch, clip); g.Norm() != 0 {
			t.Errorf("clip %v: sum of norm %v, want 0", clip, g.Norm())
		}
	}
}

// checkNotFinite makes whole samples NaN and Inf: they must add nothing and leave the
// others as they are.
func checkNotFinite(t *testing.T, s *subject) {
	good := Take(s.batch, 0, 1)
	want, _ := s.sum(good, 1)
	for _, v := range []float64{math.NaN(), math.Inf(1), math.Inf(-1)} {
		b := Take(s.batch, 0, 1, 1, 0)
		for _, row := range []int{1, 3} {
			x := b.X.Row(row)
			for j := range x {
				x[j] = float32(v)
			}
		}
		got, stats := s.sum(b, 1)
		if x := float64(b.X.Row(3)[0]); x != v && !math.IsNaN(x) {
			t.Errorf("%v: the call changed its batch", v)
		}
		if stats.NonFinite != 2 {
			t.Errorf("%v: %+v, want 2 samples that are not finite", v, stats)
		}
		if !near(got, want, 1e-6) {
			t.Errorf("%v: samples that are not finite changed the sum", v)
		}
	}
	broken := slices.Clone(s.theta)
	for i := range broken {
		broken[i] = float32(math.NaN())
	}
	dst := make(tensor.Vec, s.m.Dim())
	if s.m.ClippedGradientSum(dst, broken, s.batch, 1, s.w); dst.Norm() != 0 {
		t.Errorf("parameters NaN: sum of norm %v, want 0", dst.Norm())
	}
}

func near(a, b tensor.Vec, tolerance float64) bool {
	for i := range a {
		if !(math.Abs(float64(a[i])-float64(b[i])) <= tolerance) {
			return false
		}
	}
	return true
}

func checkBits(t *testing.T, s *subject) {
	want, stats := s.sum(s.batch, 0.5)
	if got, again := s.sum(s.batch, 0.5); !slices.Equal(got, want) || again != stats {
		t.Error("a second call with the same workspace gives other bits")
	}
	fresh := &subject{s.m, s.batch, s.theta, new(model.Workspace), s.slack}
	if got, again := fresh.sum(s.batch, 0.5); !slices.Equal(got, want) || again != stats {
		t.Error("a fresh workspace gives other bits")
	}
	spoil := slices.Clone(s.theta)
	spoil.Scale(math.Inf(1), spoil)
	s.m.ClippedGradientSum(make(tensor.Vec, s.m.Dim()), spoil, s.batch, 0.5, s.w)
	if got, _ := s.sum(s.batch, 0.5); !slices.Equal(got, want) {
		t.Error("what an earlier call left in the workspace changes the result")
	}
}

func checkRows(t *testing.T, s *subject) {
	n := s.batch.Len()
	all, one := tensor.NewMat(n, s.m.Outputs()), tensor.NewMat(1, s.m.Outputs())
	s.m.Predict(all, s.theta, s.batch.X, s.w)
	for i := range n {
		s.m.Predict(one, s.theta, Take(s.batch, i).X, s.w)
		if !slices.Equal(one.Row(0), all.Row(i)) {
			t.Fatalf("row %d: %v alone, %v in the batch", i, one.Row(0), all.Row(i))
		}
	}
}

func checkArguments(t *testing.T, s *subject) {
	theta, x := slices.Clone(s.theta), slices.Clone(s.batch.X.Data)
	s.sum(s.batch, 0.1)
	model.Evaluate(s.m, s.theta, s.batch, s.w)
	if !slices.Equal(theta, s.theta) || !slices.Equal(x, s.batch.X.Data) {
		t.Error("a call changed its parameters or its batch")
	}
}

func checkAllocations(t *testing.T, s *subject) {
	dst, z := make(tensor.Vec, s.m.Dim()), tensor.NewMat(s.batch.Len(), s.m.Outputs())
	for name, call := range map[string]func(){
		"ClippedGradientSum": func() { s.m.ClippedGradientSum(dst, s.theta, s.batch, 1, s.w) },
		"Predict":            func() { s.m.Predict(z, s.theta, s.batch.X, s.w) },
		"Loss":               func() { s.m.Loss(s.theta, s.batch, s.w) },
	} {
		if n := testing.AllocsPerRun(3, call); n != 0 {
			t.Errorf("%s: %v allocations a call, want 0", name, n)
		}
	}
}

// Take returns a copy of the given samples of b.
func Take(b *model.Batch, samples ...int) *model.Batch {
	out := &model.Batch{X: tensor.NewMat(len(samples), b.X.Cols)}
	for k, i := range samples {
		copy(out.X.Row(k), b.X.Row(i))
		if b.Labels != nil {
			out.Labels = append(out.Labels, b.Labels[i])
		}
		if b.Targets != nil {
			out.Targets = append(out.Targets, b.Targets[i])
		}
	}
	return out
}
