package model

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"sotto/config"
	"sotto/tensor"
)

// AdditiveParams are the parameters of "additive".
type AdditiveParams struct {
	// Bins are the pieces of equal width that the public range of a number is cut into, 1
	// to 64; default 4.
	Bins int `toml:"bins"`
}

// newAdditive builds "additive": a sum of one shape function a feature, and a constant
// (after Lou, Caruana, Gehrke 2012, whose shapes are steps). The shape of a number is
// linear between Bins+1 knots that divide its public range, and constant beyond; with one
// bin it is a line. A feature that is 0 or 1 has one weight. Losses are those of logistic
// and least-squares.
func newAdditive(decode func(params any) error, s Shape) (Model, error) {
	p := AdditiveParams{Bins: 4}
	if err := decode(&p); err != nil {
		return nil, err
	}
	if p.Bins < 1 || p.Bins > 64 {
		return nil, config.Bad("bins", p.Bins, "1 to 64")
	}
	numbers, err := s.numbers()
	if err != nil {
		return nil, err
	}
	if s.Features() > maxFeatures/(p.Bins+1)/max(1, s.Classes) {
		return nil, config.Bad("bins", p.Bins, "at most 16777216 weights in a layer")
	}
	h := newKnots(s.Features(), p.Bins, numbers)
	var n *network
	switch {
	case s.Classes == 0:
		n = compose(squared, true, h, linear{h.width, 1, true})
		n.glm = &GLM{Intercept: true, Loss: squaredGLM, Slope: math.Inf(1), Curvature: 2,
			AtZero: math.Inf(1), Quadratic: true}
	case s.Classes == 2:
		n = compose(logistic, false, h, linear{h.width, 1, true})
		n.total = logisticTotal
		n.glm = &GLM{Intercept: true, Loss: logisticGLM, Slope: 1, Curvature: .25, AtZero: math.Ln2}
	default:
		n = compose(softmaxCrossEntropy, false, h, linear{h.width, s.Classes, true})
		n.softmax = true
	}
	return n, nil
}

// Number is a feature that may have any value in a public range.
type Number struct {
	At   int // its place in a sample
	Low  float64
	High float64
}

// FormatNumbers is what Shape.Numbers holds: "at:low:high" of each, in order.
func FormatNumbers(all []Number) string {
	var b strings.Builder
	for k, n := range all {
		if k > 0 {
			b.WriteByte(' ')
		}
		fmt.Fprintf(&b, "%d:%v:%v", n.At, n.Low, n.High)
	}
	return b.String()
}

// numbers reads Numbers.
func (s Shape) numbers() ([]Number, error) {
	var all []Number
	for _, text := range strings.Fields(s.Numbers) {
		parts := strings.Split(text, ":")
		if len(parts) != 3 {
			return nil, config.Bad("numbers", text, "place:low:high")
		}
		at, err := strconv.Atoi(parts[0])
		low, err1 := strconv.ParseFloat(parts[1], 64)
		high, err2 := strconv.ParseFloat(parts[2], 64)
		last := -1
		if len(all) > 0 {
			last = all[len(all)-1].At
		}
		if err != nil || err1 != nil || err2 != nil || at <= last || at >= s.Features() || !(high > low) ||
			high-low > math.MaxFloat32 {
			return nil, config.Bad("numbers", text, fmt.Sprintf(
				"places below %d in order, each with a lower bound below an upper one", s.Features()))
		}
		all = append(all, Number{at, low, high})
	}
	return all, nil
}

// knots is a layer without parameters: of a number in its range the weights of the two
// knots beside it, which are linear in it and sum to 1; other features as they are.
type knots struct {
	in, width, bins int
	numbers         []Number
	ranged          []bool // by feature
}

func newKnots(in, bins int, numbers []Number) knots {
	h := knots{in: in, width: in + bins*len(numbers), bins: bins, numbers: numbers,
		ranged: make([]bool, in)}
	for _, n := range numbers {
		h.ranged[n.At] = true
	}
	return h
}

// Curve is a run of parameters that are the heights of one shape function at its knots.
type Curve struct {
	Feature   int // place in a sample
	At, Knots int // the first parameter of each output, and how many; 1: the weight of a feature
	Low, High float64
}

// curves are those of the features in order.
func (h knots) curves() []Curve {
	var all []Curve
	next := h.numbers
	for c, at := 0, 0; c < h.in; c++ {
		one := Curve{Feature: c, At: at, Knots: 1, High: 1}
		if h.ranged[c] {
			one.Knots, one.Low, one.High, next = h.bins+1, next[0].Low, next[0].High, next[1:]
		}
		all, at = append(all, one), at+one.Knots
	}
	return all
}

