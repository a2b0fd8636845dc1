package plot

import (
	"math"
	"strconv"
	"unicode/utf8"

	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// HeatMap is a table of fractions drawn as colours, and as numbers in percent while there
// are few. NaN is left grey.
type HeatMap struct {
	Name, Title, XLabel, YLabel string
	Columns, Rows               []string
	Values                      [][]float64 // by row
	Caption                     string
	Signed                      bool // white is 0 and the scale symmetric; otherwise from 0 to 1
}

// FileName implements [Drawing].
func (h HeatMap) FileName() string { return h.Name }

// About implements [Drawing].
func (h HeatMap) About() string { return h.Caption }

func (h HeatMap) heading() string { return h.Title }

// cell is the size of one value; small ones have no number.
func (h HeatMap) cell() (width, height vg.Length, numbered bool) {
	if len(h.Columns) <= 12 && len(h.Rows) <= 40 {
		return max(1.15*vg.Centimeter, letters*vg.Length(longest(h.Columns))), .6 * vg.Centimeter, true
	}
	return max(.12*vg.Centimeter,
			min(1.15*vg.Centimeter, 14*vg.Centimeter/vg.Length(max(1, len(h.Columns))))),
		max(.12*vg.Centimeter, min(.5*vg.Centimeter, 20*vg.Centimeter/vg.Length(max(1, len(h.Rows))))), false
}

const (
	leastLeft  = 1.9 * vg.Centimeter
	heatTop    = 1.9 * vg.Centimeter
	heatRight  = 0.5 * vg.Centimeter
	heatBottom = 1.5 * vg.Centimeter // the scale of colours
	heatLeast  = 11 * vg.Centimeter  // room for the title
	letters    = .2 * vg.Centimeter  // width of a letter of a label
	mostLetter = 24                  // that are drawn; a longer label ends with dots

	seam = vg.Length(.3) // cells overlap by so much that the ground does not shine through
)

// left is the room for labels of rows.
func (h HeatMap) left() vg.Length {
	return max(leastLeft, letters*vg.Length(longest(h.Rows))+.5*vg.Centimeter)
}

// longest is the number of letters of the longest label as it is drawn; numbers are short
// enough anywhere.
func longest(labels []string) int {
	most := 0
	for _, l := range labels {
		if _, err := strconv.Atoi(l); err != nil {
			most = max(most, utf8.RuneCountInString(shortened(l)))
		}
	}
	return most
}

// shortened is a label as it is drawn.
func shortened(label string) string {
	if r := []rune(label); len(r) > mostLetter {
		return string(r[:mostLetter-1]) + "…"
	}
	return label
}

func (h HeatMap) size() (width, height vg.Length) {
	w, t, _ := h.cell()
	return max(heatLeast, h.left()+w*vg.Length(len(h.Columns))+heatRight),
		heatTop + t*vg.Length(len(h.Rows)) + heatBottom
}

// limit is the value of the last colour.
func (h HeatMap) limit() float64 {
	if !h.Signed {
		return 1
	}
	most := .01
	for _, row := range h.Values {
		for _, v := range row {
			if finite(v) {
				most = max(most, math.Abs(v))
			}
		}
	}
	return most
}

func (h HeatMap) paint(dc draw.Canvas) error {
	w, t, numbered := h.cell()
	limit := h.limit()
	shade := func(v float64) float64 {
		if h.Signed {
			return .5 + v/limit/2
		}
		return v
	}
	anchors := viridis
	if h.Signed {
		anchors = signed
	}
	left, top := dc.Min.X+h.left(), dc.Max.Y-heatTop
	dc.FillText(textStyle(12, ink, text.XLeft, text.YTop),
		vg.Point{X: dc.Min.X + .2*vg.Centimeter, Y: dc.Max.Y - .2*vg.Centimeter}, h.Title)
	dc.FillText(textStyle(10, ink, text.XLeft, text.YBottom), vg.Point{X: left, Y: top + .6*vg.Centimeter},
		h.XLabel)
	dc.FillText(textStyle(10, ink, text.XRight, text.YBottom),
		vg.Point{X: left - .2*vg.Centimeter, Y: top + .1*vg.Centimeter}, h.YLabel)
	everyColumn := stride(w, max(.6*vg.Centimeter, letters*vg.Length(longest(h.Columns))))
	everyRow := stride(t, .4*vg.Centimeter)
	for j, name := range h.Columns {
		if j%everyColumn == 0 {
			dc.FillText(textStyle(9.5, ink, text.XCenter, text.YBottom),
				vg.Point{X: left + w*(vg.Length(j)+.5), Y: top + .12*vg.Centimeter}, shortened(name))
		}
	}
	for i, row := range h.Values {
		y := top - t*vg.Length(i)
		if i%everyRow == 0 {
			dc.FillText(textStyle(9.5, ink, text.XRight, text.YCenter),
				vg.Point{X: left - .2*vg.Centimeter, Y: y - t/2}, shortened(h.Rows[i]))
		}
		for j, v := range row {
			x := left + w*vg.Length(j)
			ground := ramp(anchors, shade(v))
			dc.FillPolygon(ground, rectangle(x, y-t-seam, x+w+seam, y))
			if numbered && finite(v) {
				dc.FillText(textStyle(9, legible(ground), text.XCenter, text.YCenter),
					vg.Point{X: x + w/2, Y: y - t/2}, percent(v))
			}
		}
	}
	h.paintScale(dc, limit)
	return nil
}

// paintScale draws the colours and what they stand for along the lower edge.
func (h HeatMap) paintScale(dc draw.Canvas, limit float64) {
	const steps = 50
	x, y, w := dc.Min.X+h.left(), dc.Min.Y+.75*vg.Centimeter, 5*vg.Centimeter/steps
	anchors, low := viridis, 0.
	if h.Signed {
		anchors, low = signed, -limit
	}
	for k := range steps {
		at := x + w*vg.Length(k)
		dc.FillPolygon(ramp(anchors, (float64(k)+.5)/steps), rectangle(at, y, at+w, y+.3*vg.Centimeter))
	}
	style := textStyle(9, ink, text.XCenter, text.YTop)
	for _, end := range []struct{ at, value float64 }{{0, low}, {.5, (low + limit) / 2}, {1, limit}} {
		label := percent(end.value)
		if end.at == 1 && h.Signed {
			label += " points"
		} else if end.at == 1 {
			label += " %"
		}
		dc.FillText(style, vg.Point{X: x + 5*vg.Centimeter*vg.Length(end.at), Y: y - .08*vg.Centimeter},
			label)
	}
}

// stride is how many cells apart labels of the given size stand.
func stride(cell, label vg.Length) int {
	for _, k := range []int{1, 2, 5, 10, 20, 50, 100} {
		if cell*vg.Length(k) >= label {
			return k
		}
	}
	return 200
}

func rectangle(x0, y0, x1, y1 vg.Length) []vg.Point {
	return []vg.Point{{X: x0, Y: y0}, {X: x1, Y: y0}, {X: x1, Y: y1}, {X: x0, Y: y1}}
}

// percent prints a fraction in percent with one decimal.
func percent(v float64) string {
	s := strconv.FormatFloat(100*v, 'f', 1, 64)
	if s == "-0.0" {
		return "0.0"
	}
	return s
}

func (h HeatMap) table() Table {
	t := Table{Header: []string{h.YLabel, h.XLabel, "fraction"}}
	for i, row := range h.Values {
		for j, v := range row {
			t.Rows = append(t.Rows, []string{h.Rows[i], h.Columns[j], number(v)})
		}
	}
	return t
}
