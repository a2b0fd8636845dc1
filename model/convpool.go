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
		// The chunk's gradient sum, one image by channel, two rows of pre-activations.
		shared: c.params() + planes + 2*2*c.poolCols*filters,
		index:  c.cells(), // where in a channel the chosen patch begins
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
	line := 2 * c.poolCols * filters
	buffer := p.shared[len(p.shared)-2*line:]
	for s := range p.x.Rows {
		x := c.planes(p, s)
		y, d := p.y.Row(s), p.scratch.Row(s)[:c.cells()]
		index := p.index[s*c.cells():][:c.cells()]
		width := c.poolCols * filters
		for r := range c.poolRows {
			c.convolve(buffer[:line], x[2*r*c.width:], p.theta)
			c.convolve(buffer[line:], x[(2*r+1)*c.width:], p.theta)
			at := r * width
			c.pool(y[at:at+width], d[at:at+width], index[at:at+width], buffer, 2*r*c.width)
		}
	}
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

// pool reduces two rows of pre-activations, one after the other in z, to one row of cells. base is the
// offset in the channel of the first row's first patch.
func (c convPool) pool(y, d []float32, index []int32, z []float32, base int) {
	half := len(z) / 2
	top, bottom := z[:half], z[half:][:half]
	d, index = d[:len(y)], index[:len(y)]
	for i := range y {
		at := i/filters*2*filters + i%filters
		v := [4]float32{top[at], top[at+filters], bottom[at], bottom[at+filters]}
		high, low := 0, 0
		for k := 1; k < 4; k++ {
			if v[k] > v[high] {
				high = k
			}
			if v[k] < v[low] {
				low = k
			}
		}
		best := high
		value, slope := tensor.Mish(v[high])
		if v[high] < 0 {
			if other, s := tensor.Mish(v[low]); other > value {
				best, value, slope = low, other, s
			}
		}
		// A NaN or Inf that was not chosen must not go unseen: it would hide an input that is not finite.
		y[i] = value + 0*(v[0]+v[1]+v[2]+v[3])
		d[i] = slope
		index[i] = int32(base + best/2*c.width + i/filters*2 + best%2)
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
		c.filterGradient(gradient, x, g, p.index[s*c.cells():][:len(g)])
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
