package report_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"html/template"
	"os"
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
	before, rest, one := strings.Cut(s, "<script>")
	script, after, _ := strings.Cut(rest, "</script>")
	if b, err := os.ReadFile("zoom.js"); err != nil || !one || script != string(b) {
		t.Errorf("the page's script is not zoom.js, %v", err)
	}
	for _, bad := range []string{"http:", "https:", "fetch", "eval", "import", "innerHTML", "</"} {
		if strings.Contains(script, bad) {
			t.Errorf("the script contains %q", bad)
		}
	}
	s = before + after
	for _, bad := range []string{"<script", "<b>", "<i>", "http://", "https://", "src=", "href=", "url(",
		"@import"} {
		if strings.Contains(s, bad) {
			t.Errorf("the page contains %q", bad)
		}
	}
	if strings.Count(s, "<svg") != 4 || !strings.Contains(s, "a &lt; b") {
		t.Error("plots or text are missing")
	}
}

// A page without figures of curves has no script.
func TestNoScriptWithoutFigures(t *testing.T) {
	section := report.Section{}
	if err := section.Draw(plot.HeatMap{Name: "classes", Rows: []string{"0"}, Columns: []string{"0"},
		Values: [][]float64{{.5}}}); err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	if err := report.WriteHTML(&b, report.Page{Sections: []report.Section{section}}); err != nil {
		t.Fatal(err)
	}
	if strings.Contains(b.String(), "<script") {
		t.Error("a script without a use")
	}
}

// The live server lets a page run this script and no other.
func TestLiveServerKnowsTheScript(t *testing.T) {
	script, err := os.ReadFile("zoom.js")
	if err != nil {
		t.Fatal(err)
	}
	server, err := os.ReadFile("../live/server.go")
	if err != nil {
		t.Fatal(err)
	}
	sum := sha256.Sum256(script)
	hash := "sha256-" + base64.StdEncoding.EncodeToString(sum[:])
	if !strings.Contains(string(server), hash) {
		t.Errorf("live/server.go does not allow zoom.js: its hash is now %s", hash)
	}
}
