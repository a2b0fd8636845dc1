package bellet2018

import (
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/optimize"

	"sotto/experiment/sweep"
	"sotto/report/plot"
	"sotto/reproduce"
)

// Remark 1 of arXiv 1705.08435: for convex Q without strong convexity the error falls as
// 1/t. It names no constant. With B_i = D_ii (1 + μ c_i Λ_i), steps of 1/B_i on a block
// that is uniform among n, and any minimiser Θ*,
//
//	E[Q(t) - Q*] ≤ n/(n + t) (1/2 Σ_i B_i |Θ_i(0) - Θ*_i|² + Q(0) - Q*)
//
// (Lu and Xiao 2015, "On the Complexity Analysis of Randomized Block-Coordinate Descent
// Methods", Theorem 1). Losses here have next to no regulariser, λ = 1e-12 each, with
// which Proposition 1 promises nothing: C^t > .999999 after all wakes.

const convexLambda = 1e-12

// convexWakes are those with rows in the table.
var convexWakes = []uint64{500, 2000, 10_000, 50_000}

func convexTask(dim int) task {
	return task{
		mode:   "sound",
		method: "convex",
		points: "sphere",
		dim:    dim,
		budget: "none",
		knob:   boundMu,
		span:   span{50_000, 500},
	}
}

// convex writes the settings of a task of Remark 1.
func (t task) convex(set func(format string, args ...any)) {
	set(`algorithm.name="bcd"`)
	set("algorithm.mu=%g", t.knob)
	set("algorithm.lambda=%g", convexLambda)
	set("algorithm.smoothness=0.25")
	set(`privacy.mechanism="none"`)
	set("privacy.target_delta=%s", reproduce.Exactly(paperDelta))
}

func remark1Cells(small bool) []sweep.Cell {
	var tasks []named
	for _, dim := range boundDims {
		tasks = append(tasks, named{task: convexTask(dim)})
	}
	return overSeeds(small, tasks)
}

// convexOptimum is what the bound needs of an instance.
type convexOptimum struct {
	start, least float64 // Q(0) and Q*
	distance     float64 // Σ_i B_i |Θ*_i|²
}

// newConvexOptimum minimises the objective of an instance by L-BFGS, in double precision.
func newConvexOptimum(dim int, seed uint64) (*convexOptimum, error) {
	split, err := drawTasks(taskAgents, dim, seed)
	if err != nil {
		return nil, err
	}
	p, train := linked(split), split.Train
	most := 0
	for _, m := range p.sizes {
		most = max(most, m)
	}
	// Agent i's loss weighs μ D_ii c_i, a record 1/m_i of it.
	weight, blocks := make([]float64, taskAgents), make([]float64, taskAgents)
	for i, m := range p.sizes {
		c := float64(m) / float64(most)
		weight[i], blocks[i] = boundMu*p.degrees[i]*c, p.block(i, c, convexLambda)
	}
	// value returns Q, and adds its gradient to grad where there is one.
	value := func(grad, theta []float64) float64 {
		q := 0.
		for i := range taskAgents {
			for j, w := range p.weights[i] {
				if w == 0 || j < i {
					continue
				}
				for c := range dim {
					d := theta[i*dim+c] - theta[j*dim+c]
					q += w / 2 * d * d
					if grad != nil {
						grad[i*dim+c] += w * d
						grad[j*dim+c] -= w * d
					}
				}
			}
		}
		for r, g := range train.Groups {
			own, x := theta[int(g)*dim:][:dim], train.X.Row(r)
			z, side := 0., float64(2*train.Labels[r]-1)
			for c, v := range x {
				z += side * float64(v) * own[c]
			}
			w := weight[g] / float64(p.sizes[g])
			q += w * (math.Log1p(math.Exp(-math.Abs(z))) + max(0, -z))
			if grad != nil {
				for c, v := range x {
					grad[int(g)*dim+c] -= w * side * float64(v) / (1 + math.Exp(z))
				}
			}
		}
		return q
	}
	zero := make([]float64, taskAgents*dim)
	res, err := optimize.Minimize(optimize.Problem{
		Func: func(x []float64) float64 { return value(nil, x) },
		Grad: func(grad, x []float64) {
			clear(grad)
			value(grad, x)
		},
	}, zero, &optimize.Settings{GradientThreshold: 1e-9, MajorIterations: 20_000}, &optimize.LBFGS{Store: 30})
	if res == nil {
		return nil, fmt.Errorf("minimiser of seed %d: %w", seed, err)
	}
	o := &convexOptimum{start: value(nil, zero), least: res.F}
	for i := range taskAgents {
		for _, x := range res.X[i*dim:][:dim] {
			o.distance += blocks[i] * x * x
		}
	}
	return o, nil
}

