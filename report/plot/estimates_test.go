package plot_test

import (
	"bytes"
	"encoding/csv"
	"encoding/xml"
	"fmt"
	"io"
	"math"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"sotto/report/plot"
)

// point is a place in a drawing, in points from the lower left corner.
type point struct{ x, y float64 }

// lines are the paths of a drawing that are not closed, with their style.
func lines(t *testing.T, d plot.Drawing) (paths [][]point, styles []string) {
	t.Helper()
	var b bytes.Buffer
	if err := plot.WriteSVG(&b, d); err != nil {
		t.Fatal(err)
	}
	for dec := xml.NewDecoder(bytes.NewReader(b.Bytes())); ; {
		if _, err := dec.Token(); err == io.EOF {
			break
		} else if err != nil {
			t.Fatal(err)
		}
	}
	open := regexp.MustCompile(`<path d="([^"Z]*)" style="([^"]*)"`)
	for _, m := range open.FindAllStringSubmatch(b.String(), -1) {
		var path []point
		for _, place := range strings.FieldsFunc(m[1], func(r rune) bool { return r == 'M' || r == 'L' }) {
			x, y, _ := strings.Cut(place, ",")
			px, err := strconv.ParseFloat(x, 64)
			py, err2 := strconv.ParseFloat(y, 64)
			if err != nil || err2 != nil {
				t.Fatal(place)
			}
			path = append(path, point{px, py})
		}
		paths, styles = append(paths, path), append(styles, m[2])
	}
	return paths, styles
}

// has looks for a straight line between two places and returns its style.
func has(paths [][]point, styles []string, a, b point) (string, bool) {
	near := func(p, q point) bool { return math.Hypot(p.x-q.x, p.y-q.y) < .02 }
	for k, p := range paths {
		if len(p) == 2 && near(p[0], a) && near(p[1], b) {
			return styles[k], true
		}
	}
	return "", false
}

const cm = 72 / 2.54 // in points

// The whiskers of a histogram stand in the middle of bars of one width, from low to high
// on an axis that goes from 0 to 1.05 times the highest end.
func TestBarsWhiskers(t *testing.T) {
	b := plot.Bars{Name: "bars", Title: "histogram", XLabel: "age", YLabel: "records", Of: []plot.Estimate{
		{From: 0, To: 18, Value: 10, Low: 5, High: 20, True: 12},
		{From: 18, To: 65, Value: 40, Low: 30, High: 60, True: math.NaN()},
		{From: 65, To: 110, Value: 2, Low: 0, High: 9, True: math.NaN(), Drowned: true}}}
	paths, styles := lines(t, b)
	// 15 x 9 cm; room of 1.8 left, .6 right, 1.5 above, 1.3 below
	x := func(slots float64) float64 { return cm * (1.8 + (15-1.8-.6)*slots/3) }
	y := func(records float64) float64 { return cm * (1.3 + (9-1.5-1.3)*records/63) }
	for k, e := range b.Of {
		mid := x(float64(k) + .5)
		style, ok := has(paths, styles, point{mid, y(e.Low)}, point{mid, y(e.High)})
		if !ok {
			t.Errorf("bar %d has no whisker from %g to %g", k, e.Low, e.High)
		}
		grey := strings.Contains(style, "#707070") && strings.Contains(style, "dasharray")
		if grey != e.Drowned {
			t.Errorf("bar %d: drowned %t, drawn as %s", k, e.Drowned, style)
		}
		for _, end := range []float64{e.Low, e.High} {
			if _, ok := has(paths, styles, point{mid - 4, y(end)}, point{mid + 4, y(end)}); !ok {
				t.Errorf("bar %d has no cap at %g", k, end)
			}
		}
	}
	// a cross has arms of its radius, 4 points, at half a right angle
	arm := 4 / math.Sqrt2
	if _, ok := has(paths, styles, point{x(.5) - arm, y(12) - arm}, point{x(.5) + arm, y(12) + arm}); !ok {
		t.Error("the true value has no cross")
	}
	rows := written(t, b)
	if got, want := fmt.Sprint(rows), "[[of age from age to value low high drowned true] "+
		"[ 0 18 10 5 20 no 12] [ 18 65 40 30 60 no ] [ 65 110 2 0 9 yes ]]"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
}

func written(t *testing.T, d plot.Drawing) [][]string {
	t.Helper()
	var b bytes.Buffer
	if err := plot.WriteCSV(&b, d); err != nil {
		t.Fatal(err)
	}
	rows, err := csv.NewReader(&b).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	return rows
}

