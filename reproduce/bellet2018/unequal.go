package bellet2018

import (
	"fmt"
	"strings"

	"sotto/experiment/sweep"
	"sotto/reproduce"
)

// Agents that differ: budgets and numbers of updates of their own, which the publication
// has in its problem statement and not in its experiments, and records that come during
// the run, which it names as future work.

const unequalDim = 20

// unequalSeeds are ten problem instances, the first five those of the other results.
func unequalSeeds(small bool) []int {
	if small {
		return []int{1}
	}
	return []int{1, 2, 3, 4, 5, 6, 7, 8, 9, 10}
}

// unequalCells are the cells of a study. smoke are settings of its smallest size.
func unequalCells(tasks func() []named, smoke ...string) func(small bool) []sweep.Cell {
	return func(small bool) []sweep.Cell {
		var cells []sweep.Cell
		for _, t := range tasks() {
			for _, t.seed = range unequalSeeds(small) {
				c := t.cell(small)
				if small {
					c.Set = append(c.Set, smoke...)
				}
				cells = append(cells, c)
			}
		}
		return cells
	}
}

// unequalTask is a method with what the search has chosen for it at budget 1.05.
func unequalTask(method, other string, wakes, every int) task {
	budget := "1.05"
	if method == "cd" || method == "local" {
		budget = "none"
	}
	t := task{method: method, dim: unequalDim, budget: budget}
	if method != "local" {
		t = t.tuned()
	}
	t = t.inCube()
	t.other, t.wakes, t.every = other, wakes, every
	return t
}

// classes are the budgets of agents by number, in turn, and the updates of each; the keys
// are values of the axis other, beside equal budgets "".
type classes struct {
	other   string
	budgets []string
	updates []int
}

var budgetClasses = []classes{
	{"budgets .15 1.05", []string{"0.15", "1.05"}, nil},
	{"budgets .15 .55 1.05", []string{"0.15", "0.55", "1.05"}, nil},
	{"budgets .15 1.05, updates 4 16", []string{"0.15", "1.05"}, []int{4, 16}},
}

// classesOf are the cases of a method.
func classesOf(method string) []classes {
	if method == "cd-gaussian" {
		return budgetClasses
	}
	return budgetClasses[:2] // of one answer an agent
}

var budgetMethods = []string{"smooth-gaussian", "cd-gaussian"}

// uniform is a method with one budget for all; only the noise differs, not the knobs.
func uniform(method, budget string) task {
	t := unequalTask(method, "", 0, 0).length()
	t.budget = budget
	return t
}

func unequalBudget(method, other string) task {
	return unequalTask(method, other, 0, 0).length()
}

func ownBudgetTasks() (list []named) {
	list = unnamed(localTask(unequalDim))
	for _, m := range budgetMethods {
		for _, b := range claimedBudgets {
			list = append(list, named{task: uniform(m, b)})
		}
		for _, c := range classesOf(m) {
			list = append(list, named{task: unequalBudget(m, c.other)})
		}
	}
	return list
}

// class is the mean accuracy in percent of agents k, k+of, k+2of, .. of each run.
func (r taskRows) class(t task, k, of int) (s reproduce.Sample) {
	rows := r.Of(t)
	for i := range rows {
		sum, n := 0., 0.
		for agent, x := range r.byAgent(&rows[i]) {
			if agent%of == k {
				sum, n = sum+100*x, n+1
			}
		}
		if n > 0 {
			s = append(s, sum/n)
		}
	}
	return s
}

