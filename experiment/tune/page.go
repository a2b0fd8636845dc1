package tune

import (
	"bytes"
	"fmt"
	"math"
	"strconv"

	"sotto/experiment"
	"sotto/experiment/rundir"
	"sotto/internal/decimal"
	"sotto/report"
	"sotto/report/plot"
)

// page is what the search has found, as one HTML file. It has what may be shown: of a
// charged search the chosen trial alone.
func (r *Result) page(name string) ([]byte, error) {
	p := report.Page{Title: "sotto tune " + name, Notes: r.Notes,
		Produced: "Made by sotto, engine " + experiment.EngineVersion + "."}
	charged := r.Cost == experiment.CostCharged
	if r.Best == nil {
		p.Lead = "The law of the number of trials gave none: the search has found nothing."
	} else {
		p.Lead = fmt.Sprintf("By %s of held-out records, the best values found are the following.", r.Metric)
		if !charged {
			p.Lead = fmt.Sprintf("Of %d trials by %s of held-out records, the best values found are the "+
				"following.", len(r.Rows), r.Metric)
		}
		value, unit := fmt.Sprintf("%.4g", float64(*r.Score)), ""
		if r.Metric == "accuracy" {
			value, unit = fmt.Sprintf("%.2f", 100*float64(*r.Score)), "%"
		}
		under := "of held-out records"
		if charged {
			under += ", with noise"
		}
		p.Figures = []report.Figure{{Name: "Best " + r.Metric, Value: value, Unit: unit, Under: under}}
		for i, k := range r.Keys {
			p.Facts = append(p.Facts, report.Fact{Name: k, Value: r.Best.Values[i]})
		}
	}
	spent := math.Inf(-1)
	for _, c := range r.Spent {
		if c.Chosen != nil {
			spent = max(spent, float64(c.Chosen.Upper))
		}
	}
	if spent >= 0 {
		p.Figures = append(p.Figures, report.Figure{Name: "Epsilon of the selection, at most",
			Value: rundir.FormatEpsilon(spent), Under: fmt.Sprintf("at delta %g, against those who see the "+
				"chosen trial only", r.Spent[0].Delta)})
	}
	t := plot.Table{Header: append(append([]string{"trial"}, r.Keys...), "score", "accuracy (%)", "loss",
		"epsilon")}
	for _, row := range r.Ranking() {
		trial := strconv.Itoa(row.Trial)
		if charged {
			trial = "the chosen one"
		}
		cells := append([]string{trial}, row.Values...)
		for _, x := range []float64{row.Score, 100 * row.Accuracy, row.Loss} {
			text := "–"
			if !math.IsNaN(x) {
				text = fmt.Sprintf("%.4g", x)
			}
			cells = append(cells, text)
		}
		epsilon := "–"
		if !math.IsNaN(row.Epsilon) {
			epsilon = decimal.Digits(row.Epsilon, 4, true)
		}
		t.Rows = append(t.Rows, append(cells, epsilon))
	}
	p.Sections = append(p.Sections, report.Section{Title: "Trials, the best first", Tables: []plot.Table{t}},
		report.Section{Title: "Use it", Listings: []report.Listing{{Text: "sotto run best.toml"}}})
	var b bytes.Buffer
	err := report.WriteHTML(&b, p)
	return b.Bytes(), err
}
