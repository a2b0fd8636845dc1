package report

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"sotto/experiment/rundir"
	"sotto/report/plot"
)

// isPersonal says that a run trained personal models by wakes.
func (r *run) isPersonal() bool { return r.Summary.Pacing != "" && r.Summary.Tokens == 0 }

// quality is what an agent's model is judged by: rmse where it was asked for, accuracy
// where there are classes, else loss.
type quality struct {
	metric, unit string
	scale        float64 // of printed figures: accuracy in percent points
	less         bool    // the lower the better
}

func (r *run) quality() quality {
	switch {
	case r.Summary.RMSE != nil:
		return quality{rundir.RMSE, "", 1, true}
	case r.classification():
		return quality{"accuracy", "points", 100, false}
	}
	return quality{"loss", "", 1, true}
}

// byAgent returns a metric's value for each agent after the last round, NaN for those
// that have none.
func (r *run) byAgent(metric string) []float64 {
	values := make([]float64, r.Summary.Agents)
	for i := range values {
		values[i] = math.NaN()
	}
	for _, row := range r.Rows {
		if i, err := strconv.ParseUint(row.Agent, 10, 32); err == nil && int(i) < len(values) &&
			row.Metric == metric && row.Round == r.Summary.Rounds {
			values[i] = row.Value
		}
	}
	return values
}

// records returns each agent's public number of records; nil where it is private or
// agents are grouped.
func (r *run) records() []int {
	var n []int
	for _, p := range r.Summary.Privacy {
		if p.Group != "" {
			return nil
		}
		n = append(n, p.Records)
	}
	if len(n) != r.Summary.Agents || slices.Max(n) == 0 {
		return nil
	}
	return n
}

// alone is the setting of agents on their own, algorithm local-fit, with the data and
// model of s; nil where there is none.
func (s *group) alone(groups []*group) *group {
	same := func(k string) bool {
		return strings.HasPrefix(k, "data.") && !strings.HasPrefix(k, "data.arrival") ||
			strings.HasPrefix(k, "model.") ||
			k == "topology.agents" || k == "evaluate.on" || k == "evaluate.limit" || k == "evaluate.agents" ||
			k == "evaluate.rmse"
	}
	equal := func(a, b map[string]string) bool {
		for k, v := range a {
			if same(k) && b[k] != v {
				return false
			}
		}
		return true
	}
	for _, b := range groups {
		if b != s && b.keys["algorithm.name"] == "local-fit" && equal(s.keys, b.keys) &&
			equal(b.keys, s.keys) {
			return b
		}
	}
	return nil
}

// gains returns what each agent of run r has gained over itself alone with the same seed;
// nil where that was not run.
func (s *group) gains(r *run, groups []*group) []float64 {
	b := s.alone(groups)
	if b == nil || s.keys["algorithm.name"] == "local-fit" {
		return nil
	}
	q := r.quality()
	for _, other := range b.runs {
		if other.Summary.Seed != r.Summary.Seed {
			continue
		}
		gain := r.byAgent(q.metric)
		for i, x := range other.byAgent(q.metric) {
			if gain[i] -= x; q.less {
				gain[i] = -gain[i]
			}
		}
		return gain
	}
	return nil
}

// sized is a figure of an agent with so many records.
type sized struct {
	records int
	value   float64
}

// pool joins the agents of a setting's runs, by number of records; those without a value
// or a public number are left out.
func (s *group) pool(of func(r *run) []float64) []sized {
	var all []sized
	for _, r := range s.runs {
		records, values := r.records(), of(r)
		if records == nil {
			continue
		}
		for i, v := range values {
			if !math.IsNaN(v) {
				all = append(all, sized{records[i], v})
			}
		}
	}
	slices.SortStableFunc(all, func(a, b sized) int { return cmp.Compare(a.records, b.records) })
	return all
}

// mostBins is the number of groups of agents in a plot over numbers of records.
const mostBins = 8

