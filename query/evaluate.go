package query

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"sotto/data"
	"sotto/data/schema"
)

// Variables that a model adds to a record: the probability of the second of two classes,
// or the logistic function of a margin; the class that it decides for; the number that it
// predicts.
const (
	ModelScore = "model.score"
	ModelClass = "model.class"
	ModelValue = "model.value"
)

const (
	scoreBins = 16
	// scoreSpan is where the outermost bins of a score begin, in logits.
	scoreSpan = 3.5
	// fewest is how many records of each class an evaluation by ranks needs, whatever
	// noise hides.
	fewest = 10
)

// newEvaluation judges a model by its predictions beside the outcome.
func newEvaluation(q *Question, vars []schema.Variable) (shape, error) {
	named := func(name string) *schema.Variable {
		k := slices.IndexFunc(vars, func(v schema.Variable) bool { return v.Name == name })
		if k < 0 {
			return nil
		}
		return &vars[k]
	}
	k := slices.IndexFunc(vars, isOutcome)
	score, class, value := named(ModelScore), named(ModelClass), named(ModelValue)
	switch {
	case k < 0 || class == nil && value == nil:
		return nil, q.bad("no model", "[algorithm] model = \"FOLDER\", the model that is judged")
	case len(q.Nums) == 1 && score == nil:
		return nil, q.bad(fmt.Sprint(q.Nums[0]), "no bins: they are those of the scores of two classes")
	case value != nil:
		if _, err := bounded(q, vars, vars[k].Name); err != nil {
			return nil, err
		}
		m := moments{kind: q.Kind, vars: []*schema.Variable{&vars[k], value}}
		m.cols = []column{{&vars[k], -1}, {value, -1}}
		return &residuals{m}, nil
	case score != nil:
		n := scoreBins
		if len(q.Nums) == 1 {
			n = int(q.Nums[0])
		}
		return &ranks{bins: bins{score, scoreEdges(n)}, truth: &vars[k]}, nil
	}
	if n := len(class.Categories); n*n > maxBins {
		return nil, q.bad(fmt.Sprintf("%d classes", n), fmt.Sprintf("at most %d", int(math.Sqrt(maxBins))))
	}
	return &confusion{table{groups{[]*schema.Variable{&vars[k], class}}}}, nil
}

// scoreEdges cut probabilities evenly in their logits: many outcomes are rare. One edge
// of an even number of bins is at one half.
func scoreEdges(n int) []float64 {
	edges := make([]float64, n+1)
	for k := 1; k < n; k++ {
		logit := scoreSpan * (2*float64(k) - float64(n)) / max(1, float64(n-2))
		edges[k] = 1 / (1 + math.Exp(-logit))
	}
	edges[n] = 1
	return edges
}

// ranks are counts of scores by bin, of both classes.
type ranks struct {
	bins
	truth *schema.Variable
}

func (r *ranks) dim() int { return 2 * r.bins.dim() }

func (r *ranks) add(dst []float64, d *data.Dataset, i int) {
	x, ok := r.v.Number(aimed(d, i))
	if k := r.truth.Category(labelled(d, i)); ok && k >= 0 {
		dst[2*r.bin(x)+k] = 1
	}
}

const calibrationError = "calibration error"

// names of what ranks answers, in order; those from accuracy on need an even number of
// bins.
var ranked = []string{"AUROC", "AUPRC", calibrationError, "calibration in the large", "accuracy",
	"sensitivity", "specificity"}

// answer is of the two histograms. A class of which noise hides whether it has as many as
// fewest is refused: its ranks would be noise.
func (r *ranks) answer(sums []float64, sigma float64, a *Answerer) []Row {
	n := r.bins.dim()
	names := ranked
	if n%2 == 1 {
		names = ranked[:4]
	}
	var counts []Row
	tiny := false
	for k := range 2 {
		total := 0.
		for b := range n {
			total += sums[2*b+k]
		}
		row := a.count("count", total, sigma*math.Sqrt(float64(n)))
		row.Labels = []string{r.truth.Name + " = " + r.truth.Categories[k]}
		tiny = tiny || row.Low < fewest
		counts = append(counts, row)
	}
	many := a.resampledCounts(sums, sigma, len(names), func(s, dst []float64) bool {
		return !tiny && r.figures(s, dst)
	})
	var all []Row
	for k, name := range names {
		if name == calibrationError && !tiny {
			all = append(all, r.calibration(sums, sigma, a))
			continue
		}
		lo := 0.
		if name == "calibration in the large" {
			lo = -1
		}
		row := many.row(name, k, lo, 1)
		if tiny {
			row.Note = fmt.Sprintf("refused: of each class %d records have to be certain", fewest)
		}
		all = append(all, row)
	}
	return append(append(all, counts...), r.confused(sums, sigma, a)...)
}

