package query

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"sotto/data"
	"sotto/data/schema"
)

// newShape makes what a question asks of a record, without by and where.
func newShape(q *Question, vars []schema.Variable) (shape, error) {
	switch q.Kind {
	case "count":
		return count{}, nil
	case "sum", "mean", "variance":
		v, err := bounded(q, vars, q.Vars[0])
		if err != nil {
			return nil, err
		}
		if q.Kind == "sum" {
			return &total{v, max(math.Abs(v.Low), math.Abs(v.High))}, nil
		}
		return &powers{v: v, kind: q.Kind}, nil
	case "histogram":
		return newHistogram(q, vars)
	case "quantile":
		v, err := bounded(q, vars, q.Vars[0])
		if err != nil {
			return nil, err
		}
		return &quantiles{bins{v: v, edges: evenly(v.Low, v.High, quantileBins)}, q.Nums}, nil
	case "table":
		return newTable(q, vars)
	case "top":
		return newTop(q, vars)
	case "ttest":
		return newComparison(q, vars)
	case "survival":
		return newSurvival(q, vars)
	case "evaluation":
		return newEvaluation(q, vars)
	}
	return newMoments(q, vars)
}

// grouped asks a question of every group, and of the records that count alone.
type grouped struct {
	one    shape
	keep   condition
	groups *groups
}

func (g *grouped) dim() int      { return g.one.dim() * g.groups.len() }
func (g *grouped) norm() float64 { return g.one.norm() } // a record is in one group at most
func (g *grouped) broken() int   { return g.one.broken() }

func (g *grouped) add(dst []float64, d *data.Dataset, i int) {
	k := g.groups.of(d, i)
	if n := g.one.dim(); k >= 0 && g.keep(d, i) {
		g.one.add(dst[k*n:(k+1)*n], d, i)
	}
}

func (g *grouped) answer(sums []float64, sigma float64, a *Answerer) []Row {
	var all []Row
	n := g.one.dim()
	for k := range g.groups.len() {
		for _, r := range g.one.answer(sums[k*n:(k+1)*n], sigma, a) {
			r.Labels = append(g.groups.labels(k), r.Labels...)
			all = append(all, r)
		}
	}
	return all
}

// groups are the cells of the categories of by; one where there is no by.
type groups struct{ vars []*schema.Variable }

func (g *groups) len() int {
	n := 1
	for _, v := range g.vars {
		n *= len(v.Categories)
	}
	return n
}

// of is record i's group; -1: none.
func (g *groups) of(d *data.Dataset, i int) int {
	k := 0
	for _, v := range g.vars {
		c := v.Category(labelled(d, i))
		if c < 0 {
			return -1
		}
		k = k*len(v.Categories) + c
	}
	return k
}

func (g *groups) labels(k int) []string {
	out := make([]string, len(g.vars))
	for i, v := range slices.Backward(g.vars) {
		n := len(v.Categories)
		out[i], k = v.Name+" = "+v.Categories[k%n], k/n
	}
	return out
}

// values are those of cell k, without their variables' names.
func (g *groups) values(k int) []string {
	out := make([]string, len(g.vars))
	for i, v := range slices.Backward(g.vars) {
		n := len(v.Categories)
		out[i], k = v.Categories[k%n], k/n
	}
	return out
}

// count is one number: 1.
type count struct{}

func (count) dim() int                                  { return 1 }
func (count) norm() float64                             { return 1 }
func (count) broken() int                               { return 0 }
func (count) add(dst []float64, _ *data.Dataset, _ int) { dst[0] = 1 }

func (count) answer(sums []float64, sigma float64, a *Answerer) []Row {
	return []Row{a.count("count", sums[0], sigma)}
}

// total is one number: the value over the largest one that its bounds allow.
type total struct {
	v    *schema.Variable
	most float64
}

func (t *total) dim() int      { return 1 }
func (t *total) norm() float64 { return 1 }
func (t *total) broken() int   { return 1 }

func (t *total) add(dst []float64, d *data.Dataset, i int) {
	if x, ok := t.v.Number(aimed(d, i)); ok {
		dst[0] = min(max(x, t.v.Low), t.v.High) / t.most
	}
}

func (t *total) answer(sums []float64, sigma float64, a *Answerer) []Row {
	return []Row{a.normal("sum", t.most*sums[0], t.most*sigma)}
}

// powers are 1 and z, and for a variance 2z² - 1, where z is the number scaled to [-1,
// 1].
type powers struct {
	v    *schema.Variable
	kind string
}

func (p *powers) dim() int {
	if p.kind == "variance" {
		return 3
	}
	return 2
}

func (p *powers) norm() float64 { return math.Sqrt(float64(p.dim())) }
func (p *powers) broken() int   { return p.dim() - 1 }

