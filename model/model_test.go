package model_test

import (
	"errors"
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"sotto/config"
	"sotto/model"
	"sotto/model/modeltest"
	"sotto/tensor"
)

func TestConformance(t *testing.T) {
	for _, k := range slices.Concat(tasks, layerTasks) {
		t.Run(k.name, func(t *testing.T) {
			modeltest.Run(t, func() (model.Model, *model.Batch) { return k.build(t), k.batch(71, 3) })
		})
	}
}

// TestConformanceFull runs the two networks of the paper's experiments at their own size.
func TestConformanceFull(t *testing.T) {
	for _, k := range []task{mlp64, convnet} {
		t.Run(k.name, func(t *testing.T) {
			modeltest.Run(t, func() (model.Model, *model.Batch) { return k.build(t), k.batch(33, 3) })
		})
	}
}

func TestParameterCounts(t *testing.T) {
	mlp := func(h int) task {
		return task{kind: "mlp", shape: mlp64.shape,
			params: model.MLPParams{Hidden: []int{h}, Activation: "relu"}}
	}
	for _, c := range []struct {
		k    task
		want int
	}{
		{cnn, 26010}, {dpresnet9, 7802724}, {resnet18, 11173962}, {convnet, 38424}, {mlp64, 50890},
		{mlp(64), 50890}, {mlp(100), 79510}, {mlp(128), 101770}, {mlp(256), 203530},
		{logistic100, 101},
	} {
		if got := c.k.build(t).Dim(); got != c.want {
			t.Errorf("%s %v: %d parameters, want %d", c.k.kind, c.k.params, got, c.want)
		}
	}
	for _, k := range tasks {
		if got := k.build(t).Dim(); got != k.dim {
			t.Errorf("%s: %d parameters, want %d", k.name, got, k.dim)
		}
	}
}

// TestInit: each block is uniform in (-1/sqrt(fan-in), 1/sqrt(fan-in)). The mean square
// of n such numbers has mean bound^2/3 and standard deviation bound^2 sqrt(4/45/n); 6
// standard deviations: false reject 2e-9 a block.
func TestInit(t *testing.T) {
	theta := start(convnet.build(t), 11)
	for _, c := range []struct {
		name   string
		values tensor.Vec
		fanIn  float64
	}{
		{"convolution", theta[:78], 25}, {"first linear", theta[78 : 78+37696], 588},
		{"second linear", theta[78+37696:], 64},
	} {
		bound, n := 1/math.Sqrt(c.fanIn), float64(len(c.values))
		var squares float64
		for _, v := range c.values {
			if math.Abs(float64(v)) > bound {
				t.Fatalf("%s: %v is outside +-%v", c.name, v, bound)
			}
			squares += float64(v) * float64(v)
		}
		if got, want := squares/n/(bound*bound), 1.0/3; math.Abs(got-want) > 6*math.Sqrt(4.0/45/n) {
			t.Errorf("%s: mean square %v bound^2, want 1/3", c.name, got)
		}
	}
}

func TestBadInput(t *testing.T) {
	good := model.Shape{Height: 28, Width: 28, Channels: 1, Classes: 10}
	with := func(change func(*model.Shape)) model.Shape { s := good; change(&s); return s }
	for _, c := range []struct {
		name, kind, key string
		shape           model.Shape
		params          any
	}{
		{"name", "resnet", "name", good, nil},
		{"height", "mlp", "height", with(func(s *model.Shape) { s.Height = 0 }), nil},
		{"width", "mlp", "width", with(func(s *model.Shape) { s.Width = -1 }), nil},
		{"channels", "convnet", "channels", with(func(s *model.Shape) { s.Channels = 1 << 40 }), nil},
		{"product", "mlp", "height x width x channels",
			model.Shape{Height: 1 << 20, Width: 1 << 20, Channels: 1 << 20, Classes: 2}, nil},
		{"one class", "mlp", "classes", with(func(s *model.Shape) { s.Classes = 1 }), nil},
		{"logistic regression", "logistic", "classes", with(func(s *model.Shape) { s.Classes = 0 }), nil},
		{"too many classes", "logistic", "classes", with(func(s *model.Shape) { s.Classes = 1 << 24 }), nil},
		{"least squares of classes", "least-squares", "classes", good, nil},
		{"small image", "convnet", "height x width", with(func(s *model.Shape) { s.Height = 5 }), nil},
		{"large image", "convnet", "height x width", with(func(s *model.Shape) {
			s.Height, s.Width = 2000, 2000
		}), nil},
		{"hidden 0", "mlp", "hidden", good, model.MLPParams{Hidden: []int{3, 0}, Activation: "relu"}},
		{"hidden large", "mlp", "hidden", good, model.MLPParams{Hidden: []int{1 << 40}, Activation: "relu"}},
		{"hidden many", "mlp", "hidden", good, model.MLPParams{Hidden: make([]int, 65), Activation: "relu"}},
		{"head", "mlp", "classes", with(func(s *model.Shape) { s.Classes = 1 << 20 }), nil},
		{"activation", "mlp", "activation", good, model.MLPParams{Hidden: []int{3}, Activation: "swish"}},
	} {
		m, err := model.New(c.kind, c.shape, decoder(c.params))
		var bad *config.Error
		if m != nil || !errors.As(err, &bad) || bad.Key != c.key || bad.Allowed == "" {
			t.Errorf("%s: model %v, error %v; want a config.Error for %q", c.name, m, err, c.key)
		}
	}
}

