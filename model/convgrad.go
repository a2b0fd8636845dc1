package model

import "sotto/tensor"

// The gradient of the weights, and its norm for each record.

// memoryCost is what one float32 of a kept gradient costs, written, read for its norm and
// added, in multiply-adds.
const memoryCost = 20

// gram says whether norms come from Gram matrices. With t positions in a record, patches
// of p elements and D filters they cost t^2 (p+D) multiply-adds; the gradient itself,
// which the sum needs anyway, costs memory traffic of p D numbers when it is formed for
// each record. Chains longer than a block would make the Gram matrices' error grow, so t
// is at most 256.
func (c *conv2d) gram(views int) bool {
	t := float64(c.positions() * views)
	p, filters := float64(c.taps()), float64(c.filters)
	return !c.standard && t <= blockPositions && t*t*(p+filters) < memoryCost*p*filters
}

func (c *conv2d) keeps(views int) bool { return !c.gram(views) }

func (c *conv2d) norm() string {
	if c.gram(1) {
		return "ghost"
	}
	return "instantiated"
}

// ones is 1 where the bias goes with the slice of taps that begins at lo: its gradient is
// that of a tap that is always 1.
func (c *geometry) ones(lo, n int) int {
	if c.bias && lo+n == c.taps() {
		return 1
	}
	return 0
}

// patches gathers a block; with the last slice a column of ones for the bias.
func (c *geometry) patches(p *pass, s span, data []float32, stride, lo, n int) tensor.Mat {
	one := c.ones(lo, n)
	block := matrix(p.temp, 0, s.positions, n+one)
	s.gather(block, data, stride, &c.window, lo, n)
	if one == 1 {
		for t := range s.positions {
			block.Data[t*block.Stride+n] = 1
		}
	}
	return block
}

// patches16 is patches in bfloat16.
func (c *geometry) patches16(p *pass, s span, data bordered, lo, n int) tensor.MatBF16 {
	one := c.ones(lo, n)
	block := p.block16(s.positions, n+one)
	s.gather16(block, data.half, data.stride, &c.window, lo, n)
	if one == 1 {
		for t := range s.positions {
			block.Data[t*block.Stride+n] = 0x3f80 // 1
		}
	}
	return block
}

// room parts temp: behind the patches two slices of a gradient, two Gram matrices, and
// padded images.
func (c *geometry) room(p *pass) (first, second, gram, images []float32) {
	n := slice(c.taps(), c.filters)
	a := arena{p.temp[blockPositions*(n+1):]}
	return a.take((n + 1) * c.filters), a.take((n + 1) * c.filters),
		a.take(2 * blockPositions * blockPositions), a.free
}

// sliceGradient sets dst to the gradient of the weights of taps lo to lo+n, and of the
// bias with the last ones, summed over images count from row on. data holds these images.
func (c *geometry) sliceGradient(dst tensor.Mat, p *pass, row, count int, data bordered, lo, n int) {
	add := false
	for s, ok := (span{}).next(&c.window, count); ok; s, ok = s.next(&c.window, count) {
		c.blockGradient(dst, p, s, row, data, lo, n, add)
		add = true
	}
}

// blockGradient sets dst to the part of one block in that gradient, or adds it.
func (c *geometry) blockGradient(dst tensor.Mat, p *pass, s span, row int, data bordered, lo, n int,
	add bool) {
	at := (row+s.image)*c.positions() + s.first
	if p.half == nil {
		tensor.MulTN(dst, c.patches(p, s, data.full, data.stride, lo, n),
			matrix(p.dy.Data, at, s.positions, c.filters), add)
		return
	}
	dy := tensor.MatBF16{
		Rows:   s.positions,
		Cols:   c.filters,
		Stride: c.filters,
		Data:   p.dy16.Data[at*c.filters:],
	}
	tensor.MulTN16(dst, c.patches16(p, s, data, lo, n), dy, add)
}

