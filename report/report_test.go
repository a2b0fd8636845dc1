package report_test

import (
	"bytes"
	"encoding/xml"
	"errors"
	"fmt"
	"html/template"
	"io"
	"math"
	"strings"
	"testing"

	"sotto/report"
)

func figure() report.Figure {
	return report.Figure{Name: "accuracy", Title: "Accuracy", XLabel: "round", YLabel: "accuracy", Curves: []report.Curve{
		{Name: "test", Points: []report.Point{{0, .1, .05, .2}, {10, .6, .5, .7}, {20, .9, .8, .95}}},
		{Name: "other <&>", Points: []report.Point{{0, .2, .2, .2}, {20, math.NaN(), 0, 1}, {30, math.Inf(1), 0, 1}}},
	}}
}

func TestSVGIsWellFormedAndRepeatable(t *testing.T) {
	var a, b bytes.Buffer
	if err := report.WriteSVG(&a, figure()); err != nil {
		t.Fatal(err)
	}
	if err := report.WriteSVG(&b, figure()); err != nil {
		t.Fatal(err)
	}
	if a.String() != b.String() {
		t.Error("the same figure gives different bytes")
	}
	dec := xml.NewDecoder(&a)
	paths := 0
	for {
		tok, err := dec.Token()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatalf("not well-formed: %v", err)
		}
		if e, ok := tok.(xml.StartElement); ok && e.Name.Local == "path" {
			paths++
		}
	}
	if paths < 3 {
		t.Errorf("%d paths, want at least axes, band and line", paths)
	}
	if err := report.WriteSVG(io.Discard, report.Figure{Name: "empty"}); err != nil {
		t.Errorf("a figure without curves: %v", err)
	}
}

func TestHTMLEscapesAndNeedsNoNetwork(t *testing.T) {
	var b bytes.Buffer
	err := report.WriteHTML(&b, report.Page{Title: "<script>x</script>", Config: "a < b",
		Privacy: report.Table{Header: []string{"agent"}, Rows: [][]string{{"<b>"}}},
		Plots:   []template.HTML{"<svg></svg>"}})
	if err != nil {
		t.Fatal(err)
	}
	s := b.String()
	for _, bad := range []string{"<script", "<b>", "http://", "https://", "src="} {
		if strings.Contains(s, bad) {
			t.Errorf("the page contains %q", bad)
		}
	}
	if !strings.Contains(s, "<svg></svg>") || !strings.Contains(s, "a &lt; b") {
		t.Error("plot or configuration is missing")
	}
}

func ExampleWriteSVG() {
	var b bytes.Buffer
	err := report.WriteSVG(&b, figure())
	fmt.Println(err, strings.Contains(b.String(), "<svg"))
	// Output: <nil> true
}
