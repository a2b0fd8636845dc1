package plot

import (
	"slices"
	"strconv"

	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// Steps are shares that fall from 1: from the end of an estimate's span on, a curve has
// its value, with a band from Low to High; a thin dotted curve has the true values.
type Steps struct {
	Name, Title, XLabel, YLabel, Caption string
	Curves                               []StepCurve
}

// StepCurve is one line of Steps: To of one estimate is From of the next.
type StepCurve struct {
	Name string
	Of   []Estimate
}

// FileName implements [Drawing].
func (s Steps) FileName() string { return s.Name }

// About implements [Drawing].
func (s Steps) About() string { return s.Caption }

func (s Steps) heading() string { return s.Title }

func (s Steps) size() (width, height vg.Length) { return figureWidth, plotHeight + s.foot() }

// foot is the height of the legend, which one curve needs none of.
func (s Steps) foot() vg.Length {
	if len(s.Curves) < 2 {
		return 0
	}
	return legendHeight*vg.Length(len(s.Curves)) + .25*vg.Centimeter
}

func (s Steps) table() Table {
	var all []Estimate
	for _, c := range s.Curves {
		for _, e := range c.Of {
			if e.Label = c.Name; c.Name == "" {
				e.Label = s.Title
			}
			all = append(all, e)
		}
	}
	return estimateTable(s.XLabel, all)
}

func (s Steps) paint(dc draw.Canvas) error {
	f := newFrame(dc, s.Title, frameLeft, s.foot())
	f.low.Y, f.high.Y = 0, 1
	f.low.X, f.high.X = 0, 1
	for i, c := range s.Curves {
		if n := len(c.Of); n > 0 {
			// room behind the last step
			from, to := c.Of[0].From, c.Of[n-1].To+(c.Of[n-1].To-c.Of[n-1].From)/2
			if i == 0 {
				f.low.X, f.high.X = from, to
			}
			f.low.X, f.high.X = min(f.low.X, from), max(f.high.X, to)
		}
	}
	f.alongY(s.YLabel, 100)
	f.alongX(s.XLabel)
	for i, c := range s.Curves {
		f.band(i, c)
	}
	for i, c := range s.Curves {
		f.steps(i, c)
	}
	if s.foot() == 0 {
		return nil
	}
	for i, c := range s.Curves {
		y := dc.Min.Y + s.foot() - legendHeight*(vg.Length(i)+.5)
		x := dc.Min.X + 1.2*vg.Centimeter
		dc.StrokeLine2(stepPen(i), x, y, x+1*vg.Centimeter, y)
		dc.FillText(textStyle(9.5, ink, text.XLeft, text.YCenter),
			vg.Point{X: x + 1.2*vg.Centimeter, Y: y}, cut(c.Name, mostTitle))
	}
	return nil
}

// stepPen is the line of curve i: widths differ so that colour is not needed.
func stepPen(i int) draw.LineStyle {
	return draw.LineStyle{Color: palette[i%len(palette)], Width: vg.Points(1.4 + .7*float64(i%3))}
}

// until is where the step after estimate k ends.
func (f *frame) until(of []Estimate, k int) float64 {
	if k+1 < len(of) {
		return of[k+1].To
	}
	return f.high.X
}

// band fills from Low to High what noise does not drown.
func (f *frame) band(i int, c StepCurve) {
	for k := range c.Of {
		if e := &c.Of[k]; !e.Drowned && e.High > e.Low {
			f.FillPolygon(faint(palette[i%len(palette)]),
				rectangle(f.x(e.To), f.y(e.Low), f.x(f.until(c.Of, k)), f.y(e.High)))
		}
	}
}

// steps draws a curve, drowned steps as grey dashes, and its true values.
func (f *frame) steps(i int, c StepCurve) {
	if len(c.Of) == 0 {
		return
	}
	known := []vg.Point{{X: f.x(c.Of[0].From), Y: f.y(1)}, {X: f.x(c.Of[0].To), Y: f.y(1)}}
	at := slices.Clone(known)
	pen := stepPen(i)
	f.StrokeLines(pen, at)
	for k := range c.Of {
		e := &c.Of[k]
		from, to := f.x(e.To), f.x(f.until(c.Of, k))
		step := []vg.Point{at[len(at)-1], {X: from, Y: f.y(e.Value)}, {X: to, Y: f.y(e.Value)}}
		one := e.pen(pen.Color, pen.Width.Points())
		f.StrokeLines(one, step)
		at = step
		if finite(e.True) {
			known = append(known, vg.Point{X: from, Y: f.y(e.True)}, vg.Point{X: to, Y: f.y(e.True)})
		}
	}
	if len(known) > 2 {
		pen.Width, pen.Dashes = vg.Points(1.2), []vg.Length{vg.Points(1.2), vg.Points(2)}
		f.StrokeLines(pen, known)
	}
}

// shortNumber is a number as it stands at an edge.
func shortNumber(x float64) string { return strconv.FormatFloat(x, 'g', 4, 64) }
