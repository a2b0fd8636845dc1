package model

import "sotto/tensor"

const (
	filterSide = 5
	filters    = 3
)

// convPool is a 5x5 convolution to 3 channels (stride 1, no padding), Mish, and 2x2
// max-pooling, as one block. It must be the first layer: it has no input gradient.
//
// Doing the three together pays: Mish falls up to -1.19 and rises from there, so the
// largest of four Mish values is that of the largest or of the smallest pre-activation,
// and the gradient of the convolution comes from one position in four. Of equal
// pre-activations the first one (row by row) takes the gradient.
//
// Parameters: filters of shape channel x row x column x 3, then 3 biases. A row or column
// of pre-activations that fills no 2x2 cell is left out.
type convPool struct {
	height, width, channels int
	poolRows, poolCols      int
	// where each cell begins in a channel of the input, plane by plane of the output
	corners []int32
}

var _ learned = convPool{}

func newConvPool(height, width, channels int) convPool {
	c := convPool{
		height: height, width: width, channels: channels,
		poolRows: (height - filterSide + 1) / 2, poolCols: (width - filterSide + 1) / 2,
	}
	c.corners = make([]int32, c.cells())
	for i := range c.corners {
		cell := i % (c.poolRows * c.poolCols)
		c.corners[i] = int32(2 * (cell/c.poolCols*width + cell%c.poolCols))
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
		scratch: c.cells() + c.params(), // derivatives, plane by plane, then the sample's gradient
		// The chunk's gradient sum, one image by channel, one sample's output by plane,
		// its pre-activations.
		shared: c.params() + planes + 5*c.cells(),
		index:  c.cells(), // where in a channel the chosen patches begin
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
	n := c.cells()
	buffer := p.shared[len(p.shared)-5*n:]
	y, top, bottom := buffer[:n], buffer[n:3*n], buffer[3*n:]
	for s := range p.x.Rows {
		tensor.Convolve5(top, bottom, c.planes(p, s), 2*c.poolRows, 2*c.poolCols, c.width, c.height*c.width,
			c.channels, p.theta)
		tensor.PoolMish(y, p.scratch.Row(s)[:n], c.places(p, s), top, bottom, c.corners, c.width, 0)
		tensor.Interleave3(p.y.Row(s), y)
	}
}

// places returns where the chosen patches of a sample begin.
func (c convPool) places(p *pass, s int) []int32 {
	n := c.cells()
	return p.index[s*n:][:n]
}

func (c convPool) backward(p *pass, norms []float64) {
	for s := range norms {
		scratch := p.scratch.Row(s)
		g, gradient := scratch[:c.cells()], scratch[c.cells():]
		tensor.MultiplyPlanes3(g, p.dy.Row(s))
		c.filterGradient(gradient, c.planes(p, s), g, c.places(p, s))
		norms[s] += tensor.SumSquares(gradient)
	}
}

// filterGradient sums, for each filter, g times the patches that were chosen.
func (c convPool) filterGradient(dst, x, g []float32, index []int32) {
	area := c.height * c.width
	var sums [filters][41]float32
	for ch := range c.channels {
		tensor.PatchGradients5(&sums, x[ch*area:][:area], c.width, g, index)
		to := dst[ch*filterSide*filterSide*filters:]
		for r := range filterSide {
			for i := range filterSide {
				k := 8*r + i
				v := (*[filters]float32)(to[(filterSide*r+i)*filters:])
				v[0], v[1], v[2] = sums[0][k], sums[1][k], sums[2][k]
			}
		}
	}
	for f := range filters {
		dst[c.taps()*filters+f] = sums[f][8*filterSide]
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
