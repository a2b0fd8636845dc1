package model_test

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"sotto/config"
	"sotto/model"
)

// Listed layers in float64, by their definitions.

// picture is what one layer hands to the next: height x width x channels.
type picture struct {
	h, w, c int
	v       []float64
}

func (p picture) at(i, j, ch int) float64 {
	if i < 0 || j < 0 || i >= p.h || j >= p.w {
		return 0 // padding
	}
	return p.v[(i*p.w+j)*p.c+ch]
}

// spec is one layer of a list.
type spec = map[string]any

func number(s spec, key string, otherwise int) int {
	if v, ok := s[key]; ok {
		return v.(int)
	}
	return otherwise
}

func real64(s spec, key string, otherwise float64) float64 {
	if v, ok := s[key]; ok {
		return v.(float64)
	}
	return otherwise
}

func yes(s spec, key string, otherwise bool) bool {
	if v, ok := s[key]; ok {
		return v.(bool)
	}
	return otherwise
}

var referenceActivations = map[string]func(float64) float64{
	"relu": refReLU, "tanh": math.Tanh, "mish": refMish,
	"sigmoid": func(x float64) float64 { return 1 / (1 + math.Exp(-x)) },
	"gelu": func(x float64) float64 {
		return 0.5 * x * (1 + math.Tanh(math.Sqrt(2/math.Pi)*(x+0.044715*x*x*x)))
	},
}

// list runs layers one after the other.
func (r *reader) list(x picture, layers []spec) picture {
	for _, s := range layers {
		x = r.layer(x, s)
	}
	return x
}

func (r *reader) layer(x picture, s spec) picture {
	kind := s["kind"].(string)
	if f, ok := referenceActivations[kind]; ok {
		x.v = apply(x.v, f)
		return x
	}
	switch kind {
	case "leaky-relu":
		slope := real64(s, "slope", 0.01)
		x.v = apply(x.v, func(v float64) float64 { return math.Max(v, 0) + slope*math.Min(v, 0) })
		return x
	case "flatten":
		return picture{1, 1, len(x.v), x.v}
	case "linear":
		units, bias := number(s, "units", 0), yes(s, "bias", true)
		if yes(s, "position", false) {
			return r.convolution(x, units, 1, 1, 0, bias, false)
		}
		return picture{1, 1, units, r.linear(x.v, units, bias)}
	case "conv2d", "ws-conv2d":
		return r.convolution(x, number(s, "filters", 0), number(s, "kernel", 0), number(s, "stride", 1),
			number(s, "padding", 0), yes(s, "bias", true), kind == "ws-conv2d")
	case "groupnorm":
		return r.normalize(x, number(s, "groups", 0), false)
	case "layernorm":
		return r.normalize(x, 1, true)
	case "maxpool", "avgpool":
		k := number(s, "kernel", 0)
		st := number(s, "stride", k)
		y := picture{(x.h-k)/st + 1, (x.w-k)/st + 1, x.c, nil}
		for i := range y.h {
			for j := range y.w {
				y.v = append(y.v, pool(x, kind == "maxpool", i*st, i*st+k, j*st, j*st+k)...)
			}
		}
		return y
	case "adaptive-maxpool", "adaptive-avgpool":
		n := number(s, "size", 1)
		y := picture{n, n, x.c, nil}
		bound := func(i, side int) (int, int) {
			return int(math.Floor(float64(i*side) / float64(n))),
				int(math.Ceil(float64((i+1)*side) / float64(n)))
		}
		for i := range n {
			for j := range n {
				top, bottom := bound(i, x.h)
				left, right := bound(j, x.w)
				y.v = append(y.v, pool(x, kind == "adaptive-maxpool", top, bottom, left, right)...)
			}
		}
		return y
	case "residual":
		y := r.list(x, s["layers"].([]spec))
		switch p, ok := s["projection"].([]spec); {
		case ok:
			x = r.list(x, p)
		case y.h != x.h || y.w != x.w || y.c != x.c:
			x = r.convolution(x, y.c, 1, (x.h+y.h-1)/y.h, 0, false, false)
		}
		sum := picture{y.h, y.w, y.c, make([]float64, len(y.v))}
		for i := range sum.v {
			sum.v[i] = x.v[i] + y.v[i]
		}
		return sum
	}
	panic(kind)
}

