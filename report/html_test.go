package report_test

import (
	"bytes"
	"html/template"
	"strings"
	"testing"

	"sotto/report"
	"sotto/report/plot"
)

func TestHTMLEscapesAndNeedsNoNetwork(t *testing.T) {
	drawings := []plot.Drawing{
		plot.Figure{Name: "loss", Title: "Loss",
			Curves: []plot.Curve{{Name: "<a>", Points: []plot.Point{{}, {X: 1}}}}},
		plot.HeatMap{Name: "classes", Rows: []string{"0"}, Columns: []string{"0"}, Values: [][]float64{{.5}}},
	}
	section := report.Section{Title: "<i>",
		Listings: []report.Listing{{Text: "a < b"}, {Title: "more", Text: "</pre>"}}}
	if err := section.Draw(drawings...); err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	err := report.WriteHTML(&b, report.Page{Title: "<script>x</script>",
		Summary: plot.Table{Header: []string{"agent"}, Rows: [][]string{{"<b>"}}},
		Sections: []report.Section{section,
			{Pictures: []plot.Picture{{SVG: template.HTML("<svg></svg>")}}}}})
	if err != nil {
		t.Fatal(err)
	}
	s := b.String()
	for _, bad := range []string{"<script", "<b>", "<i>", "http://", "https://", "src=", "href=", "url(",
		"@import"} {
		if strings.Contains(s, bad) {
			t.Errorf("the page contains %q", bad)
		}
	}
	if strings.Count(s, "<svg") != 3 || !strings.Contains(s, "a &lt; b") {
		t.Error("plots or text are missing")
	}
}
