package query

import (
	"fmt"
	"math"
	"slices"

	"sotto/config"
	"sotto/rng"
)

// Answer is what a question is answered with.
type Answer struct {
	Question string   `json:"question"`
	Kind     string   `json:"kind,omitempty"` // see Kinds
	Vars     []string `json:"vars,omitempty"` // what stands between the parentheses
	By       []string `json:"by,omitempty"`   // each has a label in every row, before others
	Rows     []Row    `json:"rows"`
}

// Row is one figure with its interval.
type Row struct {
	Labels []string `json:"labels,omitempty"` // group, bin, cell or pair
	Name   string   `json:"name"`             // count, mean, quantile 0.5, ...
	Value  float64  `json:"value"`
	Low    float64  `json:"low"`
	High   float64  `json:"high"`
	// Drowned says that noise leaves nothing to say: a count, sum, correlation or
	// difference whose interval by noise alone holds 0, and any figure whose interval is
	// all that its bounds allow. Without noise and sampling it says that there is no
	// figure: of no records there is none.
	Drowned bool `json:"drowned,omitempty"`
	// Note says why there is no figure where noise is not the reason.
	Note string    `json:"note,omitempty"`
	Span []float64 `json:"span,omitempty"` // of a bin: both edges
	Cell []string  `json:"cell,omitempty"` // of a table: the value of each category
}

// HighestLevel is what double precision can tell from 1 for a few thousand intervals that
// hold together.
const HighestLevel = 1 - 1e-9

// Answerer makes answers of noisy sums. All of it is post-processing.
type Answerer struct {
	// Level of intervals, above .5 and at most HighestLevel; default .95.
	Level float64
	// Sampling widens intervals of all but counts and sums by how much another sample of
	// people of the same size would differ. Else they are about these people alone. Those
	// of correlations, covariances and components take numbers to be normal, those of a
	// regression its errors to have one variance.
	Sampling bool

	z    float64
	draw *rng.Stream
}

// Answers makes the answers of the sums over all owners, Dim of them, each with
// independent normal noise of standard deviation sigma, at least 0 and finite, in units
// of the release's clip, 1. Sums are not looked at. Bad input is a *config.Error.
func (p *Plan) Answers(sums []float64, sigma float64, o Answerer) ([]Answer, error) {
	if o.Level == 0 {
		o.Level = .95
	}
	switch {
	case !(o.Level > .5 && o.Level <= HighestLevel):
		return nil, config.Bad("level", o.Level, "above 0.5 and at most 0.999999999")
	case len(sums) != p.Dim:
		return nil, config.Bad("sums", fmt.Sprintf("%d numbers", len(sums)), fmt.Sprintf("%d", p.Dim))
	case !(sigma >= 0) || math.IsInf(sigma, 1):
		return nil, config.Bad("sigma", sigma, "at least 0 and finite")
	}
	o.z = math.Sqrt2 * math.Erfinv(o.Level)
	o.draw = rng.Public(0, "intervals of answers")
	var all []Answer
	scaled, sigmas := make([][]float64, len(p.Parts)), make([]float64, len(p.Parts))
	for k := range p.Parts {
		part := &p.Parts[k]
		own := slices.Clone(sums[part.At : part.At+part.Dim])
		for c := range own {
			own[c] /= part.Weight
		}
		scaled[k], sigmas[k] = own, sigma/part.Weight
		all = append(all, Answer{Question: part.Text, Kind: part.Kind, Vars: part.Vars, By: part.By,
			Rows: part.shape.answer(own, sigmas[k], &o)})
	}
	for k, values := range p.agree(scaled, sigmas) {
		for i, v := range values { // the interval stays that of the count that came
			r := &all[k].Rows[i]
			r.Value, r.Low, r.High = v, min(r.Low, v), max(r.High, v)
		}
	}
	return all, nil
}

