package report

import (
	"fmt"

	"sotto/experiment/rundir"
	"sotto/report/plot"
)

// ownSection has the models that owners end with, beside what they would have alone and
// what all share. It is about one setting, of which it shows the first run.
func ownSection(groups []*group) (Section, bool) {
	sec := Section{Title: "Owners' own models", Text: []string{"Of each owner, on its own test records: " +
		"fitted to its records alone, the shared model, one fitted around it, and the mixture of the three " +
		"that the owner ends with, whose weights stand last. Nothing of them is sent or charged."}}
	if !isSingle(groups) {
		return sec, false
	}
	r := groups[0].runs[0]
	p := r.Summary.Personal
	if p == nil {
		return sec, false
	}
	t := plot.Table{Header: append(append([]string{"owner", "figure"}, p.Models...),
		"alone / shared / personal")}
	for f, figure := range p.Figures {
		if means, ok := p.Means(f); ok {
			row := []string{"mean", figure}
			for _, m := range means {
				row = append(row, fmt.Sprintf("%.3f", m))
			}
			t.Rows = append(t.Rows, append(row, ""))
		}
	}
	for _, l := range p.Lines {
		for f, figure := range p.Figures {
			t.Rows = append(t.Rows, ownRow(r.Summary.Names.Agent(l.Agent), figure, f, &l))
		}
	}
	sec.Tables = []plot.Table{t}
	return sec, true
}

func ownRow(owner, figure string, f int, l *rundir.PersonalLine) []string {
	row := []string{owner, figure}
	for _, values := range l.Values {
		text := "–"
		if v := values[f]; v != nil {
			text = fmt.Sprintf("%.3f", *v)
		}
		row = append(row, text)
	}
	weights := ""
	if f == 0 {
		weights = fmt.Sprintf("%.1f / %.1f / %.1f", l.Weights[0], l.Weights[1], l.Weights[2])
	}
	return append(row, weights)
}
