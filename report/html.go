package report

import (
	_ "embed"
	"html/template"
	"io"
	"slices"

	"sotto/report/plot"
)

// Page is an HTML report: a title, the figures that matter, what a reader must know, then
// the rest.
type Page struct {
	Title    string
	Lead     string     // one sentence that says what came of it
	Figures  []Figure   // those that matter, one or two
	Facts    []Fact     // of a single run
	Summary  plot.Table // of several runs
	Notes    []string   // warnings, what is not protected
	Sections []Section
	Produced string // engine version
	files    []File // of tables, beside those of drawings
}

// Figure is a number that matters: its name, itself with a unit, and what it is of.
type Figure struct{ Name, Value, Unit, Under string }

// Fact is one line of the summary.
type Fact struct{ Name, Value string }

// Section is a heading and what is below it.
type Section struct {
	Title    string
	Text     []string
	Tables   []plot.Table
	Pictures []plot.Picture
	Grids    []Grid
	Listings []Listing
}

// Listing is text that is kept as it is; Title is empty where it is not folded away.
type Listing struct{ Title, Text string }

// Draw appends pictures to s.
func (s *Section) Draw(drawings ...plot.Drawing) error {
	for _, d := range drawings {
		p, err := plot.NewPicture(d)
		if err != nil {
			return err
		}
		s.Pictures = append(s.Pictures, p)
	}
	return nil
}

// WriteHTML writes p as one page that needs no network. Where it has figures of curves it
// holds one script, which shows parts of their axes; it can be read without.
func WriteHTML(w io.Writer, p Page) error { return page.Execute(w, p) }

//go:embed page.gohtml
var pageTemplate string

//go:embed answers.gohtml
var answersTemplate string

var page = template.Must(template.Must(template.New("page").Parse(pageTemplate)).Parse(answersTemplate))

//go:embed zoom.js
var zoom string

// Script is what the page has of scripts: that of figures, or nothing.
func (p Page) Script() template.HTML {
	for _, s := range p.Sections {
		if slices.ContainsFunc(s.Pictures, func(p plot.Picture) bool { return p.Zooms }) {
			return template.HTML("<script>" + zoom + "</script>")
		}
	}
	return ""
}

// HasGrids says that the page has tables of figures.
func (p Page) HasGrids() bool {
	return slices.ContainsFunc(p.Sections, func(s Section) bool { return len(s.Grids) > 0 })
}
