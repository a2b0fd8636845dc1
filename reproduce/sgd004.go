package reproduce

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strings"

	"sotto/report/plot"
)

// sgd004Size is how much of the study is computed.
type sgd004Size struct {
	agents, steps, seeds int
}

var sgd004Sizes = map[Scale]sgd004Size{Smoke: {16, 8, 1}, Full: {64, 20, 3}}

const (
	sgd004Dim  = 100
	sgd004Low  = .5 // μ
	sgd004High = 1. // L
	sgd004Step = .5
	// sgd004Clip is above every record's gradient, so that clipping does nothing.
	sgd004Clip = 16 * sgd004Dim * sgd004High
)

// sgd004Base is gossip SGD on strongly convex quadratics, with whole data sets for
// batches.
const sgd004Base = `
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

// sgd004 sets strongly convex gossip SGD beside its theorem, and beside what the same
// noise costs by the published formula and by exact leaks.
func sgd004(ctx context.Context, scale Scale, _ int) (*Document, error) {
	size := sgd004Sizes[scale]
	d := newTable("graph", "noise by", "degree", "gap", "rounds", "noise²",
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
		order004/(2*loss004)*float64(size.steps)/float64(size.agents))
	if err != nil {
		return nil, err
	}
	fig.Curves = append(fig.Curves, plot.Curve{Name: "central", Points: []plot.Point{central}})
	for _, a := range averagers004(size.agents) {
		if err := a.measure(ctx, size.agents); err != nil {
			return nil, err
		}
		curve := plot.Curve{Name: a.name}
		for _, c := range []struct {
			name string
			loss float64
		}{{"exact", a.exact}, {"formula", a.formula}, {"local", 1}} {
			p, err := size.line(ctx, d, &a, c.name, order004/(2*loss004)*float64(size.steps)*c.loss)
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
			size.agents, size.steps, sgd004Step, sgd004Low, sgd004High, sgd004Dim, size.seeds),
		fmt.Sprintf("noise by: exact, formula: the worst observer's mean loss over all steps is the "+
			"budget, Rényi divergence %g at order %g; local: the loss against everyone is; central: noise "+
			"of a trusted curator on the mean gradient, times n", loss004, order004),
		"losses are multiples of the budget. exact (estimate): leaks of each step's averaging taken " +
			"alone, added up. Other agents react to an agent's step through messages that the observer " +
			"does not see, so that no guarantee follows; what holds is the loss against everyone",
		"excess: F - F* of an agent's last model, mean over agents; exact averages: what the recursion " +
			"gives if every averaging were exact. The theorem is about the average iterate, and hides " +
			"constants and logarithms: αpΔ²d/(n²με√gap), for central without d/√gap",
		rowNote,
	}
	if scale == Smoke {
		d.Notes = append(d.Notes, "scale smoke: 16 agents, few steps, one seed")
	}
	return d, nil
}

// line appends the row of a graph, nil for one trusted curator, at a noise², and returns
// its point.
func (size sgd004Size) line(ctx context.Context, d *Document, a *averager004, by string,
	square float64) (plot.Point, error) {
	var excess sample
	n := float64(size.agents)
	for seed := range size.seeds {
		set := []string{fmt.Sprintf("seed=%d", seed+1),
			fmt.Sprintf("privacy.noise_multiplier=%s", exactly(math.Sqrt(square)*sgd004Dim/sgd004Clip))}
		if a == nil { // a curator's noise is on the mean: so is that of exact averages
			set = append(set, `topology.graph="complete"`, fmt.Sprintf("topology.agents=%d", size.agents),
				fmt.Sprintf("data.agents=%d", size.agents), fmt.Sprintf("rounds=%d", size.steps+1))
		} else {
			set = append(append(set, a.settings()...), `algorithm.acceleration="paper"`,
				fmt.Sprintf("algorithm.gossip=%d", a.rounds), fmt.Sprintf("rounds=%d", size.steps*a.rounds+1))
		}
		s, err := run004(ctx, sgd004Base, set)
		if err != nil {
			return plot.Point{}, err
		}
		excess = append(excess, float64(s.Loss))
	}
	unit := order004 * float64(size.steps) / 2 / loss004 // of the loss against everyone
	order := order004 * sgd004Dim / (n * n * sgd004Low * loss004)
	predicted, graph := size.predicted(square/n), ""
	figures := append(slices.Clone(excess), square, predicted)
	row := []string{"", by, "", "", "", fmt.Sprintf("%.4g", square), "", "", "", excess.significant(),
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
	row[11], row[12] = fmt.Sprintf("%.4g", order), fmt.Sprintf("%.3g", excess.mean()/order)
	settings := fmt.Sprintf("seed004-sgd order %g loss %g agents %d steps %d noise by %s %s %s", order004,
		loss004, size.agents, size.steps, by, graph, sgd004Base)
	d.addRow(row, seeds(size.seeds), settings, append(figures, order)...)
	p := plot.Point{X: square, Y: excess.mean(), Low: excess.mean(), High: excess.mean()}
	if size.seeds > 1 {
		p.Low, p.High = max(p.Y-excess.sd(), p.Y/10), p.Y+excess.sd()
	}
	return p, nil
}

// predicted is the noise's part of the excess with noise of a variance on the mean
// gradient of every step, from the optimum: the recursion e <- (1 - γh) e - γ noise for
// each curvature.
func (size sgd004Size) predicted(variance float64) float64 {
	sum := 0.
	for r := range sgd004Dim {
		h := sgd004Low * math.Pow(sgd004High/sgd004Low, float64(r)/(sgd004Dim-1))
		keep := (1 - sgd004Step*h) * (1 - sgd004Step*h)
		sum += h / 2 * sgd004Step * sgd004Step * variance * (1 - math.Pow(keep, float64(size.steps))) /
			(1 - keep)
	}
	return sum
}