// figures of histograms, in the order of ranked; false: one of the classes is empty.
func (r *ranks) figures(s, dst []float64) bool {
	n := r.bins.dim()
	var total [2]float64
	for b := range n {
		total[0], total[1] = total[0]+s[2*b], total[1]+s[2*b+1]
	}
	if total[0] < 1 || total[1] < 1 {
		return false
	}
	// From the highest bin down. Within a bin both classes come at one rate.
	pos, neg, area, precision, gap := 0., 0., 0., 0., 0.
	right, sensitive := 0., 0.
	for b := n - 1; b >= 0; b-- {
		p, q := s[2*b+1], s[2*b]
		area += q * (pos + p/2)
		precision += recalled(max(0, pos), max(0, neg), max(0, p), max(0, q))
		pos, neg = pos+p, neg+q
		middle := (r.edges[b] + r.edges[b+1]) / 2
		gap += (p+q)*middle - p
		if 2*b >= n {
			right += p
			sensitive += p
		} else {
			right += q
		}
	}
	all := total[0] + total[1]
	dst[0], dst[1], dst[2], dst[3] = area/(total[0]*total[1]), precision/total[1], 0, gap/all
	if len(dst) > 4 {
		dst[4], dst[5], dst[6] = right/all, sensitive/total[1], (right-sensitive)/total[0]
	}
	return true
}

// calibration is the mean distance of the share of the second class in a bin from the
// bin's middle, by records. A sum of absolute values is larger with noise than without,
// by at most √(2/π) deviations of each: the value is without what noise adds to what
// is seen, the interval allows for all of it.
func (r *ranks) calibration(s []float64, sigma float64, a *Answerer) Row {
	n := r.bins.dim()
	total, sum, bias, most, square := 0., 0., 0., 0., 0.
	for b := range n {
		p, q := s[2*b+1], s[2*b]
		middle := (r.edges[b] + r.edges[b+1]) / 2
		vp, vq := sigma*sigma, sigma*sigma
		if a.Sampling {
			vp, vq = vp+max(0, p), vq+max(0, q)
		}
		d := math.Sqrt(vp*(1-middle)*(1-middle) + vq*middle*middle)
		x := math.Abs(p - (p+q)*middle)
		total, sum, square = total+p+q, sum+x, square+d*d
		if d > 0 { // the mean of |x + d z| for a normal z
			folded := d*math.Sqrt(2/math.Pi)*math.Exp(-x*x/(2*d*d)) + x*math.Erf(x/(d*math.Sqrt2))
			bias += folded - x
			most += d * math.Sqrt(2/math.Pi)
		}
	}
	w, off := a.z*math.Sqrt(square), a.z*sigma*math.Sqrt(2*float64(n))
	row := Row{Name: calibrationError, Value: max(0, sum-bias) / total,
		Low: max(0, sum-most-w) / (total + off)}
	if row.High = 1; total > off {
		row.High = min(1, (sum+w)/(total-off))
	}
	row.Drowned = row.drowned(0, 1)
	return row
}

// recalled is the precision, summed over the positives of a bin that adds p positives and
// q negatives at one rate to those above it (Davis and Goadrich 2006).
func recalled(pos, neg, p, q float64) float64 {
	if p == 0 {
		return 0
	}
	c := 1 + q/p // of each positive so many records
	d := pos + neg
	if d == 0 {
		return p / c
	}
	// the integral over x from 0 to p of (pos + x) / (d + c x)
	return p/c + (pos-d/c)/c*math.Log1p(c*p/d)
}

// confused are the counts on both sides of one half.
func (r *ranks) confused(sums []float64, sigma float64, a *Answerer) []Row {
	n := r.bins.dim()
	if n%2 == 1 {
		return nil
	}
	var all []Row
	for k, c := range r.truth.Categories {
		for side, name := range r.truth.Categories {
			total := 0.
			for b := side * n / 2; b < (side+1)*n/2; b++ {
				total += sums[2*b+k]
			}
			row := a.count("count", total, sigma*math.Sqrt(float64(n)/2))
			row.Labels = []string{r.truth.Name + " = " + c, ModelClass + " = " + name}
			all = append(all, row)
		}
	}
	return all
}

