package reproduce

import (
	"bytes"

	"sotto/experiment"
	"sotto/report"
	"sotto/report/plot"
)

// Page is the document as one HTML file: its table, what has to be said about it, and its
// plots.
func (d *Document) Page() ([]byte, error) {
	p := report.Page{Title: d.Name, Lead: d.Title + ", run again and set beside the published one.",
		Summary: plot.Table{Header: d.Header, Rows: d.Rows}, Notes: d.Notes,
		Produced: "Made by sotto, engine " + experiment.EngineVersion + "."}
	if len(d.Figures) > 0 {
		s := report.Section{Title: "Plots"}
		for _, f := range d.Figures {
			if err := s.Draw(f); err != nil {
				return nil, err
			}
		}
		p.Sections = append(p.Sections, s)
	}
	var b bytes.Buffer
	err := report.WriteHTML(&b, p)
	return b.Bytes(), err
}
