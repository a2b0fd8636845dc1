package dkm

import (
	"fmt"
	"slices"
	"strconv"

	"sotto/experiment/sweep"
	"sotto/report/plot"
	"sotto/reproduce"
)

// iterationAxes are the axes of every sweep of "A General Differentially Private Learning
// Framework for Decentralized Data". form is "published", "all-noisy" or "own-state";
// noise of the published form one of its families, or "none".
var iterationAxes = []string{"form", "noise", "loss", "method", "graph", "agents", "epsilon", "delta",
	"rounds",
	"seed"}

// iterationBase holds what all its runs share. The paper has N = 100 records and states
// no dimension (10), number of rounds (200), α (.99 of the bound), γ and B (1), and
// searches λ on a grid that it does not give (l1 = .003); all of these are our choices.
const iterationBase = `
name = "seed003"

[data]
dataset = "least-squares"
partition = "natural"
records = 100
dim = 10

[model]
name = "least-squares"

[algorithm]
name = "km"

[privacy]
adjacency = "replace-one"
sample_rate = 1.0
accountant = "gdp"

[evaluate]
estimation = true
`

// iteration is one run of the iteration.
type iteration struct {
	form, noise    string
	loss, method   string // "squares" or "logistic"; "SPGD" or "ADMM"
	graph          string
	agents         int
	epsilon, delta string // "" without noise
	rounds         int
	seed           int
}

// iterationRounds is K.
const iterationRounds = 200

// steps are γ and G by loss and method. One record a round needs γ of the order of
// 1/|a|² to be nonexpansive; the proximal operator needs none. Squares bound no gradient:
// sound ADMM has Huber's loss in their place.
var steps = map[[2]string]struct{ published, sound, clip float64 }{
	{"squares", "SPGD"}:  {.03, .5, 2},
	{"logistic", "SPGD"}: {.2, .5, 4},
	{"squares", "ADMM"}:  {.03, .25, 4},
	{"logistic", "ADMM"}: {.2, .5, 4},
}

// smokeRounds are the most of the smallest size.
const smokeRounds = 20

// values are those of iterationAxes.
func (i iteration) values(small bool) []string {
	if small {
		i.rounds = min(i.rounds, smokeRounds)
	}
	return []string{i.form, i.noise, i.loss, i.method, i.graph, strconv.Itoa(i.agents),
		i.epsilon, i.delta, strconv.Itoa(i.rounds), strconv.Itoa(i.seed)}
}

// cell writes i as settings of iterationBase.
func (i iteration) cell(small bool) sweep.Cell {
	if small {
		i.rounds = min(i.rounds, smokeRounds)
	}
	c := sweep.Cell{Values: i.values(small)}
	set := reproduce.Setter(&c.Set)
	step := steps[[2]string{i.loss, i.method}]
	set("seed=%d", i.seed)
	set("rounds=%d", i.rounds)
	set("evaluate.every=%d", max(1, i.rounds/20))
	set("topology.graph=%q", i.graph)
	set("topology.agents=%d", i.agents)
	set("data.agents=%d", i.agents)
	set("algorithm.l1=0.003")
	set("algorithm.operator=%q", map[string]string{"SPGD": "forward-backward",
		"ADMM": "douglas-rachford"}[i.method])
	if i.loss == "logistic" {
		set(`data.dataset="logistic-regression"`)
		set(`model.name="logistic"`)
	} else if i.method == "ADMM" && i.form != "published" {
		set(`model.name="huber"`)
	}
	if i.noise == "none" {
		set(`privacy.mechanism="none"`)
	} else {
		set("privacy.target_epsilon=%s", i.epsilon)
		set("privacy.target_delta=%s", i.delta)
	}
	if i.form != "published" {
		set("algorithm.gamma=%s", reproduce.Exactly(step.sound))
		set("privacy.max_grad_norm=%s", reproduce.Exactly(step.clip))
		set("algorithm.own_state=%t", i.form == "own-state")
		return c
	}
	set("algorithm.gamma=%s", reproduce.Exactly(step.published))
	set("algorithm.residual_clip=1.0")
	set("algorithm.own_state=true")
	set("replication.one_record=true")
	if i.noise != "none" {
		set("replication.claim=true")
		set("replication.noise=%q", i.noise)
	}
	return c
}

// families are the published noises, in the order of the figures.
var families = []string{"laplace", "truncated-laplace", "gaussian", "truncated-gaussian"}

// instances are the problem instances.
func instances(small bool) []int {
	if small {
		return []int{1}
	}
	all := make([]int, 20)
	for i := range all {
		all[i] = i + 1
	}
	return all
}

// versions are the runs of a problem at a budget: without noise, published, and the two
// sound forms; the sound one also in a tenth of the rounds.
func versions(base iteration, epsilon, delta string) []iteration {
	base.epsilon, base.delta, base.rounds = epsilon, delta, iterationRounds
	var list []iteration
	add := func(form, noise string, rounds int) {
		i := base
		i.form, i.noise, i.rounds = form, noise, rounds
		if noise == "none" {
			i.epsilon, i.delta = "", ""
		}
		list = append(list, i)
	}
	add("published", "none", iterationRounds)
	for _, f := range families {
		add("published", f, iterationRounds)
	}
	add("all-noisy", "gaussian", iterationRounds)
	if base.loss == "logistic" || base.method == "ADMM" { // squares leave nothing but 2B
		add("own-state", "gaussian", iterationRounds)
	}
	add("all-noisy", "gaussian", iterationRounds/10)
	return list
}

