package plot_test

import (
	"bytes"
	"encoding/csv"
	"encoding/xml"
	"errors"
	"fmt"
	"image/png"
	"io"
	"math"
	"strconv"
	"strings"
	"testing"

	"sotto/config"
	"sotto/report/plot"
	"sotto/topology"
)

func figure() plot.Figure {
	return plot.Figure{
		Name:   "accuracy",
		Title:  "Accuracy",
		XLabel: "round",
		YLabel: "accuracy",
		Curves: []plot.Curve{
			{Name: "test", Points: []plot.Point{{0, .1, .05, .2}, {10, .6, .5, .7}, {20, .9, .8, .95}}},
			{Name: "other <&>", Points: []plot.Point{{0, .2, .2, .2}, {20, math.NaN(), 0, 1},
				{30, math.Inf(1), 0, 1}}},
			{Name: "nothing to show", Points: []plot.Point{{0, math.NaN(), 0, 0}}},
		},
	}
}

func heatMap() plot.HeatMap {
	return plot.HeatMap{
		Name:    "classes",
		Title:   "ring",
		XLabel:  "class",
		YLabel:  "agent",
		Columns: []string{"0", "1"},
		Rows:    []string{"0", "1", "2"},
		Values:  [][]float64{{0, .5}, {1, math.NaN()}, {.123, .999}},
	}
}

