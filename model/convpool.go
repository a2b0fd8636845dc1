package model

import (
	"math"

	"sotto/tensor"
)

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
}

var _ learned = convPool{}

func newConvPool(height, width, channels int) convPool {
	return convPool{height, width, channels, (height - filterSide + 1) / 2, (width - filterSide + 1) / 2}
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
		// The chunk's gradient sum, one image by channel, one row of cells, two of pre-activations.
		shared: c.params() + planes + 5*c.poolCols*filters,
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
	buffer := p.shared[len(p.shared)-5*width:]
	low, top, bottom := buffer[:width], buffer[width:3*width], buffer[3*width:]
	for s := range p.x.Rows {
		x := c.planes(p, s)
		y, d, at := p.y.Row(s), p.scratch.Row(s), c.places(p, s)
		lowAt := at[c.cells():]
		for r := range c.poolRows {
			c.convolve(top, x[2*r*c.width:], p.theta)
			c.convolve(bottom, x[(2*r+1)*c.width:], p.theta)
			from := r * width
			c.choose(y[from:from+width], low, at[from:], lowAt, top, bottom, 2*r*c.width)
			activate(y[from:from+width], d[from:], low, at[from:], lowAt)
		}
	}
}

// places returns where the chosen patches of a sample begin, followed by room for one row more.
func (c convPool) places(p *pass, s int) []int32 {
	n := c.cells() + c.poolCols*filters
	return p.index[s*n:][:n]
}

// convolve computes one row of pre-activations, two positions at a time. x begins at the row of the first
// channel.
func (c convPool) convolve(dst, x []float32, theta tensor.Vec) {
	area := c.height * c.width
	bias := (*[filters]float32)(theta[c.taps()*filters:])
	for col := 0; len(dst) >= 2*filters; col += 2 {
		a0, a1, a2 := bias[0], bias[1], bias[2]
		b0, b1, b2 := a0, a1, a2
		w := theta
		for ch := range c.channels {
			for r := range filterSide {
				f := (*[filterSide * filters]float32)(w)
				v := (*[filterSide + 1]float32)(x[ch*area+r*c.width+col:])
				w = w[filterSide*filters:]
				u0, u1 := v[0], v[1]
				a0 += float32(u0 * f[0])
				a1 += float32(u0 * f[1])
				a2 += float32(u0 * f[2])
				b0 += float32(u1 * f[0])
				b1 += float32(u1 * f[1])
				b2 += float32(u1 * f[2])
				u0, u1 = u1, v[2]
				a0 += float32(u0 * f[3])
				a1 += float32(u0 * f[4])
				a2 += float32(u0 * f[5])
				b0 += float32(u1 * f[3])
				b1 += float32(u1 * f[4])
				b2 += float32(u1 * f[5])
				u0, u1 = u1, v[3]
				a0 += float32(u0 * f[6])
				a1 += float32(u0 * f[7])
				a2 += float32(u0 * f[8])
				b0 += float32(u1 * f[6])
				b1 += float32(u1 * f[7])
				b2 += float32(u1 * f[8])
				u0, u1 = u1, v[4]
				a0 += float32(u0 * f[9])
				a1 += float32(u0 * f[10])
				a2 += float32(u0 * f[11])
				b0 += float32(u1 * f[9])
				b1 += float32(u1 * f[10])
				b2 += float32(u1 * f[11])
				u0, u1 = u1, v[5]
				a0 += float32(u0 * f[12])
				a1 += float32(u0 * f[13])
				a2 += float32(u0 * f[14])
				b0 += float32(u1 * f[12])
				b1 += float32(u1 * f[13])
				b2 += float32(u1 * f[14])
			}
		}
		out := (*[2 * filters]float32)(dst)
		out[0], out[1], out[2], out[3], out[4], out[5] = a0, a1, a2, b0, b1, b2
		dst = dst[2*filters:]
	}
}

// choose finds the largest and the smallest pre-activation of each cell of two rows, and where their patches
// begin; base is the offset in the channel of the first row's first patch. It compares integers that sort as
// the floats do and carry the position, because branches on such comparisons are hardly predictable.
func (c convPool) choose(high, low []float32, at, lowAt []int32, top, bottom []float32, base int) {
	low, at, lowAt = low[:len(high)], at[:len(high)], lowAt[:len(high)]
	place := [4]int32{0, 1, int32(c.width), int32(c.width + 1)}
	for i := range high {
		cell := i / filters
		first := cell*2*filters + i%filters
		v0, v1, v2, v3 := top[first], top[first+filters], bottom[first], bottom[first+filters]
		k0, k1, k2, k3 := sortable(v0), sortable(v1), sortable(v2), sortable(v3)
		most := larger(larger(k0|3, k1|2), larger(k2|1, k3))
		least := smaller(smaller(k0, k1|1), smaller(k2|2, k3|3))
		origin := int32(base + 2*cell)
		// A NaN or Inf that was not chosen must not go unseen: it would hide an input that is not finite.
		high[i], at[i] = unsorted(most)+0*(v0+v1+v2+v3), origin+place[3-most&3]
		low[i], lowAt[i] = unsorted(least), origin+place[least&3]
	}
}

// sortable maps floats to integers in the same order, with two free bits at the end; -0 comes before 0.
func sortable(x float32) int64 {
	b := int32(math.Float32bits(x))
	return int64(b^(b>>31&math.MaxInt32)) << 2
}

// unsorted is the inverse of sortable, whatever the last two bits.
func unsorted(k int64) float32 {
	b := int32(k >> 2)
	return math.Float32frombits(uint32(b ^ (b >> 31 & math.MaxInt32)))
}

func larger(a, b int64) int64 {
	d := a - b
	return a - d&(d>>63)
}

func smaller(a, b int64) int64 {
	d := a - b
	return b + d&(d>>63)
}

// activate replaces the largest pre-activation in y by the largest Mish value, with its derivative and
// place.
func activate(y, d, low []float32, at, lowAt []int32) {
	d, low, at, lowAt = d[:len(y)], low[:len(y)], at[:len(y)], lowAt[:len(y)]
	for i, high := range y {
		value, slope := tensor.Mish(high)
		if high < 0 {
			if other, s := tensor.Mish(low[i]); other > value {
				value, slope, at[i] = other, s, lowAt[i]
			}
		}
		y[i], d[i] = value, slope
	}
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

// filterGradient sums, for each filter row, g times the five inputs at the chosen patches.
func (c convPool) filterGradient(dst, x, g []float32, index []int32) {
	area := c.height * c.width
	index = index[:len(g)]
	for f := range filters {
		for ch := range c.channels {
			for r := range filterSide {
				in := x[ch*area+r*c.width:]
				var s0, s1, s2, s3, s4 float32
				for i := f; i < len(g); i += filters {
					v, b := (*[filterSide]float32)(in[index[i]:]), g[i]
					s0 += float32(b * v[0])
					s1 += float32(b * v[1])
					s2 += float32(b * v[2])
					s3 += float32(b * v[3])
					s4 += float32(b * v[4])
				}
				to := dst[(ch*filterSide+r)*filterSide*filters+f:]
				to[0], to[filters], to[2*filters], to[3*filters], to[4*filters] = s0, s1, s2, s3, s4
			}
		}
		var bias float32
		for i := f; i < len(g); i += filters {
			bias += g[i]
		}
		dst[c.taps()*filters+f] = bias
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