func TestDecodeErrorsPass(t *testing.T) {
	refused := errors.New("unknown key")
	shape := model.Shape{Height: 8, Width: 8, Channels: 1, Classes: 2}
	for kind := range model.Models {
		if _, err := model.New(kind, shape, func(any) error { return refused }); !errors.Is(err, refused) {
			t.Errorf("%s: error %v, want that of decode", kind, err)
		}
	}
	if m, err := model.New("mlp", shape, nil); err != nil || m.Dim() != 64*65+65*2 {
		t.Errorf("no decode: model %v, error %v; want the defaults", m, err)
	}
}

func TestWrongLengthsPanic(t *testing.T) {
	m, batch := mlp64.build(t), mlp64.batch(3, 1)
	theta, dst := start(m, 1), make(tensor.Vec, m.Dim())
	var w model.Workspace
	for name, call := range map[string]func(){
		"destination": func() { m.ClippedGradientSum(dst[1:], theta, batch, 1, &w) },
		"parameters":  func() { m.ClippedGradientSum(dst, theta[1:], batch, 1, &w) },
		"labels":      func() { m.Loss(theta, &model.Batch{X: batch.X, Targets: make([]float32, 3)}, &w) },
		"features":    func() { m.Predict(tensor.NewMat(2, 10), theta, tensor.NewMat(2, 783), &w) },
		"prediction":  func() { m.Predict(tensor.NewMat(1, 10), theta, batch.X, &w) },
	} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%s: a wrong length is accepted", name)
				}
			}()
			call()
		}()
	}
}

// TestLabelsOutOfRangeAddNothing: a bad label must not stop a private computation, nor
// count.
func TestLabelsOutOfRangeAddNothing(t *testing.T) {
	for _, k := range []task{logistic100, mlp64} {
		m, batch := k.build(t), k.batch(2, 1)
		batch.Labels = []int32{-1, int32(k.shape.Classes)}
		dst, grid := make(tensor.Vec, m.Dim()), make([]int64, m.Dim())
		var w model.Workspace
		theta := start(m, 1)
		if stats := m.ClippedGradientSum(dst, theta, batch, 1, &w); stats.NonFinite != 2 || dst.Norm() != 0 {
			t.Errorf("%s: %+v, norm %v: want two samples that add nothing", k.name, stats, dst.Norm())
		}
		stats := m.(model.GridModel).ClippedGradientGrid(grid, theta, batch, 1, 0x1p-20, &w)
		if stats.NonFinite != 2 || slices.Max(grid) != 0 || slices.Min(grid) != 0 {
			t.Errorf("%s: %+v on the grid: want two samples that add nothing", k.name, stats)
		}
	}
}

// TestOverflowInside: Inf - Inf in a hidden layer is NaN, which the activation must not
// swallow. The two products are in two blocks of 256 terms, so that both overflow: a
// fused multiply-add would not round the second.
func TestOverflowInside(t *testing.T) {
	for _, name := range []string{"relu", "tanh", "mish"} {
		k := task{kind: "mlp", shape: model.Shape{Height: 1, Width: 300, Channels: 1, Classes: 2},
			params: model.MLPParams{Hidden: []int{1}, Activation: name}}
		m := k.build(t)
		theta, dst := start(m, 1), make(tensor.Vec, m.Dim())
		theta[0], theta[299] = 1e30, -1e30
		b := &model.Batch{X: tensor.NewMat(1, 300), Labels: []int32{0}}
		b.X.Data[0], b.X.Data[299] = 1e30, 1e30
		var w model.Workspace
		if stats := m.ClippedGradientSum(dst, theta, b, 1, &w); stats.NonFinite != 1 || dst.Norm() != 0 {
			t.Errorf("%s: %+v, norm %v; want a sample that adds nothing", name, stats, dst.Norm())
		}
	}
}

