package dpdl2023

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"sotto/experiment/rundir"
	"sotto/experiment/sweep"
	"sotto/privacy/account"
	"sotto/reproduce"
)

// The paper leaves to future work what its algorithms' noise costs single classes, and
// names disparate impact (Bagdasaryan, Poursaeed, Shmatikov 2019). These studies look at
// it: final accuracy by class and by agent over epsilon.

// fairBudgets are the budgets of both studies.
var fairBudgets = []string{"none", "10", "1", "0.5"}

// fairRuns are the sound runs of Table 1 at Fiedler value .06, where agents differ most,
// and its central ones.
func fairRuns(small bool) []mnistRun {
	var runs []mnistRun
	for _, m := range withCentral {
		for _, b := range reproduce.Ends(fairBudgets, small) {
			r := mnistRun{mode: "sound", method: m, budget: b}
			if m != centralRow {
				r.fiedler, r.overlap = "0.06", "1"
			}
			runs = append(runs, r)
		}
	}
	return runs
}

func fairCells(small bool) []sweep.Cell { return overTrials(small, fairRuns(small)) }

// fairHeader follows what names a run.
var fairHeader = []string{"accuracy", "worst class", "best class", "gap between classes", "worst agent",
	"best agent", "gap between agents", "worst class of one agent", "lost to privacy, mean of classes",
	"lost to privacy, worst class", "epsilon, zero-out"}

// parted is a run's final accuracy in percent, by class and by agent.
type parted struct {
	seed     string
	accuracy float64
	classes  []float64 // mean over agents
	least    []float64 // of each class: of the agent that has the least
	agents   []float64
}

// partedOf reads the last accuracies among the kept metrics of a run.
func partedOf(row *sweep.Row, kept []rundir.Row) parted {
	p := parted{seed: reproduce.SeedOf(row), accuracy: 100 * row.Accuracy.Mean}
	for _, r := range kept {
		_, class := strings.CutPrefix(r.Metric, rundir.ClassAccuracy)
		switch {
		case class && r.Agent == "mean":
			p.classes = append(p.classes, 100*r.Value)
		case class && r.Agent == "min":
			p.least = append(p.least, 100*r.Value)
		case r.Metric == "accuracy" && r.Agent != "mean":
			p.agents = append(p.agents, 100*r.Value)
		}
	}
	return p
}

// whole says that nothing is missing.
func (p *parted) whole() bool { return len(p.classes) > 0 && len(p.least) > 0 && len(p.agents) > 0 }

// fairRow is a line of fairHeader less epsilon: of runs with several seeds, beside those
// without privacy that have the same seeds; nil without runs.
func fairRow(runs, plain []parted) []string {
	if len(runs) == 0 {
		return nil
	}
	var cells [10]reproduce.Sample
	for i := range runs {
		r := &runs[i]
		if !r.whole() {
			continue
		}
		low, high := slices.Min(r.classes), slices.Max(r.classes)
		worst, best := slices.Min(r.agents), slices.Max(r.agents)
		figures := []float64{r.accuracy, low, high, high - low, worst, best, best - worst,
			slices.Min(r.least)}
		like := slices.IndexFunc(plain, func(p parted) bool { return p.seed == r.seed })
		if like >= 0 && len(plain[like].classes) == len(r.classes) {
			sum, most := 0., math.Inf(-1)
			for c, was := range plain[like].classes {
				sum += was - r.classes[c]
				most = max(most, was-r.classes[c])
			}
			figures = append(figures, sum/float64(len(r.classes)), most)
		}
		for k, x := range figures {
			cells[k] = append(cells[k], x)
		}
	}
	var line []string
	for _, s := range cells {
		line = append(line, s.String())
	}
	return line
}

// partedRuns are the runs of a row with its seeds in order.
func partedRuns[T any](g *reproduce.Groups[T], run T) []parted {
	var all []parted
	rows := g.Of(run)
	for i := range rows {
		all = append(all, partedOf(&rows[i], g.Kept(&rows[i])))
	}
	return all
}

// fairness is the table of the MNIST runs.
func fairness(f *reproduce.Results) *reproduce.Document {
	g, costs := collect(f), newCosts()
	d := &reproduce.Document{Header: slices.Concat([]string{"method", "budget"}, fairHeader,
		[]string{"epsilon, replace-one"})}
	for _, r := range fairRuns(false) {
		plain := r
		plain.budget = "none"
		var beside []parted
		if r != plain {
			beside = partedRuns(g, plain)
		}
		if line := fairRow(partedRuns(g, r), beside); line != nil {
			d.Rows = append(d.Rows, slices.Concat([]string{r.method, r.budget}, line,
				[]string{g.Epsilon(r), costs.under(account.ReplaceOne, r, g.Of(r))}))
		}
	}
	d.Notes = append(fairNotes(), "the sound runs of Table 1 at Fiedler value .06 (MNIST, one digit an "+
		"agent, t = 1), with its step sizes and seeds; central: one agent with all records; every agent is "+
		"tested on all 10,000 test images",
		"epsilon, replace-one: the same runs, the PLD upper end at delta 1e-5 of the agent with the fewest "+
			"records, which is the largest, at the noise that the budget gives it")
	if costs.err != nil {
		d.Notes = append(d.Notes, fmt.Sprintf("an epsilon is missing: %v", costs.err))
	}
	d.Notes = append(d.Notes, smokeNotes(f.Scale)...)
	return d
}