func (r *reader) convolution(x picture, filters, k, stride, padding int, bias, standard bool) picture {
	w := append([]float64(nil), r.take(k*k*x.c*filters)...)
	if standard {
		n := float64(k * k * x.c)
		mean, variance := make([]float64, filters), make([]float64, filters)
		for row := range slices.Chunk(w, filters) {
			for f, v := range row {
				mean[f] += v / n
			}
		}
		for row := range slices.Chunk(w, filters) {
			for f, v := range row {
				variance[f] += (v - mean[f]) * (v - mean[f]) / n
			}
		}
		for f, v := range variance {
			variance[f] = math.Sqrt(v + 1e-5)
		}
		for row := range slices.Chunk(w, filters) {
			for f, v := range row {
				row[f] = (v - mean[f]) / variance[f]
			}
		}
	}
	b := make([]float64, filters)
	if bias {
		b = r.take(filters)
	}
	y := picture{(x.h+2*padding-k)/stride + 1, (x.w+2*padding-k)/stride + 1, filters, nil}
	for i := range y.h {
		for j := range y.w {
			sums := append([]float64(nil), b...)
			for di := range k {
				for dj := range k {
					for ch := range x.c {
						v := x.at(i*stride+di-padding, j*stride+dj-padding, ch)
						if v == 0 { // padding, which is most of a small image
							continue
						}
						for f, u := range w[((di*k+dj)*x.c+ch)*filters:][:filters] {
							sums[f] += v * u
						}
					}
				}
			}
			y.v = append(y.v, sums...)
		}
	}
	return y
}

// normalize takes groups of channels over all positions, or over one position at a time.
func (r *reader) normalize(x picture, groups int, alone bool) picture {
	scale, shift := r.take(x.c), r.take(x.c)
	y := picture{x.h, x.w, x.c, make([]float64, len(x.v))}
	// unit numbers the elements that are normalised together.
	unit := func(i int) int {
		group := i % x.c / (x.c / groups)
		if alone {
			group += i / x.c * groups
		}
		return group
	}
	n, mean, variance := map[int]float64{}, map[int]float64{}, map[int]float64{}
	for i, v := range x.v {
		n[unit(i)]++
		mean[unit(i)] += v
	}
	for i, v := range x.v {
		d := v - mean[unit(i)]/n[unit(i)]
		variance[unit(i)] += d * d
	}
	for i, v := range x.v {
		u := unit(i)
		y.v[i] = (v-mean[u]/n[u])/math.Sqrt(variance[u]/n[u]+1e-5)*scale[i%x.c] + shift[i%x.c]
	}
	return y
}

// pool reduces one region of every channel.
func pool(x picture, largest bool, top, bottom, left, right int) []float64 {
	y := make([]float64, x.c)
	for ch := range y {
		var sum, n float64
		top1 := math.Inf(-1)
		for i := top; i < bottom; i++ {
			for j := left; j < right; j++ {
				sum, n, top1 = sum+x.at(i, j, ch), n+1, math.Max(top1, x.at(i, j, ch))
			}
		}
		if y[ch] = sum / n; largest {
			y[ch] = top1
		}
	}
	return y
}

// referenceLosses are the losses of one output z by the target t; of a class, t is +1 or
// -1.
var referenceLosses = map[string]func(z, t, delta float64) float64{
	"logistic": func(z, t, _ float64) float64 { return math.Log1p(math.Exp(-t * z)) },
	"hinge":    func(z, t, _ float64) float64 { return math.Max(0, 1-t*z) },
	"squared":  func(z, t, _ float64) float64 { return (z - t) * (z - t) },
	"huber": func(z, t, delta float64) float64 {
		if r := math.Abs(z - t); r > delta {
			return delta * (r - delta/2)
		}
		return (z - t) * (z - t) / 2
	},
}

func image(h, w, c, classes int) model.Shape {
	return model.Shape{Height: h, Width: w, Channels: c, Classes: classes}
}

