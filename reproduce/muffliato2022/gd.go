package muffliato2022

import (
	"context"
	"fmt"
	"math"
	"slices"

	"sotto/agent"
	"sotto/experiment/exposure"
	"sotto/privacy/account/network"
	"sotto/report/plot"
	"sotto/reproduce"
	"sotto/topology"
)

// gdSize is how much of the study of graphs that are drawn anew is computed.
type gdSize struct {
	agents, iterations, observers int
}

// gdSizes are the published ones and a small one.
var gdSizes = map[reproduce.Scale][]gdSize{reproduce.Smoke: {{50, 3, 2}},
	reproduce.Full: {{2000, 10, 4}, {4000, 10, 4}}}

// gdRead are mean losses read off the figure of the public code.
var gdRead = map[int]string{2000: ".30", 4000: ".17"}

// fractions are the upper ends of the histogram's bins, as shares of the local loss of
// all iterations.
var fractions = []float64{.001, .003, .01, .03, .1, .3, 1}

// gradientDescent sets the losses of pairs over the iterations of gossip gradient descent
// side by side, on one graph and on a graph that is drawn anew after every local step,
// which the publication says makes them concentrate.
func gradientDescent(ctx context.Context, opt reproduce.Options) (*reproduce.Document, error) {
	d := reproduce.NewTable("agents", "share of the local loss up to", "pairs, one graph, formula",
		"fresh graphs, formula", "one graph, estimate", "fresh graphs, estimate")
	for _, size := range gdSizes[opt.Scale] {
		if err := size.add(ctx, d); err != nil {
			return nil, err
		}
	}
	size := gdSizes[opt.Scale][0]
	d.Notes = []string{
		fmt.Sprintf("%d iterations of one noised step and averaging, %d observers, pairs of an "+
			"observer and any other agent; Erdos-Renyi graphs, p = ln n/n, Metropolis weights; rounds as "+
			"in the public code at s = 1", size.iterations, size.observers),
		"cells are the share of pairs whose loss is at most that share of the local loss of all iterations",
		"estimate: exact leaks of each iteration's averaging taken alone, added up. Over iterations other " +
			"agents react to an agent's steps through messages that the observer does not see: what holds " +
			"is the composition against everyone, share 1",
		"formula: claimed, above 1 in places where the local loss cannot be",
		"closed form: the public code's mean, over agents v, of 2 K d_v/(n - d_v), at most 1, and of 1 for " +
			"the neighbors of one agent; its figure, read off: .30 at 2,000 agents, .17 at 4,000. It is " +
			"no bound either",
		reproduce.RowNote,
	}
	if opt.Scale == reproduce.Smoke {
		d.Notes = append(d.Notes, "scale smoke: few agents, iterations and observers")
	}
	return d, nil
}

// gdLosses are those of pairs on one graph, or on fresh ones.
type gdLosses struct {
	formula, estimate []float64
	closed            float64 // mean of the public code's closed form
}

// add appends the rows and the plot of one number of agents.
func (size gdSize) add(ctx context.Context, d *reproduce.Document) error {
	fig := size.figure()
	var columns [][]float64 // cumulative shares of pairs: formula and estimate, one graph and fresh ones
	var most, mean, closed []float64
	for _, fresh := range []bool{false, true} {
		l, err := size.losses(ctx, fresh)
		if err != nil {
			return err
		}
		name := "one graph"
		if fresh {
			name = "fresh graphs"
		}
		for k, losses := range [][]float64{l.formula, l.estimate} {
			c := plot.Curve{Name: name, Dashed: k == 0, Like: name}
			if k == 1 {
				c.Like = ""
			} else {
				c.Name += ", formula"
			}
			shares := cumulative(losses)
			for b, x := range fractions {
				c.Points = append(c.Points, reproduce.At(x, shares[b]))
			}
			fig.Curves = append(fig.Curves, c)
			columns, most, mean = append(columns, shares), append(most, slices.Max(losses)),
				append(mean, reproduce.Sample(losses).Mean())
		}
		closed = append(closed, l.closed)
	}
	order := []int{0, 2, 1, 3}
	row := func(name string, of func(column int) float64) {
		var figures []float64
		for _, c := range order {
			figures = append(figures, of(c))
		}
		size.row(d, name, figures)
	}
	for b, x := range fractions {
		row(fmt.Sprintf("%g", x), func(c int) float64 { return columns[c][b] })
	}
	row("mean (not a guarantee)", func(c int) float64 { return mean[c] })
	row("largest", func(c int) float64 { return most[c] })
	name := "mean by the closed form (not a bound)"
	if read := gdRead[size.agents]; read != "" {
		name += ", published " + read
	}
	size.row(d, name, closed)
	d.Figures = append(d.Figures, fig)
	return nil
}