// bins groups agents of about the same number of records, equally many in each but that
// equal numbers stay together.
func bins(all []sized) []plot.Point {
	var points []plot.Point
	least := (len(all) + mostBins - 1) / mostBins
	for lo := 0; lo < len(all); {
		hi := min(lo+least, len(all))
		for hi < len(all) && all[hi].records == all[hi-1].records {
			hi++
		}
		x, values := 0., []float64(nil)
		for _, a := range all[lo:hi] {
			x += float64(a.records) / float64(hi-lo)
			values = append(values, a.value)
		}
		mean, sd := meanSD(values)
		points = append(points, plot.Point{X: x, Y: mean, Low: mean - sd, High: mean + sd})
		lo = hi
	}
	return points
}

// personalDrawings are plots of what agents have and gain over their number of records,
// and every setting's graph coloured by gain.
func personalDrawings(groups []*group) ([]plot.Drawing, error) {
	const caption = "Agents are grouped by their number of training records; bars: one standard deviation " +
		"over the agents of a group."
	var values, gains []plot.Curve
	var graphs []plot.Drawing
	var q quality
	for k, s := range groups {
		r := s.runs[0]
		if !r.isPersonal() || q.metric != "" && r.quality() != q {
			continue // one plot has one measure, that of the first setting
		}
		q = r.quality()
		if p := bins(s.pool(func(r *run) []float64 { return r.byAgent(q.metric) })); len(p) > 0 {
			values = append(values, plot.Curve{Name: s.label, Style: s.style, Points: p})
		}
		if p := bins(s.pool(func(r *run) []float64 { return s.gains(r, groups) })); len(p) > 0 {
			gains = append(gains, plot.Curve{Name: s.label, Style: s.style, Points: p})
		}
		if gain := s.gains(r, groups); gain != nil && plot.Drawable(r.Graph) == nil {
			g, err := gainGraph(numbered("gain", k, len(groups)), s, r, gain)
			if err != nil {
				return nil, err
			}
			graphs = append(graphs, g)
		}
	}
	var out []plot.Drawing
	draw := func(name, title, unit string, curves []plot.Curve) {
		for k, part := range plotsOf(curves) {
			f := plot.Figure{
				Name:    name,
				Title:   title,
				XLabel:  "training records of an agent",
				YLabel:  unit,
				Curves:  part,
				Caption: caption,
				Markers: true,
				Percent: q.scale == 100,
			}
			if k > 0 {
				f.Name = fmt.Sprintf("%s-%d", name, k+1)
			}
			out = append(out, f)
		}
	}
	unit := q.metric
	if q.scale == 100 {
		unit += " (%)"
	}
	draw("records", "Test "+q.metric+" by local data size", unit, values)
	if unit = "less " + q.metric; q.scale == 100 {
		unit = "points of " + q.metric
	}
	draw("records-gain", "Gained over each agent alone, by local data size", unit, gains)
	return append(out, graphs...), nil
}

// gainGraph is the graph of a run with its agents coloured by what they gained.
func gainGraph(name string, s *group, r *run, gain []float64) (plot.Graph, error) {
	g, err := plot.NewGraph(name, r.Graph)
	if err != nil {
		return g, err
	}
	q := r.quality()
	g.ValueLabel, g.Unit = "gain", q.unit
	g.Limit = 1e-9
	for i, v := range gain {
		g.Nodes[i].Value = q.scale * v
		if !math.IsNaN(v) {
			g.Limit = max(g.Limit, math.Abs(q.scale*v))
		}
	}
	g.Title = s.label
	better := "a higher " + q.metric
	if q.less {
		better = "a lower " + q.metric
	}
	g.Caption = fmt.Sprintf("Blue agents have %s than on their own (local-fit), vermilion ones the "+
		"reverse; seed %d.", better, r.Summary.Seed)
	return g, nil
}

