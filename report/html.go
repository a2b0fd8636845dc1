package report

import (
	"html/template"
	"io"

	"sotto/report/plot"
)

// Page is an HTML report: a title, the figures that matter, what a reader must know, then
// the rest.
type Page struct {
	Title    string
	Facts    []Fact     // of a single run
	Summary  plot.Table // of several runs
	Notes    []string   // warnings, what is not protected
	Sections []Section
	Produced string // engine version
}

// Fact is one line of the summary.
type Fact struct{ Name, Value string }

// Section is a heading and what is below it.
type Section struct {
	Title    string
	Text     []string
	Tables   []plot.Table
	Pictures []plot.Picture
	Listings []Listing
}

// Listing is text that is kept as it is; Title is empty where it is not folded away.
type Listing struct{ Title, Text string }

// Draw appends pictures to s.
func (s *Section) Draw(drawings ...plot.Drawing) error {
	for _, d := range drawings {
		svg, err := plot.Inline(d)
		if err != nil {
			return err
		}
		s.Pictures = append(s.Pictures, plot.Picture{SVG: svg, Caption: d.About()})
	}
	return nil
}

// WriteHTML writes p as one page without scripts or external resources.
func WriteHTML(w io.Writer, p Page) error { return page.Execute(w, p) }

var page = template.Must(template.New("page").Parse(`<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>{{.Title}}</title>
<style>
body{font:15px/1.45 system-ui,Arial,sans-serif;max-width:76rem;margin:2rem auto;padding:0 1.2rem;color:#222}
h1{font-size:1.6rem;margin:0 0 1rem}h2{font-size:1.2rem;margin:2rem 0 .6rem;border-bottom:2px solid #0072b2;padding-bottom:.2rem}
.wide{overflow-x:auto}table{border-collapse:collapse;margin:.5rem 0}
td,th{padding:.25rem 1rem .25rem 0;text-align:left;border-bottom:1px solid #ddd;vertical-align:top;overflow-wrap:break-word}th{font-weight:600}
td{font-variant-numeric:tabular-nums}.wide td:first-child{white-space:nowrap}
pre{background:#f5f5f3;padding:.7rem;overflow:auto;font-size:13px}
.plots{display:flex;flex-wrap:wrap;gap:1rem 1.5rem;align-items:flex-start}figure{margin:.5rem 0;flex:0 1 auto;max-width:100%}
figcaption{color:#555;font-size:13px;max-width:36rem}svg{max-width:100%;height:auto;display:block}
.notes{border-left:4px solid #d55e00;background:#fff6ee;padding:.5rem 1rem;margin:1rem 0}.notes p{margin:.3rem 0}
footer{color:#555;margin-top:2rem;font-size:13px}
</style></head><body>
<h1>{{.Title}}</h1>
{{if .Facts}}<table>{{range .Facts}}<tr><th>{{.Name}}</th><td>{{.Value}}</td></tr>{{end}}</table>
{{end}}{{if .Summary.Rows}}{{template "table" .Summary}}
{{end}}{{if .Notes}}<div class="notes">{{range .Notes}}<p>{{.}}</p>{{end}}</div>
{{end}}{{range .Sections}}<h2>{{.Title}}</h2>
{{range .Text}}<p>{{.}}</p>
{{end}}{{range .Tables}}{{template "table" .}}
{{end}}{{if .Pictures}}<div class="plots">{{range .Pictures}}<figure>{{.SVG}}{{if .Caption}}<figcaption>{{.Caption}}</figcaption>{{end}}</figure>
{{end}}</div>
{{end}}{{range .Listings}}{{if .Title}}<details><summary>{{.Title}}</summary><pre>{{.Text}}</pre></details>
{{else}}<pre>{{.Text}}</pre>
{{end}}{{end}}{{end}}<footer>{{.Produced}}</footer>
</body></html>
{{define "table"}}<div class="wide"><table><tr>{{range .Header}}<th>{{.}}</th>{{end}}</tr>{{range .Rows}}<tr>{{range .}}<td>{{.}}</td>{{end}}</tr>{{end}}</table></div>{{end}}
`))
