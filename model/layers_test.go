package model_test

import (
	"errors"
	"math"
	"slices"
	"strings"
	"testing"

	"sotto/config"
	"sotto/model"
	"sotto/model/modeltest"
	"sotto/tensor"
)

// TestLayerErrors: what cannot be built names the layer by index and kind, the key, and
// what is allowed.
func TestLayerErrors(t *testing.T) {
	shape := image(8, 8, 4, 3)
	end := spec{"kind": "linear", "units": 3}
	for _, c := range []struct {
		key, allowed string
		layers       []spec
	}{
		{"layers[0].kind", "one of", []spec{{"kind": "conv3d"}}},
		{"layers[1].kind", "one of", []spec{end, {"units": 3}}},
		{"layers[0] (conv2d).filter", "kind, bias, filters, kernel, padding, stride",
			[]spec{{"kind": "conv2d", "filter": 3}}},
		{"layers[0] (conv2d).filters", "1 or more", []spec{{"kind": "conv2d", "kernel": 3}}},
		{"layers[0] (conv2d).filters", "whole", []spec{{"kind": "conv2d", "filters": 2.5, "kernel": 3}}},
		{"layers[0] (conv2d).filters", "16777216",
			[]spec{{"kind": "conv2d", "filters": 1 << 30, "kernel": 3}}},
		{"layers[0] (conv2d).bias", "true or false",
			[]spec{{"kind": "conv2d", "filters": 2, "kernel": 3, "bias": 1}}},
		{"layers[0] (conv2d).kernel", "1 to", []spec{{"kind": "conv2d", "filters": 2}}},
		{"layers[0] (conv2d).kernel", "8x8x4", []spec{{"kind": "conv2d", "filters": 2, "kernel": 9}}},
		{"layers[0] (conv2d).stride", "1 to",
			[]spec{{"kind": "conv2d", "filters": 2, "kernel": 2, "stride": -1}}},
		{"layers[0] (conv2d).padding", "less than the kernel",
			[]spec{{"kind": "conv2d", "filters": 2, "kernel": 2, "padding": 2}}},
		{"layers[0] (conv2d).padding", "less than the kernel",
			[]spec{{"kind": "conv2d", "filters": 2, "kernel": 2, "padding": -1}}},
		{"layers[1] (ws-conv2d).kernel", "variance",
			[]spec{{"kind": "linear", "units": 1}, {"kind": "ws-conv2d", "filters": 2, "kernel": 1}}},
		{"layers[0] (groupnorm).groups", "a divisor of the 4 channels",
			[]spec{{"kind": "groupnorm", "groups": 3}}},
		{"layers[1] (groupnorm).groups", "variance",
			[]spec{{"kind": "adaptive-maxpool"}, {"kind": "groupnorm", "groups": 4}}},
		{"layers[1] (layernorm).kind", "2 channels",
			[]spec{{"kind": "linear", "units": 1}, {"kind": "layernorm"}}},
		{"layers[0] (batchnorm).kind", "mixes the samples", []spec{{"kind": "batchnorm"}}},
		{"layers[0] (maxpool).kernel", "1 to", []spec{{"kind": "maxpool"}}},
		{"layers[0] (avgpool).size", "kind, kernel, stride", []spec{{"kind": "avgpool", "size": 2}}},
		{"layers[0] (adaptive-maxpool).size", "1 to the sides",
			[]spec{{"kind": "adaptive-maxpool", "size": 9}}},
		{"layers[0] (relu).slope", "no keys but kind", []spec{{"kind": "relu", "slope": 0.1}}},
		{"layers[0] (leaky-relu).slope", "0 to 1", []spec{{"kind": "leaky-relu", "slope": 1.5}}},
		{"layers[0] (linear).units", "1 or more", []spec{{"kind": "linear"}}},
		{"layers[0] (residual).layers", "at least one", []spec{{"kind": "residual"}}},
		{"layers[0] (residual).layers[1] (conv2d).kernel", "1 to",
			[]spec{{"kind": "residual", "layers": []spec{{"kind": "relu"}, {"kind": "conv2d"}}}}},
		{"layers[0] (residual).projection", "4x4x4",
			[]spec{{"kind": "residual", "layers": []spec{{"kind": "maxpool", "kernel": 2}},
				"projection": []spec{{"kind": "relu"}}}}},
		{"layers", "1x1x3", []spec{{"kind": "linear", "units": 4}}},
		{"layers", "1x1x3", nil},
	} {
		_, err := model.New("layers", shape, decoder(model.LayersParams{Layers: c.layers, Delta: 1}))
		var bad *config.Error
		if !errors.As(err, &bad) || bad.Key != c.key || !strings.Contains(bad.Allowed, c.allowed) {
			t.Errorf("%v: %v, want an error for %s that allows %q", c.layers, err, c.key, c.allowed)
		}
	}
	deep := []spec{{"kind": "relu"}}
	for range 9 {
		deep = []spec{{"kind": "residual", "layers": deep}}
	}
	if _, err := model.New("layers", shape,
		decoder(model.LayersParams{Layers: append(deep, end), Delta: 1})); err == nil {
		t.Error("nine residual blocks in each other are accepted")
	}
}

