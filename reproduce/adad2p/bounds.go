package adad2p

import (
	"fmt"
	"slices"
	"strconv"

	"sotto/experiment/sweep"
	"sotto/report/plot"
	"sotto/reproduce"
)

// boundsReport sets the noise terms of the paper's bounds beside each other: those of
// (11), (13) and of ClipD2P have the common factor 12γ²L²C²β/(1-q)² + 2γLβ/n with β =
// dσ²/K, times Σ_k of the mean squared gradient norm of (11), of G² in (13), and of C².
// So the variance that they add in a round is dσ² times the last three.
func boundsReport(f *reproduce.Results) *reproduce.Document {
	r := collectPush(f)
	d := &reproduce.Document{Header: []string{"run", "noise scale", "dσ² mean ‖∇f_i(z; ξ)‖² of (11)",
		"dσ² G² of (13)", "dσ² C² of ClipD2P", "(11) over (13)", "(11) over ClipD2P",
		"largest gradient norm seen", "measured mean ‖∇f(x̄)‖²", "at the start", "least L",
		"largest step with it", "least of whole (11)", "least of whole (13)"}}
	s := setups["mnist"]
	m, err := contractionOf("exp-directed", 20)
	if err != nil {
		panic(err) // of constants of this package
	}
	fig := plot.Figure{
		Name:    "bounds-norms",
		Title:   "Squared norms that set the noise",
		XLabel:  "round",
		YLabel:  "squared norm",
		LogY:    true,
		Caption: "Mean over seeds. The noise of a round has this times dσ² as variance.",
	}
	for _, p := range figure4Pushes() {
		rows := r.Of(p)
		if len(rows) == 0 || p.form != "" || p.method != "adad2p" && p.method != "sgp" {
			continue
		}
		points := squared(r.Over(p, "gradient_rms", "all", false), float64(len(rows)))
		squares, name := 0., p.name()
		for _, at := range points {
			squares += at.Y / float64(len(points))
		}
		sigma, scaled := "none", func(x float64) string { return "" }
		if p.noise != "none" {
			sigma = p.noise[len("sigma "):]
			name += ", noise scale " + sigma
			variance := s.dim * reproduce.Number(sigma) * reproduce.Number(sigma)
			scaled = func(x float64) string { return fmt.Sprintf("%.4g", variance*x) }
		}
		g2, c2 := s.bound*s.bound, s.clips[0]*s.clips[0]
		cells := []any{p.name(), sigma, scaled(squares), scaled(g2), scaled(c2),
			fmt.Sprintf("%.3f", squares/g2), fmt.Sprintf("%.3f", squares/c2), three(r.largest(p))}
		d.Add(append(cells, r.leastBounds(p, s, m)...)...)
		fig.Curves = append(fig.Curves, plot.Curve{Name: name, Points: points})
	}
	for _, level := range []struct {
		name  string
		value float64
	}{{"G² = " + strconv.FormatFloat(s.bound*s.bound, 'g', 4, 64), s.bound * s.bound}, {"C² = 1", 1}} {
		if len(fig.Curves) == 0 {
			break
		}
		ends := fig.Curves[0].Points
		flat := func(x float64) plot.Point { return reproduce.At(x, level.value) }
		fig.Curves = append(fig.Curves, plot.Curve{Name: level.name,
			Points: []plot.Point{flat(ends[0].X), flat(ends[len(ends)-1].X)}, Dashed: true})
	}
	d.Figures = []plot.Figure{fig}
	need, rounds := theorem1(20, s.dim, s.records)
	d.Notes = []string{
		"the factor in front, 12γ²L²C²β/(1-q)² + 2γLβ/n, is the same for both bounds and depends on " +
			"constants of the loss and the graphs that the paper does not evaluate; it cancels in the ratios",
		"what (11) gains is what has no guarantee: noise in proportion to the private gradient. A ratio " +
			"below 1 says that less noise is added, not that equal privacy costs less",
		"norms are of records at the mean model at evaluations, the paper's are of the records that were " +
			"drawn; the largest seen is no bound",
		fmt.Sprintf("the whole bounds grow with L, ζ², b² and f(x̄^0) - f*, and their least is of values "+
			"that these cannot be below: L is at least the largest ‖∇f(x̄)‖²/(2 f(x̄)) seen, ζ² + b² the "+
			"largest mean square distance of a record's gradient from the mean one (all of it taken as ζ²), "+
			"f(x̄^0) - f* the loss at the start less the least one, and what models at the start differ "+
			"from 0 is left out; all on the records that are looked at. C = %.4g and q = %g are of the "+
			"mixing matrices, in spectral norm. Largest step: of Proposition 3, with that L", m.c, m.q),
		fmt.Sprintf("Theorem 1 at epsilon 1 and c2 = 1 asks for %.3g records an agent, where there are %g, "+
			"and sets K to %.2g rounds of them (C27)", need, s.records, rounds),
	}
	d.Notes = append(d.Notes, smokeNotes(f.Scale, "mnist")...)
	return d
}

// squared are means of squares, from means over n runs with a standard deviation on
// either side.
func squared(points []plot.Point, n float64) []plot.Point {
	for k, p := range points {
		sd := p.Y - p.Low
		points[k] = reproduce.At(p.X, float64(p.Y*p.Y)+float64(sd*sd)*(n-1)/n)
	}
	return points
}

// largest is the largest gradient norm of each run at any evaluation.
func (r pushRows) largest(p push) reproduce.Sample {
	return r.Sample(p, func(row *sweep.Row) float64 {
		_, values := r.Series(row, "gradient_max", "all")
		return slices.Max(values)
	})
}

// leastBounds are the last cells of a run's row: what is measured, and the least that the
// whole bounds can say.
func (r pushRows) leastBounds(p push, s setup, m contraction) []any {
	var measured, start, smooth, step, adaptive, fixed reproduce.Sample
	sigma := 0.
	if p.noise != "none" {
		sigma = reproduce.Number(p.noise[len("sigma "):])
	}
	for _, row := range r.Of(p) {
		l := looksOf(func(metric, agent string) ([]uint64, []float64) {
			return r.Series(&row, metric, agent)
		})
		b := wholeBound{step: s.step.first, rounds: float64(l.rounds[len(l.rounds)-1]), agents: 20,
			smooth: l.leastSmooth(), gap: l.losses[0] - slices.Min(l.losses), within: l.spread(),
			mixing: m.factor()}
		measured, start = append(measured, l.meanSquare()), append(start, l.norms[0]*l.norms[0])
		smooth, step = append(smooth, b.smooth), append(step, b.admissible())
		variance := s.dim * sigma * sigma
		adaptive = append(adaptive, b.standard()+b.noise(variance*l.meanRecord()))
		fixed = append(fixed, b.standard()+b.noise(variance*s.bound*s.bound))
	}
	return []any{measured.Significant(), start.Significant(), smooth.Significant(), step.Significant(),
		adaptive.Significant(), fixed.Significant()}
}