// personalTables list who gains, and what every agent has left of its budget.
func personalTables(groups []*group) []plot.Table {
	gain := plot.Table{Header: []string{"setting", "compared with", "measure", "gain, mean over agents",
		"agents that gain", "most lost by an agent", "gain, third with least records", "third with most"}}
	left := plot.Table{Header: []string{"setting", "seed", "agents", "records", "budget", "spent, upper",
		"left", "charges"}}
	for _, s := range groups {
		if !s.runs[0].isPersonal() {
			continue
		}
		if b := s.alone(groups); b != nil {
			if row := s.gainRow(groups); row != nil {
				gain.Rows = append(gain.Rows, append([]string{s.label, b.label}, row...))
			}
		}
		left.Rows = append(left.Rows, s.budgetRows()...)
	}
	var out []plot.Table
	for _, t := range []plot.Table{gain, left} {
		if len(t.Rows) > 0 {
			out = append(out, t)
		}
	}
	return out
}

func (s *group) gainRow(groups []*group) []string {
	var all []float64
	for _, r := range s.runs {
		all = append(all, s.gains(r, groups)...)
	}
	all = slices.DeleteFunc(all, math.IsNaN)
	if len(all) == 0 {
		return nil
	}
	q := s.runs[0].quality()
	digits := 4
	if q.scale == 100 {
		digits = 2
	}
	text := func(x float64) string {
		return strings.TrimSpace(fmt.Sprintf("%+.*f %s", digits, q.scale*x, q.unit))
	}
	better := 0
	for _, v := range all {
		if v > 0 {
			better++
		}
	}
	mean, _ := meanSD(all)
	lost := "none"
	if worst := slices.Min(all); worst < 0 {
		lost = text(worst)
	}
	thirds := []string{"–", "–"}
	if by := s.pool(func(r *run) []float64 { return s.gains(r, groups) }); len(by) >= 3 {
		for k, part := range [][]sized{by[:len(by)/3], by[len(by)-len(by)/3:]} {
			var values []float64
			for _, a := range part {
				values = append(values, a.value)
			}
			m, _ := meanSD(values)
			thirds[k] = text(m)
		}
	}
	return append([]string{q.metric, text(mean), fmt.Sprintf("%d of %d", better, len(all)), lost}, thirds...)
}

// mostBudgets is the number of lines of budgets of one run; agents with equal figures
// share one.
const mostBudgets = 40

// budgetRows have one line for agents of a run whose budgets and charges are equal.
func (s *group) budgetRows() [][]string {
	var rows [][]string
	for _, r := range s.runs {
		var order []string
		of := map[string][]rundir.PrivacyLine{}
		for _, p := range r.Summary.Privacy {
			if p.Target == 0 {
				continue
			}
			k := fmt.Sprint(p.Target, rundir.FormatEpsilon(float64(p.Epsilon.Upper)), p.Charges, p.Group)
			if of[k] == nil {
				order = append(order, k)
			}
			of[k] = append(of[k], p)
		}
		for n, k := range order {
			if n == mostBudgets {
				rows = append(rows, []string{s.label, strconv.FormatUint(r.Summary.Seed, 10),
					fmt.Sprintf("%d more lines", len(order)-n), "", "", "", "", ""})
				break
			}
			rows = append(rows, append([]string{s.label, strconv.FormatUint(r.Summary.Seed, 10)},
				budgetRow(of[k], &r.Summary.Names)...))
		}
	}
	return rows
}

// budgetRow is the line of agents with equal budgets and charges.
func budgetRow(lines []rundir.PrivacyLine, names *rundir.Names) []string {
	var ids []int
	var records []float64
	for _, p := range lines {
		ids = append(ids, p.Agent)
		if p.Records > 0 {
			records = append(records, float64(p.Records))
		}
	}
	p := lines[0]
	agents, count := rundir.Ranges(ids), "–"
	if p.Group != "" {
		agents = p.Group
	}
	if len(records) > 0 {
		count = rangeText(records)
	}
	rest := "none: no guarantee"
	if up := float64(p.Epsilon.Upper); !math.IsInf(up, 1) {
		rest = rundir.FormatBound(max(0, float64(p.Target)-up), 4, false)
	}
	return []string{names.List(agents), count, rundir.FormatEpsilon(float64(p.Target)),
		rundir.FormatEpsilon(float64(p.Epsilon.Upper)), rest, strconv.FormatUint(p.Charges, 10)}
}