func ownBudgets(f *reproduce.Results) *reproduce.Document {
	r := collectTasks(f)
	d := &reproduce.Document{Header: []string{"method", "case", "budget of these agents (replace-one)",
		"agents of 100", "accuracy", "the same agents, all at .15", "gain over that", "95 % interval",
		"the same agents, all at their budget", "gain over that", "95 % interval",
		"the same agents, local-only"}}
	for _, m := range budgetMethods {
		for _, c := range classesOf(m) {
			of := len(c.budgets)
			for k, b := range c.budgets {
				at := func(t task) reproduce.Sample { return r.class(t, k, of) }
				mixed := unequalBudget(m, c.other)
				mine, strict, own := at(mixed), at(uniform(m, "0.15")), at(uniform(m, b))
				if len(mine) == 0 || len(strict) == 0 || len(own) == 0 {
					continue
				}
				over := func(other task) (gain, interval string) {
					both := r.shared(mixed, other)
					return pairedGain(both.class(mixed, k, of), both.class(other, k, of))
				}
				gain, interval := over(uniform(m, "0.15"))
				cost, costInterval := over(uniform(m, b))
				if b == "0.15" && c.updates == nil {
					own, cost, costInterval = nil, "", ""
				}
				d.Add(methodNames[m], strings.TrimPrefix(c.other, "budgets "), b, (taskAgents+of-1-k)/of,
					mine, strict, gain, interval, own, cost, costInterval, at(localTask(unequalDim)))
			}
		}
	}
	d.Notes = []string{
		"linear tasks, p = 20, points in the cube; agent i has budget number i modulo their number, which " +
			"has nothing to do with its task or its records; every agent's noise is found for its own " +
			"budget and its own number of updates, and its ledger admits no more ([privacy] agent_epsilon, " +
			"[algorithm] agent_updates)",
		fmt.Sprintf("delta exp(-5) = %.4f for each; μ or κ and updates of seed001-tuning for budget 1.05 "+
			"(the search chose the same at .55 and .15)", paperDelta),
		fmt.Sprintf("accuracy in percent: mean over the agents of the class, then mean ± sd over %d problem "+
			"instances; gains are paired over instances, in points", len(unequalSeeds(f.Scale ==
			reproduce.Smoke))),
	}
	return d
}

// arrivalStarts are values of the axis other: the share of records that are there at the
// start; the others come before one of an agent's first 16 wakes.
var arrivalStarts = []string{"", "arrival .5", "arrival .25", "arrival 0"}

// averaged stands for the smoothing of the mean of 16 answers, behind the rest of the
// axis other.
const averaged = "answers 16"

func arrivalTasks() (list []named) {
	for _, m := range []string{"cd", "cd-gaussian", "smooth-gaussian", averaged} {
		for _, a := range arrivalStarts {
			name := "all there from the start"
			if a != "" {
				name = a[len("arrival "):] + " of the records are there at the start"
			}
			if m == averaged {
				a = strings.TrimPrefix(a+", "+averaged, ", ")
			}
			method := m
			wakes, every := 3000, 100
			if m == averaged || m == "smooth-gaussian" {
				method, wakes, every = "smooth-gaussian", 10_000, 500
			}
			list = append(list, named{name, unequalTask(method, a, wakes, every)})
		}
	}
	return append(list, named{"all there from the start", localTask(unequalDim)})
}

func arrivalName(t task) string {
	if strings.HasSuffix(t.other, averaged) {
		return "mean of 16 answers, smoothed, Gaussian"
	}
	return methodNames[t.method]
}

func arrivalTable(f *reproduce.Results) *reproduce.Document {
	r := collectTasks(f)
	d := &reproduce.Document{Header: []string{"method", "records", "accuracy",
		"difference from all there at the start", "95 % interval", "true epsilon (replace-one)"}}
	plots, order := map[string][]named{}, []string{}
	var all task // of the same method
	for _, t := range arrivalTasks() {
		if !strings.Contains(t.other, "arrival") {
			all = t.task
		}
		s := r.Accuracy(t.task)
		if len(s) == 0 {
			continue
		}
		name, gain, interval := arrivalName(t.task), "", ""
		if strings.Contains(t.other, "arrival") {
			both := r.shared(t.task, all)
			gain, interval = pairedGain(both.Accuracy(t.task), both.Accuracy(all))
		}
		d.Add(name, t.name, s, gain, interval, r.Epsilon(t.task))
		if t.method == "local" {
			continue
		}
		if plots[name] == nil {
			order = append(order, name)
		}
		plots[name] = append(plots[name], t)
	}
	for k, name := range order {
		d.Figures = append(d.Figures, r.overWakes(fmt.Sprintf("arrival-%d", k+1), name+", p = 20", "accuracy",
			false, plots[name]))
	}
	d.Notes = []string{
		"linear tasks, p = 20, points in the cube, budget 1.05 at delta exp(-5) where private; a record " +
			"that is not there at the start comes before one of its agent's own wakes 1 to 15, each with " +
			"the same probability ([data] arrival, arrival_start, arrival_rounds = 16); until then it " +
			"counts as a null record, and epsilon is that of a record that was there from the start",
		"private coordinate descent spends its budget on an agent's first 16 wakes, one answer on the " +
			"first; 16 answers are asked for in the first 16 wakes and their mean is smoothed; the start " +
			"of coordinate descent without privacy is a fit of the records that are there",
		fmt.Sprintf("accuracy in percent, mean ± sd over %d problem instances; the difference is "+
			"paired with the same method where all records are there, in points",
			len(unequalSeeds(f.Scale == reproduce.Smoke))),
	}
	return d
}
