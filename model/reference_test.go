package model_test

import (
	"math"
	"slices"
	"testing"

	"sotto/model"
	"sotto/model/modeltest"
	"sotto/tensor"
)

// The models again, in float64 and by their definitions: one sample at a time, no fusing,
// no shortcuts. Every derivative below is a central difference of these functions.

// reader hands out parameters in the order of a model's vector.
type reader struct{ theta []float64 }

func (r *reader) take(n int) []float64 {
	s := r.theta[:n]
	r.theta = r.theta[n:]
	return s
}

func (r *reader) linear(x []float64, out int, bias bool) []float64 {
	w, y := r.take(len(x)*out), make([]float64, out)
	for i, v := range x {
		for j := range y {
			y[j] += v * w[i*out+j]
		}
	}
	if bias {
		for j, b := range r.take(out) {
			y[j] += b
		}
	}
	return y
}

func apply(x []float64, f func(float64) float64) []float64 {
	y := make([]float64, len(x))
	for i, v := range x {
		y[i] = f(v)
	}
	return y
}

func refMish(x float64) float64 { return x * math.Tanh(math.Log1p(math.Exp(x))) }
func refReLU(x float64) float64 { return math.Max(x, 0) }

// conv is a valid 5x5 convolution to 3 channels of a height x width x channel image.
func (r *reader) conv(x []float64, s model.Shape) (y []float64, height, width int) {
	w, b := r.take(75*s.Channels), r.take(3)
	height, width = s.Height-4, s.Width-4
	y = make([]float64, height*width*3)
	for i := range height {
		for j := range width {
			for f := range 3 {
				sum := b[f]
				for c := range s.Channels {
					for di := range 5 {
						for dj := range 5 {
							sum += x[((i+di)*s.Width+j+dj)*s.Channels+c] * w[((c*5+di)*5+dj)*3+f]
						}
					}
				}
				y[(i*width+j)*3+f] = sum
			}
		}
	}
	return y, height, width
}

func maxPool(x []float64, height, width int) []float64 {
	var y []float64
	for i := 0; i+1 < height; i += 2 {
		for j := 0; j+1 < width; j += 2 {
			for f := range 3 {
				at := func(i, j int) float64 { return x[(i*width+j)*3+f] }
				y = append(y, max(at(i, j), at(i, j+1), at(i+1, j), at(i+1, j+1)))
			}
		}
	}
	return y
}

// outputs is the reference's forward pass.
func (k task) outputs(theta, x []float64) []float64 {
	r := &reader{theta}
	outs := max(k.shape.Classes, 1)
	switch k.kind {
	case "mean":
		return theta
	case "logistic", "least-squares":
		p, _ := k.params.(model.LinearParams)
		if outs == 2 {
			outs = 1
		}
		return r.linear(x, outs, p.Intercept)
	case "poisson":
		p, _ := k.params.(model.PoissonParams)
		return apply(r.linear(x, outs, p.Intercept), math.Exp)
	case "mlp":
		p, ok := k.params.(model.MLPParams)
		if !ok {
			p = model.MLPParams{Hidden: []int{64}, Activation: "relu"}
		}
		f := map[string]func(float64) float64{"relu": refReLU, "tanh": math.Tanh,
			"mish": refMish}[p.Activation]
		for _, h := range p.Hidden {
			x = apply(r.linear(x, h, true), f)
		}
		return r.linear(x, outs, true)
	}
	switch p := k.params.(type) {
	case model.AutoencoderParams:
		f := map[string]func(float64) float64{"relu": refReLU, "tanh": math.Tanh,
			"mish": refMish}[p.Activation]
		code, features := len(p.Hidden)-1, len(x)
		for i, h := range p.Hidden {
			if x = r.linear(x, h, true); i != code {
				x = apply(x, f)
			}
		}
		for i := code - 1; i >= 0; i-- {
			x = apply(r.linear(x, p.Hidden[i], true), f)
		}
		return r.linear(x, features, true)
	case model.LayersParams:
		return r.list(picture{k.shape.Height, k.shape.Width, k.shape.Channels, x}, p.Layers).v
	case model.CNNParams:
		act := spec{"kind": p.Activation}
		return r.list(picture{k.shape.Height, k.shape.Width, k.shape.Channels, x}, []spec{
			{"kind": "conv2d", "filters": 16, "kernel": 8, "stride": 2, "padding": 3}, act,
			{"kind": "maxpool", "kernel": 2, "stride": 1},
			{"kind": "conv2d", "filters": 32, "kernel": 4, "stride": 2}, act,
			{"kind": "maxpool", "kernel": 2, "stride": 1},
			{"kind": "linear", "units": 32}, act, {"kind": "linear", "units": outs},
		}).v
	}
	y, height, width := r.conv(x, k.shape)
	x = maxPool(apply(y, refMish), height, width)
	return r.linear(apply(r.linear(x, 64, true), refMish), outs, true)
}

