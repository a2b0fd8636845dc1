package dpdl2023

import (
	"fmt"
	"slices"

	"sotto/experiment/sweep"
	"sotto/reproduce"
)

// mnistAxes are the axes of every sweep over the paper's MNIST experiments.
var mnistAxes = []string{"mode", "fiedler", "overlap", "method", "budget", "step", "seed"}

// mnistBase holds what all its runs share: ten agents, ConvNet, 2,000 rounds, expected
// batch 256.
const mnistBase = `
name = "seed000"
rounds = 2000

[topology]
agents = 10

[data]
dataset = "mnist"
resize = 32
partition = "a"

[model]
name = "convnet"

[privacy]
batch_size = 256
target_delta = 1e-5

[evaluate]
every = 200
`

// mnistRun is one run of the paper's MNIST experiments.
type mnistRun struct {
	mode    string // sound, replace-one or replication
	fiedler string
	overlap string
	method  string
	budget  string
	step    step // zero: that of stepOf
	seed    int
}

// steps are the run's own, or what stepOf says.
func (r mnistRun) steps() step {
	if r.step != (step{}) {
		return r.step
	}
	return stepOf(r.mode, r.method, slices.Index(budgets, r.budget))
}

// values are those of mnistAxes.
func (r mnistRun) values() []string {
	return []string{r.mode, r.fiedler, r.overlap, r.method, r.budget, fmt.Sprintf("%g", r.steps().first),
		fmt.Sprint(r.seed)}
}

// cell writes r as settings of mnistBase. In mode replication DP-DSGD and DP-DSGT mix
// in place and with row-normalised weights, DP-DSGD takes gradients after mixing, and the
// budget is what RDP under add-remove claims for a guarantee under replace-one. DP-DiNNO
// has no mixing matrix, and its duals sum to zero only in simultaneous rounds: in place
// it diverges.
func (r mnistRun) cell(small bool) sweep.Cell {
	s := r.steps()
	c := sweep.Cell{Values: r.values()}
	set := reproduce.Setter(&c.Set)
	set("seed=%d", r.seed)
	set("algorithm.name=%q", r.method)
	set("algorithm.step_size=%g", s.first)
	if s.final > 0 {
		set("algorithm.schedule=\"geometric\"")
		set("algorithm.step_size_final=%g", s.final)
	}
	switch r.method {
	case "central":
		set("topology.agents=1")
		set("topology.graph=\"complete\"")
		set("data.partition=\"iid\"")
		set("algorithm.momentum=0.9")
		set("algorithm.weight_decay=1e-4")
	default:
		set("topology.graph=\"er-fiedler\"")
		set("topology.target=%s", r.fiedler)
		set("data.t=%s", r.overlap)
	}
	switch r.method {
	case "dsgd":
		set("algorithm.weight_decay=1e-4")
		if r.mode == "replication" {
			set("algorithm.order=\"mix-then-grad\"")
		}
	case "dinno":
		set("algorithm.rho_scale=1.0003")
	}
	if r.budget == "none" {
		set("privacy.mechanism=\"none\"")
		if r.mode == "sound" && r.method == "dsgt" {
			set("privacy.max_grad_norm=10")
		}
	} else {
		set("privacy.target_epsilon=%s", r.budget)
		clip := "10"
		if r.method == "central" {
			clip = "1"
		}
		set("privacy.max_grad_norm=%s", clip)
	}
	if r.mode == underDefinition {
		set("privacy.adjacency=\"replace-one\"")
	}
	if r.mode == "replication" {
		if r.method == "dsgd" || r.method == "dsgt" {
			set("topology.weights=\"uniform\"")
			set("replication.unbalanced_weights=true")
			set("replication.mix=\"gauss-seidel\"")
		}
		if r.budget != "none" {
			set("privacy.adjacency=\"replace-one\"")
			set("replication.claim=true")
		}
	}
	if small {
		set("rounds=10")
		set("evaluate.every=10")
		set("evaluate.limit=500")
	}
	return c
}

// overTrials are the cells of runs with every seed.
func overTrials(small bool, runs []mnistRun) (cells []sweep.Cell) {
	for _, r := range runs {
		for _, r.seed = range trials(small) {
			cells = append(cells, r.cell(small))
		}
	}
	return cells
}

// trials are the seeds of five trials; the paper's configurations name 1331.
func trials(small bool) []int {
	if small {
		return []int{1331}
	}
	return []int{1331, 1332, 1333, 1334, 1335}
}

var modes = []string{"sound", "replication"}

// underDefinition is the mode of sound runs that hold their budget for replace-one, as
// the paper's Definition 4.1 has it; those of mode sound hold it for zero-out.
const underDefinition = "replace-one"

// collect finds the rows of runs.
func collect(f *reproduce.Results) *reproduce.Groups[mnistRun] {
	return reproduce.Group(f, mnistRun.values)
}
