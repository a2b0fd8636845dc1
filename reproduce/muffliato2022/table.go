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

// tableSizes are the numbers of agents.
var tableSizes = map[reproduce.Scale][]int{reproduce.Smoke: {16}, reproduce.Full: {64, 256}}

const (
	renyiOrder = 2. // α
	renyiLoss  = 1. // ε: Rényi divergence at order α
)

// tableBase averages values with the noise of a calibration.
const tableBase = `
name = "seed004-table"

[data]
dataset = "values"
partition = "natural"
dim = 2000

[model]
name = "mean"

[algorithm]
name = "gossip-average"
acceleration = "paper"

[privacy]
unit = "owner"
adjacency = "zero-out"
max_grad_norm = 1000.0
target_delta = 1e-4

[evaluate]
estimation = true
`

// averageTable is the published table of mean squared errors with figures: noise is such
// that the worst observer's mean loss is ε, by the published formula and by the exact
// leak.
func averageTable(ctx context.Context, opt reproduce.Options) (*reproduce.Document, error) {
	d := reproduce.NewTable("graph", "agents", "degree", "gap", "rounds", "mean loss, formula (not a bound)",
		"exact (not a guarantee)", "noise², formula", "exact", "MSE/central, published order", "formula",
		"exact", "measured, exact", "epsilon by the exact mean at the formula's noise",
		"worst pair at the exact noise")
	fig := plot.Figure{
		Name:    "table",
		Title:   "Mean squared error over that of central noise (dashed: noise by the formula)",
		XLabel:  "agents",
		YLabel:  "times the central error",
		LogY:    true,
		LogX:    true,
		Markers: true,
		Caption: "Noise such that the worst observer's mean loss is the budget, which is no guarantee for " +
			"any pair. Local noise: as many times as there are agents.",
	}
	for _, a := range averagers(0) {
		exact, formula := plot.Curve{Name: a.name},
			plot.Curve{Name: a.name + ", formula", Like: a.name, Dashed: true}
		for _, n := range tableSizes[opt.Scale] {
			c := averagers(n)[slices.IndexFunc(averagers(n), func(x averager) bool {
				return x.name == a.name
			})]
			if err := c.measure(ctx, n); err != nil {
				return nil, err
			}
			if err := c.row(ctx, d); err != nil {
				return nil, err
			}
			x := float64(n)
			point := func(y float64) plot.Point { return reproduce.At(x, y) }
			exact.Points, formula.Points = append(exact.Points, point(c.ratio(c.exact))),
				append(formula.Points, point(c.ratio(c.formula)))
		}
		fig.Curves = append(fig.Curves, exact, formula)
	}
	d.Figures = append(d.Figures, fig)
	d.Notes = []string{
		fmt.Sprintf("Rényi divergence of order %g, budget %g, sensitivity 1; losses in units of "+
			"αΔ²/(2s²), noise² in αΔ²/(2ε); rounds as in the public code at s = 1, accelerated as there; "+
			"expander: random 4-regular; arbitrary: geometric", renyiOrder, renyiLoss),
		"mean loss: over all agents but the observer, divided by n, of the worst observer. The " +
			"publication calibrates noise by it (slides, private gossip averaging); it is no guarantee " +
			"for any single agent",
		"MSE/central: mean squared error of the agents' averages over αpΔ²/(2n²ε), a trusted curator's. " +
			"Local noise has n, at an exact average. Formula and exact: n times the mean loss times " +
			"‖P‖_F², P the matrix of all rounds; measured: a run of the engine, 2,000 coordinates, which " +
			"adds what the rounds leave of the values' differences",
		"published order: 1 for an expander, d/√gap for an arbitrary graph, n for complete graph and " +
			"ring, without constants and logarithms",
		"the last two columns are multiples of the budget: what the exact mean loss is where the formula " +
			"says 1, and what the worst pair loses where the exact mean is 1. A neighbor loses all that " +
			"is released",
		reproduce.RowNote,
	}
	if opt.Scale == reproduce.Smoke {
		d.Notes = append(d.Notes, "scale smoke: 16 agents")
	}
	return d, nil
}

// ratio is the mean squared error over the central one with noise for a mean loss.
func (a *averager) ratio(loss float64) float64 { return float64(a.agents) * loss * a.spread }

// published is the published order of ratio.
func (a *averager) published() float64 {
	switch a.name {
	case "expander":
		return 1
	case "complete", "ring":
		return float64(a.agents)
	}
	return float64(a.degree) / math.Sqrt(a.gap)
}

// row appends the line of a graph that was measured.
func (a *averager) row(ctx context.Context, d *reproduce.Document) error {
	unit := renyiOrder / (2 * renyiLoss) // αΔ²/(2ε)
	set := append(a.settings(), fmt.Sprintf("rounds=%d", a.rounds+1),
		fmt.Sprintf("privacy.noise_multiplier=%s", reproduce.Exactly(math.Sqrt(unit*a.exact)/1000)))
	s, err := runOnce(ctx, tableBase, set)
	if err != nil {
		return err
	}
	n := float64(a.agents)
	measured := n * n * float64(s.Estimation.Mean) * float64(s.Estimation.Mean) / unit
	cells := []string{a.name, fmt.Sprint(a.agents), fmt.Sprint(a.degree), fmt.Sprintf("%.4f", a.gap),
		fmt.Sprint(a.rounds)}
	figures := []float64{a.formula, a.exact, a.formula, a.exact, a.published(), a.ratio(a.formula),
		a.ratio(a.exact), measured, a.exact / a.formula, a.worst / a.exact}
	for _, x := range figures {
		cells = append(cells, fmt.Sprintf("%.4g", x))
	}
	settings := fmt.Sprintf("seed004-table order %g loss %g %s %s", renyiOrder, renyiLoss,
		strings.Join(a.settings(), " "), tableBase)
	d.AddRow(cells, fmt.Sprint(s.Seed), settings,
		append(figures, float64(a.rounds), float64(a.degree), a.gap)...)
	return nil
}
