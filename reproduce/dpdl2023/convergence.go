package dpdl2023

import (
	"context"
	"fmt"
	"math"
	"slices"

	"sotto/report/plot"
	"sotto/reproduce"
)

// convergenceSize is how much of the convergence study is run.
type convergenceSize struct {
	dim, rounds, trials int
	at                  []int // rounds that the table shows
}

var convergenceSizes = map[reproduce.Scale]convergenceSize{
	reproduce.Smoke: {dim: 5, rounds: 60, trials: 2, at: []int{0, 10, 60}},
	reproduce.Full:  {dim: 100, rounds: 1000, trials: 10, at: []int{0, 1, 10, 30, 100, 300, 1000}},
}

// convergenceNoise is the noise on every coordinate of an answer.
const convergenceNoise = .5

// convergence sets the bound (23) beside the measured distance to the optimum. The paper
// assumes (9): without noise every round brings M(θ) nearer to M(θ*) by a factor ρ. With
// M(θ) = θ, all agents' models, and agents with a common optimum, DP-DSGD does, with a ρ
// that is known; (23) is then
//
//	E‖θ^k - θ*‖ <= ρ^k ‖θ^0 - θ*‖ + η s/(1-ρ) E‖ξ‖,  ξ ~ N(0, I) in n·d dimensions,
//
// K = 1, C_η = η and C_σ = s. The proof writes D = E‖ξ‖ = O(σ), which hides √(nd).
func convergence(ctx context.Context, opt reproduce.Options) (*reproduce.Document, error) {
	size := convergenceSizes[opt.Scale]
	quadratic, err := newQuadratic(size.dim, .5, 1, 0, 1)
	if err != nil {
		return nil, err
	}
	logistic, err := newLogistic(size.dim, 1)
	if err != nil {
		return nil, err
	}
	apart, err := newQuadratic(size.dim, .5, 1, 1, 1)
	if err != nil {
		return nil, err
	}
	d := reproduce.NewTable("problem", "algorithm", "round", "measured", "predicted", "bound (23)",
		"measured / bound", "bound with D = 1")
	for _, p := range []*problem{quadratic, logistic} {
		if err := addConvergence(ctx, d, p, size, opt.Sweep.Workers); err != nil {
			return nil, err
		}
	}
	d.Notes = append(d.Notes,
		fmt.Sprintf("measured: distance of all agents' models from the optimum, ‖θ^k - θ*‖, mean and sd "+
			"over %d noise seeds; predicted: its root mean square by the exact recursion (quadratics "+
			"only); %d agents on a ring, %d dimensions, step %g, noise %g on each coordinate of each "+
			"answer, whole data sets for batches, no clipping",
			size.trials, ringAgents, size.dim, convexStep, convergenceNoise),
		fmt.Sprintf("DP-DSGD satisfies assumption (9) with a known contraction: %.4g on the quadratic, "+
			"%.4g on the logistic regression, where it holds at any point and is loose",
			quadratic.contraction(), logistic.contraction()),
		fmt.Sprintf("the bound's D is E‖ξ‖ = %.4g in the %d dimensions of all agents; the paper's D = "+
			"O(σ) hides it: with D = 1, σ being in C_σ, the last column is what would have to hold, and "+
			"in enough dimensions does not", normalNorm(ringAgents*size.dim), ringAgents*size.dim))
	d.Notes = append(d.Notes, reproduce.RowNote)
	if err := addPremise(ctx, d, quadratic, apart, size, opt.Sweep.Workers); err != nil {
		return nil, err
	}
	if opt.Scale == reproduce.Smoke {
		d.Notes = append(d.Notes, "scale smoke: few rounds and trials")
	}
	return d, nil
}

// bound23 is the bound for DP-DSGD after k rounds, with norm for E‖ξ‖.
func (p *problem) bound23(k int, start, norm float64) float64 {
	rho := p.contraction()
	return math.Pow(rho, float64(k))*start + convexStep*convergenceNoise/(1-rho)*norm
}