// value is the reference's loss of sample i.
func (k task) value(theta []float64, b *model.Batch, i int) float64 {
	z := k.outputs(theta, widen(b.X.Row(i)))
	if k.kind == "mean" {
		sum := 0.
		for j, x := range b.X.Row(i) {
			sum += math.Pow(theta[j]-float64(x), 2) / 2
		}
		return sum
	}
	if k.kind == "poisson" { // scores are below ln 10
		y := math.Min(math.Max(float64(b.Targets[i]), 0), 10)
		return z[0] - y*math.Log(z[0]) + y*math.Log(math.Max(y, 1e-300)) - y
	}
	if k.kind == "autoencoder" {
		sum := 0.
		for j, x := range b.X.Row(i) {
			sum += math.Pow(z[j]-float64(x), 2) / float64(len(z))
		}
		return sum
	}
	if p, ok := k.params.(model.LayersParams); ok && p.Loss != "" {
		if b.Targets != nil {
			return referenceLosses[p.Loss](z[0], float64(b.Targets[i]), p.Delta)
		}
		return referenceLosses[p.Loss](z[0], 2*float64(b.Labels[i])-1, p.Delta)
	}
	switch {
	case b.Targets != nil:
		return math.Pow(z[0]-float64(b.Targets[i]), 2)
	case len(z) == 1:
		y := 2*float64(b.Labels[i]) - 1
		return math.Log1p(math.Exp(-y * z[0]))
	}
	var sum float64
	for _, v := range z {
		sum += math.Exp(v)
	}
	return math.Log(sum) - z[b.Labels[i]]
}

func widen(x []float32) []float64 {
	y := make([]float64, len(x))
	for i, v := range x {
		y[i] = float64(v)
	}
	return y
}

var tasks = []task{
	{"logistic", "logistic", model.Shape{Height: 1, Width: 7, Channels: 1, Classes: 2}, nil, 7, false},
	{"logistic-intercept", "logistic", model.Shape{Height: 1, Width: 7, Channels: 1, Classes: 2},
		model.LinearParams{Intercept: true}, 8, false},
	{"multinomial", "logistic", model.Shape{Height: 1, Width: 6, Channels: 1, Classes: 5},
		model.LinearParams{Intercept: true}, 35, false},
	{"least-squares", "least-squares", model.Shape{Height: 1, Width: 9, Channels: 1}, nil, 9, false},
	{"least-squares-intercept", "least-squares", model.Shape{Height: 1, Width: 9, Channels: 1},
		model.LinearParams{Intercept: true}, 10, false},
	{"poisson-intercept", "poisson", model.Shape{Height: 1, Width: 8, Channels: 1},
		model.PoissonParams{LinearParams: model.LinearParams{Intercept: true}, Largest: 10}, 9, false},
	{"mlp-relu", "mlp", model.Shape{Height: 3, Width: 4, Channels: 1, Classes: 3},
		model.MLPParams{Hidden: []int{9}, Activation: "relu"}, 147, false},
	{"mlp-tanh-deep", "mlp", model.Shape{Height: 1, Width: 5, Channels: 1, Classes: 2},
		model.MLPParams{Hidden: []int{6, 7}, Activation: "tanh"}, 101, false},
	{"mlp-mish-regression", "mlp", model.Shape{Height: 1, Width: 5, Channels: 2},
		model.MLPParams{Hidden: []int{11}, Activation: "mish"}, 133, false},
	{"mlp-no-hidden", "mlp", model.Shape{Height: 1, Width: 4, Channels: 1, Classes: 4},
		model.MLPParams{Activation: "relu"}, 20, false},
	{"autoencoder", "autoencoder", model.Shape{Height: 3, Width: 4, Channels: 1, Classes: 3},
		model.AutoencoderParams{Hidden: []int{7, 2}, Activation: "tanh"}, 91 + 16 + 21 + 96, false},
	{"autoencoder-relu", "autoencoder", model.Shape{Height: 2, Width: 3, Channels: 2},
		model.AutoencoderParams{Hidden: []int{9, 8, 3}, Activation: "relu"}, 117 + 80 + 27 + 32 + 81 + 120,
		false},
	{"autoencoder-linear", "autoencoder", model.Shape{Height: 1, Width: 10, Channels: 1, Classes: 2},
		model.AutoencoderParams{Hidden: []int{4}, Activation: "mish"}, 44 + 50, false},
	{"mean", "mean", model.Shape{Height: 1, Width: 6, Channels: 2}, nil, 12, false},
	{"convnet-small", "convnet", model.Shape{Height: 8, Width: 9, Channels: 1, Classes: 4}, nil,
		78 + 12*64 + 64 + 260, false},
	{"convnet-color", "convnet", model.Shape{Height: 9, Width: 8, Channels: 3, Classes: 3}, nil,
		228 + 12*64 + 64 + 195, false},
	{"convnet-low", "convnet", model.Shape{Height: 8, Width: 8, Channels: 1, Classes: 3}, nil,
		78 + 12*64 + 64 + 195, true},
	{"convnet-regression", "convnet", model.Shape{Height: 6, Width: 6, Channels: 2}, nil,
		153 + 3*64 + 64 + 65, false},
}

