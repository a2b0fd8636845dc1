package model

import (
	"sotto/config"
	"sotto/tensor"
)

// maxPool takes the largest of each patch, channel by channel; of equal ones the first,
// row by row.
type maxPool struct{ window tensor.Window }

func (l maxPool) size() size {
	w := &l.window
	out := w.Positions() * w.Channels
	return size{in: w.Height * w.Width * w.Channels, out: out, index: out}
}

func (l maxPool) describe() LayerInfo {
	return LayerInfo{Name: "maxpool", Positions: l.window.Positions()}
}

func (l maxPool) places(p *pass, s int) []int32 {
	n := p.y.Cols
	return p.index[s*n:][:n]
}

func (l maxPool) forward(p *pass) {
	for s := range p.x.Rows {
		l.window.MaxPool(p.y.Row(s), l.places(p, s), p.x.Row(s))
	}
}

func (l maxPool) backward(p *pass, _ []float64) {
	if p.dx.Data == nil {
		return
	}
	for s := range p.dx.Rows {
		dx := p.dx.Row(s)
		dx.Zero()
		l.window.AddMaxPool(dx, p.dy.Row(s), l.places(p, s))
	}
}

// cells are the regions that a pooling layer reduces to one position each: row i of the
// output has those from tops[i] to bottoms[i], column j those from lefts[j] to rights[j].
type cells struct {
	height, width, channels      int
	tops, bottoms, lefts, rights []int
}

// newCells divides an image into rows x cols regions that cover it and may share pixels
// (as PyTorch's adaptive pooling): from floor(i h/rows) to ceil((i+1) h/rows).
func newCells(height, width, channels, rows, cols int) cells {
	c := cells{height: height, width: width, channels: channels}
	for i := range rows {
		c.tops, c.bottoms = append(c.tops, i*height/rows), append(c.bottoms, ((i+1)*height+rows-1)/rows)
	}
	for j := range cols {
		c.lefts, c.rights = append(c.lefts, j*width/cols), append(c.rights, ((j+1)*width+cols-1)/cols)
	}
	return c
}

// windowCells are the patches of a window.
func windowCells(w tensor.Window) cells {
	c := cells{height: w.Height, width: w.Width, channels: w.Channels}
	for i := range w.Rows {
		c.tops, c.bottoms = append(c.tops, i*w.Stride), append(c.bottoms, i*w.Stride+w.Kernel)
	}
	for j := range w.Cols {
		c.lefts, c.rights = append(c.lefts, j*w.Stride), append(c.rights, j*w.Stride+w.Kernel)
	}
	return c
}

func (c *cells) in() int  { return c.height * c.width * c.channels }
func (c *cells) out() int { return len(c.tops) * len(c.lefts) * c.channels }

// each calls f for every pixel of every region: where the region's output and the pixel
// begin, and the region's area.
func (c *cells) each(f func(out, pixel, area int)) {
	for i, top := range c.tops {
		for j, left := range c.lefts {
			out := (i*len(c.lefts) + j) * c.channels
			area := (c.bottoms[i] - top) * (c.rights[j] - left)
			for y := top; y < c.bottoms[i]; y++ {
				for x := left; x < c.rights[j]; x++ {
					f(out, (y*c.width+x)*c.channels, area)
				}
			}
		}
	}
}

// averagePool takes the mean of each region, channel by channel.
type averagePool struct {
	name string
	cells
}

func (l averagePool) size() size { return size{in: l.in(), out: l.out()} }
func (l averagePool) describe() LayerInfo {
	return LayerInfo{Name: l.name, Positions: l.out() / l.channels}
}

func (l averagePool) forward(p *pass) {
	for s := range p.x.Rows {
		x, y := p.x.Row(s), p.y.Row(s)
		y.Zero()
		l.each(func(out, pixel, area int) {
			y[out:out+l.channels].AddScaled(1/float64(area), x[pixel:pixel+l.channels])
		})
	}
}