// Dots stand at their values on an axis with 3 % of room; an interval without bounds
// goes as far as the axis does.
func TestDotsWhiskers(t *testing.T) {
	d := plot.Dots{Name: "dots", XLabel: "age", Of: []plot.Estimate{
		{Label: "F", Value: 40, Low: 30, High: 50, True: math.NaN()},
		{Label: "M", Value: 45, Low: math.Inf(-1), High: math.Inf(1), True: math.NaN(), Drowned: true}}}
	paths, styles := lines(t, d)
	// 15 cm wide; a letter of .2 and .6 left, .6 right; 2 lines of .62 below .75
	x := func(age float64) float64 { return cm * (.8 + (15-.8-.6)*(age-29.4)/(50.6-29.4)) }
	height := .75 + 1.3 + 3*.62
	y := func(line int) float64 { return cm * (height - .75 - .62*(float64(line)+.75)) }
	if _, ok := has(paths, styles, point{x(30), y(0)}, point{x(50), y(0)}); !ok {
		t.Error("no whisker from 30 to 50")
	}
	style, ok := has(paths, styles, point{x(29.4), y(1)}, point{x(50.6), y(1)})
	if !ok || !strings.Contains(style, "dasharray") {
		t.Error("no dashed whisker as far as the axis")
	}
}

// A curve falls at the end of each bin, and its last step shows.
func TestStepsFall(t *testing.T) {
	s := plot.Steps{Name: "steps", Title: "survival", XLabel: "months", YLabel: "share",
		Curves: []plot.StepCurve{{Of: []plot.Estimate{
			{From: 0, To: 6, Value: .8, Low: .7, High: .9, True: math.NaN()},
			{From: 6, To: 12, Value: .5, Low: 0, High: 1, True: math.NaN(), Drowned: true}}}}}
	paths, styles := lines(t, s)
	x := func(months float64) float64 { return cm * (1.8 + (15-1.8-.6)*months/15) } // half a bin more
	y := func(share float64) float64 { return cm * (1.3 + (9-1.5-1.3)*share) }
	want := [][]point{{{x(6), y(1)}, {x(6), y(.8)}, {x(12), y(.8)}},
		{{x(12), y(.8)}, {x(12), y(.5)}, {x(15), y(.5)}}}
	for k, w := range want {
		found := false
		for i, p := range paths {
			if len(p) != 3 {
				continue
			}
			same := true
			for c := range p {
				same = same && math.Hypot(p[c].x-w[c].x, p[c].y-w[c].y) < .02
			}
			found = found || same && strings.Contains(styles[i], "dasharray") == (k == 1)
		}
		if !found {
			t.Errorf("no step %d at %v", k, w)
		}
	}
}

// No estimate makes a drawing that cannot be read, however strange.
func TestStrangeEstimates(t *testing.T) {
	inf, nan := math.Inf(1), math.NaN()
	for _, all := range [][]plot.Estimate{nil, {{}}, {{Value: nan, Low: nan, High: nan, True: nan}},
		{{Value: 1e308, Low: -1e308, High: 1e308, True: -1e308, From: -1e308, To: 1e308}},
		{{Value: inf, Low: -inf, High: inf, True: inf, From: 1, To: 1}},
		{{Label: strings.Repeat("long ", 100), Value: 1}, {Label: "<a>\n&", Value: 1}}} {
		for _, d := range []plot.Drawing{plot.Bars{Name: "a", Of: all}, plot.Dots{Name: "b", Of: all},
			plot.Steps{Name: "c", Curves: []plot.StepCurve{{Of: all}, {Name: "<b>"}}}} {
			var b bytes.Buffer
			if err := plot.WriteSVG(&b, d); err != nil {
				t.Error(err)
			}
			for _, bad := range []string{"NaN", "Inf", "<b>"} {
				if strings.Contains(b.String(), bad) {
					t.Errorf("%s of %v has %s", d.FileName(), all, bad)
				}
			}
		}
	}
}

// Pages say what a drawing shows to those who do not see it.
func TestInlineDescribes(t *testing.T) {
	svg, err := plot.Inline(plot.Dots{Name: "dots", Title: "mean(<b>)", Caption: "Dots & whiskers."})
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{`role="img" aria-labelledby="dots-title dots-about">`,
		`<title id="dots-title">mean(&lt;b&gt;)</title>`,
		`<desc id="dots-about">Dots &amp; whiskers.</desc>`} {
		if !strings.Contains(string(svg), want) {
			t.Errorf("%q lacks %q", svg, want)
		}
	}
}
