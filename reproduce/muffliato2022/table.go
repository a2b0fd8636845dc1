package muffliato2022

import (
	"context"
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/stat"

	"sotto/report/plot"
	"sotto/reproduce"
)

// tableSizes are the numbers of agents.
var tableSizes = map[reproduce.Scale][]int{reproduce.Smoke: {16, 32},
	reproduce.Full: {64, 128, 256, 512, 1024}}

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
		"worst pair at the exact noise", "mean loss, second line (not a bound)")
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
		var all [][]float64
		for _, n := range tableSizes[opt.Scale] {
			c := averagerOf(a.name, n)
			if err := c.measure(ctx, n); err != nil {
				return nil, err
			}
			figures, err := c.row(ctx, d)
			if err != nil {
				return nil, err
			}
			x := float64(n)
			all = append(all, figures)
			exact.Points = append(exact.Points, reproduce.At(x, c.ratio(c.exact)))
			formula.Points = append(formula.Points, reproduce.At(x, c.ratio(c.formula)))
		}
		slopeRow(d, a.name, tableSizes[opt.Scale], all)
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
		"epsilon by the exact mean at the formula's noise and the worst pair are multiples of the budget: " +
			"what the exact mean loss is where the formula says 1, and what the worst pair loses where the " +
			"exact mean is 1. A neighbor loses all that is released",
		"second line: n max W^-2 times the sum of P(X^k = v | X^0 = u)^2, which bounds the formula and not " +
			"the loss (TestClaim54)",
		slopeNote + ". The theory hides logarithms: rounds grow with ln n",
		fmt.Sprintf("expander and geometric graph of more than %d agents: %d observers, spread evenly; all "+
			"otherwise, or one where all are alike", mostObservers, someObservers),
		reproduce.RowNote,
	}
	if opt.Scale == reproduce.Smoke {
		d.Notes = append(d.Notes, "scale smoke: 16 and 32 agents")
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

// averagerOf is the averager of a name.
func averagerOf(name string, agents int) averager {
	all := averagers(agents)
	return all[slices.IndexFunc(all, func(a averager) bool { return a.name == name })]
}

// slopeNote says what lines of slopeRow are.
const slopeNote = "slope: exponent of n, by least squares through the logarithms of the lines above it"

// slope is b of the line a + b ln n closest to ln y, with y above 0.
func slope(n []int, y []float64) float64 {
	x, z := make([]float64, len(n)), make([]float64, len(n))
	for i := range n {
		x[i], z[i] = math.Log(float64(n[i])), math.Log(y[i])
	}
	_, b := stat.LinearRegression(x, z, nil, false)
	return b
}

// slopes are those of each column of rows of figures, one row for each n.
func slopes(n []int, rows [][]float64) []float64 {
	out := make([]float64, len(rows[0]))
	for c := range out {
		y := make([]float64, len(rows))
		for i, r := range rows {
			y[i] = r[c]
		}
		out[c] = slope(n, y)
	}
	return out
}

// slopeRow appends the exponents of n of a graph's lines, whose figures are in all.
func slopeRow(d *reproduce.Document, name string, sizes []int, all [][]float64) {
	of := slopes(sizes, all)
	last := len(of) - 3 // rounds, degree, gap
	cells := []string{name, fmt.Sprintf("slope, %d to %d", sizes[0], sizes[len(sizes)-1])}
	for _, x := range append([]float64{of[last+1], of[last+2], of[last]}, of[:last]...) {
		cells = append(cells, fmt.Sprintf("%.2f", x))
	}
	d.AddRow(cells, "1", fmt.Sprintf("seed004-table slopes of %s over %v agents", name, sizes), of...)
}

// row appends the line of a graph that was measured and returns its figures: those of the
// table, and rounds, degree and gap.
func (a *averager) row(ctx context.Context, d *reproduce.Document) ([]float64, error) {
	unit := renyiOrder / (2 * renyiLoss) // αΔ²/(2ε)
	set := append(a.settings(), fmt.Sprintf("rounds=%d", a.rounds+1),
		fmt.Sprintf("privacy.noise_multiplier=%s", reproduce.Exactly(math.Sqrt(unit*a.exact)/1000)))
	s, err := runOnce(ctx, tableBase, set)
	if err != nil {
		return nil, err
	}
	n := float64(a.agents)
	measured := n * n * float64(s.Estimation.Mean) * float64(s.Estimation.Mean) / unit
	cells := []string{a.name, fmt.Sprint(a.agents), fmt.Sprint(a.degree), fmt.Sprintf("%.4f", a.gap),
		fmt.Sprint(a.rounds)}
	figures := []float64{a.formula, a.exact, a.formula, a.exact, a.published(), a.ratio(a.formula),
		a.ratio(a.exact), measured, a.exact / a.formula, a.worst / a.exact, a.second}
	for _, x := range figures {
		cells = append(cells, fmt.Sprintf("%.4g", x))
	}
	settings := fmt.Sprintf("seed004-table order %g loss %g %s %s", renyiOrder, renyiLoss,
		a.text(), tableBase)
	figures = append(figures, float64(a.rounds), float64(a.degree), a.gap)
	d.AddRow(cells, fmt.Sprint(s.Seed), settings, figures...)
	return figures, nil
}
