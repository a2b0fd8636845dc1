package query

import (
	"fmt"
	"math"

	"sotto/data"
	"sotto/data/schema"
)

// quantileBins is how many bins a quantile is read from.
const quantileBins = 64

// quantiles are read from one histogram.
type quantiles struct {
	bins
	probabilities []float64
}

func (q *quantiles) answer(sums []float64, sigma float64, a *Answerer) []Row {
	n := 0.
	for _, s := range sums {
		n += s
	}
	var all []Row
	for _, p := range q.probabilities {
		r := Row{Name: fmt.Sprintf("quantile %g", p)}
		r.Value = q.at(sums, p*n)
		r.Low, r.High = q.interval(sums, sigma, p, n, a)
		r.Low, r.High = min(r.Low, r.Value), max(r.High, r.Value)
		r.Drowned = r.Low <= q.v.Low && r.High >= q.v.High && (sigma > 0 || n == 0)
		all = append(all, r)
	}
	return all
}

// at is where the cumulative sum first reaches a rank, between the edges of its bin.
func (q *quantiles) at(sums []float64, rank float64) float64 {
	below := 0.
	for k, s := range sums {
		if s = max(0, s); below+s >= rank && s > 0 {
			return q.edges[k] + (q.edges[k+1]-q.edges[k])*min(max((rank-below)/s, 0), 1)
		}
		below += s
	}
	return q.edges[len(sums)]
}

// interval holds the quantile: every edge e is tested for "as many are below e as should
// be", whose statistic (1-p) below - p above has mean 0 there, and the interval goes from
// the first edge from either side that is not refused to the one before it. It is exact
// but for the width of the bins.
func (q *quantiles) interval(sums []float64, sigma, p, n float64, a *Answerer) (low, high float64) {
	bins := len(sums)
	t := make([]float64, bins+1) // by edge
	below := 0.
	for e := range bins + 1 {
		d := math.Sqrt(float64(e)*(1-p)*(1-p)+float64(bins-e)*p*p) * sigma
		if a.Sampling {
			d = math.Hypot(d, math.Sqrt(max(0, n)*p*(1-p)))
		}
		switch x := (1-p)*below - p*(n-below); {
		case d > 0:
			t[e] = x / d
		case x != 0:
			t[e] = math.Inf(int(math.Copysign(1, x)))
		}
		if e < bins {
			below += sums[e]
		}
	}
	first, last := 0, bins
	for first < bins && t[first] < -a.z {
		first++
	}
	for last > 0 && t[last] > a.z {
		last--
	}
	return q.edges[max(0, first-1)], q.edges[min(bins, last+1)]
}

// survival is a life table: in each bin of the time, events and those who were seen no
// longer.
type survival struct {
	bins
	event *schema.Variable
}

const survivalBins = 24

func newSurvival(q *Question, vars []schema.Variable) (shape, error) {
	v, err := bounded(q, vars, q.Vars[0])
	if err != nil {
		return nil, err
	}
	e, err := category(q, vars, q.Vars[1])
	if err != nil {
		return nil, err
	}
	if len(e.Categories) != 2 {
		return nil, q.bad(fmt.Sprintf("%d values of %s", len(e.Categories), e.Name),
			"2, of which the last is the event")
	}
	n := survivalBins
	if len(q.Nums) == 1 {
		n = int(q.Nums[0])
	}
	return &survival{bins{v, evenly(v.Low, v.High, n)}, e}, nil
}

func (s *survival) dim() int { return 2 * s.bins.dim() }

func (s *survival) add(dst []float64, d *data.Dataset, i int) {
	x, ok := s.v.Number(aimed(d, i))
	e := s.event.Category(labelled(d, i))
	if ok && e >= 0 {
		dst[2*s.bin(x)+e] = 1
	}
}

// atRisk is how many deviations of noise whoever is at risk has to be for a share of them
// to be told.
const atRisk = 4

// answer is the estimate of Kaplan and Meier (1958) at the end of each bin, where whoever
// is seen no longer leaves at the bin's end. Sums are taken as they are: if those below 0
// were made 0, people would be at risk who are not there. From the first bin on where
// noise hides who is at risk no share is told: none is above the one before.
func (s *survival) answer(sums []float64, sigma float64, a *Answerer) []Row {
	n := s.bins.dim()
	many := a.resampledCounts(sums, sigma, n, func(x, dst []float64) bool {
		survive(x, dst)
		return true
	})
	left, told, most := 0., true, 1.
	for _, c := range sums {
		left += c
	}
	var all []Row
	for k := range n {
		told = told && left >= atRisk*sigma*math.Sqrt(float64(2*(n-k))) && (k > 0 || left > fewestLeft)
		left -= sums[2*k] + sums[2*k+1]
		r := many.row("survival", k, 0, 1)
		if told {
			most = r.High
		} else {
			r.Value, r.Low, r.High, r.Drowned = most/2, 0, most, true
		}
		r.Labels = []string{fmt.Sprintf("%s up to %.6g", s.v.Name, s.edges[k+1])}
		r.Span = s.edges[k : k+2 : k+2]
		all = append(all, r)
	}
	fall(all)
	return all
}

// fewestLeft is above what rounding leaves of nobody.
const fewestLeft = 1e-3

// survive writes the shares that outlive each bin.
func survive(x, dst []float64) {
	left, share := 0., 1.
	for _, c := range x {
		left += c
	}
	for k := range dst {
		if left > fewestLeft {
			share *= max(0, 1-x[2*k+1]/left)
		}
		left -= x[2*k] + x[2*k+1]
		dst[k] = share
	}
}

// fall makes values fall that noise lets rise, each run of them to its mean (pool
// adjacent violators). Intervals hold them.
func fall(rows []Row) {
	type run struct {
		sum  float64
		rows int
	}
	mean := func(r run) float64 { return r.sum / float64(r.rows) }
	var runs []run
	for _, r := range rows {
		runs = append(runs, run{r.Value, 1})
		for k := len(runs) - 1; k > 0 && mean(runs[k]) > mean(runs[k-1]); k-- {
			runs[k-1].sum, runs[k-1].rows = runs[k-1].sum+runs[k].sum, runs[k-1].rows+runs[k].rows
			runs = runs[:k]
		}
	}
	at := 0
	for _, r := range runs {
		for range r.rows {
			v := mean(r)
			if r.rows == 1 {
				v = rows[at].Value
			}
			rows[at].Value, rows[at].Low, rows[at].High = v, min(rows[at].Low, v), max(rows[at].High, v)
			at++
		}
	}
}