func (h knots) size() size { return size{in: h.in, out: h.width} }

func (h knots) describe() LayerInfo { return LayerInfo{Name: "knots", Positions: h.width} }

// spread writes what the layer makes of a sample. A number that is not finite makes its
// knots NaN.
func (h knots) spread(dst, x []float32) {
	next, at := h.numbers, 0
	for c, v := range x {
		if !h.ranged[c] {
			dst[at] = v
			at++
			continue
		}
		n, to := next[0], dst[at:at+h.bins+1]
		next, at = next[1:], at+h.bins+1
		clear(to)
		t := (float64(v) - n.Low) * (float64(h.bins) / (n.High - n.Low))
		if t-t != 0 {
			for k := range to {
				to[k] = float32(math.NaN())
			}
			continue
		}
		t = math.Max(0, math.Min(float64(h.bins), t))
		k := min(int(t), h.bins-1)
		to[k], to[k+1] = float32(1-(t-float64(k))), float32(t-float64(k))
	}
}

func (h knots) forward(p *pass) {
	for s := range p.x.Rows {
		h.spread(p.y.Row(s), p.x.Row(s))
	}
}

// backward writes the derivative on the piece that the sample is in; 0 beyond the range.
func (h knots) backward(p *pass, _ []float64) {
	if p.dx.Data == nil {
		return
	}
	for s := range p.dx.Rows {
		next, at := h.numbers, 0
		x, dx, dy := p.x.Row(s), p.dx.Row(s), p.dy.Row(s)
		for c, v := range x {
			if !h.ranged[c] {
				dx[c] = dy[at]
				at++
				continue
			}
			n, from := next[0], dy[at:at+h.bins+1]
			next, at = next[1:], at+h.bins+1
			rate := float64(h.bins) / (n.High - n.Low)
			t := (float64(v) - n.Low) * rate
			dx[c] = 0
			if t >= 0 && t < float64(h.bins) {
				k := int(t)
				dx[c] = float32(rate * (float64(from[k+1]) - float64(from[k])))
			}
		}
	}
}

// export writes a number's weights as max(0, 1 - |t - k|) at knot k, t being the number
// in widths of a bin.
func (h knots) export(e *exporter, _ tensor.Vec) {
	if len(h.numbers) == 0 {
		return
	}
	low, high := make([]float32, h.in), make([]float32, h.in)
	for c := range low {
		low[c], high[c] = -math.MaxFloat32, math.MaxFloat32
	}
	rates, offsets := make([]float32, h.in*h.width), make([]float32, h.width)
	plain := make([]float32, h.width) // 1: as it is
	next := h.numbers
	for _, c := range h.curves() {
		if c.Knots == 1 {
			rates[c.Feature*h.width+c.At], plain[c.At] = 1, 1
			continue
		}
		n := next[0]
		next = next[1:]
		low[c.Feature], high[c.Feature] = float32(n.Low), float32(n.High)
		rate := float64(h.bins) / (n.High - n.Low)
		for k := range c.Knots {
			rates[c.Feature*h.width+c.At+k] = float32(rate)
			offsets[c.At+k] = float32(-n.Low*rate - float64(k))
		}
	}
	g := e.graph
	x := g.Add("Max", e.x.name, []string{g.Floats("low", low, 1, h.in)})
	x = g.Add("Min", x, []string{g.Floats("high", high, 1, h.in)})
	x = g.Add("Gemm", x, []string{g.Floats("rates", rates, h.in, h.width),
		g.Floats("offsets", offsets, h.width)})
	hat := g.Add("Sub", g.Add("Abs", x, nil), []string{g.Floats("one", []float32{1}, 1, 1)})
	hat = g.Add("Relu", g.Add("Mul", hat, []string{g.Floats("minus", []float32{-1}, 1, 1)}), nil)
	mask := g.Floats("plain", plain, 1, h.width)
	difference := g.Add("Mul", g.Add("Sub", x, []string{hat}), []string{mask})
	e.x.name = g.Add("Add", hat, []string{difference})
}

// CurvesOf are the shape functions of a model that is additive; false where it is none.
func CurvesOf(m Model) ([]Curve, bool) {
	n, ok := m.(*network)
	if !ok {
		return nil, false
	}
	h, ok := n.layers[0].(knots)
	if !ok {
		return nil, false
	}
	return h.curves(), true
}