func (l averagePool) backward(p *pass, _ []float64) {
	if p.dx.Data == nil {
		return
	}
	for s := range p.dx.Rows {
		dx, dy := p.dx.Row(s), p.dy.Row(s)
		dx.Zero()
		l.each(func(out, pixel, area int) {
			dx[pixel:pixel+l.channels].AddScaled(1/float64(area), dy[out:out+l.channels])
		})
	}
}

// regionMaxPool takes the largest of each region, channel by channel; of equal ones the
// first, row by row. A NaN counts as larger.
type regionMaxPool struct{ cells }

func (l regionMaxPool) size() size { return size{in: l.in(), out: l.out(), index: l.out()} }

func (l regionMaxPool) describe() LayerInfo {
	return LayerInfo{Name: "adaptive-maxpool", Positions: l.out() / l.channels}
}

func (l regionMaxPool) forward(p *pass) {
	for s := range p.x.Rows {
		x, y, at := p.x.Row(s), p.y.Row(s), p.index[s*l.out():][:l.out()]
		for i := range at {
			at[i] = -1
		}
		l.each(func(out, pixel, _ int) {
			for ch, v := range x[pixel : pixel+l.channels] {
				if to := out + ch; at[to] < 0 || v > y[to] || v != v {
					y[to], at[to] = v, int32(pixel+ch)
				}
			}
		})
	}
}

func (l regionMaxPool) backward(p *pass, _ []float64) {
	if p.dx.Data == nil {
		return
	}
	for s := range p.dx.Rows {
		dx := p.dx.Row(s)
		dx.Zero()
		at := p.index[s*l.out():]
		for i, g := range p.dy.Row(s) {
			dx[at[i]] += g
		}
	}
}

// PoolParams are the parameters of layers "maxpool" and "avgpool".
type PoolParams struct {
	Kernel int `json:"kernel"`
	Stride int `json:"stride"` // default: the kernel
}

// pool decodes a window without padding.
func (b *builder) pool(decode func(any) error) (tensor.Window, error) {
	var p PoolParams
	if err := decode(&p); err != nil {
		return tensor.Window{}, err
	}
	if p.Stride == 0 {
		p.Stride = p.Kernel
	}
	return b.window(p.Kernel, p.Stride, 0)
}

func maxPoolLayer(b *builder, decode func(any) error) error {
	w, err := b.pool(decode)
	if err != nil {
		return err
	}
	b.maxPool(w)
	return nil
}

func (b *builder) maxPool(w tensor.Window) {
	b.layers = append(b.layers, maxPool{w})
	b.at = extent{w.Rows, w.Cols, w.Channels}
}

func averagePoolLayer(b *builder, decode func(any) error) error {
	w, err := b.pool(decode)
	if err != nil {
		return err
	}
	b.layers = append(b.layers, averagePool{"avgpool", windowCells(w)})
	b.at = extent{w.Rows, w.Cols, w.Channels}
	return nil
}

// AdaptiveParams are the parameters of layers "adaptive-maxpool" and "adaptive-avgpool".
type AdaptiveParams struct {
	Size int `json:"size"` // side of the output; default 1
}

// adaptive decodes a division into size x size regions.
func (b *builder) adaptive(decode func(any) error) (cells, error) {
	p := AdaptiveParams{Size: 1}
	if err := decode(&p); err != nil {
		return cells{}, err
	}
	if p.Size < 1 || p.Size > min(b.at.height, b.at.width) {
		return cells{}, config.Bad("size", p.Size, "1 to the sides of the image, here of shape "+
			b.at.String())
	}
	c := newCells(b.at.height, b.at.width, b.at.channels, p.Size, p.Size)
	b.at.height, b.at.width = p.Size, p.Size
	return c, nil
}

func adaptiveMaxPoolLayer(b *builder, decode func(any) error) error {
	c, err := b.adaptive(decode)
	if err == nil {
		b.layers = append(b.layers, regionMaxPool{c})
	}
	return err
}

func adaptiveAveragePoolLayer(b *builder, decode func(any) error) error {
	c, err := b.adaptive(decode)
	if err == nil {
		b.layers = append(b.layers, averagePool{"adaptive-avgpool", c})
	}
	return err
}
