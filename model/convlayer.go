package model

import (
	"sotto/config"
	"sotto/tensor"
)

// ConvParams are the parameters of layers "conv2d" and "ws-conv2d", whose weights are
// standardised.
type ConvParams struct {
	Filters int  `json:"filters"`
	Kernel  int  `json:"kernel"`  // side of the filters
	Stride  int  `json:"stride"`  // default 1
	Padding int  `json:"padding"` // zeros on each side, 0 to kernel-1; default 0
	Bias    bool `json:"bias"`    // default true
}

func convLayer(b *builder, decode func(any) error) error {
	return b.decodeConv(decode, "conv2d", false)
}

func standardizedConvLayer(b *builder, decode func(any) error) error {
	return b.decodeConv(decode, "ws-conv2d", true)
}

func (b *builder) decodeConv(decode func(any) error, name string, standard bool) error {
	p := ConvParams{Stride: 1, Bias: true}
	if err := decode(&p); err != nil {
		return err
	}
	return b.conv(name, p, standard)
}

// conv appends a convolution.
func (b *builder) conv(name string, p ConvParams, standard bool) error {
	w, err := b.window(p.Kernel, p.Stride, p.Padding)
	if err != nil {
		return err
	}
	if p.Filters < 1 || !fits(p.Kernel, p.Kernel, w.Channels, p.Filters) || !fits(w.Rows, w.Cols, p.Filters) {
		return config.Bad("filters", p.Filters, "1 or more, with at most 16777216 weights and outputs")
	}
	if standard && w.Taps() < 2 {
		return config.Bad("kernel", p.Kernel, "filters of at least 2 weights, which have a variance")
	}
	b.layers = append(b.layers, &conv2d{
		geometry: geometry{window: w, padding: p.Padding, filters: p.Filters, bias: p.Bias},
		name:     name,
		standard: standard,
	})
	b.at = extent{w.Rows, w.Cols, p.Filters}
	return nil
}

// window returns the geometry of a sliding window over the current image.
func (b *builder) window(kernel, stride, padding int) (tensor.Window, error) {
	none := tensor.Window{}
	if kernel < 1 || kernel > maxFeatures {
		return none, config.Bad("kernel", kernel, "1 to 16777216")
	}
	if stride < 1 || stride > maxFeatures {
		return none, config.Bad("stride", stride, "1 to 16777216")
	}
	if padding < 0 || padding >= kernel {
		return none, config.Bad("padding", padding, "0 to less than the kernel")
	}
	height, width := b.at.height+2*padding, b.at.width+2*padding
	if kernel > min(height, width) {
		return none, config.Bad("kernel", kernel, "at most the padded image, here of shape "+
			extent{height, width, b.at.channels}.String())
	}
	if !fits(height, width, b.at.channels) || !fits(kernel, kernel, b.at.channels) {
		return none, config.Bad("padding", padding,
			"at most 16777216 elements in a padded image and in a patch")
	}
	return tensor.Window{
		Height: height, Width: width, Channels: b.at.channels, Kernel: kernel, Stride: stride,
		Rows: (height-kernel)/stride + 1, Cols: (width-kernel)/stride + 1,
	}, nil
}
