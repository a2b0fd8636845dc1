package muffliato2022

import (
	"context"
	"fmt"
	"math"
	"slices"

	"sotto/report/plot"
	"sotto/reproduce"
)

// sgdSize is how much of the study is computed.
type sgdSize struct {
	agents, steps, seeds int // agents: one of sgdAgents
}

var sgdSizes = map[reproduce.Scale]sgdSize{reproduce.Smoke: {steps: 8, seeds: 1},
	reproduce.Full: {steps: 20, seeds: 3}}

// sgdAgents are the numbers of agents.
var sgdAgents = map[reproduce.Scale][]int{reproduce.Smoke: {16, 32}, reproduce.Full: {64, 128, 256, 512}}

const (
	sgdDim  = 100
	sgdLow  = .5 // μ
	sgdHigh = 1. // L
	sgdStep = .5
	// sgdClip is above every record's gradient, so that clipping does nothing.
	sgdClip = 16 * sgdDim * sgdHigh
)

// sgdBase is gossip SGD on strongly convex quadratics, with whole data sets for
// batches.
const sgdBase = `
name = "seed004-sgd"

[data]
dataset = "quadratics"
partition = "natural"
dim = 100
curvature_min = 0.5
curvature_max = 1.0
spread = 0.1

[model]
name = "least-squares"

[algorithm]
name = "gossip-sgd"
step_size = 0.5
weight_decay = 0.0

[privacy]
sample_rate = 1.0
max_grad_norm = 1600.0
target_delta = 1e-4
accountant = "gdp"
`

// gossipSGD sets strongly convex gossip SGD beside its theorem, and beside what the same
// noise costs by the published formula and by exact leaks.
func gossipSGD(ctx context.Context, opt reproduce.Options) (*reproduce.Document, error) {
	d := reproduce.NewTable("graph", "agents", "noise by", "degree", "gap", "rounds", "noise²",
		"mean loss, formula (not a bound)", "exact (estimate)", "against everyone", "excess",
		"exact averages", "theorem, order", "excess/order")
	noise := sgdFigure("sgd", "Excess loss over noise of a step", "noise² of a step",
		"Each graph at the noise by exact leaks, by the published formula, and local noise. Mean over "+
			"seeds; band: one standard deviation.")
	orders := sgdFigure("sgd-order", "Excess loss over agents, noise by exact leaks", "agents",
		"Dashed: the theorem's leading term, without constants and logarithms. Mean over seeds; band: one "+
			"standard deviation.")
	lines := map[string][]sgdLine{} // by graph and noise
	size, sizes := sgdSizes[opt.Scale], sgdAgents[opt.Scale]
	var names []string
	for _, size.agents = range sizes {
		curves, err := size.graphs(ctx, d, func(name string, l sgdLine) {
			if len(lines[name]) == 0 {
				names = append(names, name)
			}
			lines[name] = append(lines[name], l)
		})
		if err != nil {
			return nil, err
		}
		if size.agents == sizes[0] {
			noise.Curves = curves
		}
	}
	for _, name := range names {
		sgdSlopes(d, &orders, name, sizes, lines[name])
	}
	d.Figures = append(d.Figures, noise, orders)
	d.Notes = size.notes(sizes)
	if opt.Scale == reproduce.Smoke {
		d.Notes = append(d.Notes, "scale smoke: few agents and steps, one seed")
	}
	return d, nil
}

func sgdFigure(name, title, x, caption string) plot.Figure {
	return plot.Figure{
		Name:    name,
		Title:   title,
		XLabel:  x,
		YLabel:  "F - F*",
		LogX:    true,
		LogY:    true,
		Markers: true,
		Caption: caption,
	}
}

// notes say what the table's columns are.
func (size sgdSize) notes(sizes []int) []string {
	return []string{
		fmt.Sprintf("%v agents, %d steps of %g on quadratics with curvatures %g to %g in %d dimensions, "+
			"minimisers .1 apart, %d seeds; accelerated averaging after each step, with the published "+
			"number of rounds; noise² is that of an owner's gradient, whose sensitivity is taken as 1",
			sizes, size.steps, sgdStep, sgdLow, sgdHigh, sgdDim, size.seeds),
		fmt.Sprintf("noise by: exact, formula: the worst observer's mean loss over all steps is the "+
			"budget, Rényi divergence %g at order %g; local: the loss against everyone is; central: noise "+
			"of a trusted curator on the mean gradient, times n", renyiLoss, renyiOrder),
		"losses are multiples of the budget. exact (estimate): leaks of each step's averaging taken " +
			"alone, added up. Other agents react to an agent's step through messages that the observer " +
			"does not see, so that no guarantee follows; what holds is the loss against everyone",
		"excess: F - F* of an agent's last model, mean over agents; exact averages: what the recursion " +
			"gives if every averaging were exact. The theorem is about the average iterate, and hides " +
			"constants and logarithms: αpΔ²d/(n²με√gap), for central without d/√gap",
		slopeNote + ", at one noise",
		fmt.Sprintf("expander and geometric graph of more than %d agents: %d observers, spread evenly",
			mostObservers, someObservers),
		reproduce.RowNote,
	}
}