func graph(t testing.TB, family string, agents int, decode func(any) error) plot.Graph {
	t.Helper()
	s, err := topology.New(family, "", agents, 1, decode)
	if err != nil {
		t.Fatal(err)
	}
	g, err := s.At(0)
	if err != nil {
		t.Fatal(err)
	}
	d, err := plot.NewGraph("graph", g)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func plain(any) error { return nil }

// elements parses b as XML and counts its elements by name.
func elements(t *testing.T, b []byte) map[string]int {
	t.Helper()
	dec, count := xml.NewDecoder(bytes.NewReader(b)), map[string]int{}
	for {
		tok, err := dec.Token()
		if errors.Is(err, io.EOF) {
			return count
		}
		if err != nil {
			t.Fatalf("not well-formed: %v", err)
		}
		if e, ok := tok.(xml.StartElement); ok {
			count[e.Name.Local]++
		}
	}
}

func TestDrawingsAreWellFormedAndRepeatable(t *testing.T) {
	markers, signed := figure(), heatMap()
	markers.Markers, markers.Percent, signed.Signed = true, true, true
	logarithmic := plot.Figure{
		Name:    "log",
		LogX:    true,
		Markers: true,
		Curves:  []plot.Curve{{Points: []plot.Point{{.5, 1, 1, 1}, {10, 2, 1, 3}}}},
	}
	for _, d := range []plot.Drawing{figure(), markers, logarithmic, plot.Figure{Name: "empty"},
		heatMap(), signed,
		graph(t, "ring", 12, plain), graph(t, "path", 2, plain),
		plot.Graph{Name: "one", Nodes: []plot.Node{{X: .5, Y: .5, Label: "0", Value: .3}},
			ValueLabel: "leak"},
		plot.Graph{
			Name: "gain",
			Nodes: []plot.Node{{X: .2, Y: .5, Label: "0", Value: -.3},
				{X: .8, Y: .5, Label: "1", Value: math.NaN()}},
			ValueLabel: "gain",
			Limit:      .3,
			Unit:       "points",
		}} {
		for name, write := range map[string]func(io.Writer, plot.Drawing) error{"svg": plot.WriteSVG,
			"png": plot.WritePNG, "csv": plot.WriteCSV} {
			var a, b bytes.Buffer
			if err := errors.Join(write(&a, d), write(&b, d)); err != nil {
				t.Fatal(err)
			}
			if !bytes.Equal(a.Bytes(), b.Bytes()) {
				t.Errorf("%s: the same drawing gives different %s", d.FileName(), name)
			}
			switch name {
			case "svg":
				if elements(t, a.Bytes())["svg"] != 1 {
					t.Errorf("%s: no svg element", d.FileName())
				}
			case "png":
				if im, err := png.Decode(&a); err != nil || im.Bounds().Dx() < 300 {
					t.Errorf("%s: %v", d.FileName(), err)
				}
			case "csv":
				if _, err := csv.NewReader(&a).ReadAll(); err != nil {
					t.Errorf("%s: %v", d.FileName(), err)
				}
			}
		}
	}
}

// A figure has one line in the colour of each curve that has points, and names those
// curves and no other.
func TestFigureHasItsCurves(t *testing.T) {
	var b bytes.Buffer
	if err := plot.WriteSVG(&b, figure()); err != nil {
		t.Fatal(err)
	}
	s := b.String()
	for text, want := range map[string]int{"stroke:#0072B2": 2, "stroke:#D55E00": 1, "stroke:#009E73": 0,
		">test<": 1, ">other &lt;&amp;&gt;<": 1, "nothing to show": 0} {
		if text == "stroke:#D55E00" { // one point has no line: its legend does, and a mark
			if strings.Count(s, text) == 0 {
				t.Errorf("%q is missing", text)
			}
			continue
		}
		if got := strings.Count(s, text); got != want {
			t.Errorf("%q occurs %d times, want %d", text, got, want)
		}
	}
}

func TestCSVHoldsTheValues(t *testing.T) {
	var b bytes.Buffer
	if err := plot.WriteCSV(&b, figure()); err != nil {
		t.Fatal(err)
	}
	rows, err := csv.NewReader(&b).ReadAll()
	if err != nil || len(rows) != 8 {
		t.Fatalf("%d rows, %v", len(rows), err)
	}
	if got := strings.Join(rows[2], " "); got != "test 10 0.6 0.5 0.7" {
		t.Error(got)
	}
}

// Values have columns with plain names, and the same rows.
func TestValuesHavePlainNames(t *testing.T) {
	for _, c := range []struct{ x, y, want string }{
		{"round", "accuracy (%)", "curve,round,accuracy,low,high"},
		{"epsilon, upper bound, worst agent", "final accuracy (%)", "curve,epsilon,final_accuracy,low,high"},
		{"age in years", "added to the output", "curve,age_in_years,added_to_the_output,low,high"},
		{"(of nothing)", "low", "curve,x,y,low,high"},
		{"loss", "loss", "curve,x,y,low,high"},
	} {
		f := figure()
		f.XLabel, f.YLabel = c.x, c.y
		var values, b bytes.Buffer
		if err := errors.Join(plot.WriteValues(&values, f), plot.WriteCSV(&b, f)); err != nil {
			t.Fatal(err)
		}
		head, rows, _ := strings.Cut(values.String(), "\n")
		_, want, _ := strings.Cut(b.String(), "\n")
		if head != c.want || rows != want {
			t.Errorf("%q, want %q", head, c.want)
		}
	}
	var a, b bytes.Buffer
	if err := errors.Join(plot.WriteValues(&a, heatMap()), plot.WriteCSV(&b, heatMap())); err != nil ||
		a.String() != b.String() {
		t.Errorf("a heat map: %v, %s", err, a.String())
	}
}

// Axis labels are round numbers within the axis, few enough to be read: seen in the SVG's
// text.
func TestTicksAreRoundNumbers(t *testing.T) {
	for _, top := range []float64{1e-5, .07, .3, 1, 4.2, 30, 999, 123456} {
		f := plot.Figure{Name: "ticks",
			Curves: []plot.Curve{{Points: []plot.Point{{0, 0, 0, 0}, {1, top, top, top}}}}}
		var b bytes.Buffer
		if err := plot.WriteSVG(&b, f); err != nil {
			t.Fatal(err)
		}
		labels := 0
		for part := range strings.SplitSeq(b.String(), "</text>") {
			text := part[strings.LastIndexByte(part, '>')+1:]
			x, err := strconv.ParseFloat(text, 64)
			if err != nil {
				continue
			}
			labels++
			if len(strings.TrimLeft(strings.TrimRight(strings.Replace(strings.Split(text, "e")[0], ".", "",
				1), "0"), "0")) > 2 {
				t.Errorf("up to %g: label %s is not round", top, text)
			}
			if x < 0 || x > 1.05*max(1, top) {
				t.Errorf("up to %g: label %s is off the axes", top, text)
			}
		}
		if labels < 8 || labels > 22 {
			t.Errorf("up to %g: %d labels on two axes", top, labels)
		}
	}
}

func TestGraphLayouts(t *testing.T) {
	rows := func(n int) func(any) error {
		return func(p any) error {
			if l, ok := p.(*topology.LatticeParams); ok {
				l.Rows = n
			}
			return nil
		}
	}
	for _, tc := range []struct {
		family string
		agents int
		decode func(any) error
	}{{"ring", 60, plain}, {"complete", 7, plain}, {"star", 12, plain}, {"wheel", 9, plain},
		{"path", 300, plain}, {"grid", 24, rows(3)}, {"grid", 5, rows(1)}, {"grid", 5, rows(5)},
		{"torus", 9, rows(3)}, {"torus", 20, rows(5)}, {"hypercube", 2, plain}, {"hypercube", 64, plain},
		{"regular", 120, func(p any) error { p.(*topology.RegularParams).Degree = 3; return nil }}} {
		d := graph(t, tc.family, tc.agents, tc.decode)
		if len(d.Nodes) != tc.agents {
			t.Fatalf("%s: %d nodes", tc.family, len(d.Nodes))
		}
		for i, a := range d.Nodes {
			if !(a.X >= -1e-9 && a.X <= 1+1e-9 && a.Y >= -1e-9 && a.Y <= 1+1e-9) {
				t.Errorf("%s of %d: agent %d is at %g, %g", tc.family, tc.agents, i, a.X, a.Y)
			}
			for j, b := range d.Nodes[:i] {
				if math.Hypot(a.X-b.X, a.Y-b.Y) < 1e-3 {
					t.Errorf("%s of %d: agents %d and %d are at one place", tc.family, tc.agents, i, j)
				}
			}
		}
	}
	d := graph(t, "grid", 24, rows(3)) // 3 rows of 8: agent 7 ends the first, 8 begins the second
	if d.Nodes[7].Y != d.Nodes[0].Y || d.Nodes[8].X != d.Nodes[0].X || d.Nodes[8].Y >= d.Nodes[0].Y {
		t.Error("a grid is not drawn by its rows and columns")
	}
	// in a force layout neighbors are near: no link spans the picture, as random places
	// would have
	longest := 0.
	d = graph(t, "regular", 120, func(p any) error { p.(*topology.RegularParams).Degree = 3; return nil })
	mean := 0.
	for _, e := range d.Edges {
		l := math.Hypot(d.Nodes[e.I].X-d.Nodes[e.J].X, d.Nodes[e.I].Y-d.Nodes[e.J].Y)
		longest, mean = max(longest, l), mean+l/float64(len(d.Edges))
	}
	if mean > .25 { // two random places in a disc of diameter 1 are .45 apart on average
		t.Errorf("links are %.2f long on average, %.2f at most", mean, longest)
	}
}

func TestGraphsThatAreNotDrawn(t *testing.T) {
	d := graph(t, "ring", 5, plain)
	var bad *config.Error
	for _, file := range []string{"graph.pdf", "graph", "svg"} {
		if err := plot.WriteGraph(io.Discard, d, file); !errors.As(err, &bad) ||
			!strings.Contains(err.Error(), ".svg or .png") {
			t.Errorf("%s: %v", file, err)
		}
	}
	for _, tc := range []struct {
		family string
		agents int
		want   string
	}{{"ring", 2001, "at most 2000"}, {"complete", 500, "at most 100000"}} {
		s, err := topology.New(tc.family, "", tc.agents, 1, plain)
		if err != nil {
			t.Fatal(err)
		}
		g, err := s.At(0)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := plot.NewGraph("graph", g); !errors.As(err, &bad) ||
			!strings.Contains(err.Error(), tc.want) {
			t.Errorf("%s of %d: %v", tc.family, tc.agents, err)
		}
	}
}

func ExampleWriteSVG() {
	var b bytes.Buffer
	err := plot.WriteSVG(&b, figure())
	fmt.Println(err, strings.Contains(b.String(), "<svg"))
	// Output: <nil> true
}

// A curve like another has its colour and no line in the legend: two pairs take two
// colours.
func TestLikeCurves(t *testing.T) {
	line := []plot.Point{{1, .1, .1, .1}, {2, .5, .5, .5}}
	f := plot.Figure{Name: "pairs", Curves: []plot.Curve{
		{Name: "first", Points: line}, {Name: "old first", Like: "first", Dashed: true, Points: line},
		{Name: "second", Points: line}, {Name: "old second", Like: "second", Dashed: true, Points: line},
	}}
	var b bytes.Buffer
	if err := plot.WriteSVG(&b, f); err != nil {
		t.Fatal(err)
	}
	svg := strings.ToLower(b.String())
	for text, want := range map[string]bool{"first": true, "second": true, "old": false, "#0072b2": true,
		"#d55e00": true, "#009e73": false, "stroke-dasharray": true} {
		if strings.Contains(svg, text) != want {
			t.Errorf("%q is in the picture: %v, want %v", text, !want, want)
		}
	}
	if n := strings.Count(svg, "#0072b2"); n != 3 { // two curves and one line of the legend
		t.Errorf("the first colour is drawn %d times, want 3", n)
	}
}

// An axis that begins a little below 0 has a 0, not a -0.
func TestZeroTick(t *testing.T) {
	f := plot.Figure{Name: "overlap", Markers: true,
		Curves: []plot.Curve{{Name: "a", Points: []plot.Point{{0, .1, .1, .1}, {1, .5, .5, .5}}}}}
	var b bytes.Buffer
	if err := plot.WriteSVG(&b, f); err != nil {
		t.Fatal(err)
	}
	if strings.Contains(b.String(), ">-0<") || !strings.Contains(b.String(), ">0<") {
		t.Error("the axis is labelled -0")
	}
}

// A logarithmic axis is labelled at powers of ten, and has no place for what is not above
// 0.
func TestLogarithmicAxis(t *testing.T) {
	f := plot.Figure{Name: "floor", LogX: true, LogY: true, Markers: true, Curves: []plot.Curve{
		{Name: "error", Points: []plot.Point{{1, .0004, .0003, .0005}, {10, .03, -1, .05},
			{100, 2, 1.5, 2.5}, {1000, 0, 0, 0}}}}}
	var b bytes.Buffer
	if err := plot.WriteSVG(&b, f); err != nil {
		t.Fatal(err)
	}
	elements(t, b.Bytes())
	for _, label := range []string{">0.001<", ">0.01<", ">0.1<", ">1<"} {
		if !strings.Contains(b.String(), label) {
			t.Errorf("no label %s", label)
		}
	}
	if strings.Contains(b.String(), "NaN") || strings.Contains(b.String(), "Inf") {
		t.Error("a point at 0 is drawn")
	}
	empty := plot.Figure{Name: "nothing", LogX: true, LogY: true}
	if err := plot.WriteSVG(io.Discard, empty); err != nil {
		t.Error(err)
	}
}
