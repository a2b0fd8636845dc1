package report

import (
	"fmt"
	"math"
	"strconv"

	"sotto/config"
	"sotto/experiment/rundir"
	"sotto/internal/decimal"
)

// lead is what came of one run in a sentence, and the two figures that matter.
func (r *run) lead() (string, []Figure) {
	s := &r.Summary
	unit := "record"
	if len(s.Privacy) > 0 && s.Privacy[0].Unit != "" {
		unit = s.Privacy[0].Unit
	}
	who := fmt.Sprintf("%s on a %s graph", config.Count(s.Agents, "agent"), s.Topology.Name)
	var figures []Figure
	text := ""
	switch {
	case r.asked != nil:
		text = fmt.Sprintf("%s answered %s together.", who, config.Count(len(r.asked.Answers), "question"))
		figures = append(figures, Figure{"Questions", strconv.Itoa(len(r.asked.Answers)), "", "of " +
			config.Count(s.Agents, "owner")})
	case r.classification():
		a := s.Accuracy
		text = fmt.Sprintf("%s reached an accuracy of %.2f %% on average, the worst of them %.2f %%.", who,
			100*a.Mean, 100*a.Min)
		figures = append(figures, Figure{"Accuracy", fmt.Sprintf("%.2f", 100*a.Mean), "%",
			fmt.Sprintf("worst agent %.2f, best %.2f", 100*a.Min, 100*a.Max)})
	case s.RMSE != nil:
		text = fmt.Sprintf("%s reached a root mean squared error of %.4g on average.", who, s.RMSE.Mean)
		figures = append(figures, Figure{"Root mean squared error", fmt.Sprintf("%.4g", s.RMSE.Mean), "",
			fmt.Sprintf("best agent %.4g, worst %.4g", s.RMSE.Min, s.RMSE.Max)})
	default:
		text = fmt.Sprintf("%s reached a loss of %.4g on average.", who, float64(s.Loss))
		figures = append(figures, Figure{"Loss", fmt.Sprintf("%.4g", float64(s.Loss)), "",
			"mean over agents"})
	}
	_, upper := s.Worst()
	delta := 0.
	if len(s.Privacy) > 0 {
		delta = s.Privacy[0].Delta
	}
	switch {
	case math.IsInf(upper, 1):
		return text + " Nothing bounds what that tells about a " + unit + ".", append(figures,
			Figure{"Epsilon", "∞", "", "no privacy"})
	case upper <= 0:
		return text + " Nothing was released, so that no " + unit + " has cost anything.", append(figures,
			Figure{"Epsilon", "0", "", "nothing was released"})
	}
	text += fmt.Sprintf(" With secret noise, that would cost any one %s at most epsilon %s at delta %g.",
		unit,
		rundir.FormatEpsilon(upper), delta)
	return text, append(figures, Figure{"Epsilon, at most", decimal.Fixed(upper, 2, true), "",
		fmt.Sprintf("for one %s, at delta %g", unit, delta)})
}

// guarantee is what an epsilon is of, in words: two are compared at equal ones only.
func (s *group) guarantee() string {
	p := &s.runs[0].Summary.Privacy[0]
	text := fmt.Sprintf("delta %g", p.Delta)
	if p.Adjacency != "" {
		text = fmt.Sprintf("%s of one %s and %s", p.Adjacency, p.Unit, text)
	}
	return text
}

// mostLed is the most guarantees whose best settings the headline names.
const mostLed = 3

// leadOf is what came of several settings: the best of those with noise, and what it
// costs. Settings with other guarantees are not compared: each guarantee has its best.
func leadOf(groups []*group) (string, []Figure) {
	var order []string
	of := map[string][]*group{}
	for _, s := range groups {
		if mean, _ := meanSD(s.finals()); s.private() && len(s.finals()) > 0 && !math.IsNaN(mean) {
			g := s.guarantee()
			if of[g] == nil {
				order = append(order, g)
			}
			of[g] = append(of[g], s)
		}
	}
	if len(order) == 1 {
		return leadWithin(of[order[0]], "")
	}
	text, figures := "", []Figure(nil)
	for k, g := range order {
		if k == mostLed {
			text += fmt.Sprintf(" The table has those of %s more.", config.Count(len(order)-k, "guarantee"))
			break
		}
		one, more := leadWithin(of[g], " for "+g)
		text += " " + one
		figures = append(figures, more[0])
	}
	if len(order) > 1 {
		text = "Settings with different guarantees are not compared." + text
	}
	return text, figures
}

// leadWithin is the lead of settings with one guarantee, in words where there are others.
func leadWithin(groups []*group, guarantee string) (string, []Figure) {
	var best *group
	value := math.Inf(-1)
	for _, s := range groups {
		if mean, _ := meanSD(s.finals()); best == nil || mean > value {
			best, value = s, mean
		}
	}
	epsilon := best.epsilon()
	text := fmt.Sprintf("Of %s with privacy%s, %s reached the most: an accuracy of %s %%",
		config.Count(len(groups), "setting"), guarantee, best.label, spreadText(best.finals(), 100, 2))
	if len(groups) == 1 {
		text = fmt.Sprintf("The one setting with privacy%s, %s, reached an accuracy of %s %%", guarantee,
			best.label, spreadText(best.finals(), 100, 2))
	}
	figures := []Figure{{"Best accuracy", fmt.Sprintf("%.2f", 100*value), "%", best.label}}
	if math.IsInf(epsilon, 1) {
		return text + ".", figures
	}
	return text + fmt.Sprintf(", at epsilon %s.", rundir.FormatEpsilon(epsilon)), append(figures,
		Figure{"Its epsilon, at most", decimal.Fixed(epsilon, 2, true), "",
			fmt.Sprintf("at delta %g", best.runs[0].Summary.Privacy[0].Delta)})
}