// TestLargeNetworks: each layer is within its limit, all of them together are not.
func TestLargeNetworks(t *testing.T) {
	var layers []spec
	for range 20 {
		layers = append(layers, spec{"kind": "linear", "units": 4096})
	}
	p := model.LayersParams{Layers: append(layers, spec{"kind": "linear", "units": 2}), Delta: 1}
	_, err := model.New("layers", image(1, 4096, 1, 2), decoder(p))
	var bad *config.Error
	if !errors.As(err, &bad) || bad.Key != "layers" {
		t.Errorf("336 million parameters: error %v", err)
	}
}

// TestRecordsApart: a sample too large for Gram matrices is clipped as exactly as the
// others, and does not change them.
func TestRecordsApart(t *testing.T) {
	i := slices.IndexFunc(layerTasks, func(k task) bool { return k.name == "conv2d-ghost" })
	k := layerTasks[i]
	m := k.build(t)
	var w model.Workspace
	for _, large := range []float64{1e5, 1e9} {
		batch, theta := k.batch(5, 3), start(m, 4)
		batch.X.Row(2).Scale(large, batch.X.Row(2))
		want, got := make([]float64, m.Dim()), make(tensor.Vec, m.Dim())
		for s := range batch.Len() {
			g := make(tensor.Vec, m.Dim())
			m.ClippedGradientSum(g, theta, modeltest.Take(batch, s), math.Inf(1), &w)
			f := min(1, 1/g.Norm())
			for j, v := range g {
				want[j] += f * float64(v)
			}
		}
		if stats := m.ClippedGradientSum(got, theta, batch, 1, &w); stats.NonFinite != 0 {
			t.Fatalf("%+v, want finite gradients", stats)
		}
		var off float64
		for j, v := range got {
			off += math.Pow(float64(v)-want[j], 2)
		}
		if math.Sqrt(off) > 2e-3*5 {
			t.Errorf("scale %v: the sum is %v off one by one clipping", large, math.Sqrt(off))
		}
	}
}

func TestLossErrors(t *testing.T) {
	for _, c := range []struct {
		key, loss string
		delta     float64
		classes   int
	}{
		{"loss", "l1", 1, 2}, {"loss", "hinge", 1, 3}, {"loss", "logistic", 1, 0},
		{"loss", "cross-entropy", 1, 0},
		{"loss", "squared", 1, 2}, {"loss", "huber", 1, 2}, {"delta", "huber", 0, 0},
		{"delta", "huber", math.NaN(), 0},
	} {
		p := model.LayersParams{Layers: []spec{{"kind": "linear", "units": 1}}, Loss: c.loss, Delta: c.delta}
		_, err := model.New("layers", image(1, 4, 1, c.classes), decoder(p))
		var bad *config.Error
		if !errors.As(err, &bad) || bad.Key != c.key {
			t.Errorf("%+v: error %v, want one for %s", c, err, c.key)
		}
	}
}

// TestSmallImages: networks that an image is too small for refuse it.
func TestSmallImages(t *testing.T) {
	for name, side := range map[string]int{"cnn": 13, "dpresnet9": 7} {
		for _, c := range []struct {
			side int
			ok   bool
		}{{side, false}, {side + 9, true}} {
			_, err := model.New(name, image(c.side, c.side, 1, 3), nil)
			var bad *config.Error
			if (err == nil) != c.ok || err != nil && !errors.As(err, &bad) {
				t.Errorf("%s of side %d: error %v", name, c.side, err)
			}
		}
	}
}

// reference lists a network as its paper does.
func reference(k task) []spec {
	conv := func(filters, stride int, bias bool) spec {
		return spec{
			"kind":    "conv2d",
			"filters": filters,
			"kernel":  3,
			"stride":  stride,
			"padding": 1,
			"bias":    bias,
		}
	}
	var layers []spec
	if k.kind == "dpresnet9" {
		norm, act := spec{"kind": "groupnorm", "groups": 16}, spec{"kind": "leaky-relu", "slope": 0.1}
		layers = append(layers, conv(64, 1, true), norm, act)
		for _, c := range []int{128, 256, 512} {
			layers = append(layers, conv(c, 1, true), spec{"kind": "maxpool", "kernel": 2}, norm, act,
				spec{"kind": "residual",
					"layers": []spec{conv(c, 1, true), norm, act, conv(c, 1, true), norm, act}})
		}
		return append(layers, spec{"kind": "adaptive-maxpool"},
			spec{"kind": "linear", "units": k.shape.Classes})
	}
	norm, act := spec{"kind": "groupnorm", "groups": 32}, spec{"kind": "relu"}
	layers = append(layers, conv(64, 1, false), norm, act)
	for i, c := range []int{64, 64, 128, 128, 256, 256, 512, 512} {
		block := spec{"kind": "residual",
			"layers": []spec{conv(c, 1, false), norm, act, conv(c, 1, false), norm}}
		if i > 0 && i%2 == 0 {
			block["layers"].([]spec)[0]["stride"] = 2
			block["projection"] = []spec{{"kind": "conv2d", "filters": c, "kernel": 1, "stride": 2,
				"bias": false}, norm}
		}
		layers = append(layers, block, act)
	}
	return append(layers, spec{"kind": "adaptive-avgpool"}, spec{"kind": "linear", "units": k.shape.Classes})
}