// row appends figures of all columns or the first ones.
func (size gdSize) row(d *reproduce.Document, name string, figures []float64) {
	cells := []string{fmt.Sprint(size.agents), name, "", "", "", ""}
	for k, x := range figures {
		cells[2+k] = fmt.Sprintf("%.4f", x)
	}
	d.AddRow(cells, reproduce.Seeds(size.iterations),
		fmt.Sprintf("seed004-gd graph er p ln(n)/n agents %d iterations %d observers %d noise 1 row %s",
			size.agents, size.iterations, size.observers, name), figures...)
}

func (size gdSize) figure() plot.Figure {
	return plot.Figure{
		Name: fmt.Sprintf("gd-%d", size.agents),
		Title: fmt.Sprintf("Losses of pairs over iterations, %d agents (dashed: published formula)",
			size.agents),
		XLabel:  "share of the local loss",
		YLabel:  "share of pairs with at most this (%)",
		LogX:    true,
		Percent: true,
		Markers: true,
		Caption: "Iterations added up as if each stood alone: an estimate, not a guarantee. Dashed: the " +
			"published formula, which is not a bound.",
	}
}

// losses are those of all pairs, divided by the local loss of all iterations.
func (size gdSize) losses(ctx context.Context, fresh bool) (l gdLosses, err error) {
	n := size.agents
	sums := make([][2][]float64, size.observers)
	for o := range sums {
		sums[o] = [2][]float64{make([]float64, n), make([]float64, n)}
	}
	iterations, times := size.iterations, 1.
	if !fresh { // all iterations are alike
		iterations, times = 1, float64(size.iterations)
	}
	for t := range iterations {
		g, closed, err := size.gossip(uint64(1 + t))
		if err != nil {
			return l, err
		}
		l.closed += closed / float64(iterations)
		for o := range sums {
			if err := ctx.Err(); err != nil {
				return l, err
			}
			v := o * n / size.observers
			printed, err := g.MuffliatoPrinted(v)
			if err != nil {
				return l, err
			}
			view, err := g.View(network.Observer(v))
			if err != nil {
				return l, err
			}
			for u := range n {
				sums[o][0][u] += times * printed[u]
				sums[o][1][u] += times * view.Leak[u]
			}
		}
	}
	for o, s := range sums {
		for u := range n {
			if u != o*n/size.observers {
				l.formula = append(l.formula, s[0][u]/float64(size.iterations))
				l.estimate = append(l.estimate, s[1][u]/float64(size.iterations))
			}
		}
	}
	return l, nil
}

// gossip draws a graph, and has the mean of the public code's closed form on it.
func (size gdSize) gossip(seed uint64) (gossip *network.Gossip, closed float64, err error) {
	n := float64(size.agents)
	g, err := drawGraph("er", size.agents, seed, func(p any) { p.(*topology.ERParams).P = math.Log(n) / n })
	if err != nil {
		return nil, 0, err
	}
	rounds, err := publishedRounds(g, 1)
	if err != nil {
		return nil, 0, err
	}
	mixing, err := exposure.Mixing(topology.Static(g), rounds)
	return &network.Gossip{Agents: size.agents, Rounds: mixing}, closedForm(g, rounds), err
}

// closedForm is the mean over agents other than 0 of the loss against 0 by the public
// code, as shares of the local loss: 1 for a neighbor, 2 K d/(n - d) for an agent with d
// links, at most 1.
func closedForm(g *topology.Graph, rounds int) float64 {
	n := float64(g.Agents())
	sum := 0.
	for v := range agent.ID(g.Agents()) {
		d, loss := float64(g.Degree(v)), 1.
		if g.Weight(v, 0) == 0 {
			loss = min(1, 2*float64(rounds)*d/(n-d))
		}
		if v != 0 {
			sum += loss / (n - 1)
		}
	}
	return sum
}

// cumulative are the shares of losses up to each of fractions.
func cumulative(losses []float64) []float64 {
	out := make([]float64, len(fractions))
	for b, x := range fractions {
		for _, l := range losses {
			if l <= x*(1+1e-9) {
				out[b] += 1 / float64(len(losses))
			}
		}
	}
	return out
}