// rowsGradient sets dst to the gradient summed over count rows.
func (c *conv2d) rowsGradient(dst tensor.Vec, p *pass, row, count int) {
	_, _, _, temp := c.room(p)
	data := p.images(temp, operand{p.x, p.x16}, row, count, &c.window, c.padding)
	step := slice(c.taps(), c.filters)
	for lo := 0; lo < c.taps(); lo += step {
		n := min(step, c.taps()-lo)
		c.sliceGradient(matrix(dst, lo, n+c.ones(lo, n), c.filters), p, row, count, data, lo, n)
	}
	if c.standard {
		c.standardGradient(dst, p)
	}
}

func (c *conv2d) backward(p *pass, norms []float64) {
	if !p.plain {
		c.addNorms(p, norms)
	}
	if p.dx.Data != nil {
		c.inputGradient(p)
	}
}

func (c *conv2d) addNorms(p *pass, norms []float64) {
	if c.gram(p.views) {
		for r := range norms {
			norms[r] += c.gramNorm(p, r)
		}
		return
	}
	for r := range norms {
		c.rowsGradient(p.kept.Row(r), p, r*p.views, p.views)
	}
	addNorms(norms, p.kept)
}

func (c *conv2d) accumulate(dst tensor.Vec, p *pass, factors []float64) {
	switch {
	case p.plain && c.standard:
		c.rowsGradient(p.kept.Row(0), p, 0, p.dy.Rows)
		dst.AddScaled(1, p.kept.Row(0))
	case p.plain:
		c.chunkGradient(dst, p, nil)
	case c.gram(p.views):
		for r, f := range factors {
			if f == 1 || p.scratch.Row(r * p.views)[0] != 0 {
				continue
			}
			for s := r * p.views; s < (r+1)*p.views; s++ {
				p.scaleNear(s, f)
			}
		}
		c.chunkGradient(dst, p, factors)
	default:
		addKept(dst, p.kept, factors)
	}
}

// chunkGradient adds the sum over all rows to dst, slice by slice. The rows of records
// whose norm was taken from the gradient itself are summed apart, with their factors.
func (c *conv2d) chunkGradient(dst tensor.Vec, p *pass, factors []float64) {
	sum, alone, _, temp := c.room(p)
	data := p.images(temp, operand{p.x, p.x16}, 0, p.x.Rows, &c.window, c.padding)
	step := slice(c.taps(), c.filters)
	for lo := 0; lo < c.taps(); lo += step {
		n := min(step, c.taps()-lo)
		high := n + c.ones(lo, n)
		total := matrix(sum, 0, high, c.filters)
		c.regularGradient(total, p, factors, data, lo, n)
		for r, f := range factors {
			if p.scratch.Row(r * p.views)[0] == 0 || f == 0 {
				continue
			}
			one := matrix(alone, 0, high, c.filters)
			c.sliceGradient(one, p, r*p.views, p.views, data.from(r*p.views), lo, n)
			if f < leastFactor {
				tensor.ScaleToward(one.Data, f)
				f = 1
			}
			tensor.Vec(total.Data).AddScaled(f, one.Data)
		}
		dst[lo*c.filters:][:len(total.Data)].AddScaled(1, total.Data)
	}
}

// regularGradient is sliceGradient of all rows but those of records that are summed
// apart: runs of records between them.
func (c *conv2d) regularGradient(dst tensor.Mat, p *pass, factors []float64, data bordered, lo, n int) {
	apart := false
	for r := range factors {
		apart = apart || p.scratch.Row(r * p.views)[0] != 0
	}
	if !apart {
		c.sliceGradient(dst, p, 0, p.x.Rows, data, lo, n)
		return
	}
	clear(dst.Data)
	for r := range factors {
		if p.scratch.Row(r * p.views)[0] != 0 {
			continue
		}
		for s, ok := (span{}).next(&c.window, p.views); ok; s, ok = s.next(&c.window, p.views) {
			c.blockGradient(dst, p, s, r*p.views, data.from(r*p.views), lo, n, true)
		}
	}
}

func (c *conv2d) instantiate(dst tensor.Vec, p *pass, r int) {
	if c.gram(p.views) {
		c.rowsGradient(dst, p, r*p.views, p.views)
		return
	}
	copy(dst, p.kept.Row(r))
}