// Expected is the half width of the interval of a count of a question, before anything is
// asked: what noise of deviation sigma in units of the clip makes of it. Of a sum it is
// that of the sum, in its own unit, and of an evaluation of scores that of a class, whose
// count is a sum over all bins. k is a place in Parts, sigma at least 0, level inside (0,
// 1).
func (p *Plan) Expected(k int, sigma, level float64) float64 {
	half := p.half(k, sigma, level)
	switch s := p.Parts[k].shape.(*grouped).one.(type) {
	case *total:
		half *= s.most
	case *ranks:
		half *= math.Sqrt(float64(s.bins.dim()))
	}
	return half
}

// half is half an interval of one number of the release, in units of a count.
func (p *Plan) half(k int, sigma, level float64) float64 {
	return math.Sqrt2 * math.Erfinv(level) * sigma / p.Parts[k].Weight
}

// Relative is the part that the noise of a count of a question is of what it holds where
// that many records are spread evenly over its groups, bins and cells; of a sum it is a
// part of the largest one that they can have.
func (p *Plan) Relative(k int, sigma, level, records float64) float64 {
	return p.half(k, sigma, level) * p.cells(k) / records
}

// Foretell says Expected of a question in words, and Relative where it is known, above 0,
// how many there are: records or persons, by unit.
func (p *Plan) Foretell(k int, sigma, level, there float64, unit string) string {
	what, unit, of := "count", " "+unit+"s", ""
	if p.Parts[k].Kind == "sum" {
		what, unit, of = "sum", "", " of the largest sum"
	}
	text := fmt.Sprintf("%s: each %s within %.3g%s of what there is, at level %g", p.Parts[k].Text, what,
		p.Expected(k, sigma, level), unit, level)
	if there > 0 {
		text += fmt.Sprintf("; of %.0f spread evenly %.2g %%%s", there,
			100*p.Relative(k, sigma, level, there), of)
	}
	return text
}

// count is a number of records: never below 0.
func (a *Answerer) count(name string, s, sigma float64) Row {
	w := a.z * sigma
	return Row{Name: name, Value: max(0, s), Low: max(0, s-w), High: max(0, s+w), Drowned: s < w && sigma > 0}
}

func (a *Answerer) normal(name string, x, sigma float64) Row {
	w := a.z * sigma
	return Row{Name: name, Value: x, Low: x - w, High: x + w, Drowned: math.Abs(x) < w}
}

// ratio is mid plus half times x/n, both with noise sigma, by Fieller's interval: all t
// in [-1, 1] for which x - t n is no further from 0 than its noise explains. For another
// sample of people the variance of a mean of numbers in [-1, 1] with mean t is at most
// 1 - t² over their count.
func (a *Answerer) ratio(name string, x, n, sigma, mid, half float64) Row {
	extra := 0.
	if a.Sampling {
		extra = max(0, n)
	}
	s := sigma * sigma
	// (x - tn)² <= z² (s (1 + t²) + extra (1 - t²)), a quadratic in t
	z2 := a.z * a.z
	qa, qb, qc := n*n-z2*(s-extra), -x*n, x*x-z2*(s+extra)
	low, high := -1., 1.
	if root := qb*qb - qa*qc; qa > 0 && n > 0 {
		root = math.Sqrt(max(0, root))
		low, high = max(-1, (-qb-root)/qa), min(1, (-qb+root)/qa)
	}
	value := 0.
	if n > 0 {
		value = min(max(x/n, -1), 1)
	}
	low, high = min(low, value), max(high, value)
	return Row{Name: name, Value: mid + half*value, Low: mid + half*low, High: mid + half*high,
		Drowned: low <= -1 && high >= 1}
}

// resamples is how often noise is drawn again for an interval, which lies between such
// draws for levels up to farthest.
const (
	resamples = 500
	farthest  = .99
)

// resampling is figures of the sums, each with what it is under noise that is drawn again
// on top of what is there.
type resampling struct {
	value []float64   // nil: the sums allow none
	again [][]float64 // by figure, ascending; nil: some noise leaves no figure
	level float64
}