// addConvergence appends rows and a plot of one problem.
func addConvergence(ctx context.Context, d *reproduce.Document, p *problem, size convergenceSize,
	workers int) error {
	var runs []simulation
	for _, m := range methods {
		for seed := range size.trials {
			runs = append(runs, simulation{p, m, convergenceNoise, size.rounds, uint64(seed + 1)})
		}
	}
	all, err := simulateAll(ctx, runs, workers)
	if err != nil {
		return err
	}
	norm := normalNorm(ringAgents * len(p.optimum))
	fig := plot.Figure{
		Name:    "convergence-" + p.name,
		Title:   "Distance to the optimum, " + p.name + " (dashed: bound (23))",
		XLabel:  "round",
		YLabel:  "distance of all models",
		LogY:    true,
		Caption: "Line: mean over seeds; band: one standard deviation. Dashed: the bound (23) for DP-DSGD.",
	}
	for j, m := range methods {
		trials := all[j*size.trials : (j+1)*size.trials]
		var exact []float64
		if p.hessian != nil {
			exact = predicted(p, m, convergenceNoise, size.rounds)
		}
		curve := plot.Curve{Name: methodNames[m]}
		bound := plot.Curve{Name: "bound (23), DP-DSGD", Dashed: true}
		for k := range size.rounds + 1 {
			s := atRound(trials, k)
			if step := max(1, size.rounds/200); k%step == 0 {
				curve.Points = append(curve.Points, plot.Point{
					X:    float64(k),
					Y:    s.Mean(),
					Low:  s.Mean() - s.SD(),
					High: s.Mean() + s.SD(),
				})
				b := p.bound23(k, trials[0][0], norm)
				bound.Points = append(bound.Points, reproduce.At(float64(k), b))
			}
			if !slices.Contains(size.at, k) {
				continue
			}
			line := []string{p.name, m, fmt.Sprint(k), fmt.Sprintf("%.4g ± %.2g", s.Mean(), s.SD()), "", "",
				"", ""}
			figures := slices.Clone(s)
			if exact != nil {
				line[4] = fmt.Sprintf("%.4g", exact[k])
				figures = append(figures, exact[k])
			}
			if m == "dsgd" {
				b := p.bound23(k, trials[0][0], norm)
				line[5], line[6] = fmt.Sprintf("%.4g", b), fmt.Sprintf("%.3f", s.Mean()/b)
				line[7] = fmt.Sprintf("%.4g", p.bound23(k, trials[0][0], 1))
				figures = append(figures, b, p.bound23(k, trials[0][0], 1))
			}
			d.AddRow(line, reproduce.Seeds(size.trials),
				fmt.Sprintf("seed000-convergence problem %s dimensions %d algorithm %s step %g noise %g "+
					"agents %d round %d", p.name, len(p.optimum), m, convexStep, convergenceNoise, ringAgents,
					k), figures...)
		}
		fig.Curves = append(fig.Curves, curve)
		if m == "dsgd" {
			bound.Like = curve.Name
			fig.Curves = append(fig.Curves, bound)
		}
	}
	d.Figures = append(d.Figures, fig)
	return nil
}

// atRound collects the distances of trials after k rounds.
func atRound(trials [][]float64, k int) reproduce.Sample {
	var s reproduce.Sample
	for _, t := range trials {
		s = append(s, t[k])
	}
	return s
}

// addPremise says what the algorithms do without noise: whether every round comes nearer
// to the optimum, as (9) assumes, and whether they end there when agents have optima of
// their own.
func addPremise(ctx context.Context, d *reproduce.Document, common, apart *problem, size convergenceSize,
	workers int) error {
	var runs []simulation
	for _, m := range methods {
		runs = append(runs, simulation{common, m, 0, size.rounds, 1}, simulation{apart, m, 0, size.rounds, 1})
	}
	all, err := simulateAll(ctx, runs, workers)
	if err != nil {
		return err
	}
	for j, m := range methods {
		holds := "below 1 as (9) assumes"
		worst := largestRatio(all[2*j])
		if worst >= 1 {
			holds = "so that (9) holds for no contraction below 1 and (23) does not apply"
		}
		far := all[2*j+1]
		d.Notes = append(d.Notes,
			fmt.Sprintf("%s without noise: the distance of a round over that of the round before is %.4g "+
				"at most, %s; with optima of their own at the agents (spread 1) the distance goes from "+
				"%.3g to %.2g",
				methodNames[m], worst, holds, far[0], far[len(far)-1]))
	}
	return nil
}

// largestRatio is the largest of one distance over the one before, down to a
// ten-thousandth of the first, above what float32 rounds off.
func largestRatio(distances []float64) float64 {
	worst := 0.
	for k := 1; k < len(distances) && distances[k-1] > 1e-4*distances[0]; k++ {
		worst = max(worst, distances[k]/distances[k-1])
	}
	return worst
}
