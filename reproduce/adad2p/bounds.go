package adad2p

import (
	"fmt"
	"slices"
	"sotto/experiment/sweep"
	"strconv"

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
		"largest gradient norm seen"}}
	s := setups["mnist"]
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
		points := r.Over(p, "gradient_rms", "all", false)
		squares, name := 0., p.name()
		for k := range points {
			points[k].Y *= points[k].Y
			points[k].Low, points[k].High = points[k].Y, points[k].Y
			squares += points[k].Y / float64(len(points))
		}
		sigma, scaled := "none", func(x float64) string { return "" }
		if p.noise != "none" {
			sigma = p.noise[len("sigma "):]
			name += ", noise scale " + sigma
			variance := s.dim * reproduce.Number(sigma) * reproduce.Number(sigma)
			scaled = func(x float64) string { return fmt.Sprintf("%.4g", variance*x) }
		}
		g2, c2 := s.bound*s.bound, s.clips[0]*s.clips[0]
		d.Add(p.name(), sigma, scaled(squares), scaled(g2), scaled(c2), fmt.Sprintf("%.3f", squares/g2),
			fmt.Sprintf("%.3f", squares/c2), three(r.largest(p)))
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
		flat := func(x float64) plot.Point {
			return reproduce.At(x, level.value)
		}
		fig.Curves = append(fig.Curves, plot.Curve{Name: level.name,
			Points: []plot.Point{flat(ends[0].X), flat(ends[len(ends)-1].X)}, Dashed: true})
	}
	d.Figures = []plot.Figure{fig}
	d.Notes = []string{
		"the factor in front, 12γ²L²C²β/(1-q)² + 2γLβ/n, is the same for both bounds and depends on " +
			"constants of the loss and the graphs that the paper does not evaluate; it cancels in the ratios",
		"what (11) gains is what has no guarantee: noise in proportion to the private gradient. A ratio " +
			"below 1 says that less noise is added, not that equal privacy costs less",
		"norms are of records at the mean model at evaluations, the paper's are of the records that were " +
			"drawn; the largest seen is no bound",
	}
	return d
}

// largest is the largest gradient norm of each run at any evaluation.
func (r pushRows) largest(p push) reproduce.Sample {
	return r.Sample(p, func(row *sweep.Row) float64 {
		_, values := r.Series(row, "gradient_max", "all")
		return slices.Max(values)
	})
}
