package attack

import (
	"bytes"
	"fmt"
	"math"
	"strconv"

	"sotto/experiment"
	"sotto/privacy/audit"
	"sotto/report"
	"sotto/report/plot"
)

// Page is what audits of one target have found, as one HTML file.
func Page(command string, reports []*audit.Report) ([]byte, error) {
	p := report.Page{Title: "sotto audit", Produced: "Made by sotto, engine " + experiment.EngineVersion +
		"."}
	violated, tightest := 0, (*audit.Report)(nil)
	t := plot.Table{Header: []string{"mode", "verdict", "epsilon at least", "claimed", "observations",
		"confidence", "findings"}}
	for _, r := range reports {
		p.Title = "Audit of " + r.Target
		verdict, found := "nothing found", ""
		if r.Violated {
			violated++
			verdict = "VIOLATED"
		}
		for _, f := range r.Findings {
			found += f + ". "
		}
		if !math.IsNaN(float64(r.Ratio)) && (tightest == nil || r.Ratio > tightest.Ratio) {
			tightest = r
		}
		t.Rows = append(t.Rows, []string{r.Mode, verdict, r.EpsilonLower.AtLeast(), r.Claimed.String(),
			strconv.Itoa(r.Observations), r.Sure(), found})
	}
	p.Lead = fmt.Sprintf("The attacks have found nothing against the claim: %d of %d refute it. What "+
		"they cannot prove is not excluded.", violated, len(reports))
	if violated > 0 {
		p.Lead = fmt.Sprintf("The claim is refuted by %d of %d modes.", violated, len(reports))
	}
	verdict := map[bool]string{true: "Violated", false: "Nothing found"}[violated > 0]
	p.Figures = []report.Figure{{Name: "Verdict", Value: verdict,
		Under: "attacks: " + strconv.Itoa(len(reports))}}
	if tightest != nil {
		p.Figures = append(p.Figures, report.Figure{Name: "Tightest lower bound",
			Value: tightest.EpsilonLower.AtLeast(), Unit: "of " + tightest.Claimed.String() + " claimed",
			Under: fmt.Sprintf("mode %s, at delta %g", tightest.Mode, tightest.Delta)})
	}
	p.Sections = []report.Section{{Title: "Modes", Tables: []plot.Table{t}}}
	for _, r := range reports {
		var text bytes.Buffer
		if err := r.WriteText(&text); err != nil {
			return nil, err
		}
		p.Sections[0].Listings = append(p.Sections[0].Listings, report.Listing{Title: r.Mode + " in full",
			Text: text.String()})
	}
	p.Sections = append(p.Sections, report.Section{Title: "Run it again",
		Listings: []report.Listing{{Text: command}}})
	var b bytes.Buffer
	err := report.WriteHTML(&b, p)
	return b.Bytes(), err
}
