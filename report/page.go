package report

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"sotto/config"
	"sotto/experiment/rundir"
	"sotto/report/plot"
)

// mostOnPage is the number of graphs and heat maps of a kind on a page; the others are
// written as files only.
const mostOnPage = 12

const overRounds = "Over rounds"

// buildReport returns the page and all drawings, those that the page leaves out included.
func buildReport(engine string, runs []*run) (Page, []plot.Drawing, error) {
	groups, repeated := groupRuns(runs)
	p := Page{Notes: notesOf(engine, groups, repeated),
		Produced: "Made by sotto, engine " + engine + "."}
	if len(runs) == 1 {
		if err := oneRun(&p, runs[0]); err != nil {
			return p, nil, err
		}
	} else {
		p.Title = fmt.Sprintf("sotto report: %s in %s", config.Count(len(runs)-repeated, "run"),
			config.Count(len(groups), "setting"))
		p.Lead, p.Figures = leadOf(groups)
		p.Summary = summaryTable(groups)
		if err := addDifferences(&p, groups); err != nil {
			return p, nil, err
		}
	}
	for _, section := range []func([]*group) (Section, bool){qualitySection, ownSection} {
		if s, ok := section(groups); ok {
			p.Sections = append(p.Sections, s)
		}
	}
	graphs, err := graphsOf(groups)
	if err != nil {
		return p, nil, err
	}
	var all []plot.Drawing
	if len(runs) == 1 {
		sections, drawings, err := runs[0].answered()
		if err != nil {
			return p, nil, err
		}
		p.Sections, all = append(p.Sections, sections...), drawings
		if sections, drawings, err = shaped(runs[0].Dir, runs[0].Shapes); err != nil {
			return p, nil, err
		}
		p.Sections, all = append(p.Sections, sections...), append(all, drawings...)
	}
	losses, worst := lossMaps(groups)
	personal, err := personalDrawings(groups)
	if err != nil {
		return p, nil, err
	}
	for _, s := range []struct {
		title    string
		tables   []plot.Table
		drawings []plot.Drawing
	}{
		{"What privacy and connectivity cost", nil,
			slices.Concat(accuracyAgainstEpsilon(groups), accuracyAgainstFiedler(groups))},
		{overRounds, nil, learning(groups)},
		{"Personal models", personalTables(groups), personal},
		{"Accuracy by class and agent", nil, classMaps(groups)},
		{"Privacy's loss by class and agent", []plot.Table{worst}, losses},
		{"Graphs", nil, graphs},
	} {
		if len(s.drawings) == 0 && (s.title != "Personal models" || len(s.tables) == 0) {
			continue
		}
		section := Section{Title: s.title, Tables: s.tables}
		shown := s.drawings
		if s.title != overRounds && len(shown) > mostOnPage {
			shown = shown[:mostOnPage]
			section.Text = append(section.Text,
				fmt.Sprintf("The first %d of %d are shown; the folder of plots has all.", mostOnPage,
					len(s.drawings)))
		}
		if err := section.Draw(shown...); err != nil {
			return p, nil, err
		}
		p.Sections = append(p.Sections, section)
		all = append(all, s.drawings...)
	}
	p.Sections = append(p.Sections, privacySection(groups))
	if isSingle(groups) {
		p.Sections = append(p.Sections, guaranteeSection(&groups[0].runs[0].Summary))
	}
	p.Sections = append(p.Sections, againSection(groups))
	return p, all, nil
}

// notesOf says what must be known before the figures are believed.
func notesOf(engine string, groups []*group, repeated int) []string {
	var (
		notes []string
		runs  []*run
	)
	for _, s := range groups {
		runs = append(runs, s.runs...)
	}
	in := map[string]int{}
	models, sets, engines := map[string]bool{}, map[string]bool{}, map[string]bool{}
	for _, r := range runs {
		for _, n := range r.Summary.Notes {
			if in[n]++; in[n] == 1 {
				notes = append(notes, n)
			}
		}
		models[r.Summary.Model+" "+strconv.Itoa(r.Summary.Parameters)], sets[r.Summary.Dataset] = true, true
		if e := r.Summary.Engine; e != engine && !engines[e] {
			engines[e] = true
			notes = append(notes,
				fmt.Sprintf("other engine version: some runs were made by engine %s and this program is "+
					"engine %s; running them again gives other bits, and figures they did not record are "+
					"missing", e, engine))
		}
	}
	for i, n := range notes {
		if k := in[n]; k > 0 && k < len(runs) {
			notes[i] += fmt.Sprintf(" (%d of %d runs)", k, len(runs))
		}
	}
	if len(models) > 1 {
		notes = append(notes,
			"mixed models: losses and consensus distances of different models are not comparable")
	}
	if len(sets) > 1 {
		notes = append(notes, "mixed data sets: figures on different data sets are not comparable")
	}
	if repeated > 0 {
		notes = append(notes, fmt.Sprintf("%s given twice, bit for bit the same, counted once",
			config.Count(repeated, "run")))
	}
	for i, n := range notes {
		notes[i] = strings.ToUpper(n[:1]) + n[1:] + "."
	}
	return notes
}

