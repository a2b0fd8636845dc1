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

// mostCurves is the number of curves in one plot; more settings are drawn in further
// plots.
const mostCurves = 8

// plotsOf shares curves out over as few plots as they need, evenly.
func plotsOf(curves []plot.Curve) [][]plot.Curve {
	if len(curves) == 0 {
		return nil
	}
	plots := (len(curves) + mostCurves - 1) / mostCurves
	return slices.Collect(slices.Chunk(curves, (len(curves)+plots-1)/plots))
}

// measure is a figure that is followed over rounds.
type measure struct {
	name, title, unit string
	percent           bool
	of                func(r *run) []plot.Point
}

// classification says that runs have an accuracy.
func (r *run) classification() bool { return r.Summary.Accuracy != nil }

// over returns a metric's mean over agents with its range, by round.
func over(metric string) func(r *run) []plot.Point {
	return func(r *run) []plot.Point {
		var points []plot.Point
		for _, row := range r.Rows {
			if row.Metric != metric {
				continue
			}
			last := len(points) - 1
			switch {
			case row.Agent == "mean" || row.Agent == "all":
				points = append(points, plot.Point{X: float64(row.Round), Y: row.Value, Low: row.Value,
					High: row.Value})
			case row.Agent == "min" && last >= 0: // rows are written as mean, min, max
				points[last].Low = row.Value
			case row.Agent == "max" && last >= 0:
				points[last].High = row.Value
			}
		}
		return points
	}
}

// spentOver returns the worst agent's epsilon by round, nothing where it ends infinite.
func spentOver(r *run) []plot.Point {
	if _, upper := r.Summary.Worst(); math.IsInf(upper, 1) {
		return nil
	}
	var points []plot.Point
	for _, row := range r.Rows {
		if row.Metric == "consensus_distance" {
			points = append(points, plot.Point{
				X:    float64(row.Round),
				Y:    row.Epsilon,
				Low:  row.Epsilon,
				High: row.Epsilon,
			})
		}
	}
	return points
}

// epsilonSpent is the name of the measure of what is spent.
const epsilonSpent = "epsilon"

var measures = []measure{
	{"accuracy", "Test accuracy", "accuracy (%)", true, over("accuracy")},
	{"loss", "Test loss", "loss", false, over("loss")},
	{"rmse", "Test root mean squared error", "root mean squared error", false, over(rundir.RMSE)},
	{"clip", "Clip norm", "clip norm", false, over("clip")},
	{"train-loss", "Loss of training records at the mean model", "loss", false, over("train_loss")},
	{"gradient-norm", "Norm of the mean gradient at the mean model", "norm", false, over("gradient_norm")},
	{"estimation", "Distance from the hidden vector", "root mean square over coordinates", false,
		over(rundir.EstimationRMSE)},
	{"objective", "Objective of personal models", "objective", false, over("objective")},
	{"consensus", "Consensus distance", "consensus distance", false, over("consensus_distance")},
	{epsilonSpent, "Epsilon spent, worst agent", "epsilon", false, spentOver},
}

// curve is one run's mean over agents with its range; of several runs the mean of these
// means, with a standard deviation on either side; of epsilon the largest of all runs.
func (s *group) curve(m measure) plot.Curve {
	c := plot.Curve{Name: s.label, Style: s.style}
	if s.runs[0].asked != nil && m.name != "consensus" { // there is nothing that learns
		return c
	}
	if m.name == epsilonSpent && math.IsInf(s.epsilon(), 1) {
		return c
	}
	c.Points = m.of(s.runs[0])
	if len(s.runs) == 1 {
		return c
	}
	at := map[float64][]float64{}
	for _, r := range s.runs {
		for _, p := range m.of(r) {
			at[p.X] = append(at[p.X], p.Y)
		}
	}
	for i, p := range c.Points {
		mean, sd := meanSD(at[p.X])
		if m.name == epsilonSpent {
			mean, sd = slices.Max(at[p.X]), 0
		}
		c.Points[i] = plot.Point{X: p.X, Y: mean, Low: mean - sd, High: mean + sd}
	}
	return c
}

