package model

import "sotto/tensor"

const (
	blockPositions = 256 // positions of one product: one chain of the weight gradient
	sliceTaps      = 768 // most elements of a patch that are gathered at a time: a block is below 1 MB
	sliceWeights   = 1 << 20
)

// conv2d is a convolution: weights of shape kernel row x kernel column x input channel x
// filter, then one bias a filter. With a 1x1 window it is a linear layer at every
// position. Patches are gathered in blocks of at most 256 positions, which are multiplied
// with the weights.
type conv2d struct {
	geometry
	name     string
	standard bool // weights are standardised before they are used: see standardize
}

// geometry is where the patches, weights and results of a convolution lie.
type geometry struct {
	window  tensor.Window // over the image with its padding
	padding int
	filters int
	bias    bool
}

var (
	_ viewed   = (*conv2d)(nil)
	_ preparer = (*conv2d)(nil)
)

func (c *geometry) height() int    { return c.window.Height - 2*c.padding }
func (c *geometry) width() int     { return c.window.Width - 2*c.padding }
func (c *geometry) taps() int      { return c.window.Taps() }
func (c *geometry) positions() int { return c.window.Positions() }
func (c *geometry) weights() int   { return c.taps() * c.filters }

// turned is the geometry of the input gradient of a convolution of stride 1: a
// convolution of dy with the filters turned round. ok is false where the input gradient
// is formed by adding patches instead.
func (c *geometry) turned() (window tensor.Window, padding int, ok bool) {
	w := c.window
	padding = w.Kernel - 1 - c.padding
	return tensor.Window{
		Height: w.Rows + 2*padding, Width: w.Cols + 2*padding, Channels: c.filters,
		Kernel: w.Kernel, Stride: 1, Rows: c.height(), Cols: c.width(),
	}, padding, w.Stride == 1 && padding >= 0
}

func (c *geometry) params() int {
	if c.bias {
		return c.weights() + c.filters
	}
	return c.weights()
}

// slice returns how many elements of patches of the given length, which meet the given
// number of columns, go at a time.
func slice(taps, columns int) int { return min(taps, sliceTaps, max(1, sliceWeights/columns)) }

// padded returns the elements of one image with padding; none: there is no padding.
func padded(w tensor.Window, padding int) int {
	if padding == 0 {
		return 0
	}
	return w.Height * w.Width * w.Channels
}

func (c *conv2d) size() size {
	w, padding, ok := c.turned()
	s := size{
		in: c.height() * c.width() * c.window.Channels, out: c.positions() * c.filters, params: c.params(),
		scratch: 1, // of a record's first row: 1 if its norm could not be taken from Gram matrices
		shared:  panelled(c.taps(), c.filters) + c.turnedSize(),
		doubles: 2 * max(c.filters, blockPositions),
	}
	n := slice(c.taps(), c.filters)
	patches := blockPositions * (n + 1)
	images := padded(c.window, c.padding)
	if ok {
		images = max(images, padded(w, padding))
		patches = max(patches, blockPositions*slice(w.Taps(), w.Channels))
	} else {
		images = c.window.Height * c.window.Width * c.window.Channels
	}
	s.temp = patches + 2*(n+1)*c.filters + 2*blockPositions*blockPositions
	s.tempRow = images
	if c.standard {
		s.shared += c.weights() + 4*c.filters
	}
	return s
}

func (c *conv2d) describe() LayerInfo {
	work := float64(c.positions()) * float64(c.weights())
	return LayerInfo{Name: c.name, Positions: c.positions(), Norm: c.norm(), MACs: work, GradientMACs: work}
}

func (c *conv2d) init(dst tensor.Vec, r Source) { uniform(dst, c.taps(), r) }

// matrix returns the rows from tap lo on of a matrix of the given number of rows, at most
// n.
func matrix(v []float32, lo, n, columns int) tensor.Mat {
	return tensor.Mat{Rows: n, Cols: columns, Stride: columns, Data: v[lo*columns : (lo+n)*columns]}
}

// images returns count images of a chunk with padding around them, from row lo of m on,
// and their distance. They lie in temp unless there is no padding.
func images(temp []float32, m tensor.Mat, lo, count int, w *tensor.Window, padding int) (data []float32,
	stride int) {
	if padding == 0 {
		return m.Data[lo*m.Stride:], m.Stride
	}
	stride = w.Height * w.Width * w.Channels
	line := (w.Width - 2*padding) * w.Channels
	temp = temp[:count*stride]
	clear(temp)
	for i := range count {
		inner := temp[i*stride+(padding*w.Width+padding)*w.Channels:]
		tensor.CopyRuns(inner, w.Width*w.Channels, m.Row(lo+i), line, w.Height-2*padding, line)
	}
	return temp, stride
}

// span is one block of positions: all those of some images, or some of one.
type span struct{ image, images, first, positions int }

