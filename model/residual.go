package model

import "sotto/config"

// residual is y = inner(x) + x, or + project(x). The network takes it apart into a fork,
// the layers and a join.
type residual struct {
	inner   []layer
	project []layer // empty: x itself
}

func (b residual) size() size {
	return size{in: b.inner[0].size().in, out: b.inner[len(b.inner)-1].size().out}
}

func (b residual) describe() LayerInfo { return LayerInfo{Name: "residual"} }
func (b residual) forward(*pass)       { panic("model: a residual block runs as its parts") }
func (b residual) backward(*pass, []float64) {
	panic("model: a residual block runs as its parts")
}

// fork hands its input to two layers; its gradient is the sum of theirs.
type fork struct{ width int }

func (f fork) size() size          { return size{in: f.width, out: f.width} }
func (f fork) describe() LayerInfo { return LayerInfo{Name: "fork", Positions: 1} }
func (f fork) forward(*pass)       {} // the network lets y be x

func (f fork) backward(p *pass, _ []float64) {
	if p.dx.Data == nil {
		return
	}
	for s := range p.dx.Rows {
		dx := p.dx.Row(s)
		copy(dx, p.dy.Row(s))
		dx.AddScaled(1, p.skip.Row(s))
	}
}

// join adds its two inputs.
type join struct{ width int }

func (j join) size() size          { return size{in: j.width, out: j.width} }
func (j join) describe() LayerInfo { return LayerInfo{Name: "add", Positions: 1} }

func (j join) forward(p *pass) {
	for s := range p.y.Rows {
		y := p.y.Row(s)
		copy(y, p.x.Row(s))
		y.AddScaled(1, p.skip.Row(s))
	}
}

func (j join) backward(p *pass, _ []float64) {
	for s := range p.dy.Rows {
		copy(p.dx.Row(s), p.dy.Row(s))
		if p.second.Data != nil {
			copy(p.second.Row(s), p.dy.Row(s))
		}
	}
}

// maxDepth bounds residual blocks in residual blocks.
const maxDepth = 8

// ResidualParams are the parameters of layer "residual": y = layers(x) + projection(x).
type ResidualParams struct {
	Layers []map[string]any `json:"layers"`
	// default: x where the shapes agree, else a 1x1 convolution
	Projection []map[string]any `json:"projection"`
}

func residualLayer(b *builder, decode func(any) error) error {
	var p ResidualParams
	if err := decode(&p); err != nil {
		return err
	}
	if len(p.Layers) == 0 {
		return config.Bad("layers", len(p.Layers), "at least one layer")
	}
	inner, err := b.branch(p.Layers, "layers")
	if err != nil {
		return err
	}
	project := &builder{at: b.at, depth: b.depth + 1}
	if len(p.Projection) > 0 {
		if project, err = b.branch(p.Projection, "projection"); err != nil {
			return err
		}
	}
	return b.residual(inner, project)
}

// branch builds layers beside b.
func (b *builder) branch(list []map[string]any, key string) (*builder, error) {
	inner := &builder{at: b.at, depth: b.depth + 1}
	if inner.depth > maxDepth {
		return nil, config.Bad(key, "a residual block", "at most 8 blocks in each other")
	}
	return inner, inner.list(list, key)
}

// residual adds a block. A projection without layers is x itself where the shapes agree,
// and else a 1x1 convolution.
func (b *builder) residual(inner, project *builder) error {
	if len(project.layers) == 0 && inner.at != b.at {
		stride := max(1, (b.at.height+inner.at.height-1)/inner.at.height)
		if err := project.conv("projection",
			ConvParams{Filters: inner.at.channels, Kernel: 1, Stride: stride}, false); err != nil {
			return err
		}
	}
	if inner.at != project.at {
		return config.Bad("projection", project.at, "the shape that layers give, "+inner.at.String())
	}
	b.layers = append(b.layers, residual{inner.layers, project.layers})
	b.at = inner.at
	return nil
}