// listed is a task of layers that end in a linear one.
func listed(name string, s model.Shape, layers ...spec) task {
	return task{
		name:  name,
		kind:  "layers",
		shape: s,
		params: model.LayersParams{Layers: append(layers, spec{"kind": "linear", "units": max(s.Classes, 1)}),
			Delta: 1},
	}
}

func withLoss(k task, loss string, delta float64, units int) task {
	p := k.params.(model.LayersParams)
	p.Loss, p.Delta = loss, delta
	p.Layers[len(p.Layers)-1]["units"] = units
	k.params = p
	return k
}

var conv3 = spec{"kind": "conv2d", "filters": 4, "kernel": 3}

// layerTasks has one line or more for every kind of layer and loss.
var layerTasks = []task{
	listed("linear", image(1, 5, 1, 3), spec{"kind": "linear", "units": 4, "bias": false},
		spec{"kind": "tanh"}),
	listed("linear-linear", image(1, 5, 1, 3), spec{"kind": "linear", "units": 4},
		spec{"kind": "linear", "units": 3}, spec{"kind": "linear", "units": 6}),
	listed("linear-position", image(3, 2, 4, 3), spec{"kind": "linear", "units": 3, "position": true},
		spec{"kind": "sigmoid"}, spec{"kind": "linear", "units": 5, "position": true, "bias": false}),
	listed("conv2d", image(5, 6, 2, 3), conv3, spec{"kind": "mish"},
		spec{"kind": "conv2d", "filters": 3, "kernel": 2}),
	listed("conv2d-padding", image(4, 5, 3, 2),
		spec{"kind": "conv2d", "filters": 5, "kernel": 3, "padding": 1, "bias": false}, spec{"kind": "gelu"},
		spec{"kind": "conv2d", "filters": 3, "kernel": 3, "padding": 2}),
	listed("conv2d-stride", image(7, 6, 2, 2),
		spec{"kind": "conv2d", "filters": 4, "kernel": 4, "stride": 2, "padding": 3},
		spec{"kind": "leaky-relu", "slope": 0.2},
		spec{"kind": "conv2d", "filters": 3, "kernel": 2, "stride": 2}, spec{"kind": "tanh"},
		spec{"kind": "conv2d", "filters": 2, "kernel": 1, "stride": 2}),
	listed("conv2d-positions", image(18, 17, 1, 2),
		spec{"kind": "conv2d", "filters": 2, "kernel": 3, "padding": 1}, spec{"kind": "tanh"},
		spec{"kind": "conv2d", "filters": 2, "kernel": 2}, spec{"kind": "avgpool", "kernel": 5}),
	listed("conv2d-ghost", image(3, 3, 6, 2), spec{"kind": "conv2d", "filters": 24, "kernel": 2},
		spec{"kind": "tanh"}, spec{"kind": "conv2d", "filters": 30, "kernel": 2}, spec{"kind": "tanh"}),
	listed("conv2d-slices", image(2, 2, 200, 2),
		spec{"kind": "conv2d", "filters": 3, "kernel": 2, "padding": 1}, spec{"kind": "tanh"}),
	listed("ws-conv2d", image(5, 4, 2, 2), spec{"kind": "ws-conv2d", "filters": 3, "kernel": 3, "padding": 1},
		spec{"kind": "tanh"}, spec{
			"kind":    "ws-conv2d",
			"filters": 2,
			"kernel":  2,
			"stride":  2,
			"bias":    false,
		}),
	listed("groupnorm", image(5, 5, 2, 2), conv3, spec{"kind": "groupnorm", "groups": 2},
		spec{"kind": "relu"}),
	listed("groupnorm-wide", image(2, 2, 2, 2),
		spec{"kind": "conv2d", "filters": 12, "kernel": 2, "padding": 1},
		spec{"kind": "groupnorm", "groups": 3}, spec{"kind": "tanh"}, spec{"kind": "groupnorm", "groups": 1}),
	listed("layernorm", image(3, 3, 2, 2), spec{"kind": "conv2d", "filters": 9, "kernel": 2},
		spec{"kind": "layernorm"}, spec{"kind": "tanh"}, spec{"kind": "flatten"}, spec{"kind": "layernorm"}),
	listed("maxpool", image(6, 5, 2, 3), spec{"kind": "conv2d", "filters": 9, "kernel": 2},
		spec{"kind": "maxpool", "kernel": 2, "stride": 1}, spec{"kind": "tanh"},
		spec{"kind": "maxpool", "kernel": 2}),
	listed("avgpool", image(6, 5, 2, 2), conv3, spec{"kind": "avgpool", "kernel": 2, "stride": 1},
		spec{"kind": "tanh"}, spec{"kind": "avgpool", "kernel": 2}),
	listed("adaptive-maxpool", image(5, 6, 2, 2), conv3, spec{"kind": "adaptive-maxpool", "size": 2},
		spec{"kind": "tanh"}, spec{"kind": "adaptive-maxpool"}),
	listed("adaptive-avgpool", image(5, 6, 2, 2), conv3, spec{"kind": "adaptive-avgpool", "size": 2},
		spec{"kind": "tanh"}, spec{"kind": "adaptive-avgpool"}),
	listed("residual", image(4, 4, 3, 2), conv3,
		spec{"kind": "residual", "layers": []spec{{"kind": "tanh"},
			{"kind": "conv2d", "filters": 4, "kernel": 3, "padding": 1}}}, spec{"kind": "tanh"}),
	listed("residual-first", image(4, 4, 2, 2),
		spec{"kind": "residual",
			"layers": []spec{{"kind": "conv2d", "filters": 3, "kernel": 2, "stride": 2}}}, spec{
			"kind": "mish"}),
	listed("residual-projection", image(5, 5, 2, 2), conv3, spec{"kind": "residual",
		"layers": []spec{{"kind": "conv2d", "filters": 3, "kernel": 3, "stride": 2, "padding": 1},
			{"kind": "tanh"}},
		"projection": []spec{{"kind": "conv2d", "filters": 3, "kernel": 1, "stride": 2},
			{"kind": "groupnorm", "groups": 1}}}),
	listed("residual-nested", image(3, 3, 2, 2), conv3, spec{"kind": "residual",
		"layers": []spec{{"kind": "residual",
			"layers": []spec{{"kind": "tanh"}, {"kind": "linear", "units": 4, "position": true}}}, {
			"kind": "sigmoid"}},
		"projection": []spec{{"kind": "residual",
			"layers": []spec{{"kind": "linear", "units": 4, "position": true}, {"kind": "mish"}}}}}),
	withLoss(listed("loss-logistic", image(1, 4, 1, 2)), "logistic", 1, 1),
	withLoss(listed("loss-hinge", image(1, 4, 1, 2)), "hinge", 1, 1),
	withLoss(listed("loss-huber", image(1, 4, 1, 0)), "huber", 0.3, 1),
	withLoss(listed("loss-squared", image(1, 4, 1, 0)), "squared", 1, 1),
	{name: "cnn-small", kind: "cnn", shape: image(19, 19, 1, 3), params: model.CNNParams{Activation: "tanh"}},
}

// Every kind of layer that a run file may list is among the tasks that gradients and
// their norms are checked on.
func TestLayersHaveTasks(t *testing.T) {
	_, err := model.New("layers", image(1, 2, 1, 2), func(p any) error {
		p.(*model.LayersParams).Layers = []map[string]any{{"kind": "?"}}
		return nil
	})
	var bad *config.Error
	if !errors.As(err, &bad) {
		t.Fatalf("no layer of this name: %v", err)
	}
	all := fmt.Sprintf("%+v", layerTasks)
	kinds := strings.Split(strings.TrimPrefix(bad.Allowed, "one of "), ", ")
	for _, kind := range kinds {
		if kind == "batchnorm" { // named to say why it is refused: it mixes records
			continue
		}
		if !strings.Contains(all, "kind:"+kind+" ") && !strings.Contains(all, "kind:"+kind+"]") {
			t.Errorf("no task has a layer %s", kind)
		}
	}
	if len(kinds) < 18 {
		t.Errorf("%d kinds of layers", len(kinds))
	}
}