// next returns the block after s of count images, and whether there is one. The first
// block comes after the zero span.
func (s span) next(w *tensor.Window, count int) (span, bool) {
	t := w.Positions()
	if t > blockPositions {
		if s.first += s.positions; s.first == t {
			s.image, s.first = s.image+1, 0
		}
		s.images, s.positions = 1, min(blockPositions, t-s.first)
		return s, s.image < count
	}
	s.image += s.images
	s.images = min(blockPositions/t, count-s.image)
	s.positions = s.images * t
	return s, s.image < count
}

// gather writes the patches of a block, elements lo to lo+n, to the first n columns of
// dst.
func (s span) gather(dst tensor.Mat, data []float32, stride int, w *tensor.Window, lo, n int) {
	each := s.positions / s.images
	for i := range s.images {
		part := rows(dst, i*each, (i+1)*each)
		part.Cols = n
		w.Patches(part, data[(s.image+i)*stride:], s.first, lo)
	}
}

// panels are weights as products read them: see panelAt. half holds them in bfloat16, nil
// where products are float32.
type panels struct {
	full []float32
	half []uint16
	row  int // above 0: full is no panels but rows of that length
}

// convolve sets each row of y to the products of the patches of the images in x with the
// weights, plus the bias of each filter if there is one.
func convolve(p *pass, y tensor.Mat, x operand, w *tensor.Window, padding, filters int, weights panels,
	bias []float32) {
	n := slice(w.Taps(), filters)
	temp, a := p.temp[blockPositions*n:], p.temp[:blockPositions*n]
	from := p.images(temp, x, 0, y.Rows, w, padding)
	for s, ok := (span{}).next(w, y.Rows); ok; s, ok = s.next(w, y.Rows) {
		out := matrix(y.Data, s.image*w.Positions()+s.first, s.positions, filters)
		if bias != nil {
			tensor.CopyRuns(out.Data, filters, bias, 0, s.positions, filters)
		}
		for lo := 0; lo < w.Taps(); lo += n {
			some := min(n, w.Taps()-lo)
			var block operand
			if p.half != nil {
				block.half = p.block16(s.positions, some)
				s.gather16(block.half, from.half, from.stride, w, lo, some)
			} else {
				block.full = matrix(a, 0, s.positions, some)
				s.gather(block.full, from.full, from.stride, w, lo, some)
			}
			mulPanels(out, block, weights, lo, some, w.Taps(), bias != nil || lo > 0)
		}
	}
}

// panelWidth is the number of columns of a panel: the products read rows of that stride
// in place.
const panelWidth = 32

// panelled returns the elements of a rows x columns matrix in panels, the last one filled
// up.
func panelled(rows, columns int) int {
	return rows * ((columns + panelWidth - 1) / panelWidth * panelWidth)
}

// panelAt returns where element (row, column) of a matrix of the given number of rows is
// in its panels.
func panelAt(rows, row, column int) int {
	return column/panelWidth*panelWidth*rows + row*panelWidth + column%panelWidth
}

// mulPanels sets dst to a times rows lo to lo+n of a matrix of the given number of rows
// in panels, or adds.
func mulPanels(dst tensor.Mat, a operand, weights panels, lo, n, rows int, add bool) {
	if row := weights.row; row > 0 {
		b := tensor.Mat{Rows: n, Cols: dst.Cols, Stride: row, Data: weights.full[lo*row:]}
		tensor.MulNN(dst, a.full, b, add)
		return
	}
	for col := 0; col < dst.Cols; col += panelWidth {
		width := min(panelWidth, dst.Cols-col)
		part := tensor.Mat{Rows: dst.Rows, Cols: width, Stride: dst.Stride, Data: dst.Data[col:]}
		at := panelAt(rows, lo, col)
		if weights.half != nil {
			tensor.MulNN16(part, a.half, tensor.MatBF16{Rows: n, Cols: width, Stride: panelWidth,
				Data: weights.half[at:]}, add)
		} else {
			tensor.MulNN(part, a.full, tensor.Mat{Rows: n, Cols: width, Stride: panelWidth,
				Data: weights.full[at:]}, add)
		}
	}
}

// Shared scratch holds the weights that forward uses in panels, then those of the input
// gradient, then what standardize keeps.

func (c *geometry) forwardPanels(p *pass) []float32 {
	return p.shared[:panelled(c.taps(), c.filters)]
}

// turnedWeights are in panels where the input gradient is a convolution, else a filters x
// taps matrix.
func (c *geometry) turnedWeights(p *pass) []float32 {
	return p.shared[panelled(c.taps(), c.filters):][:c.turnedSize()]
}

func (c *geometry) turnedSize() int {
	if w, _, ok := c.turned(); ok {
		return panelled(w.Taps(), c.window.Channels)
	}
	return c.weights()
}

func (c *geometry) standardRoom(p *pass) arena {
	return arena{p.shared[panelled(c.taps(), c.filters)+c.turnedSize():]}
}

