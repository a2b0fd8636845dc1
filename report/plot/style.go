package plot

import (
	"image/color"
	"slices"

	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// Style is how a curve looks, whatever the place it has in its figure.
type Style struct {
	Hue  int // a colour, from 1; 0: that of the curve's place
	Dash int // a pattern of dashes; 0: a whole line
}

// Inked is the hue of what stands for things of several colours.
const Inked = 7

// Hue is the look of the n-th of several things, from 0: colours first, then dashes.
func Hue(n int) Style { return Style{Hue: 1 + n%(Inked-1), Dash: 3 * (n / (Inked - 1))} }

// patterns are dashes and gaps in points: the higher, the more broken.
var patterns = [][]float64{nil, {10, 3}, {6, 3}, {3, 2.5}, {1.5, 2.5}, {10, 3, 2, 3}, {6, 2, 1.5, 2}}

// pen is how a curve is drawn: the number of its colour, of its mark and its dashes.
type pen struct {
	hue, mark int
	dashes    []float64
	width     float64 // in points
}

// place numbers curve i among those that are like no other; those that are like another
// have its number.
func (f Figure) place(i int) int {
	n := 0
	for _, c := range f.Curves[:f.model(i)] {
		if c.Like == "" {
			n++
		}
	}
	return n
}

// model is the curve that curve i is drawn like, or i.
func (f Figure) model(i int) int {
	if name := f.Curves[i].Like; name != "" {
		return max(0, slices.IndexFunc(f.Curves, func(c Curve) bool { return c.Name == name }))
	}
	return i
}

// pen is that of curve i: without a style by its place, colours first, then dashes.
func (f Figure) pen(i int) pen {
	n, style := f.place(i), f.Curves[f.model(i)].Style
	p := pen{hue: n % len(palette), mark: n, width: 1.6}
	if style.Hue > 0 {
		p.hue = (style.Hue - 1) % len(palette)
		p.mark = style.Hue - 1 + style.Dash
		p.dashes = patterns[style.Dash%len(patterns)]
	} else {
		p.dashes = [][]float64{nil, {6, 3}, {2, 2}}[n/len(palette)%3]
	}
	if f.Curves[i].Dashed {
		p.dashes, p.width = []float64{4, 4}, 1.2
	}
	return p
}

// stroke is the line that a pen draws.
func (p pen) stroke() draw.LineStyle {
	s := draw.LineStyle{Color: p.color(), Width: vg.Points(p.width)}
	for _, d := range p.dashes {
		s.Dashes = append(s.Dashes, vg.Points(d))
	}
	return s
}

func (p pen) color() color.RGBA { return palette[p.hue] }

// glyph marks points; shapes differ so that colour is not needed.
func (p pen) glyph() draw.GlyphStyle {
	shapes := []draw.GlyphDrawer{draw.CircleGlyph{}, draw.SquareGlyph{}, draw.TriangleGlyph{},
		draw.CrossGlyph{}, draw.PlusGlyph{}, draw.RingGlyph{}, draw.PyramidGlyph{}}
	return draw.GlyphStyle{Color: p.color(), Radius: vg.Points(3), Shape: shapes[p.mark%len(shapes)]}
}
