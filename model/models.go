package model

import (
	"math"

	"sotto/config"
)

// Shape is what data and model must agree on. A table of p features has Height 1, Width
// p, Channels 1.
type Shape struct {
	Height, Width, Channels int
	Classes                 int // 0: regression, one target
	// Numbers are the features that may have any value, with their public ranges, as
	// FormatNumbers writes them; all others are 0 or 1. Model additive reads it.
	Numbers string
}

// Features returns the number of elements of one sample.
func (s Shape) Features() int { return s.Height * s.Width * s.Channels }

// maxFeatures bounds a sample and a layer, so that no product of sizes overflows.
const maxFeatures = 1 << 24

// Models are the constructors by name. decode fills the fields of the struct it is given
// from the caller's parameters and refuses unknown keys; nil leaves the defaults.
var Models = map[string]func(decode func(params any) error, s Shape) (Model, error){
	"logistic":      newLogistic,
	"least-squares": newLeastSquares,
	"huber":         newHuber,
	"poisson":       newPoisson,
	"additive":      newAdditive,
	"mlp":           newMLP,
	"autoencoder":   newAutoencoder,
	"mean":          newMean,
	"convnet":       newConvNet,
	"cnn":           newCNN,
	"dpresnet9":     newDPResNet9,
	"resnet18":      newResNet18,
	"layers":        newLayers,
}

// LinearNames are the models whose scores are linear in the sample itself. Those of
// additive are linear in what it makes of the sample: see TableOf.
var LinearNames = map[string]bool{"logistic": true, "least-squares": true, "huber": true, "poisson": true}

// New builds the named model for samples of the given shape. A name, shape or parameter
// that cannot be used gives a config.Error.
func New(name string, s Shape, decode func(params any) error) (Model, error) {
	build, ok := Models[name]
	if !ok {
		return nil, config.Bad("name", name, config.OneOf(Models))
	}
	for _, side := range []struct {
		key   string
		value int
	}{{"height", s.Height}, {"width", s.Width}, {"channels", s.Channels}} {
		if side.value < 1 || side.value > maxFeatures {
			return nil, config.Bad(side.key, side.value, "1 to 16777216")
		}
	}
	if s.Height > maxFeatures/s.Width || s.Height*s.Width > maxFeatures/s.Channels {
		return nil, config.Bad("height x width x channels", s, "at most 16777216 elements")
	}
	if s.Classes < 0 || s.Classes == 1 || s.Classes > maxFeatures {
		return nil, config.Bad("classes", s.Classes, "0 (regression) or 2 to 16777216")
	}
	if decode == nil {
		decode = func(any) error { return nil }
	}
	return build(decode, s)
}

// LinearParams are the parameters of "logistic" and "least-squares".
type LinearParams struct {
	Intercept bool `toml:"intercept"` // adds a constant to the weights
}

// newLogistic builds "logistic": with two classes one logit and ln(1+e^{-y(x·theta)}),
// label 1 being y = +1 and label 0 y = -1; with more classes one logit each and
// cross-entropy.
func newLogistic(decode func(params any) error, s Shape) (Model, error) {
	var p LinearParams
	if err := decode(&p); err != nil {
		return nil, err
	}
	switch {
	case s.Classes < 2:
		return nil, config.Bad("classes", s.Classes, "2 or more for logistic")
	case s.Classes == 2:
		n := compose(logistic, false, linear{s.Features(), 1, p.Intercept})
		n.total = logisticTotal
		n.glm = &GLM{Intercept: p.Intercept, Loss: logisticGLM, Slope: 1, Curvature: .25, AtZero: math.Ln2}
		return n, nil
	}
	if s.Classes > maxFeatures/s.Features() {
		return nil, config.Bad("classes", s.Classes, "at most 16777216 weights in a layer")
	}
	n := compose(softmaxCrossEntropy, false, linear{s.Features(), s.Classes, p.Intercept})
	n.softmax = true
	return n, nil
}

// newLeastSquares builds "least-squares": (x·theta - y)^2, without 1/2.
func newLeastSquares(decode func(params any) error, s Shape) (Model, error) {
	var p LinearParams
	if err := decode(&p); err != nil {
		return nil, err
	}
	if s.Classes != 0 {
		return nil, config.Bad("classes", s.Classes, "0 (regression) for least-squares")
	}
	n := compose(squared, true, linear{s.Features(), 1, p.Intercept})
	n.glm = &GLM{Intercept: p.Intercept, Loss: squaredGLM, Slope: math.Inf(1), Curvature: 2,
		AtZero: math.Inf(1), Quadratic: true}
	return n, nil
}

// MLPParams are the parameters of "mlp".
type MLPParams struct {
	Hidden     []int  `toml:"hidden"`     // widths of the hidden layers; default [64]
	Activation string `toml:"activation"` // relu (default), gelu, leaky-relu, mish, sigmoid or tanh
}

// newMLP builds "mlp": linear layers with biases and an activation between them.
func newMLP(decode func(params any) error, s Shape) (Model, error) {
	p := MLPParams{Hidden: []int{64}, Activation: "relu"}
	if err := decode(&p); err != nil {
		return nil, err
	}
	if _, err := newActivation(p.Activation, 1); err != nil {
		return nil, err
	}
	if len(p.Hidden) > 64 {
		return nil, config.Bad("hidden", len(p.Hidden), "at most 64 layers")
	}
	var layers []layer
	in := s.Features()
	for _, h := range p.Hidden {
		if h < 1 || h > maxFeatures/in {
			return nil, config.Bad("hidden", h, "1 or more, with at most 16777216 weights in a layer")
		}
		layers = append(layers, linear{in, h, true}, activation{p.Activation, h, activations[p.Activation]})
		in = h
	}
	return withHead(s, layers, in)
}

// newConvNet builds "convnet", the network of Bayrooti, Gao, Prorok 2023 ("Differentially
// Private Decentralized Deep Learning with Consensus Algorithms"): 5x5 convolution to 3
// channels, Mish, 2x2 max-pool, linear to 64, Mish, linear to the classes. 38,424
// parameters on 32 x 32 x 1 with 10 classes.
func newConvNet(decode func(params any) error, s Shape) (Model, error) {
	if err := decode(&struct{}{}); err != nil {
		return nil, err
	}
	if least := filterSide + 1; s.Height < least || s.Width < least {
		return nil, config.Bad("height x width", [2]int{s.Height, s.Width}, "at least 6 x 6 for convnet")
	}
	const hidden = 64
	c := newConvPool(s.Height, s.Width, s.Channels)
	if c.cells() > maxFeatures/hidden {
		return nil, config.Bad("height x width", [2]int{s.Height, s.Width},
			"at most 16777216 weights in a layer")
	}
	return withHead(s, []layer{c, linear{c.cells(), hidden, true},
		activation{"mish", hidden, activations["mish"]}}, hidden)
}

// withHead adds the last linear layer and the loss: cross-entropy for classes, squares
// for a regression.
func withHead(s Shape, layers []layer, in int) (Model, error) {
	if s.Classes == 0 {
		return compose(squared, true, append(layers, linear{in, 1, true})...), nil
	}
	if s.Classes > maxFeatures/in {
		return nil, config.Bad("classes", s.Classes, "at most 16777216 weights in a layer")
	}
	return compose(softmaxCrossEntropy, false, append(layers, linear{in, s.Classes, true})...), nil
}
