package dpdl2023

import (
	"context"
	"fmt"
	"math"
	"strings"

	"sotto/report/plot"
	"sotto/reproduce"
)

// floorSize is how much of the study of Theorem 5.1 is run.
type floorSize struct {
	noises               []float64 // at dimension dim
	dims                 []int     // at noise noise
	dim                  int
	noise                float64
	burn, rounds, trials int // rounds counts from burn on
}

var floorSizes = map[reproduce.Scale]floorSize{
	reproduce.Smoke: {noises: []float64{.01, .1}, dims: []int{4, 16}, dim: 4, noise: .1, burn: 500,
		rounds: 300,
		trials: 3},
	reproduce.Full: {noises: []float64{.005, .01, .02, .05, .1, .2, .5}, dims: []int{4, 8, 16, 32, 64, 128},
		dim:   16,
		noise: .1,
		burn:  500, rounds: 1000, trials: 5},
}

// floorPoint is a setting of the study, and the error floor that its trials reach.
type floorPoint struct {
	problem, algorithm string
	noise              float64
	dim                int
	floors             reproduce.Sample // root mean square distance of one agent's model from the optimum
	exact              float64          // by the recursion; NaN where there is none
	seed               uint64           // of the first trial; the others' follow
}

// theorem51 measures where the algorithms' error ends on strongly convex problems: by
// Theorem 5.1 in a neighborhood of order σ. Slopes of ln(floor) over ln(σ), and over
// ln(d) at fixed σ, with the interval of a linear regression over all trials.
func theorem51(ctx context.Context, opt reproduce.Options) (*reproduce.Document, error) {
	size := floorSizes[opt.Scale]
	d := reproduce.NewTable("problem", "algorithm", "against", "from", "to", "slope", "95 % interval",
		"expected", "floor, first", "floor, last", "predicted, first", "predicted, last")
	for _, kind := range []string{"quadratic", "logistic"} {
		overNoise, err := size.floors(ctx, kind, opt.Sweep.Workers, size.noises, []int{size.dim})
		if err != nil {
			return nil, err
		}
		overDim, err := size.floors(ctx, kind, opt.Sweep.Workers, []float64{size.noise}, size.dims)
		if err != nil {
			return nil, err
		}
		addFits(d, size, kind, "noise σ", 1, overNoise, func(p *floorPoint) float64 { return p.noise })
		addFits(d, size, kind, "dimension d", .5, overDim, func(p *floorPoint) float64 {
			return float64(p.dim)
		})
	}
	d.Notes = []string{
		fmt.Sprintf("floor: root mean square distance of an agent's model from the optimum over rounds %d "+
			"to %d and %d agents on a ring; step %g, constant; σ: standard deviation of the noise on each "+
			"coordinate of an answer; over σ at d = %d, over d at σ = %g; %d noise seeds a point; "+
			"predicted: by the exact recursion of the quadratic",
			size.burn, size.burn+size.rounds, ringAgents, convexStep, size.dim, size.noise, size.trials),
		"slope: least squares of ln(floor) over all points and seeds, with Student's t; of the intervals " +
			"one in twenty misses the true slope by chance; the logistic regression is no power law " +
			"exactly, its slopes need not be the expected ones",
		"quadratics have the Hessian 1 at every agent (data set quadratics), the logistic regression has " +
			"λ = .1 and features of variance 1; agents share the optimum, which Theorem 5.1 needs of " +
			"DP-DSGD at a constant step; DP-DiNNO takes plain gradient steps",
		fmt.Sprintf("Theorem 5.1 says that the floor is of order σ: at fixed d it is. It grows with √d as "+
			"well, which the theorem does not say: in the %d dimensions of the paper's network by a "+
			"factor %.0f", 38424, math.Sqrt(38424)),
		fmt.Sprintf("seeds: the first %d of each hundred, one hundred for each point", size.trials),
		reproduce.RowNote,
	}
	if opt.Scale == reproduce.Smoke {
		d.Notes = append(d.Notes, "scale smoke: few points, rounds and trials")
	}
	return d, nil
}

