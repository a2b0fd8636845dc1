package model

import "sotto/tensor"

const (
	filterSide = 5
	filters    = 3
)

// convPool is a 5x5 convolution to 3 channels (stride 1, no padding), Mish, and 2x2 max-pooling, as one
// block. It must be the first layer: it has no input gradient.
//
// Doing the three together pays: Mish falls up to -1.19 and rises from there, so the largest of four Mish
// values is that of the largest or of the smallest pre-activation, and the gradient of the convolution
// comes from one position in four. Of equal pre-activations the first one (row by row) takes the gradient.
//
// Parameters: filters of shape channel x row x column x 3, then 3 biases. A row or column of
// pre-activations that fills no 2x2 cell is left out.
type convPool struct {
	height, width, channels int
	poolRows, poolCols      int
	columns                 []int32 // first column of each cell of a row, channel by channel
}

var _ learned = convPool{}

func newConvPool(height, width, channels int) convPool {
	c := convPool{
		height: height, width: width, channels: channels,
		poolRows: (height - filterSide + 1) / 2, poolCols: (width - filterSide + 1) / 2,
	}
	c.columns = make([]int32, c.poolCols*filters)
	for i := range c.columns {
		c.columns[i] = int32(2 * (i % c.poolCols))
	}
	return c
}

func (c convPool) cells() int  { return c.poolRows * c.poolCols * filters }
func (c convPool) taps() int   { return filterSide * filterSide * c.channels }
func (c convPool) params() int { return (c.taps() + 1) * filters }

func (c convPool) size() size {
	planes := 0
	if c.channels > 1 {
		planes = c.height * c.width * c.channels
	}
	return size{
		in: c.height * c.width * c.channels, out: c.cells(), params: c.params(),
		scratch: c.cells() + c.params(), // derivatives, then the sample's gradient
		// The chunk's gradient sum, one image by channel, one row of cells with derivatives, two of pre-activations.
		shared: c.params() + planes + 6*c.poolCols*filters,
		index:  c.cells() + c.poolCols*filters, // where in a channel the chosen patches begin
	}
}

func (c convPool) init(dst tensor.Vec, r Source) { uniform(dst, c.taps(), r) }

// planes returns the sample with each channel contiguous.
func (c convPool) planes(p *pass, s int) []float32 {
	x := p.x.Row(s)
	if c.channels == 1 {
		return x
	}
	area := c.height * c.width
	planes := p.shared[c.params():][:area*c.channels]
	for ch := range c.channels {
		plane := planes[ch*area:][:area]
		for i := range plane {
			plane[i] = x[i*c.channels+ch]
		}
	}
	return planes
}

func (c convPool) forward(p *pass) {
	width := c.poolCols * filters
	buffer := p.shared[len(p.shared)-6*width:]
	y, d, top, bottom := buffer[:width], buffer[width:2*width], buffer[2*width:4*width], buffer[4*width:]
	for s := range p.x.Rows {
		x := c.planes(p, s)
		at := c.places(p, s)
		rowAt := at[c.cells():]
		for r := range c.poolRows {
			c.convolve(top, x[2*r*c.width:], p.theta)
			c.convolve(bottom, x[(2*r+1)*c.width:], p.theta)
			tensor.PoolMish(y, d, rowAt, top, bottom, c.columns, c.width, 2*r*c.width)
			from := r * width
			interleave(p.y.Row(s)[from:from+width], y)
			interleave(p.scratch.Row(s)[from:from+width], d)
			interleave(at[from:from+width], rowAt)
		}
	}
}

// convolve computes one row of pre-activations, channel by channel. x begins at the row of the first plane.
func (c convPool) convolve(dst, x []float32, theta tensor.Vec) {
	tensor.Convolve5(dst, x, c.width, c.height*c.width, c.channels, theta)
}

// interleave brings three channels, one after the other in src, together.
func interleave[T float32 | int32](dst, src []T) {
	n := len(dst) / filters
	a, b, c := src[:n], src[n:2*n], src[2*n:3*n]
	for i := range a {
		to := dst[filters*i : filters*i+filters : filters*i+filters]
		to[0], to[1], to[2] = a[i], b[i], c[i]
	}
}

// places returns where the chosen patches of a sample begin, followed by room for one row more.
func (c convPool) places(p *pass, s int) []int32 {
	n := c.cells() + c.poolCols*filters
	return p.index[s*n:][:n]
}

func (c convPool) backward(p *pass, norms []float64) {
	for s := range norms {
		x := c.planes(p, s)
		scratch := p.scratch.Row(s)
		g, gradient := scratch[:c.cells()], scratch[c.cells():]
		for i, v := range p.dy.Row(s) {
			g[i] *= v
		}
		c.filterGradient(gradient, x, g, c.places(p, s)[:len(g)])
		norms[s] += tensor.SumSquares(gradient)
	}
}

// filterGradient sums, for each filter, g times the patches that were chosen.
func (c convPool) filterGradient(dst, x, g []float32, index []int32) {
	area := c.height * c.width
	var sums [41]float32
	for f := range filters {
		for ch := range c.channels {
			tensor.PatchGradient5(&sums, x[ch*area:][:area], c.width, g[f:], index[f:])
			for r := range filterSide {
				for i, v := range sums[8*r:][:filterSide] {
					dst[((ch*filterSide+r)*filterSide+i)*filters+f] = v
				}
			}
		}
		dst[c.taps()*filters+f] = sums[8*filterSide]
	}
}

func (c convPool) accumulate(dst tensor.Vec, p *pass, factors []float64) {
	sum := tensor.Vec(p.shared[:c.params()])
	sum.Zero()
	for s, f := range factors {
		if f == 0 {
			continue
		}
		gradient := p.scratch.Row(s)[c.cells():]
		if f != 1 {
			tensor.ScaleToward(gradient, f)
		}
		sum.AddScaled(1, gradient)
	}
	dst.AddScaled(1, sum)
}

func (c convPool) instantiate(dst tensor.Vec, p *pass, s int) {
	copy(dst, p.scratch.Row(s)[c.cells():])
}
