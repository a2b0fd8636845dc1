package plot

import (
	"fmt"
	"html"
	"html/template"
	"math"
	"strconv"
	"strings"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgsvg"
)

// Sizes of a figure on a page, in units of its view box.
const (
	onPageWidth = 440. // without names at the ends of curves
	namedWidth  = 350. // of the data beside such names
	dataHeight  = 196.
	dataTop     = 26. // room for what the vertical axis says
	dataFoot    = 42. // for ticks and what the horizontal axis says
	dataMargin  = 4.  // between the data and the axes
	pageLetters = 12.5
)

// scale is an axis on a page.
type scale struct {
	low, high float64
	log       bool
	length    float64
	ticks     []plot.Tick
}

// newScale leaves a margin at both ends of what an axis holds.
func newScale(a *plot.Axis, log bool, length float64) scale {
	s := scale{low: a.Min, high: a.Max, log: log, length: length}
	if !(s.high > s.low) {
		s.low, s.high = s.low-1, s.high+1
	}
	low, high := s.line(s.low), s.line(s.high)
	more := (high - low) * dataMargin / (length - 2*dataMargin)
	s.low, s.high = low-more, high+more
	if log {
		s.low, s.high = math.Pow(10, s.low), math.Pow(10, s.high)
	}
	s.ticks = a.Tick.Marker.Ticks(s.low, s.high)
	return s
}

func (s *scale) line(v float64) float64 {
	if s.log {
		return math.Log10(v)
	}
	return v
}

// at is how far from the lower end a value lies.
func (s *scale) at(v float64) float64 {
	low := s.line(s.low)
	return s.length * (s.line(v) - low) / (s.line(s.high) - low)
}

// onPage is a figure as a page shows it: axes, and an svg element of its own for the
// data, into which the page's script looks more closely.
type onPage struct {
	Figure
	x, y        scale
	left, right float64 // room beside the data
	groups      [][]int // curves by their names, those that coincide together
	names       []named // at the ends of curves; none: below alone
	strings.Builder
}

// shown is the markup of a figure: its title, the drawing and its legend.
func (f Figure) shown() (template.HTML, error) {
	p, _, err := f.built(draw.New(vgsvg.New(f.size())))
	if err != nil {
		return "", fmt.Errorf("drawing %s: %w", f.Name, err)
	}
	if f.Percent && p.Y.Min > 0 && p.Y.Min < p.Y.Max/4 { // little is left out above 0
		p.Y.Min = 0
	}
	o := &onPage{Figure: f, y: newScale(&p.Y, f.LogY, dataHeight)}
	o.left = 34
	for _, t := range o.y.ticks {
		o.left = max(o.left, wide(t.Label, pageLetters)+10)
	}
	o.x = newScale(&p.X, f.LogX, onPageWidth-o.left-14)
	o.right = 14
	if o.name(); len(o.names) > 0 {
		o.x = newScale(&p.X, f.LogX, namedWidth)
		o.name()
	}
	o.frame()
	o.data()
	o.points()
	o.labels()
	width, height := o.left+o.x.length+o.right, dataTop+dataHeight+dataFoot
	svg := fmt.Sprintf(`<svg class="plot" width="%.4g" height="%.4g" viewBox="0 0 %[1]g %[2]g" data-x="%s" `+
		`data-y="%s">%s</svg>`, math.Ceil(width), height, html.EscapeString(f.XLabel),
		html.EscapeString(f.YLabel), o.String())
	class := "drawn"
	if len(o.names) > 0 {
		class += " named"
	}
	crop := math.Ceil(width) / (o.left + o.x.length + 14)
	return template.HTML(fmt.Sprintf(`<p class="head" aria-hidden="true">%s</p>`+
		`<div class="%s" style="--crop:%.3f">%s</div>%s`, html.EscapeString(f.Title), class, crop,
		described(svg, f.Name, f.Title, f.Caption), o.legendBelow())), nil
}

// wide is the width of a text.
func wide(s string, size float64) float64 {
	return textStyle(size, ink, text.XLeft, text.YTop).Width(s).Points()
}

// frame draws axes, ticks and the lines across.
func (o *onPage) frame() {
	bottom := dataTop + dataHeight
	from := ""
	if low := o.y.low; o.Percent && !o.LogY && low > 0 && o.y.at(0) < -dataMargin {
		from = fmt.Sprintf(`<tspan class="from" dx="8">axis from %.3g</tspan>`, 100*low)
	}
	fmt.Fprintf(o, `<text class="axis" x="0" y="14">%s%s</text>`, html.EscapeString(cut(o.YLabel, 50)),
		from)
	tick := func(x, y float64, line, place, label string) {
		text := ""
		if label != "" {
			text = fmt.Sprintf(`<text %s>%s</text>`, place, label)
		}
		fmt.Fprintf(o, `<g class="tick" transform="translate(%.2f %.2f)"><path d="%s"/>%s</g>`, x, y,
			line, text)
	}
	o.WriteString(`<g class="ticks y">`)
	for _, t := range o.y.ticks {
		tick(o.left, bottom-o.y.at(t.Value), fmt.Sprintf("M0,0H%g", o.x.length),
			`x="-6" dy=".35em" text-anchor="end"`, t.Label)
	}
	o.WriteString(`</g><g class="ticks x">`)
	free := math.Inf(-1) // labels that would lie on others are left out
	for _, t := range o.x.ticks {
		at, half := o.x.at(t.Value), wide(t.Label, pageLetters)/2
		label := t.Label
		if at-half < free {
			label = ""
		} else {
			free = at + half + 5
		}
		tick(o.left+at, bottom, fmt.Sprintf("M0,0V%g", -dataHeight), `y="16" text-anchor="middle"`, label)
	}
	fmt.Fprintf(o, `</g><path class="frame" d="M%.4g,%g V%gH%g"/><text class="axis" x="%g" y="%g" `+
		`text-anchor="middle">%s</text>`, o.left, dataTop, bottom, o.left+o.x.length, o.left+o.x.length/2,
		bottom+36, html.EscapeString(cut(o.XLabel, 62)))
}

