package adad2p

import (
	"fmt"
	"slices"

	"sotto/experiment/sweep"
	"sotto/reproduce"
)

// directedAxes are those of pushAxes with the graph.
var directedAxes = append(slices.Clone(pushAxes[:len(pushAxes)-1]), "graph", "seed")

// directedGraphs are directed and change from round to round. On the first agent 0 hears
// all others, so that rows do not sum to 1; on the second, the paper's, they do.
var directedGraphs = []string{"exp-directed-hub", "exp-directed"}

// directedSigma is the larger noise scale of figure 4.
const directedSigma = "0.05"

// directedPush is a run on a graph.
type directedPush struct {
	push
	graph string
}

func (p directedPush) values() []string {
	v := p.push.values()
	return append(slices.Clone(v[:len(v)-1]), p.graph, v[len(v)-1])
}

// directedPushes are the methods of figure 4 with batches, on one graph after the other.
func directedPushes() []directedPush {
	var list []directedPush
	for _, graph := range directedGraphs {
		for _, p := range compared("mnist", batched, []string{directedSigma}) {
			list = append(list, directedPush{p, graph})
		}
	}
	return list
}

// directedCells have the models of all agents tested, on 2,000 records: agents of this
// graph differ.
func directedCells(scale reproduce.Scale) []sweep.Cell {
	var cells []sweep.Cell
	list := directedPushes()
	if scale == reproduce.Smoke {
		list = append(list[:2:2], list[len(list)-1])
	}
	for _, p := range list {
		for _, seed := range trialSeeds(scale, p.data) {
			p.seed = seed
			c := p.push.cell(scale)
			c.Values = p.values()
			set := reproduce.Setter(&c.Set)
			set("topology.graph=%q", p.graph)
			if scale == reproduce.Full {
				set("evaluate.every=220")
				set("evaluate.limit=2000")
			}
			cells = append(cells, c)
		}
	}
	return cells
}

// directed tables each method on both graphs, and the difference between them.
func directed(f *reproduce.Results) *reproduce.Document {
	r := reproduce.Group(f, directedPush.values)
	d := &reproduce.Document{Header: []string{"graph", "noise scale", "method", "accuracy",
		"accuracy of agent 0", "lowest accuracy of an agent", "less the doubly stochastic graph",
		"two-sided p", "claimed epsilon (add-remove)", "true epsilon (add-remove)"}}
	for _, p := range directedPushes() {
		if len(r.Of(p)) == 0 {
			continue
		}
		less, prob := "", ""
		other := p
		if other.graph = directedGraphs[1]; p.graph != other.graph {
			if diff, x, ok := pairedRuns(r, p, other); ok {
				less, prob = diff.Format("%+.2f", "%.2f"), fmt.Sprintf("%.2g", x)
			}
		}
		lowest := r.Sample(p, func(row *sweep.Row) float64 { return 100 * row.Accuracy.Min })
		var hub reproduce.Sample
		for _, x := range r.Last(p, "accuracy", "0") {
			hub = append(hub, 100*x)
		}
		d.Add(p.graph, p.noise, p.name(), r.Accuracy(p), hub, lowest, less, prob, p.claim(f.Scale),
			r.Epsilon(p))
	}
	d.Notes = []string{
		"two-layer network, MNIST, 20 agents with 3,000 records each, 2,200 rounds, Poisson batches of " +
			"64, as figure 4; accuracy in percent over all agents on 2,000 test records; mean and standard " +
			"deviation over seeds; p of a paired t test, not corrected for the number of comparisons",
		"exp-directed-hub: the directed exponential graph, and every agent also sends to agent 0 in every " +
			"round; weights 1/(1 + number of receivers): columns sum to 1, rows do not. Agent 0 then holds " +
			"about 8 of the 20 units of push weight, the others about .6 each",
		"claimed: of the accountant that the paper's proof refers to, at delta 1e-5; true: of the ledger; " +
			"the noise of AdaD2P and ConstD2P follows private gradients that nothing bounds, which has no " +
			"epsilon",
	}
	list := directedPushes()
	for i, p := range list {
		for _, q := range list[i+1:] {
			diff, prob, ok := pairedRuns(r, p, q)
			if ok && p.graph == q.graph {
				d.Notes = append(d.Notes, fmt.Sprintf("%s: %s less %s is %s points over %d seeds, "+
					"two-sided p %.2g", p.graph, p.name(), q.name(), diff.Format("%+.2f", "%.2f"),
					len(diff), prob))
			}
		}
	}
	if f.Scale == reproduce.Smoke {
		d.Notes = append(d.Notes, "scale smoke: 10 rounds, one seed")
	}
	return d
}
