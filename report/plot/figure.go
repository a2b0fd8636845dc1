package plot

import (
	"math"
	"slices"
	"strconv"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// Point is one measured value, with the range around it; Low = High = Y where there is
// none.
type Point struct{ X, Y, Low, High float64 }

// Curve is one line of a plot; its points have ascending X.
type Curve struct {
	Name   string
	Points []Point
	Dashed bool // a line to compare with
	// Like names the curve that this one is compared with: it has the same colour and no
	// line in the legend.
	Like  string
	Style Style
}

// Figure is one plot. Points that are not finite are left out.
type Figure struct {
	Name, Title, XLabel, YLabel string // Name becomes the file name
	Curves                      []Curve
	Caption                     string
	Percent                     bool // Y values are fractions, shown in percent
	LogX                        bool // logarithmic X axis; all X are then above 0
	LogY                        bool // logarithmic Y axis; points and ranges at or below 0 are left out
	Markers                     bool // marks with error bars in place of bands
}

// FileName implements [Drawing].
func (f Figure) FileName() string { return f.Name }

// About implements [Drawing].
func (f Figure) About() string { return f.Caption }

func (f Figure) heading() string { return f.Title }

const (
	figureWidth  = 15 * vg.Centimeter
	plotHeight   = 9 * vg.Centimeter
	legendHeight = 0.48 * vg.Centimeter // of one line
)

// legend holds the numbers of the curves that are named: those with points, where there
// are two curves or more.
func (f Figure) legend() []int {
	var shown []int
	for i, c := range f.Curves {
		if mid, _ := f.lines(c); len(mid) > 0 && c.Like == "" {
			shown = append(shown, i)
		}
	}
	if len(f.Curves) < 2 {
		return nil
	}
	return shown
}

func (f Figure) size() (width, height vg.Length) {
	return figureWidth, plotHeight + f.foot()
}

// foot is the height of the legend.
func (f Figure) foot() vg.Length {
	n := len(f.legend())
	if n == 0 {
		return 0
	}
	return legendHeight*vg.Length(n) + .25*vg.Centimeter
}

// built makes the plot, and finds its place on the canvas.
func (f Figure) built(dc draw.Canvas) (*plot.Plot, draw.Canvas, error) {
	p := plot.New()
	p.Title.Text, p.X.Label.Text, p.Y.Label.Text = f.Title, f.XLabel, f.YLabel
	p.Title.TextStyle.Font, p.Title.Padding = sans(12), vg.Points(6)
	for _, a := range []*plot.Axis{&p.X, &p.Y} {
		a.Label.TextStyle.Font, a.Tick.Label.Font, a.LineStyle.Color = sans(10.5), sans(9.5), ink
		a.Padding = vg.Points(2)
	}
	grid := plotter.NewGrid()
	grid.Horizontal.Color, grid.Vertical.Color = pale, pale
	p.Add(grid)
	for i := range f.Curves {
		if err := f.addCurve(p, i); err != nil {
			return nil, dc, err
		}
	}
	f.setAxes(p)
	const margin = vg.Length(0.4) * vg.Centimeter // room for the last tick label
	return p, draw.Crop(dc, margin/2, -margin, f.foot()+margin/2, -margin/2), nil
}

func (f Figure) paint(dc draw.Canvas) error {
	p, area, err := f.built(dc)
	if err != nil {
		return err
	}
	shown := f.legend()
	foot := f.foot()
	p.Draw(area)
	style := textStyle(9.5, ink, text.XLeft, text.YCenter)
	for k, i := range shown {
		y := dc.Min.Y + foot - legendHeight*(vg.Length(k)+.5)
		x := dc.Min.X + 1.2*vg.Centimeter
		dc.StrokeLine2(f.pen(i).stroke(), x, y, x+1*vg.Centimeter, y)
		if f.Markers && !f.Curves[i].Dashed {
			dc.DrawGlyph(f.pen(i).glyph(), vg.Point{X: x + .5*vg.Centimeter, Y: y})
		}
		dc.FillText(style, vg.Point{X: x + 1.2*vg.Centimeter, Y: y}, f.Curves[i].Name)
	}
	return nil
}

func (f Figure) addCurve(p *plot.Plot, i int) error {
	c, pen := f.Curves[i], f.pen(i)
	mid, band := f.lines(c)
	if len(mid) == 0 {
		return nil
	}
	if band != nil && !f.Markers {
		poly, err := plotter.NewPolygon(band)
		if err != nil {
			return err
		}
		poly.Color, poly.LineStyle.Width = faint(pen.color()), 0
		p.Add(poly)
	}
	line, err := plotter.NewLine(mid)
	if err != nil {
		return err
	}
	line.LineStyle = pen.stroke()
	p.Add(line)
	if !f.Markers || c.Dashed {
		if len(mid) == 1 { // a line of one point would not be seen
			return addMarks(p, mid, pen)
		}
		return nil
	}
	if band != nil {
		for _, q := range c.Points {
			if !f.shows(q.X, q.Low) || !f.shows(q.X, q.High) || q.High == q.Low {
				continue
			}
			bar, err := plotter.NewLine(plotter.XYs{{X: q.X, Y: q.Low}, {X: q.X, Y: q.High}})
			if err != nil {
				return err
			}
			bar.Color, bar.Width = pen.color(), vg.Points(.9)
			p.Add(bar)
		}
	}
	return addMarks(p, mid, pen)
}

func addMarks(p *plot.Plot, at plotter.XYs, by pen) error {
	marks, err := plotter.NewScatter(at)
	if err != nil {
		return err
	}
	marks.GlyphStyle = by.glyph()
	p.Add(marks)
	return nil
}

// setAxes leaves some room around the curves and labels the axes.
func (f Figure) setAxes(p *plot.Plot) {
	if math.IsInf(p.Y.Min, 0) || math.IsInf(p.X.Min, 0) { // nothing was added
		p.X.Min, p.X.Max, p.Y.Min, p.Y.Max = 0, 1, 0, 1
		if f.LogX {
			p.X.Min = .1
		}
		if f.LogY {
			p.Y.Min = .1
		}
	}
	p.X.Tick.Marker, p.Y.Tick.Marker = ticks{scale: 1}, ticks{scale: 1}
	if f.Percent {
		p.Y.Tick.Marker = ticks{scale: 100}
	}
	if f.LogY {
		p.Y.Min, p.Y.Max = p.Y.Min/1.3, p.Y.Max*1.3
		p.Y.Scale, p.Y.Tick.Marker = plot.LogScale{}, decades{}
	} else {
		padY(p)
	}
	if !f.LogX {
		if f.Markers {
			side := .03 * (p.X.Max - p.X.Min)
			p.X.Min, p.X.Max = p.X.Min-side, p.X.Max+side
		}
		return
	}
	p.X.Scale = plot.LogScale{}
	p.X.Tick.Marker = f.measuredTicks()
	p.X.Min, p.X.Max = p.X.Min/1.1, p.X.Max*1.1
}

// padY leaves room above and below, but none below 0 where nothing is.
func padY(p *plot.Plot) {
	pad := .04 * (p.Y.Max - p.Y.Min)
	if pad == 0 {
		pad = max(.05*math.Abs(p.Y.Max), 1e-3)
	}
	if p.Y.Min >= 0 && p.Y.Min-pad < 0 {
		p.Y.Min = 0
	} else {
		p.Y.Min -= pad
	}
	p.Y.Max += pad
}

// shows says that a point can be drawn.
func (f Figure) shows(x, y float64) bool { return finite(x, y) && (y > 0 || !f.LogY) }

// lines returns a curve and the outline of its band, nil where no point has a range.
func (f Figure) lines(c Curve) (mid, band plotter.XYs) {
	wide := false
	for _, q := range c.Points {
		if f.shows(q.X, q.Y) {
			mid = append(mid, plotter.XY{X: q.X, Y: q.Y})
		}
		if f.shows(q.X, q.Low) && finite(q.High) {
			band = append(band, plotter.XY{X: q.X, Y: q.High})
			wide = wide || q.High > q.Low
		}
	}
	for _, q := range slices.Backward(c.Points) {
		if f.shows(q.X, q.Low) && finite(q.High) {
			band = append(band, plotter.XY{X: q.X, Y: q.Low})
		}
	}
	if !wide {
		return mid, nil
	}
	return mid, band
}

func (f Figure) table() Table {
	t := Table{Header: []string{"curve", "x: " + f.XLabel, "y: " + f.YLabel, "low", "high"}}
	if f.Percent {
		t.Header[2] += " as a fraction"
	}
	for _, c := range f.Curves {
		for _, q := range c.Points {
			t.Rows = append(t.Rows, []string{c.Name, number(q.X), number(q.Y), number(q.Low), number(q.High)})
		}
	}
	return t
}

func number(x float64) string { return strconv.FormatFloat(x, 'g', -1, 64) }