// TestResidualNetworks compares the large networks, on small images, with the float64
// reference: outputs, and the gradient along random directions with central differences.
// Clipped sums are compared with one by one clipping.
func TestResidualNetworks(t *testing.T) {
	for _, k := range []task{{kind: "dpresnet9", shape: image(8, 8, 3, 5)},
		{kind: "resnet18", shape: image(8, 8, 3, 4)}} {
		t.Run(k.kind, func(t *testing.T) {
			t.Parallel()
			m, batch := k.build(t), k.batch(3, 3)
			theta := start(m, 4)
			p := model.LayersParams{Layers: reference(k), Delta: 1}
			listed := task{kind: "layers", shape: k.shape, params: p}
			if same := listed.build(t); same.Dim() != m.Dim() {
				t.Fatalf("%s: %d parameters, want %d", k.kind, m.Dim(), same.Dim())
			}
			var w model.Workspace
			z, wide := tensor.NewMat(3, m.Outputs()), widen(theta)
			m.Predict(z, theta, batch.X, &w)
			for j, want := range listed.outputs(wide, widen(batch.X.Row(0))) {
				if got := float64(z.Row(0)[j]); math.Abs(got-want) > 1e-4 {
					t.Errorf("%s: output %d is %v, want %v", k.kind, j, got, want)
				}
			}
			checkDirections(t, k.kind, listed, m, batch, theta, wide)
			checkAgainstSingles(t, k.kind, m, batch, theta)
		})
	}
}

// checkDirections takes directions in which every parameter moves by the same small
// amount.
func checkDirections(t *testing.T, name string, k task, m model.Model, batch *model.Batch, theta tensor.Vec,
	wide []float64) {
	var w model.Workspace
	g := make(tensor.Vec, m.Dim())
	m.ClippedGradientSum(g, theta, modeltest.Take(batch, 0), math.Inf(1), &w)
	r := modeltest.Source(9)
	moved := make([]float64, len(wide))
	for range 2 {
		const h = 1e-7
		direction := make([]int8, len(wide)) // there are eleven million
		var want float64
		for j := range direction {
			direction[j] = int8(r.Uint64()>>63)*2 - 1
			want += float64(direction[j]) * float64(g[j])
		}
		at := func(h float64) float64 {
			for j, v := range wide {
				moved[j] = v + h*float64(direction[j])
			}
			return k.value(moved, batch, 0)
		}
		if got := (at(h) - at(-h)) / (2 * h); math.Abs(got-want) > 1e-3*(1+math.Abs(want)) {
			t.Errorf("%s: difference quotient %v, gradient %v", name, got, want)
		}
	}
}

func checkAgainstSingles(t *testing.T, name string, m model.Model, batch *model.Batch, theta tensor.Vec) {
	var w model.Workspace
	want, got := make(tensor.Vec, m.Dim()), make(tensor.Vec, m.Dim())
	norms := make([]float64, batch.Len())
	for i := range norms {
		g := make(tensor.Vec, m.Dim())
		m.ClippedGradientSum(g, theta, modeltest.Take(batch, i), math.Inf(1), &w)
		norms[i] = g.Norm()
		want.AddScaled(min(1, 1/norms[i]), g)
		g.Zero()
		if m.ClippedGradientSum(g, theta, modeltest.Take(batch, i), 1, &w); !(g.Norm() <= 1) {
			t.Errorf("%s: norm %v after clipping to 1", name, g.Norm())
		}
	}
	m.ClippedGradientSum(got, theta, batch, 1, &w)
	got.AddScaled(-1, want)
	if got.Norm() > 2e-3*3 {
		t.Errorf("%s: the clipped sum is %v off one by one clipping; norms %v", name, got.Norm(), norms)
	}
}

// TestExplainCosts: forward multiply-adds of the published networks (spec: .455 G), and
// how norms are taken.
func TestExplainCosts(t *testing.T) {
	var work, gradient float64
	norms := map[string]int{}
	for _, l := range model.Explain(dpresnet9.build(t)) {
		work += l.MACs
		gradient += l.GradientMACs
		norms[l.Name+" "+l.Norm]++
	}
	if math.Abs(work/1e9-0.455) > 5e-4 || math.Abs(2*(work+gradient)/1e9-2.73) > 0.01 {
		t.Errorf("dpresnet9: %v multiply-adds forward, %v in all", work, work+gradient)
	}
	// The five convolutions at 8x8 and 4x4 positions have Gram matrices smaller than
	// their weights.
	for name, want := range map[string]int{"conv2d ghost": 5, "conv2d instantiated": 5,
		"linear closed form": 1, "groupnorm instantiated": 10, "leaky-relu ": 10} {
		if norms[name] != want {
			t.Errorf("dpresnet9: %d layers %q, want %d (%v)", norms[name], name, want, norms)
		}
	}
}
