package model

import "sotto/config"

// AutoencoderParams are the parameters of "autoencoder".
type AutoencoderParams struct {
	Hidden []int `toml:"hidden"` // widths of the encoder, the last one of the code; default [64, 16]
	// relu (default), gelu, leaky-relu, mish, sigmoid or tanh; not after the code or the
	// output
	Activation string `toml:"activation"`
}

// newAutoencoder builds "autoencoder": linear layers with biases that narrow to a code,
// and back over the same widths to the sample, which is the target itself; labels are not
// read. Weights are not tied: decoder and encoder have their own. With one width it is
// linear, and at best as good as that many principal components.
func newAutoencoder(decode func(params any) error, s Shape) (Model, error) {
	p := AutoencoderParams{Hidden: []int{64, 16}, Activation: "relu"}
	if err := decode(&p); err != nil {
		return nil, err
	}
	if _, err := newActivation(p.Activation, 1); err != nil {
		return nil, err
	}
	if len(p.Hidden) < 1 || len(p.Hidden) > 32 {
		return nil, config.Bad("hidden", len(p.Hidden), "1 to 32 layers")
	}
	widths := append([]int{s.Features()}, p.Hidden...)
	for i := len(p.Hidden) - 1; i >= 0; i-- {
		widths = append(widths, widths[i])
	}
	var layers []layer
	for i, in := range widths[:len(widths)-1] {
		out := widths[i+1]
		if out < 1 || out > maxFeatures/in {
			return nil, config.Bad("hidden", out, "1 or more, with at most 16777216 weights in a layer")
		}
		layers = append(layers, linear{in, out, true})
		if i+1 != len(p.Hidden) && i+2 != len(widths) {
			layers = append(layers, activation{p.Activation, out, activations[p.Activation]})
		}
	}
	n := compose(reconstruction, false, layers...)
	n.inputs = true
	return n, nil
}

// reconstruction is the mean over a sample's elements of (z - x)^2.
func reconstruction(z []float32, b *Batch, sample int, gradient []float32) float64 {
	var sum float64
	x := b.X.Row(sample)
	scale := 2 / float32(len(z))
	for j, v := range x {
		r := z[j] - v
		if gradient != nil {
			gradient[j] = scale * r
			continue
		}
		sum += float64(r) * float64(r)
	}
	return sum / float64(len(z))
}

// Ranks says whether the outputs of m, a classifier, only rank samples: a margin that the
// hinge loss has made stands for no probability.
func Ranks(m Model) bool {
	n, ok := m.(*network)
	return ok && n.ranks
}

// Reconstructs says whether the outputs of m are a sample again. They stand for no class
// then, whatever labels the data have.
func Reconstructs(m Model) bool {
	n, ok := m.(*network)
	return ok && n.inputs
}
