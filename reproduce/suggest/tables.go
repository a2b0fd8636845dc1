package suggest

import (
	"fmt"

	"sotto/reproduce"
)

func accuracy(s reproduce.Sample) string { return s.Format("%.1f", "%.1f") }

// ratios are R, forecast.Drowned, of the runs of study path by their budgets: the length
// of the noise of all rounds and agents over the longest sum of clipped gradients
// (TestRatios).
var ratios = map[string][]string{
	"glyphs": {"1.3", "0.45", "0.14"},
	heart:    {"0.21", "0.075", "0.024"},
}

// paths is the table of study path.
func paths(f *reproduce.Results) *reproduce.Document {
	g := reproduce.Group(f, run.values)
	d := &reproduce.Document{Header: []string{"data, model", "epsilon", "R"}}
	for _, sum := range pathSums {
		d.Header = append(d.Header, "P = "+sum)
	}
	for k := range tables[:2] {
		for n, e := range tables[k].budgets() {
			r := run{table: &tables[k], epsilon: e}
			cells := []string{r.table.about, e, ratios[r.table.name][n]}
			for _, r.way = range pathSums {
				cells = append(cells, accuracy(g.Accuracy(r)))
			}
			d.Rows = append(d.Rows, cells)
		}
	}
	d.Notes = append(d.Notes, fmt.Sprintf("accuracy in percent, the mean of all agents, mean and "+
		"standard deviation over seeds; %d rounds, clip 1, complete graph, steps fall geometrically to a "+
		"twentieth and have the sum P", pathRounds))
	return d
}

// starts is the table of study start.
func starts(f *reproduce.Results) *reproduce.Document {
	g := reproduce.Group(f, run.values)
	d := &reproduce.Document{Header: []string{"data, model", "epsilon", "seeds", "chosen start",
		"suggested", "suggested less chosen"}}
	for k := range tables {
		for _, e := range tables[k].budgets() {
			a := run{table: &tables[k], epsilon: e, way: chosen}
			b := a
			b.way = suggested
			gain := g.AccuracyLess(b, a)
			d.Add(a.table.about, e, len(gain), accuracy(g.Accuracy(a)), accuracy(g.Accuracy(b)),
				interval(gain))
		}
	}
	d.Notes = append(d.Notes, "accuracy in percent, the mean of all agents, mean and standard "+
		"deviation over seeds; the difference with its 95 % interval, paired by seed; what is suggested "+
		"is Newton steps for both tables, and gradients for the networks")
	return d
}

// interval is a mean difference with half of its 95 % interval by Student's t.
func interval(s reproduce.Sample) string {
	if len(s) < 2 {
		return s.Format("%+.1f", "%.1f")
	}
	e, law := s.Student()
	return fmt.Sprintf("%+.1f ± %.1f", s.Mean(), e*law.Quantile(.975))
}