// resampledAll makes n figures by f, which says whether the sums allow them.
func (a *Answerer) resampledAll(sums []float64, sigma float64, n int,
	f func(sums, dst []float64) bool) *resampling {
	return a.resample(sums, slices.Repeat([]float64{sigma}, len(sums)), n, f)
}

// resampledCounts is resampledAll of counts of disjoint groups, which differ among
// samples of other people as Poisson's law has it.
func (a *Answerer) resampledCounts(sums []float64, sigma float64, n int,
	f func(sums, dst []float64) bool) *resampling {
	deviations := make([]float64, len(sums))
	for c, s := range sums {
		if deviations[c] = sigma; a.Sampling {
			deviations[c] = math.Sqrt(sigma*sigma + max(0, s))
		}
	}
	return a.resample(sums, deviations, n, f)
}

func (a *Answerer) resample(sums, deviations []float64, n int, f func(sums, dst []float64) bool) *resampling {
	r := &resampling{value: make([]float64, n), level: a.Level}
	if !f(sums, r.value) {
		r.value = nil
		return r
	}
	again, noise, dst := make([]float64, len(sums)), make([]float64, len(sums)), make([]float64, n)
	all := make([][]float64, n)
	for range resamples {
		a.draw.Normals(noise)
		for c, s := range sums {
			again[c] = s + deviations[c]*noise[c]
		}
		if !f(again, dst) {
			return r
		}
		for k, x := range dst {
			all[k] = append(all[k], x)
		}
	}
	for _, xs := range all {
		slices.Sort(xs)
	}
	r.again = all
	return r
}

// row is figure k, in [lo, hi].
func (r *resampling) row(name string, k int, lo, hi float64) Row {
	keep := func(x float64) float64 { return min(max(x, lo), hi) }
	if r.value == nil {
		middle := (lo + hi) / 2
		if lo == -math.MaxFloat64 { // no bound, so no middle
			middle = 0
		}
		return Row{Name: name, Value: middle, Low: lo, High: hi, Drowned: true}
	}
	value := keep(r.value[k])
	if r.again == nil {
		return Row{Name: name, Value: value, Low: lo, High: hi, Drowned: true}
	}
	xs := r.again[k]
	// two fewer on either side: of so many draws the ends are uncertain themselves
	tail := max(0, int(float64(resamples)*(1-r.level)/2)-2)
	// as far from the value as the further of both ends: noise that is drawn twice is
	// biased twice
	w := max(r.value[k]-xs[tail], xs[resamples-1-tail]-r.value[k])
	if r.level > farthest { // on from the ends of so few draws as normal errors go
		w *= math.Erfinv(r.level) / math.Erfinv(farthest)
	}
	out := Row{Name: name, Value: value, Low: keep(r.value[k] - w), High: keep(r.value[k] + w)}
	out.Drowned = out.drowned(lo, hi)
	return out
}

// drowned says that an interval in [lo, hi] says nothing.
func (r *Row) drowned(lo, hi float64) bool {
	return lo < hi && r.Low <= lo && r.High >= hi
}

// resampled is one figure; f is NaN where the sums do not allow it.
func (a *Answerer) resampled(name string, sums []float64, sigma float64, f func([]float64) float64,
	lo, hi float64) Row {
	return a.resampledAll(sums, sigma, 1, func(s, dst []float64) bool {
		dst[0] = f(s)
		return !math.IsNaN(dst[0])
	}).row(name, 0, lo, hi)
}

// sample widens an interval in [lo, hi] by the deviation of the figure over samples of
// other people, if that is asked.
func (a *Answerer) sample(r *Row, deviation, lo, hi float64) {
	if !a.Sampling {
		return
	}
	if math.IsNaN(deviation) || math.IsInf(deviation, 0) {
		r.Low, r.High, r.Drowned = lo, hi, true
		return
	}
	w := a.z * deviation
	r.Low = max(lo, r.Value-math.Hypot(r.Value-r.Low, w))
	r.High = min(hi, r.Value+math.Hypot(r.High-r.Value, w))
	r.Drowned = r.Drowned || r.drowned(lo, hi)
}
