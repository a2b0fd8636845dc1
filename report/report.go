// Package report turns the numbers of a run into pictures and pages: SVG curves and one self-contained
// HTML file that needs no network.
package report

import (
	"fmt"
	"html/template"
	"io"
	"math"
	"slices"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/palette/brewer"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgsvg"
)

// Point is one measured value, with the range over agents around it; Low = High = Y where there is none.
type Point struct{ X, Y, Low, High float64 }

// Curve is one line of a plot; its points have ascending X.
type Curve struct {
	Name   string
	Points []Point
}

// Figure is one plot. Points that are not finite are left out.
type Figure struct {
	Name, Title, XLabel, YLabel string // Name becomes the file name
	Curves                      []Curve
}

// WriteSVG draws f, 16 by 10 cm, each curve with a band from Low to High.
func WriteSVG(w io.Writer, f Figure) error {
	p := plot.New()
	p.Title.Text, p.X.Label.Text, p.Y.Label.Text = f.Title, f.XLabel, f.YLabel
	p.Add(plotter.NewGrid())
	pal, err := brewer.GetPalette(brewer.TypeQualitative, "Dark2", max(3, min(8, len(f.Curves))))
	if err != nil {
		return fmt.Errorf("figure %s: %w", f.Name, err)
	}
	colors := pal.Colors()
	for i, c := range f.Curves {
		mid, band := c.lines()
		if len(mid) == 0 {
			continue
		}
		color := colors[i%len(colors)]
		if band != nil {
			poly, err := plotter.NewPolygon(band)
			if err != nil {
				return fmt.Errorf("figure %s: %w", f.Name, err)
			}
			r, g, b, _ := color.RGBA()
			poly.Color = faint{uint8(r >> 8), uint8(g >> 8), uint8(b >> 8)}
			poly.LineStyle.Width = 0
			p.Add(poly)
		}
		line, err := plotter.NewLine(mid)
		if err != nil {
			return fmt.Errorf("figure %s: %w", f.Name, err)
		}
		line.Color, line.Width = color, vg.Points(1.5)
		p.Add(line)
		if len(f.Curves) > 1 {
			p.Legend.Add(c.Name, line)
		}
	}
	p.Legend.Top = true
	canvas := vgsvg.New(16*vg.Centimeter, 10*vg.Centimeter)
	const margin = vg.Length(0.4) * vg.Centimeter // room for the last tick label
	p.Draw(draw.Crop(draw.New(canvas), margin, -margin, margin/2, -margin/2))
	_, err = canvas.WriteTo(w)
	return err
}

// lines returns the curve and the outline of its band, nil where no point has a range.
func (c Curve) lines() (mid, band plotter.XYs) {
	wide := false
	for _, q := range c.Points {
		if finite(q.X, q.Y) {
			mid = append(mid, plotter.XY{X: q.X, Y: q.Y})
		}
		if finite(q.X, q.Low, q.High) {
			band = append(band, plotter.XY{X: q.X, Y: q.High})
			wide = wide || q.High > q.Low
		}
	}
	for _, q := range slices.Backward(c.Points) {
		if finite(q.X, q.Low, q.High) {
			band = append(band, plotter.XY{X: q.X, Y: q.Low})
		}
	}
	if !wide {
		return mid, nil
	}
	return mid, band
}

// faint is a colour at 20 % opacity, as alpha-premultiplied components.
type faint struct{ r, g, b uint8 }

func (f faint) RGBA() (r, g, b, a uint32) {
	const alpha = 0x3333
	scale := func(c uint8) uint32 { return uint32(c) * 0x101 * alpha / 0xffff }
	return scale(f.r), scale(f.g), scale(f.b), alpha
}

func finite(xs ...float64) bool {
	return !slices.ContainsFunc(xs, func(x float64) bool { return math.IsNaN(x) || math.IsInf(x, 0) })
}

// Page is what an HTML report shows of one run.
type Page struct {
	Title    string
	Command  string // the exact command that runs it again
	Facts    []Fact
	Privacy  Table
	Notes    []string // warnings, what is not protected
	Plots    []template.HTML
	Config   string
	Ledger   Table
	Produced string // engine version
}

// Fact is one line of the summary.
type Fact struct{ Name, Value string }

// Table is a header and rows of equal length.
type Table struct {
	Header []string
	Rows   [][]string
}

// WriteHTML writes p as one page without scripts or external resources.
func WriteHTML(w io.Writer, p Page) error { return page.Execute(w, p) }

var page = template.Must(template.New("page").Parse(`<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>{{.Title}}</title>
<style>
body{font:15px/1.45 system-ui,sans-serif;max-width:60rem;margin:2rem auto;padding:0 1rem;color:#222}
table{border-collapse:collapse;margin:.5rem 0}td,th{padding:.2rem .8rem .2rem 0;text-align:left;border-bottom:1px solid #ddd;vertical-align:top}
pre{background:#f5f5f3;padding:.8rem;overflow:auto}figure{margin:1rem 0}svg{max-width:100%;height:auto}.note{color:#7a4a00}
</style></head><body>
<h1>{{.Title}}</h1>
<table>{{range .Facts}}<tr><th>{{.Name}}</th><td>{{.Value}}</td></tr>{{end}}</table>
<h2>Privacy</h2>
{{template "table" .Privacy}}
{{range .Notes}}<p class="note">{{.}}</p>{{end}}
<h2>Curves</h2>
{{range .Plots}}<figure>{{.}}</figure>{{end}}
<h2>Ledger</h2>
{{template "table" .Ledger}}
<h2>Run it again</h2>
<pre>{{.Command}}</pre>
<h2>Configuration in force</h2>
<pre>{{.Config}}</pre>
<p>{{.Produced}}</p>
</body></html>
{{define "table"}}<table><tr>{{range .Header}}<th>{{.}}</th>{{end}}</tr>{{range .Rows}}<tr>{{range .}}<td>{{.}}</td>{{end}}</tr>{{end}}</table>{{end}}
`))