// confusion is the table of outcome and prediction of more than two classes.
type confusion struct{ table }

func (c *confusion) answer(sums []float64, sigma float64, a *Answerer) []Row {
	names := c.cells.vars[0].Categories
	n := len(names)
	many := a.resampledCounts(sums, sigma, 1+2*n, func(s, dst []float64) bool {
		all, right := 0., 0.
		for k := range n {
			row, col := 0., 0.
			for j := range n {
				row, col = row+s[k*n+j], col+s[j*n+k]
			}
			all, right = all+row, right+s[k*n+k]
			dst[1+2*k], dst[2+2*k] = share(s[k*n+k], row), share(s[k*n+k], col)
		}
		dst[0] = share(right, all)
		return all >= fewestOf
	})
	rows := []Row{many.row("accuracy", 0, 0, 1)}
	for k, name := range names {
		var of [2]float64 // how many there are, and for how many the model says so
		for j := range n {
			of[0], of[1] = of[0]+sums[k*n+j], of[1]+sums[j*n+k]
		}
		for j, figure := range []string{"recall", "precision"} {
			r := many.row(figure, 1+2*k+j, 0, 1)
			if of[j] < fewestOf { // nobody, as far as is known
				r.Value, r.Low, r.High, r.Drowned = .5, 0, 1, true
			} else if of[j]-a.z*sigma*math.Sqrt(float64(n)) < fewest {
				low, high := a.part(sums[k*n+k], of[j], sigma, n)
				r.Low, r.High = min(r.Low, low), max(r.High, high)
				r.Drowned = r.drowned(0, 1)
			}
			r.Labels = []string{name}
			rows = append(rows, r)
		}
	}
	return append(rows, c.table.answer(sums, sigma, a)...)
}

// part is Fieller's interval of part/all, both noisy, where all is part and others, n
// sums together: all t in [0, 1] for which part - t all is no further from 0 than its
// noise explains. Of few records noise that is drawn again misses too often.
func (a *Answerer) part(part, all, sigma float64, n int) (low, high float64) {
	// (part - t all)² <= z² sigma² ((1 - t)² + (n-1) t²), a quadratic in t
	most := a.z * a.z * sigma * sigma
	qa, qb, qc := all*all-most*float64(n), most-part*all, part*part-most
	if qa <= 0 {
		return 0, 1
	}
	root := math.Sqrt(max(0, qb*qb-qa*qc))
	return max(0, (-qb-root)/qa), min(1, (-qb+root)/qa)
}

// fewestOf is the least count that a share is told of.
const fewestOf = 1 - 1e-3

// share is a part of a count, one half where nothing is left of it.
func share(part, all float64) float64 {
	if all < fewestOf {
		return .5
	}
	return min(max(part/all, 0), 1)
}

// residuals are the moments of a number and its prediction.
type residuals struct{ moments }

func (m *residuals) answer(sums []float64, sigma float64, a *Answerer) []Row {
	_, half := m.cols[0].scale()
	many := a.resampledAll(sums, sigma, 4, func(s, dst []float64) bool {
		n := m.at(s, 0, 0)
		square := (m.at(s, 1, 1) - 2*m.at(s, 1, 2) + m.at(s, 2, 2)) / n
		y, p := m.covariance(s, 1, 1), m.covariance(s, 2, 2)
		if !(n >= fewestOf && y > 0 && p > 0) {
			return false
		}
		dst[0] = 1 - square/y
		dst[1] = half * math.Sqrt(max(0, square))
		dst[2] = half * (m.at(s, 2, 0) - m.at(s, 1, 0)) / n
		dst[3] = m.covariance(s, 1, 2) / p
		return true
	})
	rows := []Row{many.row("R2", 0, -math.MaxFloat64, 1), many.row("root mean squared error", 1, 0, 2*half),
		many.row("mean error", 2, -2*half, 2*half), many.row("calibration slope", 3, -math.MaxFloat64,
			math.MaxFloat64)}
	for k := range rows {
		rows[k].Labels = []string{strings.Join([]string{m.cols[0].name(), m.cols[1].name()}, ", ")}
	}
	return append(rows, a.count("count", m.at(sums, 0, 0), sigma))
}
