package model

import (
	"fmt"
	"math"

	"sotto/config"
	"sotto/tensor"
)

// normEpsilon keeps a variance from zero.
const normEpsilon = 1e-5

// groupNorm normalises groups of channels over units of positions of one sample, then
// scales and shifts each channel (Wu and He 2018, "Group Normalization"): one unit of all
// positions. With one group and a unit for each position it is layer normalisation over
// the channels (Ba, Kiros, Hinton 2016). Parameters: channels scales, then channels
// shifts.
//
// A unit's scratch is the mean and the reciprocal root of the variance plus 1e-5 of each
// group.
type groupNorm struct {
	name                     string
	units, positions         int // units of a sample, positions of a unit
	channels, groups, inputs int
}

var _ viewed = groupNorm{}

func newGroupNorm(positions, channels, groups int) groupNorm {
	return groupNorm{"groupnorm", 1, positions, channels, groups, positions * channels}
}

func newLayerNorm(positions, channels int) groupNorm {
	return groupNorm{"layernorm", positions, 1, channels, 1, positions * channels}
}

func (l groupNorm) size() size {
	return size{
		in: l.inputs, out: l.inputs, params: 2 * l.channels,
		scratch: 2 * l.units * l.groups, temp: 4 * l.channels, doubles: 2 * l.channels,
	}
}

func (l groupNorm) describe() LayerInfo {
	return LayerInfo{Name: l.name, Positions: l.units * l.positions, Norm: "instantiated"}
}

func (l groupNorm) init(dst tensor.Vec, _ Source) {
	for i := range dst[:l.channels] {
		dst[i] = 1
	}
	dst[l.channels:].Zero()
}

func (l groupNorm) keeps(int) bool { return true }

// unit returns unit u of a row.
func (l groupNorm) unit(v []float32, u int) []float32 {
	n := l.positions * l.channels
	return v[u*n:][:n]
}

func (l groupNorm) forward(p *pass) {
	c, width := l.channels, l.channels/l.groups
	a := arena{p.temp}
	shift, scale := a.take(c), a.take(c)
	sums, squares := p.doubles[:c], p.doubles[c:2*c]
	n := float64(l.positions * width)
	for s := range p.x.Rows {
		for u := range l.units {
			x, kept := l.unit(p.x.Row(s), u), p.scratch.Row(s)[2*u*l.groups:]
			tensor.ChannelSums(sums, squares, x, x)
			for g := range l.groups {
				var sum, square float64
				for j := g * width; j < (g+1)*width; j++ {
					sum += sums[j]
					square += squares[j]
				}
				mean := sum / n
				root := float32(1 / math.Sqrt(max(square/n-mean*mean, 0)+normEpsilon))
				kept[2*g], kept[2*g+1] = float32(mean), root
				for j := g * width; j < (g+1)*width; j++ {
					shift[j], scale[j] = float32(mean), root*p.theta[j]
				}
			}
			tensor.Normalize(l.unit(p.y.Row(s), u), x, shift, scale, p.theta[c:])
		}
	}
}

// backward: with v the normalised input, r the reciprocal root and w the scales, the
// scales' gradient is the sum of dy v over the positions, the shifts' that of dy, and dx
// = r (w dy - mean(w dy) - v mean(w dy v)), means over the group.
func (l groupNorm) backward(p *pass, norms []float64) {
	for r := range p.records() {
		p.kept.Row(r).Zero()
	}
	for s := range p.dy.Rows {
		for u := range l.units {
			l.unitGradient(p, s, u)
		}
	}
	if !p.plain {
		addNorms(norms, p.kept)
	}
}

func (l groupNorm) unitGradient(p *pass, s, u int) {
	c, width := l.channels, l.channels/l.groups
	a := arena{p.temp}
	shift, scale, slope, offset := a.take(c), a.take(c), a.take(c), a.take(c)
	sums, products := p.doubles[:c], p.doubles[c:2*c]
	x, dy := l.unit(p.x.Row(s), u), l.unit(p.dy.Row(s), u)
	kept, gradient := p.scratch.Row(s)[2*u*l.groups:], p.kept.Row(s/p.views)
	tensor.ChannelSums(sums, products, dy, x)
	n := float64(l.positions * width)
	for g := range l.groups {
		mean, root := float64(kept[2*g]), float64(kept[2*g+1])
		var first, second float64
		for j := g * width; j < (g+1)*width; j++ {
			v := root * (products[j] - mean*sums[j])
			gradient[j] += float32(v)
			gradient[c+j] += float32(sums[j])
			first += float64(p.theta[j]) * sums[j]
			second += float64(p.theta[j]) * v
		}
		for j := g * width; j < (g+1)*width; j++ {
			shift[j], scale[j] = kept[2*g], kept[2*g+1]*p.theta[j]
			slope[j], offset[j] = float32(-root*root*second/n), float32(-root*first/n)
		}
	}
	if p.dx.Data != nil {
		tensor.NormalizeGradient(l.unit(p.dx.Row(s), u), dy, x, shift, scale, slope, offset)
	}
}

func (l groupNorm) accumulate(dst tensor.Vec, p *pass, factors []float64) {
	addKept(dst, p.kept, factors[:p.records()])
}

func (l groupNorm) instantiate(dst tensor.Vec, p *pass, r int) { copy(dst, p.kept.Row(r)) }

// GroupNormParams are the parameters of layer "groupnorm".
type GroupNormParams struct {
	Groups int `json:"groups"`
}

func groupNormLayer(b *builder, decode func(any) error) error {
	var p GroupNormParams
	if err := decode(&p); err != nil {
		return err
	}
	return b.groupNorm(p.Groups)
}

func (b *builder) groupNorm(groups int) error {
	if groups < 1 || b.at.channels%groups != 0 {
		return config.Bad("groups", groups, fmt.Sprintf("a divisor of the %d channels", b.at.channels))
	}
	if b.at.size()/groups < 2 {
		return config.Bad("groups", groups, "groups of at least 2 elements, which have a variance")
	}
	b.layers = append(b.layers, newGroupNorm(b.at.height*b.at.width, b.at.channels, groups))
	return nil
}

func layerNormLayer(b *builder, decode func(any) error) error {
	if b.at.channels < 2 {
		return config.Bad("kind", "layernorm", "an input of at least 2 channels, which have a variance")
	}
	b.layers = append(b.layers, newLayerNorm(b.at.height*b.at.width, b.at.channels))
	return decode(&struct{}{})
}

func batchNormLayer(*builder, func(any) error) error {
	return config.Bad("kind", "batchnorm",
		"groupnorm or layernorm: batch normalisation mixes the samples of a batch, so that no gradient "+
			"belongs to one sample")
}
