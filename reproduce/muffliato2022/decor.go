package muffliato2022

import (
	"fmt"
	"math"
	"slices"
	"strconv"

	"sotto/agent"
	"sotto/experiment/sweep"
	"sotto/privacy/account/gdp"
	"sotto/privacy/account/network"
	"sotto/reproduce"
	"sotto/topology"
)

// decorAxes are the axes of the study of noise that neighbors share. Method is
// "central"; "local", noise of each agent's own; "decor", shared noise against who sees
// every message and has nobody's secrets; "decor-one", against who has those of any one
// other agent.
var decorAxes = []string{"method", "graph", "budget", "seed"}

// decorBase holds what all its runs share: every record in every one of 100 steps, ten
// rounds of accelerated averaging after each. The step was chosen on Fashion-MNIST.
const decorBase = `
name = "seed004-decor"

[data]
dataset = "mnist"
partition = "iid"

[model]
name = "logistic"

[privacy]
sample_rate = 1.0
max_grad_norm = 1.0
target_delta = 1e-5
accountant = "gdp"
`

const (
	decorAgents = 16
	decorSteps  = 100
	decorRounds = 10 // of averaging after each
	decorRatio  = 10 // noise of a link over an agent's own
	decorDelta  = 1e-5
)

var (
	decorMethods = []string{"central", "decor", "decor-one", "local"}
	decorGraphs  = []string{"ring", "regular"}
	decorBudgets = []string{"0.3", "1"}
)

// decorRun is one run without its seed.
type decorRun struct{ method, graph, budget string }

// values are those of decorAxes.
func (r decorRun) values() []string { return []string{r.method, r.graph, r.budget, ""} }

// decorGraphsOf are the graphs that a method is run on: none of a central one.
func decorGraphsOf(method string) []string {
	if method == "central" {
		return []string{""}
	}
	return decorGraphs
}

func decorCells(small bool) (cells []sweep.Cell) {
	for _, method := range decorMethods {
		for _, graph := range decorGraphsOf(method) {
			for _, budget := range reproduce.Ends(decorBudgets, small) {
				for _, seed := range map[bool][]int{true: {1}, false: {1, 2, 3}}[small] {
					cells = append(cells, decorRun{method, graph, budget}.cell(seed, small))
				}
			}
		}
	}
	return cells
}

// cell writes r as settings of decorBase.
func (r decorRun) cell(seed int, small bool) sweep.Cell {
	c := sweep.Cell{Values: []string{r.method, r.graph, r.budget, strconv.Itoa(seed)}}
	set := reproduce.Setter(&c.Set)
	steps := map[bool]int{true: 3, false: decorSteps}[small]
	set("seed=%d", seed)
	set("privacy.target_epsilon=%s", r.budget)
	set("algorithm.step_size=2")
	if small {
		set("data.limit=1600")
		set("evaluate.limit=500")
	}
	if r.method == "central" {
		set(`algorithm.name="central"`)
		set("topology.agents=1")
		set(`topology.graph="complete"`)
		set("rounds=%d", steps)
		set("evaluate.every=%d", steps)
		return c
	}
	set(`algorithm.name="gossip-sgd"`)
	set("algorithm.gossip=%d", decorRounds)
	set(`algorithm.acceleration="chebyshev-ns"`)
	set("topology.agents=%d", decorAgents)
	set("topology.graph=%q", r.graph)
	if r.graph == "regular" {
		set("topology.degree=4")
	}
	set("rounds=%d", steps*decorRounds+1)
	set("evaluate.every=%d", steps*decorRounds+1)
	if r.method != "local" {
		set(`privacy.mechanism="decor"`)
		set("privacy.pair_noise_ratio=%d", decorRatio)
		set("privacy.curious=%q", map[string]string{"decor": "none", "decor-one": "one"}[r.method])
	}
	return c
}