// oneRun fills in title and facts of a report on a single run.
func oneRun(p *Page, r *run) error {
	p.Title = "sotto run " + r.Summary.Name
	p.Lead, p.Figures = r.lead()
	var text bytes.Buffer
	if err := r.Summary.WriteTable(&text); err != nil {
		return err
	}
	for line := range strings.Lines(text.String()) {
		if name, value, ok := strings.Cut(strings.TrimSpace(line), "  "); ok &&
			(name != "loss" || r.asked == nil) {
			p.Facts = append(p.Facts, Fact{Name: name, Value: strings.TrimSpace(value)})
		}
	}
	if fold := r.fold(); fold != "" {
		p.Facts = append(p.Facts, Fact{Name: "fold", Value: fold})
	}
	p.Facts = append(p.Facts, Fact{Name: "run hash", Value: r.Summary.RunHash})
	return nil
}

// summaryTable has a row for each setting.
func summaryTable(groups []*group) plot.Table {
	t := plot.Table{Header: []string{"setting", "runs", "accuracy (%)", "worst agent (%)", "loss",
		"consensus distance", "epsilon, upper", "delta", "Fiedler value", "seconds a run"}}
	for _, s := range groups {
		var worst, loss, consensus, seconds []float64
		for _, r := range s.runs {
			if r.classification() {
				worst = append(worst, r.Summary.Accuracy.Min)
			}
			loss, consensus = append(loss, float64(r.Summary.Loss)),
				append(consensus, float64(r.Summary.ConsensusDistance))
			seconds = append(seconds, r.Summary.Seconds)
		}
		t.Rows = append(t.Rows, []string{s.label, strconv.Itoa(len(s.runs)), spreadText(s.finals(), 100, 2),
			spreadText(worst, 100, 2), spreadText(loss, 1, 3),
			significant(consensus), rundir.FormatEpsilon(s.epsilon()),
			number(s.runs[0].Summary.Privacy[0].Delta), spreadText([]float64{s.fiedler()}, 1, 4),
			spreadText(seconds, 1, 1)})
	}
	return t
}

// spreadText prints a mean, and the standard deviation of several values.
func spreadText(xs []float64, scale float64, digits int) string {
	mean, sd := meanSD(xs)
	switch {
	case len(xs) == 0 || math.IsNaN(mean):
		return "–"
	case len(xs) == 1:
		return fmt.Sprintf("%.*f", digits, scale*mean)
	}
	return fmt.Sprintf("%.*f\u00a0±\u00a0%.*f", digits, scale*mean, digits, scale*sd)
}

// significant prints a mean to three digits.
func significant(xs []float64) string {
	mean, _ := meanSD(xs)
	return strconv.FormatFloat(mean, 'g', 3, 64)
}

// graphsOf draws each distinct graph once.
func graphsOf(groups []*group) ([]plot.Drawing, error) {
	var out []plot.Drawing
	seen := map[string]bool{}
	for _, s := range groups {
		for _, r := range s.runs {
			if plot.Drawable(r.Graph) != nil { // the other figures are shown all the same
				continue
			}
			b, err := json.Marshal(r.Graph)
			if err != nil {
				return nil, err
			}
			if seen[string(b)] {
				continue
			}
			seen[string(b)] = true
			name := "graph"
			if len(out) > 0 {
				name = fmt.Sprintf("graph-%d", len(out)+1)
			}
			g, err := plot.NewGraph(name, r.Graph)
			if err != nil {
				return nil, err
			}
			of := &r.Summary.Topology
			if of.AllLinks > 0 {
				g.Caption += fmt.Sprintf(" The links of the first round; all rounds have %d.", of.AllLinks)
			}
			spectrum := of.Spectrum()
			g.Caption += fmt.Sprintf(" %s%s.", strings.ToUpper(spectrum[:1]), spectrum[1:])
			g.Caption += r.legend()
			out = append(out, g)
		}
	}
	return out, nil
}
