package report

import (
	"fmt"
	"strings"

	"sotto/config"
	"sotto/experiment/rundir"
	"sotto/report/plot"
)

// figured lists the runs whose summaries have figures.
func (s *group) figured() []*run {
	var runs []*run
	for _, r := range s.runs {
		if r.Summary.Figures != nil {
			runs = append(runs, r)
		}
	}
	return runs
}

// qualitySection has the figures of settings that were asked for them, beside those of a
// baseline.
func qualitySection(groups []*group) (Section, bool) {
	sec := Section{Title: "How good the models are"}
	t := plot.Table{Header: []string{"setting", "figure", "mean over agents", "interval", "least", "most",
		"baseline"}}
	var of []string
	for _, s := range groups {
		runs := s.figured()
		if len(runs) == 0 {
			continue
		}
		if text := runs[0].Summary.Figures.BaselineOf; len(of) == 0 || of[len(of)-1] != text {
			of = append(of, text)
		}
		for n := range runs[0].Summary.Figures.Lines {
			t.Rows = append(t.Rows, append([]string{s.label}, figureRow(runs, n)...))
		}
	}
	if len(of) == 0 {
		return sec, false
	}
	sec.Tables = append(sec.Tables, t)
	text := "Of final models on test records. The baseline knows " + strings.Join(of, ", or ") +
		". " + aboutClass(groups)
	if isSingle(groups) {
		r := groups[0].runs[0]
		if f := r.Summary.Figures; f.Level > 0 {
			drawn := "test records"
			if f.Persons > 0 {
				drawn = fmt.Sprintf("%d persons whose the test records are", f.Persons)
			}
			text += fmt.Sprintf(" Intervals are of the mean over agents, by a bootstrap of the %s "+
				"at level %g, for models that stay as they are.", drawn, f.Level)
		}
		sec.Tables = append(sec.Tables, detailTables(r)...)
	} else {
		text += overRuns(groups, " ± is one standard deviation over seeds.")
	}
	sec.Text = []string{text}
	return sec, true
}

// aboutClass says which class figures of two are about.
func aboutClass(groups []*group) string {
	if len(groups) == 1 && len(groups[0].runs[0].Summary.Names.Classes) == 2 {
		return "Sensitivity, precision and the areas are about class " + groups[0].className(1) + "."
	}
	return "Figures of two classes are about the second one."
}

// figureRow is figure n of the runs of one setting.
func figureRow(runs []*run, n int) []string {
	var mean, least, most, base []float64
	name := runs[0].Summary.Figures.Lines[n].Name
	interval := "–"
	for _, r := range runs {
		if n >= len(r.Summary.Figures.Lines) || r.Summary.Figures.Lines[n].Name != name {
			continue
		}
		l := &r.Summary.Figures.Lines[n]
		if l.Over != nil {
			mean, least, most = append(mean, l.Over.Mean), append(least, l.Over.Min), append(most, l.Over.Max)
		}
		if l.Baseline != nil {
			base = append(base, *l.Baseline)
		}
		if l.Interval != nil && len(runs) == 1 {
			interval = fmt.Sprintf("%.4f to %.4f", l.Interval[0], l.Interval[1])
		}
	}
	value := spreadText(mean, 1, 4)
	if l := &runs[0].Summary.Figures.Lines[n]; len(runs) == 1 && l.Undefined != "" {
		value = fmt.Sprintf("%s, undefined at %s: %s", value,
			config.Count(runs[0].Summary.Figures.Tested-l.Agents, "agent"), l.Undefined)
	}
	return []string{strings.ReplaceAll(name, "_", " "), value, interval,
		spreadText(least, 1, 4), spreadText(most, 1, 4), spreadText(base, 1, 4)}
}

// mostFigured is the most agents with a row of their own.
const mostFigured = 100

// detailTables are the figures of each agent, who is predicted as what, and the
// reliability curve of one run.
func detailTables(r *run) []plot.Table {
	f := r.Summary.Figures
	var tables []plot.Table
	if n := len(f.Lines[0].ByAgent); n > 0 && n <= mostFigured && n == r.Summary.Agents {
		t := plot.Table{Header: []string{"agent"}}
		rows := make([][]string, n)
		for i := range rows {
			rows[i] = []string{r.agentName(i)}
		}
		for _, l := range f.Lines {
			t.Header = append(t.Header, strings.ReplaceAll(l.Name, "_", " "))
			for i := range rows {
				text := "undefined"
				if i < len(l.ByAgent) && l.ByAgent[i] != nil {
					text = fmt.Sprintf("%.4f", *l.ByAgent[i])
				}
				rows[i] = append(rows[i], text)
			}
		}
		t.Rows = rows
		tables = append(tables, t)
	}
	if len(f.Confusion) > 0 {
		var classes []string
		for c := range f.Confusion {
			classes = append(classes, r.Summary.Names.Class(c))
		}
		tables = append(tables, confusionTable(classes, f.Confusion))
	}
	if len(f.Reliability) > 0 {
		tables = append(tables, reliabilityTable(f.Reliability))
	}
	return tables
}

func reliabilityTable(bins []rundir.ReliabilityBin) plot.Table {
	all := make([]bin, len(bins))
	for i, b := range bins {
		all[i] = bin(b)
	}
	return calibrationTable(all)
}
