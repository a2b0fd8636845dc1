package adad2p

import (
	"context"
	"fmt"
	"math"
	"slices"

	"sotto/agent"
	"sotto/experiment/run"
	"sotto/reproduce"
	"sotto/tensor"
	"sotto/topology"
)

// norms are the gradients that runs without noise draw: the paper's procedure for G takes
// "the maximum norm of stochastic gradient of the training process" of five of them.
func norms(ctx context.Context, opt reproduce.Options) (*reproduce.Document, error) {
	d := reproduce.NewTable("data", "model", "records a round", "largest norm of each run", "G: the largest",
		"median", "share above the published G (%)", "published G")
	for _, p := range normsPushes(opt.Scale) {
		if err := addNorms(ctx, d, p, opt); err != nil {
			return nil, err
		}
	}
	d.Notes = []string{
		"norms of the gradients that the agents draw, each at its own model, in five runs of stochastic " +
			"gradient push without noise: 20 in a round, of single records or of means of Poisson batches " +
			"of 64; median and share over all rounds, agents and runs",
		"a norm is that of (Σ_j P_ij x_j - x_i)/γ, what the agent's step took off its mixed model; models " +
			"have single precision, which adds less than 1e-3 to a norm",
		"a largest norm seen is no bound: noise in proportion to it protects nobody",
		reproduce.RowNote,
	}
	if opt.Scale == reproduce.Smoke {
		d.Notes = append(d.Notes, "scale smoke: 10 rounds, one run")
	}
	return d, nil
}

// normsPushes are the runs without noise of the studies that use a measured G; the
// smallest size has the first two.
func normsPushes(scale reproduce.Scale) []push {
	list := []push{{data: "mnist"}, {data: "mnist", form: batched}, {data: "cifar-10-cnn"},
		{data: "cifar-10-cnn", form: batched}}
	for k := range list {
		p := &list[k]
		p.mode, p.method, p.noise, p.step = "replication", "sgp", "none", setups[p.data].step
	}
	if scale == reproduce.Smoke {
		return list[:2]
	}
	return list
}

// addNorms appends the row of one setting.
func addNorms(ctx context.Context, d *reproduce.Document, p push, opt reproduce.Options) error {
	var largest reproduce.Sample
	var all []float64
	cells := overTrials(opt.Scale, []push{p})
	for _, c := range cells {
		drawn, err := drawnNorms(ctx, c.Set, p.step.first, opt)
		if err != nil {
			return err
		}
		largest, all = append(largest, slices.Max(drawn)), append(all, drawn...)
	}
	slices.Sort(all)
	s := setups[p.data]
	over, _ := slices.BinarySearch(all, s.bound)
	above := 100 * (1 - float64(over)/float64(len(all)))
	listed := ""
	for k, x := range largest {
		listed += fmt.Sprintf("%.2f", x)
		if k < len(largest)-1 {
			listed += ", "
		}
	}
	d.AddRow([]string{p.data, s.network, p.records(), listed, fmt.Sprintf("%.2f", slices.Max(largest)),
		fmt.Sprintf("%.3g", all[len(all)/2]), fmt.Sprintf("%.3g", above), reproduce.Exactly(s.bound)},
		reproduce.Seeds(len(cells)), fmt.Sprintf("seed002-norms %s %q", pushBase, cells[0].Set), all...)
	return nil
}

// drawnNorms are the norms of all gradients that the agents of a run draw. The graph is
// doubly stochastic, so that push weights are 1 and an agent's model is what it sends.
func drawnNorms(ctx context.Context, set []string, step float64, opt reproduce.Options) ([]float64, error) {
	e, err := reproduce.Build(pushBase, set, opt.Sweep.DataDir)
	if err != nil {
		return nil, err
	}
	w, err := run.Start(e, run.Own(e), opt.Sweep.Workers, nil)
	if err != nil {
		return nil, err
	}
	n := e.File.Topology.Agents
	before := make([]tensor.Vec, n)
	for i := range before {
		before[i] = slices.Clone(w.Sim.Model(i))
	}
	var out []float64
	for k := range e.File.Steps {
		g, err := e.Graphs.Schedule.At(k)
		if err != nil {
			return nil, err
		}
		if err := w.Sim.Run(ctx, k+1); err != nil {
			return nil, err
		}
		for i := range n {
			out = append(out, taken(g, agent.ID(i), before, w.Sim.Model(i))/step)
		}
		for i := range n {
			copy(before[i], w.Sim.Model(i))
		}
	}
	return out, nil
}

// taken is the length of what agent i took off the mean of the models that it heard.
func taken(g *topology.Graph, i agent.ID, before []tensor.Vec, after tensor.Vec) float64 {
	self, in := g.SelfWeight(i), g.In(i)
	sum := 0.
	for c, x := range after {
		mixed := self * float64(before[i][c])
		for _, nb := range in {
			mixed += float64(nb.Weight * float64(before[nb.ID][c]))
		}
		sum += float64((mixed - float64(x)) * (mixed - float64(x)))
	}
	return math.Sqrt(sum)
}
