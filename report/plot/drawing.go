// Package plot draws: curves, heat maps, graphs and grey images, as SVG, PNG and CSV. It
// knows nothing of runs. The same numbers give the same bytes.
package plot

import (
	"bytes"
	"encoding/csv"
	"fmt"
	"html/template"
	"image/color"
	"io"
	"math"
	"slices"
	"strings"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgimg"
	"gonum.org/v1/plot/vg/vgsvg"
)

// Drawing is a [Figure], a [HeatMap], a [Graph], [Bars], [Dots] or [Steps]. The same
// drawing gives the same bytes in every format.
type Drawing interface {
	FileName() string // without an ending
	About() string    // one sentence below the picture
	heading() string
	size() (width, height vg.Length)
	paint(dc draw.Canvas) error
	table() Table // the drawn values
}

// Table is a header and rows of equal length.
type Table struct {
	Header []string
	Rows   [][]string
}

// Picture is a drawing for a page: an inline SVG with what is said below it, and the
// values that it shows.
type Picture struct {
	SVG     template.HTML
	Caption string
	Numbers Table
	More    int  // rows of values that the page leaves out
	Zooms   bool // the page's script can show a part of its axes
}

// mostNumbers is how many rows of values a page has below a drawing.
const mostNumbers = 200

// NewPicture is a drawing for a page.
func NewPicture(d Drawing) (Picture, error) {
	svg, err := Inline(d)
	p := Picture{SVG: svg, Caption: d.About(), Numbers: filled(d.table())}
	_, p.Zooms = d.(Figure)
	if p.More = max(0, len(p.Numbers.Rows)-mostNumbers); p.More > 0 {
		p.Numbers.Rows = p.Numbers.Rows[:mostNumbers]
	}
	return p, err
}

// filled is a table without the columns in which nothing stands.
func filled(t Table) (out Table) {
	out.Rows = make([][]string, len(t.Rows))
	for k, name := range t.Header {
		if !slices.ContainsFunc(t.Rows, func(row []string) bool { return row[k] != "" }) {
			continue
		}
		out.Header = append(out.Header, name)
		for i, row := range t.Rows {
			out.Rows[i] = append(out.Rows[i], row[k])
		}
	}
	return out
}

// WriteSVG writes d as SVG. Its text stays text, in a sans-serif font of the reader's.
func WriteSVG(w io.Writer, d Drawing) error {
	width, height := d.size()
	canvas := vgsvg.New(width, height)
	if err := d.paint(draw.New(canvas)); err != nil {
		return fmt.Errorf("drawing %s: %w", d.FileName(), err)
	}
	var b bytes.Buffer
	if _, err := canvas.WriteTo(&b); err != nil {
		return err
	}
	// Arial and Helvetica have the widths of Liberation Sans, which few readers have.
	_, err := w.Write(bytes.ReplaceAll(b.Bytes(), []byte("font-family:Liberation Sans;"),
		[]byte("font-family:Liberation Sans,Arial,Helvetica,sans-serif;")))
	return err
}

// WritePNG writes d as PNG at 144 dots per inch.
func WritePNG(w io.Writer, d Drawing) error {
	width, height := d.size()
	canvas := vgimg.NewWith(vgimg.UseWH(width, height), vgimg.UseDPI(144))
	if err := d.paint(draw.New(canvas)); err != nil {
		return fmt.Errorf("drawing %s: %w", d.FileName(), err)
	}
	_, err := vgimg.PngCanvas{Canvas: canvas}.WriteTo(w)
	return err
}

// WriteCSV writes the values that d shows.
func WriteCSV(w io.Writer, d Drawing) error { return writeTable(w, d.table()) }

func writeTable(w io.Writer, t Table) error {
	c := csv.NewWriter(w)
	if err := c.Write(t.Header); err != nil {
		return err
	}
	return c.WriteAll(t.Rows)
}

