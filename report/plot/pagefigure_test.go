package plot_test

import (
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"sotto/report/plot"
)

// inline is a figure as a page has it. It must be well-formed.
func inline(t *testing.T, d plot.Drawing) string {
	t.Helper()
	h, err := plot.Inline(d)
	if err != nil {
		t.Fatal(err)
	}
	dec := xml.NewDecoder(strings.NewReader("<a>" + string(h) + "</a>"))
	for {
		if _, err := dec.Token(); errors.Is(err, io.EOF) {
			return string(h)
		} else if err != nil {
			t.Fatalf("not well-formed: %v", err)
		}
	}
}

// several are curves that end at given heights.
func several(ends ...float64) plot.Figure {
	f := plot.Figure{Name: "several", Title: "Several", XLabel: "round", YLabel: "loss"}
	for k, y := range ends {
		f.Curves = append(f.Curves, plot.Curve{Name: fmt.Sprintf("curve %d", k),
			Points: []plot.Point{{0, float64(k), float64(k), float64(k)}, {10, y, y, y}}})
	}
	return f
}

// numbers are what a pattern finds in markup.
func numbers(t *testing.T, markup, pattern string) (out [][]float64) {
	t.Helper()
	for _, m := range regexp.MustCompile(pattern).FindAllStringSubmatch(markup, -1) {
		var row []float64
		for _, s := range m[1:] {
			x, err := strconv.ParseFloat(s, 64)
			if err != nil {
				t.Fatal(err)
			}
			row = append(row, x)
		}
		out = append(out, row)
	}
	return out
}

const labelAt = `class="label" data-curve="(\d+)" transform="translate\(([\d.]+) ([\d.]+)\)"`

// Names stand beside the data from the top down as their curves end, none on another.
func TestLabelsDoNotOverlap(t *testing.T) {
	ends := []float64{5, 5.01, 0, 5.02, 9, 0.01, 9.001, 0.02}
	s := inline(t, several(ends...))
	box := numbers(t, s, `class="data" x="([\d.]+)" y="([\d.]+)" width="([\d.]+)" height="([\d.]+)"`)[0]
	labels := numbers(t, s, labelAt)
	if len(labels) != len(ends) {
		t.Fatalf("%d labels of %d curves", len(labels), len(ends))
	}
	for k, l := range labels {
		if l[1] < box[0]+box[2] {
			t.Errorf("label %d stands on the data", k)
		}
		if l[2] < box[1] || l[2] > box[1]+box[3] {
			t.Errorf("label %d is at %g, outside of %v", k, l[2], box)
		}
		if k > 0 && l[2]-labels[k-1][2] < 13 {
			t.Errorf("labels %d and %d are %g apart", k-1, k, l[2]-labels[k-1][2])
		}
		if k > 0 && ends[int(l[0])] > ends[int(labels[k-1][0])] {
			t.Errorf("label %d is below one whose curve ends lower", k)
		}
	}
	if n := strings.Count(s, `class="leader"`); n < 4 || n > 8 {
		t.Errorf("%d lines to labels that were moved", n)
	}
}

// Names are below alone where they are too many or where a cut leaves them alike; they
// are cut with the whole as a title otherwise.
func TestWhereNamesStand(t *testing.T) {
	long := strings.Repeat("a long name, ", 4)
	for what, tc := range map[string]struct {
		change       func(*plot.Figure)
		beside, cuts int
	}{
		"short":  {func(*plot.Figure) {}, 3, 0},
		"long":   {func(f *plot.Figure) { f.Curves[1].Name = "b" + long }, 3, 1},
		"alike":  {func(f *plot.Figure) { f.Curves[0].Name, f.Curves[1].Name = long+"0", long+"1" }, 0, 0},
		"many":   {func(f *plot.Figure) { *f = several(1, 2, 3, 4, 5, 6, 7, 8, 9) }, 0, 0},
		"single": {func(f *plot.Figure) { f.Curves = f.Curves[:1] }, 0, 0},
	} {
		f := several(1, 2, 3)
		tc.change(&f)
		s := inline(t, f)
		if n := strings.Count(s, `class="label"`); n != tc.beside {
			t.Errorf("%s: %d names beside the data, want %d", what, n, tc.beside)
		}
		if n := strings.Count(s, "…<title>"); n != tc.cuts {
			t.Errorf("%s: %d names are cut, want %d", what, n, tc.cuts)
		}
		if n, want := strings.Count(s, "<li>"), len(f.Curves); n != want && len(f.Curves) > 1 {
			t.Errorf("%s: %d names below, want %d", what, n, want)
		}
	}
}

// Curves that lie on each other are named together.
func TestCurvesThatCoincide(t *testing.T) {
	f := several(1, 2, 3)
	f.Curves[2].Points = f.Curves[0].Points
	s := inline(t, f)
	if strings.Count(s, "curve 0 and curve 2: the same<") != 2 {
		t.Error("curves 0 and 2 are not named together beside and below")
	}
	f.Curves[0].Name = "an algorithm and its graph"
	if s = inline(t, f); !strings.Contains(s, ">same: curve 2<") {
		t.Error("curve 2 does not say that it is the same")
	}
}