// graphs appends the rows of all graphs of one size and hands on what slopes are fitted
// to. It returns the excess over noise of each graph.
func (size sgdSize) graphs(ctx context.Context, d *reproduce.Document,
	keep func(name string, l sgdLine)) ([]plot.Curve, error) {
	central, err := size.line(ctx, d, nil, "central",
		renyiOrder/(2*renyiLoss)*float64(size.steps)/float64(size.agents))
	if err != nil {
		return nil, err
	}
	keep("central", central)
	curves := []plot.Curve{{Name: "central", Points: []plot.Point{central.over(central.noise)}}}
	for _, a := range averagers(size.agents) {
		if err := a.measure(ctx, size.agents); err != nil {
			return nil, err
		}
		curve := plot.Curve{Name: a.name}
		for _, c := range []struct {
			name string
			loss float64
		}{{"exact", a.exact}, {"formula", a.formula}, {"local", 1}} {
			l, err := size.line(ctx, d, &a, c.name, renyiOrder/(2*renyiLoss)*float64(size.steps)*c.loss)
			if err != nil {
				return nil, err
			}
			curve.Points = append(curve.Points, l.over(l.noise))
			if c.name == "exact" {
				keep(a.name, l)
			}
		}
		curves = append(curves, curve)
	}
	return curves, nil
}

// sgdLine is what a row has for slopes and plots.
type sgdLine struct {
	noise, predicted, order float64
	excess                  reproduce.Sample
}

func (l *sgdLine) over(x float64) plot.Point { return l.excess.LogBand(x) }

// sgdSlopes appends the exponents of n of a graph's lines, and their curves.
func sgdSlopes(d *reproduce.Document, fig *plot.Figure, name string, sizes []int, lines []sgdLine) {
	excess, order := plot.Curve{Name: name}, plot.Curve{Name: name + ", theorem", Like: name, Dashed: true}
	var all [][]float64
	for i, l := range lines {
		x := float64(sizes[i])
		excess.Points = append(excess.Points, l.over(x))
		order.Points = append(order.Points, reproduce.At(x, l.order))
		mean := l.excess.Mean()
		all = append(all, []float64{l.noise, mean, l.predicted, l.order, mean / l.order})
	}
	fig.Curves = append(fig.Curves, excess, order)
	of := slopes(sizes, all)
	by := "exact"
	if name == "central" {
		name, by = "", "central"
	}
	cells := []string{name, fmt.Sprintf("slope, %d to %d", sizes[0], sizes[len(sizes)-1]), by, "", "", "",
		fmt.Sprintf("%.2f", of[0]), "", "", ""}
	for _, x := range of[1:] {
		cells = append(cells, fmt.Sprintf("%.2f", x))
	}
	d.AddRow(cells, "", fmt.Sprintf("seed004-sgd slopes of %s over %v agents", name, sizes), of...)
}

// line appends the row of a graph, nil for one trusted curator, at a noise².
func (size sgdSize) line(ctx context.Context, d *reproduce.Document, a *averager, by string,
	square float64) (l sgdLine, err error) {
	var excess reproduce.Sample
	n := float64(size.agents)
	for seed := range size.seeds {
		set := []string{fmt.Sprintf("seed=%d", seed+1),
			fmt.Sprintf("privacy.noise_multiplier=%s", reproduce.Exactly(math.Sqrt(square)*sgdDim/sgdClip))}
		if a == nil { // a curator's noise is on the mean: so is that of exact averages
			set = append(set, `topology.graph="complete"`, fmt.Sprintf("topology.agents=%d", size.agents),
				fmt.Sprintf("data.agents=%d", size.agents), fmt.Sprintf("rounds=%d", size.steps+1))
		} else {
			set = append(append(set, a.settings()...), `algorithm.acceleration="paper"`,
				fmt.Sprintf("algorithm.gossip=%d", a.rounds), fmt.Sprintf("rounds=%d", size.steps*a.rounds+1))
		}
		s, err := runOnce(ctx, sgdBase, set)
		if err != nil {
			return l, err
		}
		excess = append(excess, float64(s.Loss))
	}
	unit := renyiOrder * float64(size.steps) / 2 / renyiLoss // of the loss against everyone
	order := renyiOrder * sgdDim / (n * n * sgdLow * renyiLoss)
	predicted, graph := size.predicted(square/n), ""
	figures := append(slices.Clone(excess), square, predicted)
	row := []string{"", fmt.Sprint(size.agents), by, "", "", "", fmt.Sprintf("%.4g", square), "", "", "",
		excess.Significant(),
		fmt.Sprintf("%.4g", predicted), "", ""}
	if a != nil {
		graph = a.text()
		order *= float64(a.degree) / math.Sqrt(a.gap)
		row[0], row[3], row[4], row[5] = a.name, fmt.Sprint(a.degree), fmt.Sprintf("%.4f", a.gap),
			fmt.Sprint(a.rounds)
		for c, loss := range []float64{a.formula, a.exact, 1} {
			row[7+c] = fmt.Sprintf("%.4g", unit*loss/square)
			figures = append(figures, unit*loss/square)
		}
	}
	row[12], row[13] = fmt.Sprintf("%.4g", order), fmt.Sprintf("%.3g", excess.Mean()/order)
	settings := fmt.Sprintf("seed004-sgd order %g loss %g agents %d steps %d noise by %s %s %s", renyiOrder,
		renyiLoss, size.agents, size.steps, by, graph, sgdBase)
	d.AddRow(row, reproduce.Seeds(size.seeds), settings, append(figures, order)...)
	return sgdLine{square, predicted, order, excess}, nil
}

// predicted is the noise's part of the excess with noise of a variance on the mean
// gradient of every step, from the optimum: the recursion e <- (1 - γh) e - γ noise for
// each curvature.
func (size sgdSize) predicted(variance float64) float64 {
	sum := 0.
	for r := range sgdDim {
		h := sgdLow * math.Pow(sgdHigh/sgdLow, float64(r)/(sgdDim-1))
		keep := (1 - sgdStep*h) * (1 - sgdStep*h)
		sum += h / 2 * sgdStep * sgdStep * variance * (1 - math.Pow(keep, float64(size.steps))) /
			(1 - keep)
	}
	return sum
}
