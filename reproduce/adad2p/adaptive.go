package adad2p

import (
	"fmt"
	"slices"
	"strings"

	"sotto/experiment/sweep"
	"sotto/report/plot"
	"sotto/reproduce"
)

// adaptiveChoice is the best setting of a form at a budget. step is the step times the
// clip at first, see searchedSteps.
type adaptiveChoice struct {
	budget, form string
	clip, move   float64
}

// push is the choice as a run of an algorithm on MNIST.
func (c adaptiveChoice) push(algorithm string) push {
	p := push{
		mode:   "sound",
		data:   "mnist",
		method: algorithm,
		noise:  "epsilon " + c.budget,
		clip:   c.clip,
		form:   c.form,
		step:   step{first: c.move / c.clip},
	}
	return p.withStep()
}

// family is the form without its amount: of two schedules the better one is chosen.
func family(form string) string {
	name, _, _ := strings.Cut(form, " ")
	return name
}

// adaptiveBudgets are the budgets of each algorithm and the families of forms that it is
// run with: the two adaptive ones that the search does not show far behind. Two other
// algorithms use the settings of stochastic gradient push, at the middle budget.
var adaptiveBudgets = []struct {
	algorithm         string
	budgets, families []string
}{
	{"sgp", trueBudgets, []string{"", "schedule", "quantile"}},
	{"dsgd", trueBudgets[1:2], []string{"", "schedule"}},
	{"dsgt", trueBudgets[1:2], []string{"", "schedule"}},
}

// adaptiveGroup is the runs of an algorithm at a budget, constant clips first.
type adaptiveGroup struct {
	algorithm, budget string
	runs              []push
}

func adaptiveGroups() []adaptiveGroup {
	var groups []adaptiveGroup
	for _, a := range adaptiveBudgets {
		for _, budget := range a.budgets {
			g := adaptiveGroup{algorithm: a.algorithm, budget: budget}
			for _, c := range choices {
				if c.budget == budget && slices.Contains(a.families, family(c.form)) {
					g.runs = append(g.runs, c.push(a.algorithm))
				}
			}
			groups = append(groups, g)
		}
	}
	return groups
}

// adaptiveCells have five seeds that the search did not see.
func adaptiveCells(scale reproduce.Scale) []sweep.Cell {
	var list []push
	for _, g := range adaptiveGroups() {
		if scale == reproduce.Smoke {
			g.runs = g.runs[:2]
		}
		list = append(list, g.runs...)
	}
	if scale == reproduce.Smoke {
		list = append(list[:2:2], list[len(list)-2:]...)
	}
	return overTrials(scale, list)
}

// adaptive tables accuracy at equal true epsilon: each form less the constant clip with
// the same seeds.
func adaptive(f *reproduce.Results) *reproduce.Document {
	r := collectPush(f)
	d := &reproduce.Document{Header: []string{"algorithm", "true epsilon", "form", "clip", "step", "accuracy",
		"less constant clip and step", "two-sided p"}}
	for _, g := range adaptiveGroups() {
		fig := plot.Figure{
			Name:    "adaptive-" + g.algorithm + "-" + g.budget,
			Title:   fmt.Sprintf("%s at true epsilon %s", strings.ToUpper(g.algorithm), g.budget),
			XLabel:  "round",
			YLabel:  "mean accuracy of the agents (%)",
			Percent: true,
			Caption: "Mean over seeds; band: one standard deviation.",
		}
		for k, p := range g.runs {
			rows := r.Of(p)
			if len(rows) == 0 {
				continue
			}
			less, prob := "", ""
			diff := r.AccuracyLess(p, g.runs[0])
			if x, ok := twoSided(diff); ok && k > 0 {
				less, prob = fmt.Sprintf("%+.2f ± %.2f", diff.Mean(), diff.SD()), x
			}
			d.Add(g.algorithm, r.Epsilon(p), formName(p.form), reproduce.Exactly(p.clip), p.step.first,
				r.Accuracy(p), less, prob)
			fig.Curves = append(fig.Curves,
				plot.Curve{Name: formName(p.form), Points: r.Over(p, "accuracy", "mean", false)})
		}
		if len(fig.Curves) > 0 {
			d.Figures = append(d.Figures, fig)
		}
	}
	d.Notes = []string{
		fmt.Sprintf("two-layer network, MNIST, 20 agents with 3,000 records each, 2,200 rounds, Poisson "+
			"batches of %d, add-remove, delta 1e-5; sgp on the directed exponential graph, dsgd and dsgt "+
			"on a random 4-regular graph", soundBatch),
		"clip, step and factor of each form and budget are those with the highest accuracy of " +
			"seed002-search (Fashion-MNIST, one seed, stochastic gradient push); dsgd and dsgt use them " +
			"as they are",
		"p of a paired t test over seeds, not corrected for the number of comparisons",
	}
	d.Notes = append(d.Notes, smokeNotes(f.Scale, "mnist")...)
	return d
}
