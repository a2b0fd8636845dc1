package muffliato2022

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strings"

	"sotto/report/plot"
	"sotto/reproduce"
)

// sgdSize is how much of the study is computed.
type sgdSize struct {
	agents, steps, seeds int
}

var sgdSizes = map[reproduce.Scale]sgdSize{reproduce.Smoke: {16, 8, 1}, reproduce.Full: {64, 20, 3}}

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
	size := sgdSizes[opt.Scale]
	d := reproduce.NewTable("graph", "noise by", "degree", "gap", "rounds", "noise²",
		"mean loss, formula (not a bound)", "exact (estimate)", "against everyone", "excess",
		"exact averages", "theorem, order", "excess/order")
	fig := plot.Figure{
		Name:    "sgd",
		Title:   "Excess loss over noise of a step",
		XLabel:  "noise² of a step",
		YLabel:  "F - F*",
		LogX:    true,
		LogY:    true,
		Markers: true,
		Caption: "Each graph at the noise by exact leaks, by the published formula, and local noise. Mean " +
			"over seeds; band: one standard deviation.",
	}
	central, err := size.line(ctx, d, nil, "central",
		renyiOrder/(2*renyiLoss)*float64(size.steps)/float64(size.agents))
	if err != nil {
		return nil, err
	}
	fig.Curves = append(fig.Curves, plot.Curve{Name: "central", Points: []plot.Point{central}})
	for _, a := range averagers(size.agents) {
		if err := a.measure(ctx, size.agents); err != nil {
			return nil, err
		}
		curve := plot.Curve{Name: a.name}
		for _, c := range []struct {
			name string
			loss float64
		}{{"exact", a.exact}, {"formula", a.formula}, {"local", 1}} {
			p, err := size.line(ctx, d, &a, c.name, renyiOrder/(2*renyiLoss)*float64(size.steps)*c.loss)
			if err != nil {
				return nil, err
			}
			curve.Points = append(curve.Points, p)
		}
		fig.Curves = append(fig.Curves, curve)
	}
	d.Figures = append(d.Figures, fig)
	d.Notes = []string{
		fmt.Sprintf("%d agents, %d steps of %g on quadratics with curvatures %g to %g in %d dimensions, "+
			"minimisers .1 apart, %d seeds; accelerated averaging after each step, with the published "+
			"number of rounds; noise² is that of an owner's gradient, whose sensitivity is taken as 1",
			size.agents, size.steps, sgdStep, sgdLow, sgdHigh, sgdDim, size.seeds),
		fmt.Sprintf("noise by: exact, formula: the worst observer's mean loss over all steps is the "+
			"budget, Rényi divergence %g at order %g; local: the loss against everyone is; central: noise "+
			"of a trusted curator on the mean gradient, times n", renyiLoss, renyiOrder),
		"losses are multiples of the budget. exact (estimate): leaks of each step's averaging taken " +
			"alone, added up. Other agents react to an agent's step through messages that the observer " +
			"does not see, so that no guarantee follows; what holds is the loss against everyone",
		"excess: F - F* of an agent's last model, mean over agents; exact averages: what the recursion " +
			"gives if every averaging were exact. The theorem is about the average iterate, and hides " +
			"constants and logarithms: αpΔ²d/(n²με√gap), for central without d/√gap",
		reproduce.RowNote,
	}
	if opt.Scale == reproduce.Smoke {
		d.Notes = append(d.Notes, "scale smoke: 16 agents, few steps, one seed")
	}
	return d, nil
}

// line appends the row of a graph, nil for one trusted curator, at a noise², and returns
// its point.
func (size sgdSize) line(ctx context.Context, d *reproduce.Document, a *averager, by string,
	square float64) (plot.Point, error) {
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
			return plot.Point{}, err
		}
		excess = append(excess, float64(s.Loss))
	}
	unit := renyiOrder * float64(size.steps) / 2 / renyiLoss // of the loss against everyone
	order := renyiOrder * sgdDim / (n * n * sgdLow * renyiLoss)
	predicted, graph := size.predicted(square/n), ""
	figures := append(slices.Clone(excess), square, predicted)
	row := []string{"", by, "", "", "", fmt.Sprintf("%.4g", square), "", "", "", excess.Significant(),
		fmt.Sprintf("%.4g", predicted), "", ""}
	if a != nil {
		graph = strings.Join(a.settings(), " ")
		order *= float64(a.degree) / math.Sqrt(a.gap)
		row[0], row[2], row[3], row[4] = a.name, fmt.Sprint(a.degree), fmt.Sprintf("%.4f", a.gap),
			fmt.Sprint(a.rounds)
		for c, loss := range []float64{a.formula, a.exact, 1} {
			row[6+c] = fmt.Sprintf("%.4g", unit*loss/square)
			figures = append(figures, unit*loss/square)
		}
	}
	row[11], row[12] = fmt.Sprintf("%.4g", order), fmt.Sprintf("%.3g", excess.Mean()/order)
	settings := fmt.Sprintf("seed004-sgd order %g loss %g agents %d steps %d noise by %s %s %s", renyiOrder,
		renyiLoss, size.agents, size.steps, by, graph, sgdBase)
	d.AddRow(row, reproduce.Seeds(size.seeds), settings, append(figures, order)...)
	return excess.LogBand(square), nil
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