// WriteValues is WriteCSV, but with plain names of a figure's columns: "round" and
// "accuracy" for labels "round" and "accuracy (%)".
func WriteValues(w io.Writer, d Drawing) error {
	f, ok := d.(Figure)
	if !ok {
		return WriteCSV(w, d)
	}
	t := f.table()
	t.Header[1], t.Header[2] = plain(f.XLabel, "x"), plain(f.YLabel, "y")
	if t.Header[1] == t.Header[2] {
		t.Header[1], t.Header[2] = "x", "y"
	}
	return writeTable(w, t)
}

// plain is a label as the name of a column, without its unit and what follows a comma;
// other where nothing is left, or a column of every figure has that name.
func plain(label, other string) string {
	if i := strings.IndexAny(label, "(,"); i >= 0 {
		label = label[:i]
	}
	label = strings.Join(strings.Fields(label), "_")
	if label == "" || slices.Contains([]string{"curve", "low", "high"}, label) {
		return other
	}
	return label
}

// palette is that of Okabe and Ito without its yellow: distinct to readers with any
// common colour vision.
var palette = []color.RGBA{
	{0x00, 0x72, 0xb2, 255}, {0xd5, 0x5e, 0x00, 255}, {0x00, 0x9e, 0x73, 255}, {0xcc, 0x79, 0xa7, 255},
	{0xe6, 0x9f, 0x00, 255}, {0x56, 0xb4, 0xe9, 255}, {0x22, 0x22, 0x22, 255},
}

var (
	ink  = color.RGBA{0x22, 0x22, 0x22, 255}
	pale = color.RGBA{0xdd, 0xdd, 0xdd, 255}
)

// faint is c at 18 % opacity, as alpha-premultiplied components.
func faint(c color.RGBA) color.RGBA {
	const percent = 18
	scale := func(x uint8) uint8 { return uint8(int(x) * percent / 100) }
	return color.RGBA{scale(c.R), scale(c.G), scale(c.B), 255 * percent / 100}
}

func sans(points float64) font.Font {
	return font.Font{Typeface: "Liberation", Variant: "Sans", Size: vg.Points(points)}
}

func textStyle(points float64, c color.Color, x text.XAlignment, y text.YAlignment) text.Style {
	return text.Style{Color: c, Font: sans(points), XAlign: x, YAlign: y, Handler: plot.DefaultTextHandler}
}

// ramp interpolates between anchors for x in [0, 1]; what is not a number is grey.
func ramp(anchors []color.RGBA, x float64) color.RGBA {
	if math.IsNaN(x) {
		return pale
	}
	at := min(max(x, 0), 1) * float64(len(anchors)-1)
	i := min(int(at), len(anchors)-2)
	mix := func(a, b uint8) uint8 {
		return uint8(math.Round(float64(a) + (at-float64(i))*(float64(b)-float64(a))))
	}
	a, b := anchors[i], anchors[i+1]
	return color.RGBA{mix(a.R, b.R), mix(a.G, b.G), mix(a.B, b.B), 255}
}

// viridis rises evenly in lightness from dark blue to yellow.
var viridis = []color.RGBA{{0x44, 0x01, 0x54, 255}, {0x3b, 0x52, 0x8b, 255}, {0x21, 0x91, 0x8c, 255},
	{0x5e, 0xc9, 0x62, 255}, {0xfd, 0xe7, 0x25, 255}}

// signed runs from blue over white at the middle to vermilion.
var signed = []color.RGBA{{0x00, 0x72, 0xb2, 255}, {255, 255, 255, 255}, {0xd5, 0x5e, 0x00, 255}}

// legible returns black or white, whichever stands out from the ground.
func legible(ground color.RGBA) color.Color {
	if .299*float64(ground.R)+.587*float64(ground.G)+.114*float64(ground.B) > 140 {
		return color.Black
	}
	return color.White
}

func finite(xs ...float64) bool {
	return !slices.ContainsFunc(xs, func(x float64) bool { return math.IsNaN(x) || math.IsInf(x, 0) })
}