// bound is that of E[Q(t) - Q*].
func (o *convexOptimum) bound(t uint64) float64 {
	return taskAgents / (taskAgents + float64(t)) * (o.distance/2 + o.start - o.least)
}

func remark1(f *reproduce.Results) *reproduce.Document {
	r := collectTasks(f)
	d := &reproduce.Document{Header: []string{"p", "wakes t", "measured E[Q(t) - Q*]", "bound", "holds",
		"slope since the row before"}}
	fig := plot.Figure{
		Name:    "remark1",
		Title:   "Distance from the least objective, without a regulariser",
		XLabel:  "wakes of all agents together",
		YLabel:  "E[Q(t) - Q*]",
		LogX:    true,
		LogY:    true,
		Caption: "Mean over problem instances; band: one standard deviation. Dashed: the O(1/t) bound.",
	}
	for _, dim := range boundDims {
		rows := r.Of(convexTask(dim))
		gaps, bounds := map[uint64]reproduce.Sample{}, map[uint64]reproduce.Sample{}
		var wakes []uint64
		for j := range rows {
			seed, bad := instanceOf(&rows[j])
			o, err := newConvexOptimum(dim, seed)
			if bad != nil || err != nil {
				continue // its parameters are written above
			}
			var values []float64
			wakes, values = r.Series(&rows[j], "objective", "all")
			for k, t := range wakes {
				gaps[t] = append(gaps[t], values[k]-o.least)
				bounds[t] = append(bounds[t], o.bound(t))
			}
		}
		name := fmt.Sprintf("p = %d", dim)
		measured, bound := plot.Curve{Name: name}, plot.Curve{Name: name + " bound", Dashed: true, Like: name}
		before := uint64(0)
		for _, t := range wakes {
			if t == 0 {
				continue
			}
			gap, b := gaps[t].Mean(), bounds[t].Mean()
			measured.Points = append(measured.Points, gaps[t].Band(float64(t)))
			bound.Points = append(bound.Points, reproduce.At(float64(t), b))
			if !slices.Contains(convexWakes, t) {
				continue
			}
			slope := ""
			if before > 0 {
				slope = fmt.Sprintf("%.2f", math.Log(gap/gaps[before].Mean())/
					math.Log(float64(t)/float64(before)))
			}
			d.Add(dim, t, gap, b, yes(gap <= b), slope)
			before = t
		}
		fig.Curves = append(fig.Curves, measured, bound)
	}
	d.Figures = []plot.Figure{fig}
	d.Notes = []string{
		"100 agents, μ = 1, points on the unit sphere, no noise, λ_i = 1e-12, start at zero; Q* by L-BFGS " +
			"in double precision",
		"bound: n/(n + t) (1/2 Σ_i B_i |Θ*_i|² + Q(0) - Q*) (Lu and Xiao 2015, Theorem 1); the paper " +
			"states the order alone. Slope: of log error over log t; -1 is the order",
		"an error that falls faster in the end is no contradiction: the data curve Q around its minimiser, " +
			"by an amount that no constant of the paper knows",
	}
	return d
}
