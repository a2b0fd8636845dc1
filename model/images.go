package model

import (
	"fmt"

	"sotto/config"
)

// Networks for images.

// maxNetwork bounds a network's parameters, and the memory of one sample in elements.
const maxNetwork = 1 << 28

// network closes the list with a loss.
func (b *builder) network(l loss, targets bool) (Model, error) {
	if len(b.layers) == 0 {
		return nil, config.Bad("layers", "none", "at least one layer that computes something")
	}
	n := compose(l, targets, b.layers...)
	if n.dim > maxNetwork || n.perRow+n.tempRow > maxNetwork || n.perCall+n.temp > 4*maxNetwork {
		found := fmt.Sprintf("%d parameters and %d elements of scratch a sample", n.dim, n.perRow+n.tempRow)
		return nil, config.Bad("layers", found, "at most 268435456 of each")
	}
	return n, nil
}

// head appends the last linear layer, and the loss: cross-entropy for classes, squares
// for a regression.
func (b *builder) head(s Shape) (Model, error) {
	if err := b.linear(LinearLayerParams{Units: max(s.Classes, 1), Bias: true}); err != nil {
		return nil, config.Bad("classes", s.Classes, "at most 16777216 weights in a layer")
	}
	if s.Classes == 0 {
		return b.network(squared, true)
	}
	return b.network(softmaxCrossEntropy, false)
}

// step is one layer of a network that is written down here.
type step func(b *builder) error

// all runs steps until one fails. Shapes that a network cannot take fail as the image's.
func (b *builder) all(name string, s Shape, steps ...step) error {
	for _, f := range steps {
		if err := f(b); err != nil {
			return config.Bad("height x width x channels", s,
				"an image large enough, and not too large, for "+name)
		}
	}
	return nil
}

func convStep(filters, kernel, stride, padding int, bias bool) step {
	return func(b *builder) error {
		return b.conv("conv2d", ConvParams{
			Filters: filters,
			Kernel:  kernel,
			Stride:  stride,
			Padding: padding,
			Bias:    bias,
		}, false)
	}
}

func normStep(groups int) step { return func(b *builder) error { return b.groupNorm(groups) } }

func poolStep(kernel, stride int) step {
	return func(b *builder) error {
		w, err := b.window(kernel, stride, 0)
		if err == nil {
			b.maxPool(w)
		}
		return err
	}
}

func activationStep(name string, f curve) step {
	return func(b *builder) error { b.activation(name, f); return nil }
}

// residualStep adds a block; without project it is x itself.
func residualStep(inner, project []step) step {
	return func(b *builder) error {
		branches := [2]*builder{{at: b.at}, {at: b.at}}
		for i, steps := range [2][]step{inner, project} {
			for _, f := range steps {
				if err := f(branches[i]); err != nil {
					return err
				}
			}
		}
		return b.residual(branches[0], branches[1])
	}
}

// CNNParams are the parameters of "cnn".
type CNNParams struct {
	Activation string `toml:"activation"` // relu (default), gelu, leaky-relu, mish, sigmoid or tanh
}

// newCNN builds "cnn", the network of Papernot, Thakurta, Song, Chien, Erlingsson 2021
// ("Tempered Sigmoid Activations for Deep Learning with Differential Privacy") and of
// Tramer and Boneh 2021 for MNIST: 8x8 convolution of stride 2 to 16 channels, 2x2
// max-pool of stride 1, 4x4 convolution of stride 2 to 32, the same pool, linear to 32,
// linear to the classes, an activation after each but the last. 26,010 parameters on 28 x
// 28 x 1 with 10 classes.
func newCNN(decode func(params any) error, s Shape) (Model, error) {
	p := CNNParams{Activation: "relu"}
	if err := decode(&p); err != nil {
		return nil, err
	}
	if _, err := newActivation(p.Activation, 1); err != nil {
		return nil, err
	}
	act := activationStep(p.Activation, activations[p.Activation])
	b := newBuilder(s)
	if err := b.all("cnn", s,
		convStep(16, 8, 2, 3, true), act, poolStep(2, 1),
		convStep(32, 4, 2, 0, true), act, poolStep(2, 1),
		func(b *builder) error { return b.linear(LinearLayerParams{Units: 32, Bias: true}) }, act,
	); err != nil {
		return nil, err
	}
	return b.head(s)
}

// newDPResNet9 builds "dpresnet9", the residual network with group normalisation (16
// groups) and leaky ReLU (slope .1) that private training of CIFAR images uses (Klause,
// Ziller, Rueckert, Hammernik, Kaissis 2022, "Differentially Private Training of Residual
// Networks with Scale Normalisation", without the scale normalisation). 7,802,724
// parameters on 32 x 32 x 3 with 100 classes.
func newDPResNet9(decode func(params any) error, s Shape) (Model, error) {
	if err := decode(&struct{}{}); err != nil {
		return nil, err
	}
	act := activationStep("leaky-relu", curve{slope: 0.1})
	b := newBuilder(s)
	steps := []step{convStep(64, 3, 1, 1, true), normStep(16), act}
	for _, c := range []int{128, 256, 512} {
		block := []step{convStep(c, 3, 1, 1, true), normStep(16), act}
		steps = append(steps, convStep(c, 3, 1, 1, true), poolStep(2, 2), normStep(16), act,
			residualStep(append(block, block...), nil))
	}
	if err := b.all("dpresnet9", s, steps...); err != nil {
		return nil, err
	}
	b.layers = append(b.layers, regionMaxPool{newCells(b.at.height, b.at.width, b.at.channels, 1, 1)})
	b.at.height, b.at.width = 1, 1
	return b.head(s)
}

// newResNet18 builds "resnet18" (He, Zhang, Ren, Sun 2016, "Deep Residual Learning for
// Image Recognition") for small images, with group normalisation (32 groups) for batch
// normalisation: a 3x3 stem to 64 channels and no max-pool, four stages of two blocks,
// the mean over all positions, a linear layer. Convolutions have no bias. 11,173,962
// parameters with 3 channels and 10 classes.
func newResNet18(decode func(params any) error, s Shape) (Model, error) {
	if err := decode(&struct{}{}); err != nil {
		return nil, err
	}
	act, norm := activationStep("relu", activations["relu"]), normStep(32)
	b := newBuilder(s)
	steps := []step{convStep(64, 3, 1, 1, false), norm, act}
	for i, c := range []int{64, 128, 256, 512} {
		for block := range 2 {
			stride := 1
			var project []step
			if i > 0 && block == 0 {
				stride = 2
				project = []step{convStep(c, 1, 2, 0, false), norm}
			}
			inner := []step{convStep(c, 3, stride, 1, false), norm, act, convStep(c, 3, 1, 1, false), norm}
			steps = append(steps, residualStep(inner, project), act)
		}
	}
	if err := b.all("resnet18", s, steps...); err != nil {
		return nil, err
	}
	b.layers = append(b.layers, averagePool{"adaptive-avgpool",
		newCells(b.at.height, b.at.width, b.at.channels, 1, 1)})
	b.at.height, b.at.width = 1, 1
	return b.head(s)
}
