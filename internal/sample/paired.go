package sample

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
)

// A Difference is what one setting has more than another, paired over what both have. It
// is NaN where nothing is defined.
type Difference struct {
	Pairs     int
	Mean      float64
	Low, High float64 // of the 95 % interval of the mean, by Student's t
	P         float64 // of no difference, two-sided, by Student's t
	Holm      float64 // P, corrected by Holm for all comparisons
}

// Interval is the 95 % interval of the mean by Student's t, and P of a mean of 0: NaN for
// fewer than two figures. Figures that are all equal have no spread that a law could be
// of, and so no interval; P is 1 where they are 0, else NaN.
func (s Sample) Interval() (low, high, p float64) {
	if len(s) < 2 {
		return math.NaN(), math.NaN(), math.NaN()
	}
	mean := s.Mean()
	e, law := s.Student()
	const rounding = 1e-12
	switch {
	case mean == 0 && e == 0:
		return math.NaN(), math.NaN(), 1
	case e <= rounding*math.Abs(mean):
		return math.NaN(), math.NaN(), math.NaN()
	}
	half := law.Quantile(.975) * e
	return mean - half, mean + half, 2 * law.Survival(math.Abs(mean)/e)
}

// Run is the figure of one run of a setting and a seed: of a fold, or "" without folds.
type Run struct {
	Fold   string
	Figure float64
}

// both are the means of the figures of two settings with one seed over the folds that
// both have: folds share records, so that they are no pairs of their own, and means over
// different folds would differ by these. ok is false where there are none.
func both(a, b []Run) (x, y float64, ok bool) {
	of := func(runs, others []Run) (figures Sample) {
		for _, r := range runs {
			if slices.ContainsFunc(others, func(o Run) bool { return o.Fold == r.Fold }) {
				figures = append(figures, r.Figure)
			}
		}
		return figures
	}
	p, q := of(a, b), of(b, a)
	return p.Mean(), q.Mean(), len(p) > 0
}

// Compare takes the runs of settings by seed, and returns what each but the first has
// more than the first, over the seeds and folds that both have.
func Compare(settings []map[string][]Run) []Difference {
	if len(settings) < 2 {
		return nil
	}
	all := make([]Difference, len(settings)-1)
	p := make([]float64, len(all))
	for k, s := range settings[1:] {
		var d Sample
		for _, seed := range slices.Sorted(maps.Keys(s)) {
			if x, y, ok := both(settings[0][seed], s[seed]); ok {
				d = append(d, y-x)
			}
		}
		all[k] = Difference{Pairs: len(d), Mean: d.Mean()}
		all[k].Low, all[k].High, p[k] = d.Interval()
	}
	for k, holm := range Holm(p) {
		all[k].P, all[k].Holm = p[k], holm
	}
	return all
}

// Holm corrects values of P for their number, so that the chance of one below a level
// where there is no difference at all is at most that level (Holm 1979). NaN is left out.
func Holm(p []float64) []float64 {
	out := make([]float64, len(p))
	var order []int
	for k := range p {
		if out[k] = math.NaN(); !math.IsNaN(p[k]) {
			order = append(order, k)
		}
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(p[a], p[b]) })
	most := 0.
	for n, k := range order {
		most = min(1, max(most, float64(len(order)-n)*p[k]))
		out[k] = most
	}
	return out
}

// Paired says that a difference has an interval.
func Paired(all []Difference) bool {
	return slices.ContainsFunc(all, func(d Difference) bool { return d.Pairs > 1 })
}

// Columns are the heads of what Row writes.
var Columns = []string{"seeds", "difference", "95 % interval", "p", "p, Holm"}

// Row writes the difference times scale with so many digits behind the point.
func (d Difference) Row(scale float64, digits int) []string {
	number := func(x float64) string {
		if math.IsNaN(x) {
			return "–"
		}
		return fmt.Sprintf("%+.*f", digits, scale*x)
	}
	chance := func(p float64) string {
		if math.IsNaN(p) {
			return "–"
		}
		return fmt.Sprintf("%.2g", p)
	}
	interval := "–"
	if !math.IsNaN(d.Low) {
		interval = number(d.Low) + " to " + number(d.High)
	}
	return []string{fmt.Sprint(d.Pairs), number(d.Mean), interval, chance(d.P), chance(d.Holm)}
}

// About says what differences of a figure from the setting called first are.
func About(figure, first string, all []Difference) string {
	text := fmt.Sprintf("Difference of %s from %s, paired over the seeds that both have: what a seed draws "+
		"for both alike, such as the split of the data, falls out. Interval and p are by Student's t, as if "+
		"differences were normal; they are about other seeds on the same data, not about other data.", figure,
		first)
	if len(all) > 1 {
		text += fmt.Sprintf(" There are %d comparisons: \"p, Holm\" is corrected for their number, p and "+
			"the intervals are not.", len(all))
	}
	return text
}