// decorTable is the table.
func decorTable(f *reproduce.Results) *reproduce.Document {
	d := &reproduce.Document{Header: []string{"method", "graph", "epsilon", "own noise/clip", "accuracy (%)",
		"against central", "epsilon, nobody curious", "one curious agent", "all neighbors curious"},
		Notes: []string{
			fmt.Sprintf("MNIST, logistic regression, %d agents with equal shares, %d steps with all "+
				"records, %d rounds of accelerated averaging after each; noise of a link %d times an "+
				"agent's own", decorAgents, decorSteps, decorRounds, decorRatio),
			"the last three columns are epsilon at delta 1e-5 of the worst agent against who sees every " +
				"message and has the secrets of nobody, of the worst one other agent, of all neighbors " +
				"(zero-out, exact); decor is calibrated for the first, decor-one for the second, local " +
				"needs none",
			"accuracy is the mean over agents of their own models; against central: the difference of " +
				"means in points, at the same epsilon",
		}}
	if f.Scale == reproduce.Smoke {
		d.Notes = append(d.Notes, "scale smoke: 3 steps, 100 records an agent")
	}
	rows := reproduce.Group(f, decorRun.values)
	for _, budget := range decorBudgets {
		central := decorRun{"central", "", budget}
		addDecor(d, rows, central, nil)
		for _, graph := range decorGraphs {
			for _, method := range decorMethods[1:] {
				addDecor(d, rows, decorRun{method, graph, budget}, rows.Accuracy(central))
			}
		}
	}
	return d
}

// addDecor appends the line of a run, if there is one.
func addDecor(d *reproduce.Document, rows *reproduce.Groups[decorRun], r decorRun, central reproduce.Sample) {
	accuracy := rows.Accuracy(r)
	if len(accuracy) == 0 {
		return
	}
	first := rows.Of(r)[0] // random graphs are others with every seed
	own, figures, err := decorEpsilons(r.method, r.graph, &first)
	if err != nil {
		d.Notes = append(d.Notes, err.Error())
		return
	}
	line := reproduce.Cells(r.method, r.graph, r.budget, own, accuracy, "", "", "", "")
	if len(central) > 0 {
		line[5] = fmt.Sprintf("%+.2f", accuracy.Mean()-central.Mean())
	}
	for c, eps := range figures {
		line[6+c] = fmt.Sprintf("%.4f", eps)
	}
	d.Rows = append(d.Rows, line)
}

// decorEpsilons are an agent's own noise, and epsilon of the worst agent with nobody,
// one agent and all neighbors curious: spent is that of the adversary that the run was
// calibrated for, and the others follow from how much the own noise counts against them.
func decorEpsilons(method, graph string, of *sweep.Row) (own float64, figures []float64, err error) {
	noise, spent := of.Noise, of.EpsilonUpper
	if method == "central" || method == "local" {
		return noise, slices.Repeat([]float64{spent}, map[string]int{"central": 1, "local": 3}[method]), nil
	}
	model, err := decorModel(graph, uint64(reproduce.Number(reproduce.SeedOf(of))))
	if err != nil {
		return 0, nil, err
	}
	// What own noise of 1 counts as: of the worst agent, and of agent 0, whose noise a
	// row states.
	var least, first [2]float64 // nobody curious, one
	for c := range least {
		least[c], first[c] = math.Inf(1), math.Inf(1)
	}
	take := func(c int, curious ...int) error {
		factors, err := model.Multipliers(curious)
		for i, f := range factors {
			if slices.Contains(curious, i) {
				continue
			}
			if least[c] = min(least[c], f); i == 0 {
				first[c] = min(first[c], f)
			}
		}
		return err
	}
	if err := take(0); err != nil {
		return 0, nil, err
	}
	for v := range model.Agents {
		if err := take(1, v); err != nil {
			return 0, nil, err
		}
	}
	calibrated := map[string]int{"decor": 0, "decor-one": 1}[method]
	// of the whole run, where own noise is all that counts
	mu := gdp.Mu(spent, decorDelta) * least[calibrated]
	for _, counts := range []float64{least[0], least[1], 1} {
		figures = append(figures, gdp.Epsilon(mu/counts, decorDelta))
	}
	return noise / first[calibrated], figures, nil
}

// decorModel is the graph of a seed with own noise 1.
func decorModel(graph string, seed uint64) (*network.Decor, error) {
	g, err := drawGraph(graph, decorAgents, seed, func(p any) {
		if r, ok := p.(*topology.RegularParams); ok {
			r.Degree = 4
		}
	})
	if err != nil {
		return nil, err
	}
	m := &network.Decor{Agents: decorAgents, Own: 1, Pair: decorRatio}
	for i := range agent.ID(decorAgents) {
		for _, nb := range g.In(i) {
			if nb.ID > i {
				m.Links = append(m.Links, [2]int{int(i), int(nb.ID)})
			}
		}
	}
	return m, nil
}