// centered scales the bounds of v to [-1, 1].
func centered(v *schema.Variable, x float64) float64 {
	return min(max(2*(x-v.Low)/(v.High-v.Low)-1, -1), 1)
}

func (p *powers) add(dst []float64, d *data.Dataset, i int) {
	x, ok := p.v.Number(aimed(d, i))
	if !ok {
		return
	}
	z := centered(p.v, x)
	if dst[0], dst[1] = 1, z; p.kind == "variance" {
		dst[2] = 2*z*z - 1
	}
}

func (p *powers) answer(sums []float64, sigma float64, a *Answerer) []Row {
	mid, half := (p.v.Low+p.v.High)/2, (p.v.High-p.v.Low)/2
	n := a.count("count", sums[0], sigma)
	if p.kind == "mean" {
		return []Row{a.ratio("mean", sums[1], sums[0], sigma, mid, half), n}
	}
	v := a.resampled("variance", sums, sigma, func(s []float64) float64 {
		if !(s[0] > 0) {
			return math.NaN()
		}
		m := s[1] / s[0]
		return half * half * max(0, (s[2]/s[0]+1)/2-m*m)
	}, 0, half*half)
	// (z - m)² is at most (1 + |m|)², which bounds its variance for any law
	m, share := min(max(sums[1]/sums[0], -1), 1), v.Value/(half*half)
	square := max(0, (1+math.Abs(m))*(1+math.Abs(m))*share-share*share)
	a.sample(&v, half*half*math.Sqrt(square/sums[0]), 0, half*half)
	return []Row{v, n}
}

// bins cut a number at edges: bin k is [edge k, edge k+1), the last one with its end.
// Numbers beyond count in the outermost bins.
type bins struct {
	v     *schema.Variable
	edges []float64
}

func evenly(lo, hi float64, n int) []float64 {
	edges := make([]float64, n+1)
	for k := range edges {
		edges[k] = lo + (hi-lo)*float64(k)/float64(n)
	}
	return edges
}

func (b *bins) dim() int      { return len(b.edges) - 1 }
func (b *bins) norm() float64 { return 1 }
func (b *bins) broken() int   { return 0 }

func (b *bins) bin(x float64) int {
	k, exact := slices.BinarySearch(b.edges, x)
	if !exact {
		k--
	}
	return min(max(k, 0), b.dim()-1)
}

func (b *bins) add(dst []float64, d *data.Dataset, i int) {
	if x, ok := b.v.Number(aimed(d, i)); ok {
		dst[b.bin(x)] = 1
	}
}

func (b *bins) label(k int) string {
	end := ")"
	if k == b.dim()-1 {
		end = "]"
	}
	return fmt.Sprintf("%s in [%.6g, %.6g%s", b.v.Name, b.edges[k], b.edges[k+1], end)
}

func (b *bins) answer(sums []float64, sigma float64, a *Answerer) []Row {
	var all []Row
	for k, s := range sums {
		r := a.count("count", s, sigma)
		r.Labels, r.Span = []string{b.label(k)}, b.edges[k:k+2:k+2]
		all = append(all, r)
	}
	return all
}

func newHistogram(q *Question, vars []schema.Variable) (shape, error) {
	if len(q.Nums) > 1 {
		v, err := number(q, vars, q.Vars[0])
		return &bins{v, q.Nums}, err
	}
	v, err := bounded(q, vars, q.Vars[0])
	if err != nil {
		return nil, err
	}
	return &bins{v, evenly(v.Low, v.High, int(q.Nums[0]))}, nil
}

// table counts the cells of categories.
type table struct{ cells groups }

func newTable(q *Question, vars []schema.Variable) (shape, error) {
	t := &table{}
	for _, name := range q.Vars {
		v, err := category(q, vars, name)
		if err != nil {
			return nil, err
		}
		// held at each: many categories of several variables are more than an int counts
		if t.cells.vars = append(t.cells.vars, v); t.dim() > maxBins {
			return nil, q.bad(fmt.Sprintf("%d cells", t.dim()), fmt.Sprintf("at most %d", maxBins))
		}
	}
	return t, nil
}

func (t *table) dim() int      { return t.cells.len() }
func (t *table) norm() float64 { return 1 }
func (t *table) broken() int   { return 0 }

func (t *table) add(dst []float64, d *data.Dataset, i int) {
	if k := t.cells.of(d, i); k >= 0 {
		dst[k] = 1
	}
}

func (t *table) answer(sums []float64, sigma float64, a *Answerer) []Row {
	var all []Row
	for k, s := range sums {
		r := a.count("count", s, sigma)
		r.Labels, r.Cell = []string{strings.Join(t.cells.labels(k), ", ")}, t.cells.values(k)
		all = append(all, r)
	}
	return all
}