// data draws bands, lines and error bars. What their axes span is written down for the
// script.
func (o *onPage) data() {
	scaled := 1
	if o.Percent {
		scaled = 100
	}
	fmt.Fprintf(o, `<svg class="data" x="%[1]g" y="%[2]g" width="%[3]g" height="%[4]g" `+
		`viewBox="0 0 %[3]g %[4]g" preserveAspectRatio="none" overflow="hidden" data-x="%s %s" `+
		`data-y="%s %s" data-log="%v %v" data-scale="%d">`, o.left, dataTop, o.x.length, dataHeight,
		number(o.x.low), number(o.x.high), number(o.y.low), number(o.y.high), o.LogX, o.LogY, scaled)
	for i, c := range o.Curves {
		mid, band := o.lines(c)
		if len(mid) == 0 {
			continue
		}
		if p := o.pen(i); band != nil && !o.Markers {
			outline := o.path(len(band), band.XY)
			fmt.Fprintf(o, `<path class="band" d="%sZ" style="fill:%s"/>`, outline, p.css())
		}
	}
	for i, c := range o.Curves {
		mid, band := o.lines(c)
		if len(mid) == 0 {
			continue
		}
		p := o.pen(i)
		fmt.Fprintf(o, `<path class="line" data-curve="%d" d="%s" style="%s"/>`, i, o.path(len(mid), mid.XY),
			p.line())
		if band == nil || !o.Markers || c.Dashed {
			continue
		}
		for _, q := range c.Points {
			if o.shows(q.X, q.Low) && o.shows(q.X, q.High) && q.High > q.Low {
				fmt.Fprintf(o, `<path d="M%.2f,%.2fV%.2f" style="stroke:%s"/>`, o.x.at(q.X),
					dataHeight-o.y.at(q.Low), dataHeight-o.y.at(q.High), p.css())
			}
		}
	}
	o.WriteString(`<path class="chosen" d=""/></svg>`)
}

// path runs through points.
func (o *onPage) path(n int, at func(int) (x, y float64)) string {
	var b strings.Builder
	for k := range n {
		x, y := at(k)
		fmt.Fprintf(&b, "%c%.2f,%.2f", "ML"[min(k, 1)], o.x.at(x), dataHeight-o.y.at(y))
	}
	return b.String()
}

// mostHits is how many points of a figure say their values.
const mostHits = 400

// points are the marks, and circles that nobody sees which say the values under the
// pointer.
func (o *onPage) points() {
	var marks, hits strings.Builder
	unit, scaled, count := "", 1., 0
	if o.Percent {
		scaled, unit = 100, " %"
	}
	for i, c := range o.Curves {
		mid, _ := o.lines(c)
		for _, q := range c.Points {
			if !o.shows(q.X, q.Y) {
				continue
			}
			at := fmt.Sprintf(`transform="translate(%.2f %.2f)"`, o.left+o.x.at(q.X),
				dataTop+dataHeight-o.y.at(q.Y))
			if o.Markers && !c.Dashed || len(mid) == 1 { // a line of one point would not be seen
				fmt.Fprintf(&marks, `<path class="at" %s %s/>`, at, o.pen(i).shape())
			}
			if count++; count > mostHits {
				continue
			}
			text := fmt.Sprintf("%s %.6g: %.5g%s", o.XLabel, q.X, scaled*q.Y, unit)
			if c.Name != "" && len(o.Curves) > 1 {
				text = c.Name + ", " + text
			}
			if q.High > q.Low {
				text += fmt.Sprintf(" (%.5g to %.5g)", scaled*q.Low, scaled*q.High)
			}
			fmt.Fprintf(&hits, `<circle class="at hit" %s r="7" fill-opacity="0"><title>%s</title></circle>`,
				at, html.EscapeString(text))
		}
	}
	o.WriteString(marks.String() + hits.String())
}

// css is the colour of a pen as a variable of the page.
func (p pen) css() string {
	if p.hue == len(palette)-1 {
		return "var(--ink,#222222)"
	}
	c := p.color()
	return fmt.Sprintf("var(--p%d,#%02X%02X%02X)", p.hue, c.R, c.G, c.B)
}

// line is the style of a line on a page.
func (p pen) line() string {
	s := fmt.Sprintf("stroke:%s;stroke-width:%.1f", p.css(), p.width+.2)
	for k, d := range p.dashes {
		s += []string{";stroke-dasharray:", ","}[min(k, 1)] + strconv.FormatFloat(d, 'g', -1, 64)
	}
	return s
}

// shape is the mark of a pen around 0, 0: the attributes of a path.
func (p pen) shape() string {
	const circle = "M-3.2,0A3.2,3.2 0 1 1 3.2,0A3.2,3.2 0 1 1 -3.2,0Z"
	shapes := []struct {
		d    string
		full bool
	}{{circle, true}, {"M-2.8,-2.8H2.8V2.8H-2.8Z", false}, {"M0,-3.8L3.4,2.4H-3.4Z", false},
		{"M-3,-3L3,3M-3,3L3,-3", false}, {"M-3.6,0H3.6M0,-3.6V3.6", false}, {circle, false},
		{"M0,-3.8L3.4,2.4H-3.4Z", true}}
	s := shapes[p.mark%len(shapes)]
	fill := "none"
	if s.full {
		fill = p.css()
	}
	return fmt.Sprintf(`d="%s" style="fill:%s;stroke:%s"`, s.d, fill, p.css())
}