// meanSD returns the mean and the sample standard deviation, which is 0 for one value.
func meanSD(xs []float64) (mean, sd float64) {
	for _, x := range xs {
		mean += x / float64(len(xs))
	}
	if len(xs) < 2 {
		return mean, 0
	}
	for _, x := range xs {
		sd += (x - mean) * (x - mean) / float64(len(xs)-1)
	}
	return mean, math.Sqrt(sd)
}

// learning draws every measure over rounds.
func learning(groups []*group) []plot.Drawing {
	single, several := 0, 0
	for _, s := range groups {
		if len(s.runs) > 1 {
			several++
		} else {
			single++
		}
	}
	band := "Line: mean over agents; band: range over agents."
	switch {
	case several > 0 && single > 0:
		band = "Line: mean over agents (and seeds); band: range over agents of a single run, one standard " +
			"deviation over the seeds of several."
	case several > 0:
		band = "Line: mean over agents and seeds; band: one standard deviation over seeds."
	}
	band = overRuns(groups, band)
	var out []plot.Drawing
	for _, m := range measures {
		var curves []plot.Curve // empty ones too, so that a setting is in the same part of every plot
		for _, s := range groups {
			curves = append(curves, s.curve(m))
		}
		parts := plotsOf(curves)
		for k, part := range parts {
			if !slices.ContainsFunc(part, func(c plot.Curve) bool { return len(c.Points) > 0 }) {
				continue
			}
			f := plot.Figure{
				Name:    m.name,
				Title:   m.title,
				XLabel:  roundName(groups),
				YLabel:  m.unit,
				Percent: m.percent,
				Curves:  part,
				Caption: band,
				LogY:    wideRange(m, part),
			}
			switch {
			case m.name == epsilonSpent:
				f.Caption = "Upper bound of the epsilon that the agent with the most releases has spent."
				if several > 0 {
					f.Caption += overRuns(groups, " Of several seeds it is the largest.")
				}
			case m.name == "objective":
				f.Caption = "Of all agents together, from their training records: the simulation sees it, " +
					"no agent does."
			case m.name == "consensus":
				f.Caption = "How far the agents' models are from their mean, root mean square over agents."
			}
			if k > 0 {
				f.Name = fmt.Sprintf("%s-%d", m.name, k+1)
			}
			if len(parts) > 1 {
				f.Title = fmt.Sprintf("%s, plot %d of %d", m.title, k+1, len(parts))
			}
			out = append(out, f)
		}
	}
	return out
}

// wideRange says that a figure's curves span more than two decades, which a linear axis
// shows as a line at 0. Shares and what is spent begin at 0 and stay linear.
func wideRange(m measure, curves []plot.Curve) bool {
	if m.percent || m.name == epsilonSpent {
		return false
	}
	low, high := math.Inf(1), 0.
	for _, c := range curves {
		for _, q := range c.Points {
			if q.Y > 0 && !math.IsInf(q.Y, 1) {
				low, high = min(low, q.Y), max(high, q.Y)
			}
		}
	}
	return high > 100*low
}

// roundName is what runs count.
func roundName(groups []*group) string {
	wakes := 0
	for _, s := range groups {
		if s.runs[0].isPersonal() {
			wakes++
		}
	}
	switch wakes {
	case 0:
		return "round"
	case len(groups):
		return "wakes of all agents"
	}
	return "round, or wakes of all agents"
}

// finals returns the last accuracy of each run, the mean over agents.
func (s *group) finals() []float64 {
	var xs []float64
	for _, r := range s.runs {
		if r.classification() {
			xs = append(xs, r.Summary.Accuracy.Mean)
		}
	}
	return xs
}

// epsilon is the upper bound of the worst agent of the worst run: no run spends more.
func (s *group) epsilon() float64 {
	worst := math.Inf(-1)
	for _, r := range s.runs {
		_, upper := r.Summary.Worst()
		worst = max(worst, upper)
	}
	return worst
}