// TestClosedForms takes gradients that can be written down.
func TestClosedForms(t *testing.T) {
	var w model.Workspace
	x := tensor.Mat{Rows: 1, Cols: 2, Stride: 2, Data: []float32{3, 4}}
	shape := model.Shape{Height: 1, Width: 2, Channels: 1, Classes: 2}
	binary := task{kind: "logistic", shape: shape}.build(t)
	g := make(tensor.Vec, 2)
	binary.ClippedGradientSum(g, tensor.Vec{0, 0}, &model.Batch{X: x, Labels: []int32{1}}, math.Inf(1), &w)
	if g[0] != -1.5 || g[1] != -2 { // -y x sigmoid(0)
		t.Errorf("logistic at 0: gradient %v, want [-1.5 -2]", g)
	}
	g.Zero()
	binary.ClippedGradientSum(g, tensor.Vec{0, 0}, &model.Batch{X: x, Labels: []int32{0}}, 1, &w)
	if !(g.Norm() <= 1) || math.Abs(float64(g[0])-0.6) > 2e-5 || math.Abs(float64(g[1])-0.8) > 2e-5 {
		t.Errorf("clipped to 1: %v, want [.6 .8] and not longer", g)
	}
	shape.Classes = 0
	squares := task{kind: "least-squares", shape: shape}.build(t)
	g.Zero()
	b := &model.Batch{X: x, Targets: []float32{1}}
	squares.ClippedGradientSum(g, tensor.Vec{1, 1}, b, math.Inf(1), &w)
	loss := squares.Loss(tensor.Vec{1, 1}, b, &w)
	if g[0] != 36 || g[1] != 48 || loss != 36 { // r = 7-1, 2 r x, r^2
		t.Errorf("least squares: gradient %v, loss %v; want [36 48], 36", g, loss)
	}
	grid := make([]int64, 2)
	squares.(model.GridModel).ClippedGradientGrid(grid, tensor.Vec{1, 1}, b, 10, 0.5, &w)
	if grid[0] != 11 || grid[1] != 15 { // (6, 8)(1-2^-20)/.5 truncated toward zero
		t.Errorf("on the grid: %v, want [11 15]", grid)
	}
}

// hostile draws float32 from everywhere: all bit patterns and the edges.
var hostile = rapid.OneOf(
	rapid.Map(rapid.Uint32(), math.Float32frombits),
	rapid.SampledFrom([]float32{0, 1, -1, 1e-45, -1e-38, 3e38, -3e38, 1e19, -1e-19,
		float32(math.NaN()), float32(math.Inf(1)), float32(math.Inf(-1))}),
	rapid.Float32Range(-2, 2),
)

// TestBoundHoldsForAllInput: whatever sample and parameters, one sample adds a finite
// vector no longer than clip, in float32 and on the grid.
func TestBoundHoldsForAllInput(t *testing.T) {
	for _, k := range slices.Concat(tasks, layerTasks) {
		m := k.build(t)
		var w model.Workspace
		rapid.Check(t, func(t *rapid.T) {
			batch, theta := k.batch(1, 1), start(m, rapid.Uint64().Draw(t, "seed"))
			scale := rapid.SampledFrom([]float64{1e-42, 1e-20, 1, 1e3, 1e18, 1e36}).Draw(t, "scale")
			theta.Scale(scale, theta)
			theta[rapid.IntRange(0, m.Dim()-1).Draw(t, "parameter")] = hostile.Draw(t, "value")
			for range rapid.IntRange(0, 3).Draw(t, "edits") {
				batch.X.Data[rapid.IntRange(0, batch.X.Cols-1).Draw(t, "element")] = hostile.Draw(t, "x")
			}
			if rapid.Bool().Draw(t, "constant") {
				v := hostile.Draw(t, "all")
				for i := range batch.X.Data {
					batch.X.Data[i] = v
				}
			}
			if batch.Targets != nil {
				batch.Targets[0] = hostile.Draw(t, "target")
			}
			clip := rapid.SampledFrom([]float64{1e-30, 1e-12, 0.3, 1, 1e6, 1e30, 1e60, math.Inf(1)}).Draw(t,
				"clip")
			dst := make(tensor.Vec, m.Dim())
			stats := m.ClippedGradientSum(dst, theta, batch, clip, &w)
			if !dst.Finite() || !(dst.Norm() <= clip) || stats.NonFinite == 1 && dst.Norm() != 0 {
				t.Fatalf("%s: %+v, norm %v, clip %v", k.name, stats, dst.Norm(), clip)
			}
			grid := make([]int64, m.Dim())
			m.(model.GridModel).ClippedGradientGrid(grid, theta, batch, clip, clip*0x1p-20, &w)
			var squares float64
			for _, v := range grid {
				squares += float64(v) * float64(v)
			}
			if squares > 0x1p40 {
				t.Fatalf("%s: squared norm on the grid %v, want at most 2^40", k.name, squares)
			}
		})
	}
}