func (c *conv2d) forward(p *pass) {
	var bias []float32
	if c.bias {
		bias = p.theta[c.weights():]
	}
	weights := panels{full: c.used(p), row: c.filters}
	if p.half != nil || p.y.Rows*c.positions() > fewPositions {
		if weights = c.panels(p, c.forwardPanels(p), 0); !p.laid {
			c.lay(p)
		}
	}
	convolve(p, p.y, operand{p.x, p.x16}, &c.window, c.padding, c.filters, weights, bias)
}

// fewPositions is up to how many positions of a chunk the weights are read where they
// are: to lay them out for larger products takes as long as such a small one.
const fewPositions = 256

// used are the weights as they are multiplied: standardised where they must be.
func (c *conv2d) used(p *pass) []float32 {
	if c.standard {
		a := c.standardRoom(p)
		return a.take(c.weights())
	}
	return p.theta[:c.weights()]
}

// prepare standardises the weights if it must. Those of half precision are laid out at
// once, for forward and for the input gradient; others when they are first used.
func (c *conv2d) prepare(p *pass, gradient bool) {
	if c.standard {
		c.standardize(p)
	}
	if p.half == nil {
		return
	}
	c.lay(p)
	if gradient && p.dx.Data != nil {
		c.turn(p)
	}
	tensor.RoundBF16(p.weights, p.shared[:len(p.weights)])
}

// lay writes the panels of forward.
func (c *conv2d) lay(p *pass) {
	panels, weights := c.forwardPanels(p), c.used(p)
	for f := 0; f < c.filters; f += panelWidth {
		n := min(panelWidth, c.filters-f)
		tensor.CopyRuns(panels[panelAt(c.taps(), 0, f):], panelWidth, weights[f:], c.filters, c.taps(), n)
	}
	p.laid = true
}

// halfWeights is the number of weights that are kept in bfloat16 as well: those in
// panels.
func (c *geometry) halfWeights() int {
	n := panelled(c.taps(), c.filters)
	if _, _, ok := c.turned(); ok {
		n += c.turnedSize()
	}
	return n
}

// panels returns weights with their half-precision copies, which lie from at on.
func (c *geometry) panels(p *pass, full []float32, at int) panels {
	if p.half == nil {
		return panels{full: full}
	}
	return panels{full: full, half: p.weights[at:][:len(full)]}
}

// turn writes the weights of the input gradient: filters turned round for stride 1, else
// transposed.
func (c *conv2d) turn(p *pass) {
	dst, weights := c.turnedWeights(p), c.used(p)
	w, _, ok := c.turned()
	channels, count := c.window.Channels, c.window.Kernel*c.window.Kernel
	if !ok {
		tensor.Transpose(dst, c.taps(), weights, c.filters, c.taps(), c.filters)
	}
	for tap := 0; ok && tap < count; tap++ {
		for ch := 0; ch < channels; ch += panelWidth {
			tensor.Transpose(dst[panelAt(w.Taps(), (count-1-tap)*c.filters, ch):], panelWidth,
				weights[(tap*channels+ch)*c.filters:], c.filters, min(panelWidth, channels-ch), c.filters)
		}
	}
	p.turned = true
}

// inputGradient writes dx.
func (c *conv2d) inputGradient(p *pass) {
	if !p.turned {
		c.turn(p)
	}
	turned := c.turnedWeights(p)
	if w, padding, ok := c.turned(); ok {
		convolve(p, p.dx, operand{p.dy, p.dy16}, &w, padding, c.window.Channels,
			c.panels(p, turned, panelled(c.taps(), c.filters)), nil)
		return
	}
	w := &c.window
	n := slice(c.taps(), c.filters)
	area := w.Height * w.Width * w.Channels
	sums := p.temp[blockPositions*n:][:p.dx.Rows*area]
	clear(sums)
	transposed := tensor.Mat{Rows: c.filters, Stride: c.taps()}
	for s, ok := (span{}).next(w, p.dx.Rows); ok; s, ok = s.next(w, p.dx.Rows) {
		dy := matrix(p.dy.Data, s.image*c.positions()+s.first, s.positions, c.filters)
		for lo := 0; lo < c.taps(); lo += n {
			some := min(n, c.taps()-lo)
			block := matrix(p.temp, 0, s.positions, some)
			transposed.Cols, transposed.Data = some, turned[lo:]
			p.mulNN(block, dy, transposed, false)
			each := s.positions / s.images
			for i := range s.images {
				w.AddPatches(sums[(s.image+i)*area:], rows(block, i*each, (i+1)*each), s.first, lo)
			}
		}
	}
	line := c.width() * w.Channels
	for s := range p.dx.Rows {
		inner := sums[s*area+(c.padding*w.Width+c.padding)*w.Channels:]
		tensor.CopyRuns(p.dx.Row(s), line, inner, w.Width*w.Channels, c.height(), line)
	}
}
