package muffliato2022

import (
	"context"
	"fmt"
	"math"
	"slices"

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

var gdSizes = map[reproduce.Scale]gdSize{reproduce.Smoke: {50, 3, 2}, reproduce.Full: {2000, 10, 4}}

// fractions are the upper ends of the histogram's bins, as shares of the local loss of
// all iterations.
var fractions = []float64{.001, .003, .01, .03, .1, .3, 1}

// gradientDescent sets the losses of pairs over the iterations of gossip gradient descent
// side by side, on one graph and on a graph that is drawn anew after every local step,
// which the publication says makes them concentrate.
func gradientDescent(ctx context.Context, opt reproduce.Options) (*reproduce.Document, error) {
	size := gdSizes[opt.Scale]
	d := reproduce.NewTable("share of the local loss up to", "pairs, one graph, formula",
		"fresh graphs, formula", "one graph, estimate", "fresh graphs, estimate")
	fig := plot.Figure{
		Name:    "gd",
		Title:   "Losses of pairs over iterations (dashed: published formula)",
		XLabel:  "share of the local loss",
		YLabel:  "share of pairs with at most this (%)",
		LogX:    true,
		Percent: true,
		Markers: true,
		Caption: "Iterations added up as if each stood alone: an estimate, not a guarantee. Dashed: the " +
			"published formula, which is not a bound.",
	}
	var columns [][]float64 // cumulative shares of pairs: formula and estimate, one graph and fresh ones
	var most, mean []float64
	for _, fresh := range []bool{false, true} {
		formula, estimate, err := size.losses(ctx, fresh)
		if err != nil {
			return nil, err
		}
		name := "one graph"
		if fresh {
			name = "fresh graphs"
		}
		for k, losses := range [][]float64{formula, estimate} {
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
	}
	order := []int{0, 2, 1, 3}
	row := func(name string, of func(column int) float64) {
		cells, figures := []string{name}, []float64(nil)
		for _, c := range order {
			cells, figures = append(cells, fmt.Sprintf("%.4f", of(c))), append(figures, of(c))
		}
		d.AddRow(cells, reproduce.Seeds(size.iterations),
			fmt.Sprintf("seed004-gd graph er p ln(n)/n agents %d iterations %d observers %d noise 1 row %s",
				size.agents, size.iterations, size.observers, name), figures...)
	}
	for b, x := range fractions {
		row(fmt.Sprintf("%g", x), func(c int) float64 { return columns[c][b] })
	}
	row("mean (not a guarantee)", func(c int) float64 { return mean[c] })
	row("largest", func(c int) float64 { return most[c] })
	d.Figures = append(d.Figures, fig)
	d.Notes = []string{
		fmt.Sprintf("%d agents, %d iterations of one noised step and averaging, %d observers, pairs of an "+
			"observer and any other agent; Erdos-Renyi graphs, p = ln n/n, Metropolis weights; rounds as "+
			"in the public code at s = 1", size.agents, size.iterations, size.observers),
		"cells are the share of pairs whose loss is at most that share of the local loss of all iterations",
		"estimate: exact leaks of each iteration's averaging taken alone, added up. Over iterations other " +
			"agents react to an agent's steps through messages that the observer does not see: what holds " +
			"is the composition against everyone, share 1",
		"formula: claimed, above 1 in places where the local loss cannot be",
		reproduce.RowNote,
	}
	if opt.Scale == reproduce.Smoke {
		d.Notes = append(d.Notes, "scale smoke: few agents, iterations and observers")
	}
	return d, nil
}

// losses are those of all pairs, divided by the local loss of all iterations.
func (size gdSize) losses(ctx context.Context, fresh bool) (formula, estimate []float64, err error) {
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
		g, err := size.gossip(uint64(1 + t))
		if err != nil {
			return nil, nil, err
		}
		for o := range sums {
			if err := ctx.Err(); err != nil {
				return nil, nil, err
			}
			v := o * n / size.observers
			printed, err := g.MuffliatoPrinted(v)
			if err != nil {
				return nil, nil, err
			}
			view, err := g.View(network.Observer(v))
			if err != nil {
				return nil, nil, err
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
				formula, estimate = append(formula, s[0][u]/float64(size.iterations)),
					append(estimate, s[1][u]/float64(size.iterations))
			}
		}
	}
	return formula, estimate, nil
}

func (size gdSize) gossip(seed uint64) (*network.Gossip, error) {
	n := float64(size.agents)
	g, err := drawGraph("er", size.agents, seed, func(p any) { p.(*topology.ERParams).P = math.Log(n) / n })
	if err != nil {
		return nil, err
	}
	rounds, err := publishedRounds(g, 1)
	if err != nil {
		return nil, err
	}
	mixing, err := exposure.Mixing(topology.Static(g), rounds)
	return &network.Gossip{Agents: size.agents, Rounds: mixing}, err
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
