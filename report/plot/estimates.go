package plot

import (
	"image/color"
	"math"

	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// Estimate is a value with its interval, either end of which may be infinite.
type Estimate struct {
	Label            string
	From, To         float64 // of a bar or step: its ends on the horizontal axis, ascending
	Value, Low, High float64
	True             float64 // what is estimated; NaN: nobody knows
	Drowned          bool    // noise leaves nothing to say: drawn hollow, grey and dashed
}

// drownedInk is grey that stands out from white by 4.5 to 1.
var drownedInk = color.RGBA{0x70, 0x70, 0x70, 255}

// pen is the colour and line of an estimate: of drowned ones grey dashes.
func (e *Estimate) pen(c color.Color, width float64) draw.LineStyle {
	s := draw.LineStyle{Color: c, Width: vg.Points(width)}
	if e.Drowned {
		s.Color, s.Dashes = drownedInk, []vg.Length{vg.Points(3), vg.Points(2)}
	}
	return s
}

// extent is the least and the largest finite number that estimates show, from low and
// high on.
func extent(low, high float64, all []Estimate) (float64, float64) {
	for _, e := range all {
		for _, x := range []float64{e.Value, e.Low, e.High, e.True} {
			if finite(x) && math.Abs(x) < 1e300 {
				low, high = min(low, x), max(high, x)
			}
		}
	}
	if !finite(low, high) {
		return 0, 1
	}
	if low == high {
		return low, low + 1
	}
	return low, high
}

// frame is a rectangle with a scale on either side.
type frame struct {
	draw.Canvas
	min, max  vg.Point
	low, high struct{ X, Y float64 }
}

// Room around a frame.
const (
	frameLeft   = 1.8 * vg.Centimeter
	frameRight  = .6 * vg.Centimeter
	frameTop    = 1.5 * vg.Centimeter
	frameBottom = 1.3 * vg.Centimeter
)

// newFrame leaves left free beside, below free under it, and writes the title.
func newFrame(dc draw.Canvas, title string, left, below vg.Length) *frame {
	dc.FillText(textStyle(12, ink, text.XLeft, text.YTop),
		vg.Point{X: dc.Min.X + .2*vg.Centimeter, Y: dc.Max.Y - .2*vg.Centimeter}, cut(title, mostTitle))
	return &frame{Canvas: dc, min: vg.Point{X: dc.Min.X + left, Y: dc.Min.Y + frameBottom + below},
		max: vg.Point{X: dc.Max.X - frameRight, Y: dc.Max.Y - frameTop}}
}

// x and y place a number; what lies beyond the scale is at its end.
func (f *frame) x(v float64) vg.Length {
	return f.min.X + (f.max.X-f.min.X)*vg.Length(within(v, f.low.X, f.high.X))
}

func (f *frame) y(v float64) vg.Length {
	return f.min.Y + (f.max.Y-f.min.Y)*vg.Length(within(v, f.low.Y, f.high.Y))
}

// within is where v lies from low, 0, to high, 1; what is not a number lies at 0.
func within(v, low, high float64) float64 {
	at := (v - low) / (high - low)
	if math.IsNaN(at) {
		return 0
	}
	return min(max(at, 0), 1)
}

// alongX draws the horizontal axis below with ticks, and lines upward.
func (f *frame) alongX(label string) {
	for _, t := range (ticks{scale: 1}).Ticks(f.low.X, f.high.X) {
		x := f.x(t.Value)
		f.StrokeLine2(draw.LineStyle{Color: pale, Width: vg.Points(.5)}, x, f.min.Y, x, f.max.Y)
		f.FillText(textStyle(9.5, ink, text.XCenter, text.YTop), vg.Point{X: x, Y: f.min.Y - vg.Points(4)},
			t.Label)
	}
	f.below(label)
}

// below draws the lower edge and what stands on it.
func (f *frame) below(label string) {
	f.StrokeLine2(draw.LineStyle{Color: ink, Width: vg.Points(.7)}, f.min.X, f.min.Y, f.max.X, f.min.Y)
	f.FillText(textStyle(10.5, ink, text.XCenter, text.YTop),
		vg.Point{X: (f.min.X + f.max.X) / 2, Y: f.min.Y - .65*vg.Centimeter}, cut(label, mostTitle))
}

// alongY draws the vertical axis on the left with ticks, labelled with the value times
// scale, and lines across.
func (f *frame) alongY(label string, scale float64) {
	for _, t := range (ticks{scale: scale}).Ticks(f.low.Y, f.high.Y) {
		y := f.y(t.Value)
		f.StrokeLine2(draw.LineStyle{Color: pale, Width: vg.Points(.5)}, f.min.X, y, f.max.X, y)
		f.FillText(textStyle(9.5, ink, text.XRight, text.YCenter), vg.Point{X: f.min.X - vg.Points(4), Y: y},
			t.Label)
	}
	f.FillText(textStyle(10.5, ink, text.XLeft, text.YBottom),
		vg.Point{X: f.Min.X + .2*vg.Centimeter, Y: f.max.Y + .2*vg.Centimeter}, cut(label, mostTitle))
}

// mostTitle is how many letters a figure is wide.
const mostTitle = 70

// cut is a text of at most so many letters.
func cut(s string, letters int) string {
	if r := []rune(s); len(r) > letters {
		return string(r[:letters-1]) + "…"
	}
	return s
}

// cross marks a true value.
func (f *frame) cross(x, y vg.Length) {
	f.DrawGlyph(draw.GlyphStyle{Color: palette[1], Radius: vg.Points(4), Shape: draw.CrossGlyph{}},
		vg.Point{X: x, Y: y})
}

// Bars are a histogram: a bar for each estimate, all of one width, with a whisker from
// Low to High and a cross at True. Edges stand below, whatever their distances.
type Bars struct {
	Name, Title, XLabel, YLabel, Caption string
	Of                                   []Estimate // To of one is From of the next
}

// FileName implements [Drawing].
func (b Bars) FileName() string { return b.Name }

// About implements [Drawing].
func (b Bars) About() string { return b.Caption }

func (b Bars) heading() string                 { return b.Title }
func (b Bars) size() (width, height vg.Length) { return figureWidth, plotHeight }
func (b Bars) table() Table                    { return estimateTable(b.XLabel, b.Of) }

func (b Bars) paint(dc draw.Canvas) error {
	f := newFrame(dc, b.Title, frameLeft, 0)
	f.low.Y, f.high.Y = extent(0, 0, b.Of)
	f.high.Y += .05 * (f.high.Y - f.low.Y)
	f.low.X, f.high.X = 0, float64(max(1, len(b.Of)))
	f.alongY(b.YLabel, 1)
	slot := f.x(1) - f.x(0)
	every := stride(slot, 1.1*vg.Centimeter)
	edge := func(k int, x float64) {
		if k%every == 0 {
			f.FillText(textStyle(9.5, ink, text.XCenter, text.YTop),
				vg.Point{X: f.x(float64(k)), Y: f.min.Y - vg.Points(4)}, shortNumber(x))
		}
	}
	for k, e := range b.Of {
		edge(k, e.From)
		left, right, mid := f.x(float64(k)), f.x(float64(k+1)), f.x(float64(k)+.5)
		gap := min(vg.Points(1.5), slot/8)
		bar := rectangle(left+gap, f.y(max(0, f.low.Y)), right-gap, f.y(e.Value))
		if !e.Drowned {
			f.FillPolygon(faint(palette[0]), bar)
		}
		f.StrokeLines(e.pen(palette[0], 1), append(bar, bar[0]))
		f.upright(&e, mid, min(vg.Points(4), slot/4))
		if finite(e.True) {
			f.cross(mid, f.y(e.True))
		}
	}
	if n := len(b.Of); n > 0 {
		edge(n, b.Of[n-1].To)
	}
	f.below(b.XLabel)
	return nil
}

// upright is a whisker with caps.
func (f *frame) upright(e *Estimate, x, half vg.Length) {
	low, high, pen := f.y(e.Low), f.y(e.High), e.pen(ink, 1)
	f.StrokeLine2(pen, x, low, x, high)
	pen.Dashes = nil
	f.StrokeLine2(pen, x-half, low, x+half, low)
	f.StrokeLine2(pen, x-half, high, x+half, high)
}

// Dots are estimates below each other, each on a line of its own with its label before
// it: a dot with a whisker from Low to High and a cross at True.
type Dots struct {
	Name, Title, XLabel, Caption string
	Zero                         bool // the axis holds 0
	Of                           []Estimate
}

// FileName implements [Drawing].
func (d Dots) FileName() string { return d.Name }

// About implements [Drawing].
func (d Dots) About() string { return d.Caption }

func (d Dots) heading() string { return d.Title }
func (d Dots) table() Table    { return estimateTable("", d.Of) }

const dotLine = .62 * vg.Centimeter

func (d Dots) size() (width, height vg.Length) {
	return figureWidth, frameTop/2 + frameBottom + dotLine*vg.Length(len(d.Of)+1)
}

func (d Dots) paint(dc draw.Canvas) error {
	most := 0
	for _, e := range d.Of {
		most = max(most, len([]rune(shortened(e.Label))))
	}
	f := newFrame(dc, d.Title, letters*vg.Length(most)+.6*vg.Centimeter, 0)
	f.max.Y = dc.Max.Y - frameTop/2
	f.low.X, f.high.X = math.Inf(1), math.Inf(-1)
	if d.Zero {
		f.low.X, f.high.X = 0, 0
	}
	f.low.X, f.high.X = extent(f.low.X, f.high.X, d.Of)
	pad := .03 * (f.high.X - f.low.X)
	if f.high.X += pad; f.low.X != 0 {
		f.low.X -= pad
	}
	f.alongX(d.XLabel)
	for k, e := range d.Of {
		y := f.max.Y - dotLine*vg.Length(float64(k)+.75)
		f.FillText(textStyle(9.5, ink, text.XRight, text.YCenter),
			vg.Point{X: f.min.X - .2*vg.Centimeter, Y: y}, shortened(e.Label))
		low, high, pen := f.x(e.Low), f.x(e.High), e.pen(palette[0], 1.2)
		f.StrokeLine2(pen, low, y, high, y)
		pen.Dashes = nil
		for _, x := range []vg.Length{low, high} {
			f.StrokeLine2(pen, x, y-vg.Points(3), x, y+vg.Points(3))
		}
		dot := draw.GlyphStyle{Color: pen.Color, Radius: vg.Points(3.2), Shape: draw.CircleGlyph{}}
		if e.Drowned {
			dot.Shape = draw.RingGlyph{}
		}
		f.DrawGlyph(dot, vg.Point{X: f.x(e.Value), Y: y})
		if finite(e.True) {
			f.cross(f.x(e.True), y)
		}
	}
	return nil
}

// estimateTable has a row for each estimate.
func estimateTable(along string, all []Estimate) Table {
	t := Table{Header: []string{"of"}}
	if along != "" {
		t.Header = append(t.Header, along+" from", along+" to")
	}
	t.Header = append(t.Header, "value", "low", "high", "drowned", "true")
	for _, e := range all {
		row := []string{e.Label}
		if along != "" {
			row = append(row, number(e.From), number(e.To))
		}
		known, drowned := "", "no"
		if finite(e.True) {
			known = number(e.True)
		}
		if e.Drowned {
			drowned = "yes"
		}
		t.Rows = append(t.Rows, append(row, number(e.Value), number(e.Low), number(e.High), drowned, known))
	}
	return t
}