// figure1Budgets are those of figure 1.
func figure1Budgets() (list [][2]string) {
	for _, d := range []string{"1e-3", "1e-5"} {
		for _, e := range []string{"0.1", "0.5", "1", "3"} {
			list = append(list, [2]string{e, d})
		}
	}
	return list
}

// iterations are the different runs of a study without their seeds.
var iterations = map[string]func() []iteration{
	"seed003-figure1": func() (list []iteration) {
		for _, b := range figure1Budgets() {
			list = append(list,
				versions(iteration{loss: "squares", method: "SPGD", graph: "complete", agents: 5}, b[0],
					b[1])...)
		}
		return list
	},
	"seed003-figure2": func() (list []iteration) {
		for _, loss := range []string{"squares", "logistic"} {
			for _, method := range []string{"SPGD", "ADMM"} {
				for _, g := range []string{"ring", "star", "complete"} {
					list = append(list, versions(iteration{loss: loss, method: method, graph: g, agents: 5},
						"0.5", "1e-3")...)
				}
			}
		}
		return list
	},
	"seed003-figure3": func() (list []iteration) {
		for _, loss := range []string{"squares", "logistic"} {
			for _, g := range []string{"ring", "star", "complete"} {
				for _, m := range []int{5, 10, 20, 50} {
					list = append(list, versions(iteration{loss: loss, method: "SPGD", graph: g, agents: m},
						"0.5", "1e-3")...)
				}
			}
		}
		return list
	},
}

// iterationCells are the cells of a study, each different run once for every seed.
func iterationCells(study string) func(small bool) []sweep.Cell {
	return func(small bool) []sweep.Cell {
		var cells []sweep.Cell
		seen := map[iteration]bool{}
		for _, i := range iterations[study]() {
			if seen[i] {
				continue
			}
			seen[i] = true
			for _, seed := range instances(small) {
				i.seed = seed
				c := i.cell(small)
				if study == "seed003-figure3" {
					c.Set = append(c.Set, lastAlone(c.Values))
				}
				cells = append(cells, c)
				i.seed = 0
			}
		}
		return reproduce.Distinct(cells)
	}
}

// lastAlone evaluates at the end of a run and not before: no curve is drawn of it.
func lastAlone(values []string) string {
	return "evaluate.every=" + values[slices.Index(iterationAxes, "rounds")]
}

// iterated finds the rows of an iteration's runs.
type iterated struct {
	*reproduce.Groups[iteration]
	small bool
}

func collectIterations(f *reproduce.Results) iterated {
	small := f.Scale == reproduce.Smoke
	return iterated{reproduce.Group(f, func(i iteration) []string { return i.values(small) }), small}
}

// over is a metric of the mean model by round, over seeds.
func (r iterated) over(i iteration, metric string) []plot.Point {
	points := r.Over(i, metric, "all", false)
	for k := range points {
		points[k].Low = max(points[k].Low, points[k].Y/10) // the axis is logarithmic
	}
	return points
}

// name says what a run is, for plots.
func (i iteration) name() string {
	switch {
	case i.noise == "none":
		return "no noise"
	case i.form == "published":
		return "published, " + i.noise
	case i.rounds < iterationRounds:
		return fmt.Sprintf("sound, %s, %d rounds", i.form, i.rounds)
	}
	return "sound, " + i.form
}

// iterationTable is the table that the three figures share.
func iterationTable(study string) func(f *reproduce.Results) *reproduce.Document {
	return func(f *reproduce.Results) *reproduce.Document {
		r := collectIterations(f)
		d := &reproduce.Document{Header: []string{"loss", "method", "graph", "agents", "run", "rounds",
			"claimed epsilon", "delta", "true epsilon", "noise of an answer", "error of what is sent",
			"error of what is put out"}}
		seen := map[iteration]bool{}
		for _, i := range iterations[study]() {
			rows := r.Of(i)
			if seen[i] || len(rows) == 0 {
				continue
			}
			seen[i] = true
			noise, claimed := fmt.Sprintf("%.3g", rows[len(rows)-1].Noise), ""
			if i.noise == "none" {
				noise = ""
			} else if i.form == "published" {
				claimed = i.epsilon
			}
			d.Add(i.loss, i.method, i.graph, i.agents, i.name(), rows[0].Values[8], claimed, i.delta,
				r.Epsilon(i), noise, r.Last(i, "estimation_rmse", "all").Significant(),
				r.Last(i, "estimation_rmse_noise_free", "all").Significant())
		}
		d.Notes = append(d.Notes,
			"error: root mean square over coordinates of the distance of the mean of all agents' models "+
				"from the hidden vector, mean ± sd over problem instances; the published form puts out "+
				"iterates without noise, for which no epsilon holds",
			"noise of an answer: its standard deviation over its clip (B = 1 published, G sound), before "+
				"truncation; published scales follow from Theorem 1 at B = 1, the claimed epsilon and "+
				"delta, per coordinate, for the whole run",
			fmt.Sprintf("N = 100 records at each agent, 10 features and hidden entries N(0, 1), %d "+
				"problem instances; the paper states no dimension, number of rounds, step or bound, and "+
				"has curves only", len(instances(r.small))))
		if r.small {
			d.Notes = append(d.Notes, "scale smoke: 20 rounds, one instance")
		}
		r.plot(d, study)
		return d
	}
}
