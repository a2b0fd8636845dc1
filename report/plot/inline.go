package plot

import (
	"bytes"
	"fmt"
	"html"
	"html/template"
	"regexp"
	"strings"

	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgsvg"
)

// namespaces are attributes that an SVG file needs and an SVG inside HTML does not;
// without them a page names no address.
var namespaces = regexp.MustCompile(`\s+xmlns(:xlink)?="[^"]*"`)

// Inline returns d as an SVG element for a page. Its ink, its grid and the colours of its
// curves are variables of the page (--ink, --grid, --p0 and so on), so that it fits a
// dark
// one; each point of a curve says its values under the pointer.
func Inline(d Drawing) (template.HTML, error) {
	var b bytes.Buffer
	if err := WriteSVG(&b, d); err != nil {
		return "", err
	}
	at := max(0, bytes.Index(b.Bytes(), []byte("<svg")))
	svg := string(namespaces.ReplaceAll(b.Bytes()[at:], nil))
	svg = themed(svg)
	if f, ok := d.(Figure); ok {
		svg = strings.Replace(svg, "fill:#FFFFFF", "fill:none", 1) // what is below the plot
		hits, err := f.hits()
		if err != nil {
			return "", err
		}
		svg = strings.Replace(svg, "</svg>", hits+"</svg>", 1)
	}
	kind := "ink"
	if _, ok := d.(HeatMap); ok { // its numbers stand on coloured cells
		kind = "cells"
	}
	svg = strings.Replace(svg, "<svg ", `<svg class="`+kind+`" `, 1)
	return template.HTML(described(svg, d.FileName(), d.heading(), d.About())), nil
}

// themed has the page choose ink, grid and the colours of curves.
func themed(svg string) string {
	replace := []string{"#DDDDDD", "var(--grid,#DDDDDD)", "#222222", "var(--ink,#222222)"}
	for k, c := range palette[:len(palette)-1] {
		hex := fmt.Sprintf("#%02X%02X%02X", c.R, c.G, c.B)
		replace = append(replace, hex, fmt.Sprintf("var(--p%d,%s)", k, hex))
	}
	return strings.NewReplacer(replace...).Replace(svg)
}

// mostHits is how many points of a figure say their values.
const mostHits = 400

// hits are circles that nobody sees, one at each point, with its values as a title.
func (f Figure) hits() (string, error) {
	width, height := f.size()
	p, area, err := f.built(draw.New(vgsvg.New(width, height)))
	if err != nil {
		return "", err
	}
	data := p.DataCanvas(area)
	x, y := p.Transforms(&data)
	scale, unit := 1., ""
	if f.Percent {
		scale, unit = 100, " %"
	}
	var b strings.Builder
	count := 0
	for _, c := range f.Curves {
		for _, q := range c.Points {
			if count == mostHits || !f.shows(q.X, q.Y) {
				continue
			}
			count++
			text := fmt.Sprintf("%s %.6g: %.5g%s", f.XLabel, q.X, scale*q.Y, unit)
			if c.Name != "" && len(f.Curves) > 1 {
				text = c.Name + ", " + text
			}
			if q.High > q.Low {
				text += fmt.Sprintf(" (%.5g to %.5g)", scale*q.Low, scale*q.High)
			}
			fmt.Fprintf(&b,
				`<circle class="hit" cx="%.2f" cy="%.2f" r="7" fill-opacity="0"><title>%s</title></circle>`,
				points(x(q.X)), points(height-y(q.Y)), html.EscapeString(text))
		}
	}
	return b.String(), nil
}

func points(l vg.Length) float64 { return l.Dots(72) }

// described says what an SVG element shows to those who do not see it. id is that of
// nothing else on the page.
func described(svg, id, title, about string) string {
	start, inside, _ := strings.Cut(svg, ">")
	return fmt.Sprintf(`%[1]s role="img" aria-labelledby="%[2]s-title %[2]s-about">`+
		`<title id="%[2]s-title">%[3]s</title><desc id="%[2]s-about">%[4]s</desc>%[5]s`, start,
		html.EscapeString(id), html.EscapeString(title), html.EscapeString(about), inside)
}