// fiedler is the mean over runs of the normalised Fiedler value.
func (s *group) fiedler() float64 {
	sum := 0.
	for _, r := range s.runs {
		sum += float64(r.Summary.Topology.Fiedler) / float64(len(s.runs))
	}
	return sum
}

// against draws final accuracy over a property of settings, one curve for each family; it
// says what settings of a curve differ in beside the keys of that property. It returns no
// drawing where the property has less than two values.
func against(f plot.Figure, families []*family, x func(*group) float64,
	along func(key string) bool) []plot.Drawing {
	values := map[string]bool{}
	var of [][]*group // by curve
	for _, one := range families {
		c := plot.Curve{Name: one.name}
		var drawn []*group
		for _, s := range one.members {
			acc := s.finals()
			if v := x(s); len(acc) > 0 && !math.IsNaN(v) && !math.IsInf(v, 0) && (v > 0 || !f.LogX) {
				values[strconv.FormatFloat(v, 'g', 6, 64)] = true
				mean, sd := meanSD(acc)
				c.Points = append(c.Points, plot.Point{X: v, Y: mean, Low: mean - sd, High: mean + sd})
				drawn = append(drawn, s)
			}
		}
		if len(drawn) > 0 {
			f.Curves, of = append(f.Curves, c), append(of, drawn)
		}
	}
	if len(values) < 2 {
		return nil
	}
	f.Caption += follows(of, along)
	for k, c := range f.Curves {
		f.Curves[k].Style = common(of[k], k)
		slices.SortStableFunc(c.Points, func(a, b plot.Point) int { return cmp.Compare(a.X, b.X) })
	}
	var out []plot.Drawing
	for k, part := range plotsOf(f.Curves) {
		g := f
		g.Curves, g.Markers, g.Percent, g.YLabel = part, true, true, "final accuracy (%)"
		if k > 0 {
			g.Name = fmt.Sprintf("%s-%d", f.Name, k+1)
		}
		out = append(out, g)
	}
	return out
}

// overRuns says folds in place of seeds where settings have them.
func overRuns(groups []*group, text string) string {
	for _, s := range groups {
		if s.runs[0].fold() != "" {
			return strings.ReplaceAll(text, "seeds", "seeds and folds")
		}
	}
	return text
}

const overSeeds = "Mean over agents and seeds; bars: one standard deviation over seeds."

func accuracyAgainstEpsilon(groups []*group) []plot.Drawing {
	f := plot.Figure{
		Name:    "accuracy-epsilon",
		Title:   "Accuracy against epsilon",
		XLabel:  "epsilon, upper bound, worst agent",
		LogX:    true,
		Caption: overRuns(groups, overSeeds),
	}
	figs := against(f, overBudgets(groups), (*group).epsilon, ofBudget)
	for i, d := range figs {
		g := d.(plot.Figure)
		low, high := math.Inf(1), math.Inf(-1)
		for _, c := range g.Curves {
			low, high = min(low, c.Points[0].X), max(high, c.Points[len(c.Points)-1].X)
		}
		for _, s := range groups {
			if mean, _ := meanSD(s.finals()); math.IsInf(s.epsilon(), 1) && len(s.finals()) > 0 &&
				len(g.Curves) < 2*mostCurves {
				g.Caption = figs[i].About() + " Dashed: without privacy."
				g.Curves = append(g.Curves, plot.Curve{Name: s.label, Style: s.style, Dashed: true,
					Points: []plot.Point{{X: low, Y: mean, Low: mean, High: mean},
						{X: high, Y: mean, Low: mean, High: mean}}})
			}
		}
		figs[i] = g
	}
	return figs
}

func accuracyAgainstFiedler(groups []*group) []plot.Drawing {
	f := plot.Figure{
		Name:    "accuracy-fiedler",
		Title:   "Accuracy against connectivity",
		XLabel:  "normalized Fiedler value of the graph (1: complete)",
		Caption: overRuns(groups, overSeeds),
	}
	return against(f, overGraphs(groups), (*group).fiedler, ofGraph)
}