// floors runs every algorithm at all noises and dimensions.
func (size floorSize) floors(ctx context.Context, kind string, workers int, noises []float64,
	dims []int) ([]floorPoint, error) {
	var points []floorPoint
	var runs []simulation
	for _, m := range methods {
		for _, dim := range dims {
			p, err := newConvex(kind, dim)
			if err != nil {
				return nil, err
			}
			for _, noise := range noises {
				point := floorPoint{
					problem:   kind,
					algorithm: m,
					noise:     noise,
					dim:       dim,
					exact:     size.predict(p, m, noise),
					seed:      uint64(100 * (len(points) + 1)),
				}
				points = append(points, point)
				for trial := range size.trials { // noise of its own at every point
					runs = append(runs, simulation{p, m, noise, size.burn + size.rounds,
						point.seed + uint64(trial)})
				}
			}
		}
	}
	all, err := simulateAll(ctx, runs, workers)
	if err != nil {
		return nil, err
	}
	for i, distances := range all {
		p := &points[i/size.trials]
		p.floors = append(p.floors, rootMeanSquare(distances[size.burn+1:])/math.Sqrt(ringAgents))
	}
	return points, nil
}

func newConvex(kind string, dim int) (*problem, error) {
	if kind == "quadratic" {
		return newQuadratic(dim, 1, 1, 0, 1)
	}
	return newLogistic(dim, 1)
}

// predict is the exact floor of a quadratic.
func (size floorSize) predict(p *problem, algorithm string, noise float64) float64 {
	if p.hessian == nil {
		return math.NaN()
	}
	one := problem{hessian: p.hessian[:1], optimum: p.optimum[:1]} // all coordinates are alike
	last := size.burn + size.rounds
	return predicted(&one, algorithm, noise, last)[last] * math.Sqrt(float64(len(p.hessian))/ringAgents)
}

func rootMeanSquare(xs []float64) float64 {
	sum := 0.
	for _, x := range xs {
		sum += x * x / float64(len(xs))
	}
	return math.Sqrt(sum)
}

// addFits appends a fit for every algorithm, and a plot of all.
func addFits(d *reproduce.Document, size floorSize, kind, against string, expected float64,
	points []floorPoint,
	x func(*floorPoint) float64) {
	title := "Error floor, " + kind + " problem"
	if kind == "quadratic" {
		title += " (dashed: predicted)"
	}
	fig := plot.Figure{
		Name:    "theorem51-" + kind + "-" + strings.Fields(against)[0],
		Title:   title,
		XLabel:  against,
		YLabel:  "error floor",
		LogX:    true,
		LogY:    true,
		Markers: true,
		Caption: "Mean over seeds; bars: one standard deviation. Dashed: predicted.",
	}
	for _, m := range methods {
		var xs, ys []float64
		ours, theirs := plot.Curve{Name: methodNames[m]},
			plot.Curve{Name: methodNames[m] + ", predicted", Dashed: true, Like: methodNames[m]}
		var first, last *floorPoint
		var figures []float64
		settings := fmt.Sprintf("seed000-theorem51 problem %s algorithm %s step %g agents %d burn %d "+
			"rounds %d trials %d points", kind, m, convexStep, ringAgents, size.burn, size.rounds,
			size.trials)
		for i := range points {
			p := &points[i]
			if p.algorithm != m {
				continue
			}
			if first == nil {
				first = p
			}
			last = p
			settings += fmt.Sprintf(" noise %g dimensions %d", p.noise, p.dim)
			if figures = append(figures, p.floors...); !math.IsNaN(p.exact) {
				figures = append(figures, p.exact)
			}
			for _, f := range p.floors {
				xs, ys = append(xs, math.Log(x(p))), append(ys, math.Log(f))
			}
			mean, sd := p.floors.Mean(), p.floors.SD()
			ours.Points = append(ours.Points, plot.Point{X: x(p), Y: mean, Low: mean - sd, High: mean + sd})
			theirs.Points = append(theirs.Points,
				reproduce.At(x(p), p.exact))
		}
		slope, half := reproduce.FitSlope(xs, ys)
		d.AddRow(reproduce.Cells(kind, m, against, fmt.Sprintf("%g", x(first)), fmt.Sprintf("%g", x(last)),
			fmt.Sprintf("%.4f", slope), fmt.Sprintf("%.4f to %.4f", slope-half, slope+half),
			fmt.Sprintf("%g", expected), first.floors.Mean(), last.floors.Mean(),
			figureOrNothing(first.exact), figureOrNothing(last.exact)),
			fmt.Sprintf("%d to %d", first.seed, last.seed+uint64(size.trials-1)), settings,
			append(figures, slope, half)...)
		fig.Curves = append(fig.Curves, ours)
		if !math.IsNaN(first.exact) {
			fig.Curves = append(fig.Curves, theirs)
		}
	}
	d.Figures = append(d.Figures, fig)
}

func figureOrNothing(x float64) string {
	if math.IsNaN(x) {
		return ""
	}
	return fmt.Sprintf("%.4g", x)
}