// A curve looks as its style says, on pages and in files, whatever its place; without one
// by its place.
func TestStyles(t *testing.T) {
	f := several(1, 2, 3)
	f.Curves[0].Style, f.Curves[1].Style = plot.Style{Hue: 3}, plot.Style{Hue: 3, Dash: 1}
	s := inline(t, f)
	for curve, want := range []string{`"stroke:var(--p2,#009E73);stroke-width:1.8"`,
		`"stroke:var(--p2,#009E73);stroke-width:1.8;stroke-dasharray:10,3"`,
		`"stroke:var(--p2,#009E73);stroke-width:1.8"`} {
		_, line, _ := strings.Cut(s, fmt.Sprintf(`class="line" data-curve="%d"`, curve))
		_, style, _ := strings.Cut(line, "style=")
		if !strings.HasPrefix(style, want) {
			t.Errorf("curve %d has style %.80s, want %s", curve, style, want)
		}
	}
	var b strings.Builder
	if err := plot.WriteSVG(&b, f); err != nil {
		t.Fatal(err)
	}
	if strings.Contains(b.String(), "#0072B2") || strings.Count(b.String(), "#009E73") != 6 {
		t.Error("the file has other colours than the page")
	}
	seen := map[plot.Style]bool{}
	for n := range 20 {
		if seen[plot.Hue(n)] || plot.Hue(n).Hue == plot.Inked {
			t.Errorf("%d has the look of one before: %v", n, plot.Hue(n))
		}
		seen[plot.Hue(n)] = true
	}
}

// What the script needs is there: the box of the data covers all points, the ends of the
// axes are those of the box, and ticks are where their numbers are.
func TestDataBox(t *testing.T) {
	for _, f := range []plot.Figure{several(1, 2, 3), several(4),
		{Name: "log", LogX: true, LogY: true, Curves: []plot.Curve{{Points: []plot.Point{
			{1, .001, .0005, .002}, {10, .1, .1, .1}, {100, 20, 10, 30}}}}},
		{Name: "percent", Percent: true, Curves: []plot.Curve{{Points: []plot.Point{
			{0, .6, .5, .7}, {200, .9, .8, .95}}}}},
		{Name: "one", Curves: []plot.Curve{{Points: []plot.Point{{3, 2, 2, 2}}}}}, {Name: "none"}} {
		s := inline(t, f)
		box := numbers(t, s, `class="data" x="([\d.]+)" y="([\d.]+)" width="([\d.]+)" height="([\d.]+)"`)[0]
		ends := numbers(t, s, `data-x="(\S+) (\S+)" data-y="(\S+) (\S+)" data-log=`)[0]
		left, bottom := box[0], box[1]+box[3]
		for _, at := range numbers(t, s, `class="at[ a-z]*" transform="translate\(([\d.]+) ([\d.]+)\)"`) {
			if at[0] < left+3.9 || at[0] > left+box[2]-3.9 || at[1] < box[1]+3.9 || at[1] > bottom-3.9 {
				t.Errorf("%s: a point at %v is not within %v", f.Name, at, box)
			}
		}
		part := func(v, low, high float64, log bool) float64 {
			if log {
				v, low, high = math.Log(v), math.Log(low), math.Log(high)
			}
			return (v - low) / (high - low)
		}
		scaled := 1.
		if f.Percent {
			scaled = 100
		}
		x := numbers(t, s, `translate\(([\d.]+) [\d.]+\)"><path d="M0,0V[^"]*"/><text[^>]*>([^<]+)<`)
		y := numbers(t, s, `translate\([\d.]+ ([\d.]+)\)"><path d="M0,0H[^"]*"/><text[^>]*>([^<]+)<`)
		if len(x) < 2 || len(y) < 3 {
			t.Errorf("%s: %d and %d ticks", f.Name, len(x), len(y))
		}
		for _, tick := range x {
			if want := left + box[2]*part(tick[1], ends[0], ends[1], f.LogX); math.Abs(tick[0]-want) > .1 {
				t.Errorf("%s: %g stands at %g, want %g", f.Name, tick[1], tick[0], want)
			}
		}
		for _, tick := range y {
			want := bottom - box[3]*part(tick[1]/scaled, ends[2], ends[3], f.LogY)
			if math.Abs(tick[0]-want) > .1 {
				t.Errorf("%s: %g stands at %g, want %g", f.Name, tick[1], tick[0], want)
			}
		}
		if strings.Contains(s, "NaN") || strings.Contains(s, "Inf") {
			t.Errorf("%s: something is nowhere", f.Name)
		}
	}
}

// An accuracy's axis that does not begin at 0 says so; one that nearly does begins there.
func TestAxisFrom(t *testing.T) {
	f := several(.6)
	f.Percent = true
	f.Curves[0].Points[0] = plot.Point{Y: .5, Low: .5, High: .5}
	if s := inline(t, f); !strings.Contains(s, ">axis from 49") {
		t.Error("an axis from 49 does not say so")
	}
	f.Curves[0].Points[0] = plot.Point{Y: .1, Low: .1, High: .1}
	s := inline(t, f)
	zero := slices.ContainsFunc(numbers(t, s, `text-anchor="end">([\d.]+)<`),
		func(row []float64) bool { return row[0] == 0 })
	if strings.Contains(s, "axis from") || !zero {
		t.Error("an axis that nearly begins at 0 has no 0")
	}
}
