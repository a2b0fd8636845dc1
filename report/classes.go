package report

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"sotto/experiment/rundir"
	"sotto/report/plot"
)

// mostRows is the number of agents in a heat map; the first are shown.
const mostRows = 200

// classAccuracy returns final accuracy by agent and class, the mean over the setting's
// runs; NaN where an agent has no test record of a class. It is empty for regressions,
// runs of earlier engines and more agents than have rows of their own.
func (s *group) classAccuracy() [][]float64 {
	var sum, count [][]float64
	add := func(m *[][]float64, i, c int, v float64) {
		for len(*m) <= i {
			*m = append(*m, nil)
		}
		for len((*m)[i]) <= c {
			(*m)[i] = append((*m)[i], 0)
		}
		(*m)[i][c] += v
	}
	classes := 0
	for _, r := range s.runs {
		for _, row := range r.Rows {
			name, ok := strings.CutPrefix(row.Metric, rundir.ClassAccuracy)
			c, errC := strconv.ParseUint(name, 10, 16)
			i, errI := strconv.ParseUint(row.Agent, 10, 16)
			if !ok || errC != nil || errI != nil || i >= rundir.SummaryThreshold {
				continue // another metric, or the mean over agents
			}
			add(&sum, int(i), int(c), row.Value)
			add(&count, int(i), int(c), 1)
			classes = max(classes, int(c)+1)
		}
	}
	for i := range sum {
		for c := range classes {
			add(&sum, i, c, 0)
			add(&count, i, c, 0)
			sum[i][c] /= count[i][c] // 0/0 is NaN
		}
	}
	return sum
}

// heatMap draws values by agent and class.
func (s *group) heatMap(name, caption string, values [][]float64, signed bool) plot.HeatMap {
	if len(values) > mostRows {
		values = values[:mostRows]
		caption += fmt.Sprintf(" The first %d agents are shown.", mostRows)
	}
	h := plot.HeatMap{
		Name:    name,
		Title:   s.label,
		XLabel:  "class",
		YLabel:  "agent",
		Caption: caption,
		Values:  values,
		Signed:  signed,
	}
	for c := range values[0] {
		h.Columns = append(h.Columns, s.className(c))
	}
	for i := range values {
		h.Rows = append(h.Rows, s.agentName(i))
	}
	return h
}

// classMaps draws each setting's accuracy by class and agent.
func classMaps(groups []*group) []plot.Drawing {
	var out []plot.Drawing
	for k, s := range groups {
		if acc := s.classAccuracy(); len(acc) > 0 {
			caption := "Accuracy (%) of every agent's final model on the test records of each class"
			if len(s.runs) > 1 {
				caption += overRuns(groups, fmt.Sprintf(", mean of %d seeds", len(s.runs)))
			}
			out = append(out, s.heatMap(numbered("classes", k, len(groups)), caption+".", acc, false))
		}
	}
	return out
}

// numbered appends k+1 to a name where there are several.
func numbered(name string, k, of int) string {
	if of == 1 {
		return name
	}
	return fmt.Sprintf("%s-%d", name, k+1)
}

// lossMaps draws what privacy costs each class at each agent, beside the run without
// privacy where there is one, and lists where it costs most.
func lossMaps(groups []*group) (maps []plot.Drawing, worst plot.Table) {
	worst.Header = []string{"setting", "compared with", "worst class", "points lost, mean over agents",
		"worst agent", "points lost, mean over classes", "most at one place", "points lost"}
	for k, s := range groups {
		b := s.baseline(groups)
		if b == nil {
			continue
		}
		loss := difference(b.classAccuracy(), s.classAccuracy())
		if len(loss) == 0 {
			continue
		}
		maps = append(maps, s.heatMap(numbered("privacy-loss", k, len(groups)),
			fmt.Sprintf("Accuracy lost to privacy, in points: accuracy of “%s” less that of this setting.",
				b.label), loss, true))
		worst.Rows = append(worst.Rows, append([]string{s.label, b.label}, s.worstLoss(loss)...))
	}
	return maps, worst
}

// difference returns a - b, nil where their sizes differ.
func difference(a, b [][]float64) [][]float64 {
	if len(a) == 0 || len(a) != len(b) || len(a[0]) != len(b[0]) {
		return nil
	}
	d := make([][]float64, len(a))
	for i := range a {
		d[i] = make([]float64, len(a[i]))
		for c := range a[i] {
			d[i][c] = a[i][c] - b[i][c]
		}
	}
	return d
}

// worstLoss names the class and the agent that lose most on average, and the pair of
// both.
func (s *group) worstLoss(loss [][]float64) []string {
	var (
		byAgent   = make([][]float64, len(loss))
		byClass   = make([][]float64, len(loss[0]))
		most      = math.Inf(-1)
		who, what int
	)
	for i, row := range loss {
		for c, v := range row {
			if math.IsNaN(v) {
				continue
			}
			byAgent[i], byClass[c] = append(byAgent[i], v), append(byClass[c], v)
			if v > most {
				most, who, what = v, i, c
			}
		}
	}
	class, classLoss := highestMean(byClass)
	agent, agentLoss := highestMean(byAgent)
	points := func(x float64) string { return strconv.FormatFloat(100*x, 'f', 1, 64) }
	return []string{s.className(class), points(classLoss), s.agentName(agent), points(agentLoss),
		fmt.Sprintf("class %s at agent %s", s.className(what), s.agentName(who)), points(most)}
}

// highestMean returns the first list with the highest mean; empty lists have none.
func highestMean(lists [][]float64) (at int, mean float64) {
	mean = math.Inf(-1)
	for i, xs := range lists {
		if m, _ := meanSD(xs); len(xs) > 0 && m > mean {
			at, mean = i, m
		}
	}
	return at, mean
}
