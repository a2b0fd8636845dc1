// Package suggest studies the runs that `sotto run FILE --suggest` proposes for a target
// epsilon. It follows no publication.
package suggest

import (
	"fmt"
	"math"

	"sotto/experiment/sweep"
	"sotto/reproduce"
)

// Paper has the studies.
var Paper = reproduce.Paper{
	Name: "suggest",
	Key:  "suggest",
	Studies: map[string]reproduce.Study{
		"path": {
			Title: "accuracy over the sum of all step sizes, at three budgets",
			Axes:  []string{"data", "epsilon", "path", "seed"}, Base: base,
			Cells: reproduce.TwoSizes(pathCells), Report: paths},
		"start": {
			Title: "a start that somebody might choose, and the one that is suggested",
			Axes:  []string{"data", "epsilon", "start", "seed"}, Base: base,
			Cells: reproduce.TwoSizes(startCells), Report: starts},
	},
}

const base = `
name = "suggest"

[evaluate]
every = 1000
`

// table is a data set with its model.
type table struct {
	name, about string
	batch       float64 // of all runs of study path, and of the start that is chosen
	agents      int
	seeds       int // of study start
	set         []string
}

const heart = "heart-disease"

var tables = []table{
	{"glyphs", "glyphs, three digits to each of 10 agents, MLP", 64, 10, 12, []string{
		`data.dataset="glyphs"`, "data.train=6000", `data.partition="by-class"`, "data.classes=3",
		`model.name="mlp"`, "model.hidden=[64]", "privacy.target_delta=1e-5"}},
	{heart, "heart disease, 4 hospitals, logistic", 24, 4, 12, []string{
		`data.dataset="heart-disease"`, `data.partition="natural"`, `model.name="logistic"`,
		"model.intercept=true", "privacy.target_delta=1e-3"}},
	{"adult-a9a", "adult, 10 agents, logistic", 32, 10, 3, []string{
		`data.dataset="adult-a9a"`, `model.name="logistic"`, "model.intercept=true",
		"privacy.target_delta=1e-5"}},
	{"mnist", "MNIST, 10 agents, MLP", 32, 10, 3, []string{
		`data.dataset="mnist"`, `model.name="mlp"`, "model.hidden=[64]", "privacy.target_delta=1e-5"}},
}

// budgets are the target epsilons of a table; MNIST is not run at the smallest.
func (t *table) budgets() []string {
	if t.name == "mnist" {
		return []string{"1", "4"}
	}
	return []string{"0.3", "1", "4"}
}

// run is one run of either study. way is the sum of all step sizes, or a start.
type run struct {
	table        *table
	epsilon, way string
	seed         int
}

func (r run) values() []string {
	return []string{r.table.name, r.epsilon, r.way, fmt.Sprint(r.seed)}
}

// begin is a cell with what all runs have, and what adds a setting to it.
func (r run) begin() (c *sweep.Cell, set func(format string, args ...any)) {
	c = &sweep.Cell{Values: r.values()}
	c.Set = append(c.Set, r.table.set...)
	set = reproduce.Setter(&c.Set)
	set("seed=%d", r.seed)
	set("topology.agents=%d", r.table.agents)
	set("privacy.target_epsilon=%s", r.epsilon)
	return c, set
}

// pathRounds are those of all runs of study path, and falls is how far their step falls.
const (
	pathRounds = 300
	falls      = 20
)

var pathSums = []string{"5", "10", "20", "50", "100", "200"}

// first is the first of steps that fall geometrically by falls and have this sum.
func first(sum float64, rounds int) float64 {
	steps := 0.
	for k := range rounds {
		steps += math.Pow(falls, -float64(k)/float64(rounds-1))
	}
	return sum / steps
}

func (r run) path() sweep.Cell {
	c, set := r.begin()
	step := first(reproduce.Number(r.way), pathRounds)
	set("privacy.max_grad_norm=1.0")
	set("rounds=%d", pathRounds)
	set(`topology.graph="complete"`)
	set("privacy.batch_size=%g", r.table.batch)
	set(`algorithm.schedule="geometric"`)
	set("algorithm.step_size=%.6g", step)
	set("algorithm.step_size_final=%.6g", step/falls)
	return *c
}

// pathSeeds is the number of seeds of study path.
const pathSeeds = 5

func pathRuns(small bool) (runs []run) {
	for k := range tables[:2] {
		for _, e := range reproduce.Ends(tables[k].budgets(), small) {
			for _, sum := range reproduce.Ends(pathSums, small) {
				runs = append(runs, run{table: &tables[k], epsilon: e, way: sum})
			}
		}
	}
	return runs
}

func pathCells(small bool) []sweep.Cell { return over(pathRuns(small), small, run.path) }

// over makes a cell for each seed of the runs.
func over(runs []run, small bool, cell func(run) sweep.Cell) (cells []sweep.Cell) {
	for _, r := range runs {
		n := pathSeeds
		if r.way == chosen || r.way == suggested {
			n = r.table.seeds
		}
		if small {
			n = 1
		}
		for r.seed = 1; r.seed <= n; r.seed++ {
			cells = append(cells, cell(r))
		}
	}
	return cells
}