// TestGridRefusesStep: a step that is no step adds nothing, and neither does a norm
// beyond int64.
func TestGridRefusesStep(t *testing.T) {
	m, batch := logistic100.build(t), logistic100.batch(5, 1)
	theta, grid := start(m, 1), make([]int64, m.Dim())
	var w model.Workspace
	for _, step := range []float64{0, -1, math.NaN(), math.Inf(1), 1e-300} {
		m.(model.GridModel).ClippedGradientGrid(grid, theta, batch, math.Inf(1), step, &w)
		if slices.Max(grid) != 0 || slices.Min(grid) != 0 {
			t.Errorf("step %v added something", step)
		}
	}
}

// TestPoolTies: with filters of zeros all pre-activations are equal, and the first
// position takes the gradient. The gradient of a filter is then that of its bias times
// the patch in the first corner.
func TestPoolTies(t *testing.T) {
	k := task{kind: "convnet", shape: model.Shape{Height: 6, Width: 6, Channels: 1, Classes: 2}}
	m, batch := k.build(t), k.batch(1, 1)
	theta, dst := start(m, 1), make(tensor.Vec, m.Dim())
	theta[:75].Zero()
	var w model.Workspace
	m.ClippedGradientSum(dst, theta, batch, math.Inf(1), &w)
	for i := range 75 {
		f, tap := i%3, i/3
		want := float64(dst[75+f]) * float64(batch.X.Data[tap/5*6+tap%5])
		if want == 0 || math.Abs(float64(dst[i])-want) > 1e-6*math.Abs(want) {
			t.Fatalf("filter %d, tap %d: gradient %v, want %v", f, tap, dst[i], want)
		}
	}
}

// TestPoolSeesNaN: a NaN or Inf pixel that only a position outside the maximum sees still
// marks the sample.
func TestPoolSeesNaN(t *testing.T) {
	k := task{kind: "convnet", shape: model.Shape{Height: 6, Width: 6, Channels: 1, Classes: 2}}
	m := k.build(t)
	var w model.Workspace
	for pixel := range 36 {
		for _, v := range []float64{math.NaN(), math.Inf(1), math.Inf(-1)} {
			batch, dst := k.batch(1, 1), make(tensor.Vec, m.Dim())
			batch.X.Data[pixel] = float32(v)
			if stats := m.ClippedGradientSum(dst, start(m, 1), batch, 1, &w); stats.NonFinite != 1 ||
				dst.Norm() != 0 {
				t.Errorf("%v at pixel %d: %+v, norm %v; want a sample that adds nothing", v, pixel, stats,
					dst.Norm())
			}
		}
	}
}

func TestEvaluate(t *testing.T) {
	// theta = (1, 0): the logit is the first feature.
	binary := task{kind: "logistic",
		shape: model.Shape{Height: 1, Width: 2, Channels: 1, Classes: 2}}.build(t)
	b := &model.Batch{
		X:      tensor.Mat{Rows: 4, Cols: 2, Stride: 2, Data: []float32{1, 9, -1, 9, 2, 9, 0, 9}},
		Labels: []int32{1, 0, 0, 0},
	}
	var w model.Workspace
	e := model.Evaluate(binary, tensor.Vec{1, 0}, b, &w)
	want := (2*math.Log1p(math.Exp(-1)) + math.Log1p(math.Exp(2)) + math.Ln2) / 4
	if e.Samples != 4 || e.Correct != 3 || e.Accuracy() != 0.75 || math.Abs(e.Loss-want) > 1e-6 {
		t.Errorf("%+v, want 3 of 4 correct and loss %v", e, want)
	}
	for _, k := range []task{tasks[2], tasks[3]} { // another implementation of Model takes the general way
		m, batch := k.build(t), k.batch(70, 1)
		theta := start(m, 1)
		got := model.Evaluate(wrapped{m}, theta, batch, &w)
		if fast := model.Evaluate(m, theta, batch, &w); got != fast {
			t.Errorf("%s: %+v through the interface, %+v directly", k.name, got, fast)
		}
	}
}

// wrapped hides the concrete type of a model.
type wrapped struct{ model.Model }