func TestForwardAgainstReference(t *testing.T) {
	for _, k := range slices.Concat([]task{mlp64, convnet}, tasks, layerTasks) {
		m, batch := k.build(t), k.batch(35, 5)
		theta := k.start(m, 6)
		var w model.Workspace
		z := tensor.NewMat(batch.Len(), m.Outputs())
		m.Predict(z, theta, batch.X, &w)
		var loss float64
		for i := range batch.Len() {
			want := k.outputs(widen(theta), widen(batch.X.Row(i)))
			for j, v := range z.Row(i) {
				if math.Abs(float64(v)-want[j]) > 3e-6 {
					t.Fatalf("%s: sample %d output %d: %v, want %v", k.name, i, j, v, want[j])
				}
			}
			loss += k.value(widen(theta), batch, i) / float64(batch.Len())
		}
		if got := m.Loss(theta, batch, &w); math.Abs(got-loss) > 1e-6*(1+loss) {
			t.Errorf("%s: loss %v, want %v", k.name, got, loss)
		}
	}
}

// tolerance is what float32 may err by in a gradient: more where there are many layers.
func (k task) tolerance() float64 {
	if k.kind == "layers" {
		return 1e-5
	}
	return 2e-6
}

// compareGradient checks the given coordinates of each sample's gradient, and of their
// sum, with central differences in float64.
func compareGradient(t *testing.T, k task, samples int, coordinates []int) {
	m, batch := k.build(t), k.batch(samples, 7)
	theta := k.start(m, 8)
	if k.kind == "least-squares" {
		theta.Scale(5, theta)
	}
	var w model.Workspace
	total := make(tensor.Vec, m.Dim())
	m.ClippedGradientSum(total, theta, batch, math.Inf(1), &w)
	sums := make([]float64, len(coordinates))
	wide := widen(theta)
	for i := range samples {
		g := make(tensor.Vec, m.Dim())
		m.ClippedGradientSum(g, theta, modeltest.Take(batch, i), math.Inf(1), &w)
		for n, j := range coordinates {
			const h = 1e-5
			at := wide[j]
			wide[j] = at + h
			up := k.value(wide, batch, i)
			wide[j] = at - h
			down := k.value(wide, batch, i)
			wide[j] = at
			want := (up - down) / (2 * h)
			sums[n] += want
			if got := float64(g[j]); math.Abs(got-want) > k.tolerance()*(1+math.Abs(want)) {
				t.Fatalf("%s: sample %d, parameter %d: gradient %v, difference quotient %v", k.name, i, j,
					got, want)
			}
		}
	}
	for n, j := range coordinates {
		if got := float64(total[j]); math.Abs(got-sums[n]) >
			float64(samples)*2*k.tolerance()*(1+math.Abs(sums[n])) {
			t.Fatalf("%s: parameter %d: gradient of the batch %v, difference quotients %v", k.name, j, got,
				sums[n])
		}
	}
}

func TestGradientOfEveryParameter(t *testing.T) {
	for _, k := range slices.Concat(tasks, layerTasks) {
		t.Run(k.name, func(t *testing.T) {
			t.Parallel()
			every, dim := 1, k.build(t).Dim()
			if k.kind == "cnn" || k.name == "conv2d-slices" {
				every = 37 // the reference is slow
			}
			var coordinates []int
			for j := 0; j < dim; j += every {
				coordinates = append(coordinates, j)
			}
			compareGradient(t, k, 3, append(coordinates, dim-1))
		})
	}
}

// TestGradientOfTheFullConvNet takes all of the convolution, and every 331st of the other
// parameters.
func TestGradientOfTheFullConvNet(t *testing.T) {
	coordinates := indexes(0, 78)
	for j := 78; j < convnet.dim; j += 331 {
		coordinates = append(coordinates, j)
	}
	compareGradient(t, convnet, 2, append(coordinates, indexes(convnet.dim-20, convnet.dim)...))
}

func indexes(lo, hi int) []int {
	var s []int
	for j := lo; j < hi; j++ {
		s = append(s, j)
	}
	return slices.Clip(s)
}