// fairNotes say what the columns of fairHeader are.
func fairNotes() []string {
	return []string{
		"accuracy in percent after the last round, mean and sd over seeds of each run's figure; by class: " +
			"mean over agents, then the worst and the best class of the run; by agent: over all of its " +
			"test records; worst class of one agent: the least accuracy of any agent on any class",
		"lost to privacy: accuracy of the run without noise with the same seed less that of this run, in " +
			"points; the mean of classes, and the class that loses most",
		"epsilon, zero-out: the PLD upper end from the ledgers, the largest over agents and seeds",
	}
}

// hospitalAxes are those of fairness between hospitals.
var hospitalAxes = []string{"method", "budget", "seed"}

// hospitalBase trains a logistic regression on four hospitals' records of heart disease,
// each with its own tests, at the settings of examples/hospitals.
const hospitalBase = `
name = "seed000-fairness-hospitals"
rounds = 150

[topology]
agents = 4
graph = "complete"

[data]
dataset = "heart-disease"
partition = "natural"

[model]
name = "logistic"

[privacy]
batch_size = 24
target_delta = 1e-3

[evaluate]
on = "own"
every = 150
`

const hospitalTrials = 20

// hospitalSteps are constant but for DP-DiNNO's, whose primal steps are Adam's and fall:
// that of examples/hospitals, and ours. No search was made.
var hospitalSteps = map[string]step{"dsgd": {first: 2}, "dsgt": {first: 2}, "dinno": {.05, .005}}

type hospitalRun struct{ method, budget, seed string }

func (r hospitalRun) values() []string { return []string{r.method, r.budget, r.seed} }

func (r hospitalRun) cell() sweep.Cell {
	c := sweep.Cell{Values: r.values()}
	set := reproduce.Setter(&c.Set)
	s := hospitalSteps[r.method]
	set("seed=%s", r.seed)
	set("algorithm.name=%q", r.method)
	set("algorithm.step_size=%g", s.first)
	if s.final > 0 {
		set("algorithm.schedule=\"geometric\"")
		set("algorithm.step_size_final=%g", s.final)
	}
	set("privacy.max_grad_norm=1.0")
	if r.budget == "none" {
		set("privacy.mechanism=\"none\"")
	} else {
		set("privacy.target_epsilon=%s", r.budget)
	}
	return c
}

func hospitalRuns(small bool) []hospitalRun {
	var runs []hospitalRun
	for _, m := range methods {
		for _, b := range reproduce.Ends(fairBudgets, small) {
			runs = append(runs, hospitalRun{method: m, budget: b})
		}
	}
	return runs
}

func hospitalCells(small bool) (cells []sweep.Cell) {
	for _, r := range hospitalRuns(small) {
		seeds := trials(small)
		if !small { // tests are few, and runs take a tenth of a second
			seeds = nil
			for k := range hospitalTrials {
				seeds = append(seeds, 1331+k)
			}
		}
		for _, seed := range seeds {
			r.seed = fmt.Sprint(seed)
			cells = append(cells, r.cell())
		}
	}
	return cells
}

// hospitals is the table of fairness between hospitals: columns of agents are hospitals.
func hospitals(f *reproduce.Results) *reproduce.Document {
	g := reproduce.Group(f, hospitalRun.values)
	d := &reproduce.Document{Header: slices.Concat([]string{"method", "budget"}, fairHeader)}
	for _, r := range hospitalRuns(false) {
		var beside []parted
		if r.budget != "none" {
			beside = partedRuns(g, hospitalRun{method: r.method, budget: "none"})
		}
		if line := fairRow(partedRuns(g, r), beside); line != nil {
			d.Rows = append(d.Rows, slices.Concat([]string{r.method, r.budget}, line, []string{g.Epsilon(r)}))
		}
	}
	d.Notes = append(fairNotes(), "four hospitals are the agents, logistic regression, delta 1e-3, each "+
		"tested on its own held-out records; classes are healthy and disease, seeds draw what is held out",
		"step sizes: those of examples/hospitals for DP-DSGD and DP-DSGT, Adam's .05 to .005 for DP-DiNNO; "+
			"gradients are clipped to 1 without noise too; nothing was searched")
	return d
}
