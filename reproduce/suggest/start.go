package suggest

import (
	"sotto/experiment/sweep"
	"sotto/reproduce"
)

// Starts of a run.
const (
	chosen    = "chosen"    // 100 rounds, small batches, a constant step of .5
	suggested = "suggested" // what --suggest proposes
)

// proposal is what --suggest proposes where it does not propose Newton steps
// (TestProposals).
type proposal struct {
	batch, step, last float64
}

var proposals = map[string]proposal{
	"glyphs 0.3": {37, .11, .0055},
	"glyphs 1":   {37, .27, .014},
	"glyphs 4":   {73, .91, .046},
	"mnist 1":    {375, 2.1, .11},
	"mnist 4":    {750, 2.1, .11},
}

func (r run) start() sweep.Cell {
	c, set := r.begin()
	p, steps := proposals[r.table.name+" "+r.epsilon]
	switch {
	case r.way == chosen:
		set("rounds=100")
		set("privacy.max_grad_norm=1.0")
		graph := "ring"
		if r.table.name == heart {
			graph = "complete"
		}
		set("topology.graph=%q", graph)
		set("privacy.batch_size=%g", r.table.batch)
		set("algorithm.step_size=0.5")
	case steps:
		set("rounds=300")
		set("privacy.max_grad_norm=1.0")
		set(`topology.graph="complete"`)
		set("privacy.batch_size=%g", p.batch)
		set(`algorithm.schedule="geometric"`)
		set("algorithm.step_size=%g", p.step)
		set("algorithm.step_size_final=%g", p.last)
	default:
		set("rounds=10")
		set(`topology.graph="complete"`)
		set(`algorithm.name="newton"`)
	}
	if r.table.name == heart {
		set(`evaluate.on="own"`) // as suggested, so that both are tested on the same records
	}
	return *c
}

func startRuns(small bool) (runs []run) {
	list := tables
	if small {
		list = list[:2]
	}
	for k := range list {
		for _, e := range reproduce.Ends(list[k].budgets(), small) {
			for _, way := range []string{chosen, suggested} {
				runs = append(runs, run{table: &list[k], epsilon: e, way: way})
			}
		}
	}
	return runs
}

func startCells(small bool) []sweep.Cell { return over(startRuns(small), small, run.start) }
