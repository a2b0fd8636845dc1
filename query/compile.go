package query

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"sotto/config"
	"sotto/data"
	"sotto/data/schema"
	"sotto/tensor"
)

// Plan is the questions of one release, held against the variables of a data set: a map
// from a record to Dim numbers of norm at most 1.
type Plan struct {
	Parts []Part
	Dim   int
}

// Part is one question's place in the release.
type Part struct {
	*Question
	At, Dim int
	// Weight is what the question's own numbers are multiplied by: the noise of a
	// coordinate is one over it in the units of a count. It is whole steps, if
	// it is not very small, so that counts lose nothing.
	Weight float64

	shape shape
	reads []string // variables that the text does not name
}

// Columns are the variables that the question reads.
func (p *Part) Columns() []string {
	all := slices.Concat(p.Vars, p.By, p.reads)
	for _, c := range p.Where {
		all = append(all, c.Var)
	}
	return all
}

// shape makes numbers of a record, and an answer of their noisy sums.
type shape interface {
	dim() int
	norm() float64 // largest L2 norm of a record's numbers
	broken() int   // how many of a record's numbers may be others than 0 and 1
	// add adds record i's numbers to dst.
	add(dst []float64, d *data.Dataset, i int)
	// answer makes rows of noisy sums, each with normal noise of deviation sigma.
	answer(sums []float64, sigma float64, a *Answerer) []Row
}

// Limits of one release.
const (
	maxQuestions = 1000
	maxDim       = 100_000
)

// Compile holds questions against the variables of a data set. shares say how much of the
// release each gets: the noise of a question with a share of 2 is half of that with 1.
// nil: all alike. There are 1 to 1,000 texts, shares are above 0 and at most 1e6, and Dim
// at most 100,000; bad input is a *config.Error.
func Compile(texts []string, shares []float64, vars []schema.Variable) (*Plan, error) {
	if len(texts) < 1 || len(texts) > maxQuestions {
		return nil, config.Bad("ask", fmt.Sprintf("%d questions", len(texts)),
			fmt.Sprintf("1 to %d", maxQuestions))
	}
	if shares != nil && len(shares) != len(texts) {
		return nil, config.Bad("shares", len(shares),
			fmt.Sprintf("%d numbers, one for each question", len(texts)))
	}
	p := &Plan{}
	squares := 0.
	for k, text := range texts {
		q, err := Parse(text)
		if err != nil {
			return nil, err
		}
		part, err := compile(q, vars)
		if err != nil {
			return nil, err
		}
		share := 1.
		if shares != nil {
			if share = shares[k]; !(share > 0 && share <= 1e6) {
				return nil, config.Bad("shares", share, "above 0 and at most 1000000")
			}
		}
		part.At, part.Weight = p.Dim, share
		squares += share * share
		if p.Dim += part.Dim; p.Dim > maxDim {
			return nil, q.bad(fmt.Sprintf("%d numbers in all", p.Dim),
				fmt.Sprintf("at most %d in one release", maxDim))
		}
		p.Parts = append(p.Parts, *part)
	}
	broken := 0
	for k := range p.Parts {
		broken += p.Parts[k].shape.broken()
	}
	// what rounding to the nearest steps may add to the norm
	room := 1 - (math.Sqrt(float64(broken))/2+leastRoom)*step
	for k := range p.Parts {
		part := &p.Parts[k]
		part.Weight *= room / (math.Sqrt(squares) * part.shape.norm())
		if n := math.Floor(part.Weight / step); n >= fewestSteps {
			part.Weight = n * step
		}
	}
	return p, nil
}

// step is that of the integers whose sum an owner releases (privacy.GridStep). Numbers of
// a record are cut to it, all in one direction: of a million records that is one count.
// So they are rounded to the nearest before. A weight of few steps stays as it is, for
// whole ones would be much fewer.
const (
	step        = 0x1p-20
	fewestSteps = 1 << 8
	leastRoom   = 0x1p-8 // of a step, for the rounding of norms
)

// RelativeShares are shares by which the noise of every question is the same part of what
// its groups, bins and cells hold where records are spread over them evenly.
func RelativeShares(texts []string, vars []schema.Variable) ([]float64, error) {
	p, err := Compile(texts, nil, vars)
	if err != nil {
		return nil, err
	}
	shares := make([]float64, len(p.Parts))
	for k := range p.Parts {
		s := p.Parts[k].shape
		shares[k] = s.norm() * p.cells(k)
	}
	return shares, nil
}

// cells is over how many counts a question spreads the records. A sum of some of them has
// as much noise as the square root of their number.
func (p *Plan) cells(k int) float64 {
	g := p.Parts[k].shape.(*grouped)
	n := float64(g.groups.len())
	switch s := g.one.(type) {
	case *table, *bins, *top, *confusion:
		n *= float64(s.dim())
	case *quantiles, *survival, *ranks:
		n *= math.Sqrt(float64(s.dim()))
	case *comparison:
		n *= 2
	}
	return n
}

// compile finds the variables of one question.
func compile(q *Question, vars []schema.Variable) (*Part, error) {
	keep, err := conditions(q, vars)
	if err != nil {
		return nil, err
	}
	by, err := groupsOf(q, vars)
	if err != nil {
		return nil, err
	}
	one, err := newShape(q, vars)
	if err != nil {
		return nil, err
	}
	s := &grouped{one: one, keep: keep, groups: by}
	p := &Part{Question: q, Dim: s.dim(), shape: s}
	if k := slices.IndexFunc(vars, isOutcome); q.Kind == "evaluation" && k >= 0 {
		p.reads = append(p.reads, vars[k].Name)
	}
	return p, nil
}

// isOutcome says that v is the label or the target.
func isOutcome(v schema.Variable) bool { return v.At < 0 }

func find(q *Question, vars []schema.Variable, name string) (*schema.Variable, error) {
	k := slices.IndexFunc(vars, func(v schema.Variable) bool { return v.Name == name })
	if k < 0 {
		names := make([]string, len(vars))
		for i := range vars {
			names[i] = vars[i].Name
		}
		return nil, q.bad(strconv.Quote(name),
			"one of the variables "+strings.Join(names[:min(len(names), 40)], ", "))
	}
	return &vars[k], nil
}

func number(q *Question, vars []schema.Variable, name string) (*schema.Variable, error) {
	v, err := find(q, vars, name)
	if err == nil && v.Categories != nil {
		err = q.bad(strconv.Quote(name), "a number: this is a category of "+strings.Join(v.Categories, ", "))
	}
	return v, err
}

// bounded is number of one that has public bounds.
func bounded(q *Question, vars []schema.Variable, name string) (*schema.Variable, error) {
	v, err := number(q, vars, name)
	if err == nil && !(v.Low < v.High) {
		err = q.bad(strconv.Quote(name), "a number with public bounds, from the schema or [data.bounds]")
	}
	return v, err
}

func category(q *Question, vars []schema.Variable, name string) (*schema.Variable, error) {
	v, err := find(q, vars, name)
	if err == nil && v.Categories == nil {
		err = q.bad(strconv.Quote(name),
			"a category: this is a number; histogram(NUMBER, ...) has its values")
	}
	return v, err
}

// condition says whether a record counts.
type condition func(d *data.Dataset, i int) bool

func conditions(q *Question, vars []schema.Variable) (condition, error) {
	var all []condition
	for _, c := range q.Where {
		v, err := find(q, vars, c.Var)
		if err != nil {
			return nil, err
		}
		if v.Categories != nil {
			at := slices.Index(v.Categories, c.Value)
			if at < 0 || c.Op != "=" && c.Op != "!=" {
				return nil, q.bad(c.Var+" "+c.Op+" "+c.Value,
					"= or != one of "+strings.Join(v.Categories, ", "))
			}
			equal := c.Op == "="
			all = append(all, func(d *data.Dataset, i int) bool {
				k := v.Category(labelled(d, i))
				return k >= 0 && (k == at) == equal
			})
			continue
		}
		x, err := strconv.ParseFloat(c.Value, 64)
		if err != nil || math.IsNaN(x) || math.IsInf(x, 0) {
			return nil, q.bad(c.Var+" "+c.Op+" "+c.Value, "a finite number to compare with")
		}
		holds := map[string]func(y float64) bool{
			"=": func(y float64) bool { return y == x }, "!=": func(y float64) bool { return y != x },
			"<": func(y float64) bool { return y < x }, "<=": func(y float64) bool { return y <= x },
			">": func(y float64) bool { return y > x }, ">=": func(y float64) bool { return y >= x },
		}[c.Op]
		all = append(all, func(d *data.Dataset, i int) bool {
			y, ok := v.Number(aimed(d, i))
			return ok && holds(y)
		})
	}
	return func(d *data.Dataset, i int) bool {
		for _, c := range all {
			if !c(d, i) {
				return false
			}
		}
		return true
	}, nil
}

// groupsOf are the groups that by names.
func groupsOf(q *Question, vars []schema.Variable) (*groups, error) {
	g := &groups{}
	for _, name := range q.By {
		v, err := category(q, vars, name)
		if err != nil {
			return nil, err
		}
		if g.vars = append(g.vars, v); g.len() > maxBins {
			return nil, q.bad(fmt.Sprintf("%d groups", g.len()), fmt.Sprintf("at most %d", maxBins))
		}
	}
	return g, nil
}

// Map makes of every record of d its numbers: a data set of Dim features of norm at most
// 1, with d's persons and owners and without labels.
func (p *Plan) Map(d *data.Dataset) *data.Dataset {
	out := *d
	out.X = tensor.NewMat(d.Len(), p.Dim)
	out.Shape, out.RowNorm, out.Variables = [3]int{1, 1, p.Dim}, 1, nil
	out.Labels, out.Classes, out.ClassNames = nil, 0, nil
	out.Targets = make([]float32, d.Len())
	row := make([]float64, p.Dim)
	for i := range d.Len() {
		clear(row)
		for k := range p.Parts {
			part := &p.Parts[k]
			own := row[part.At : part.At+part.Dim]
			part.shape.add(own, d, i)
			for c := range own {
				own[c] = math.Round(own[c]*part.Weight/step) * step
			}
		}
		for c, x := range row {
			out.X.Row(i)[c] = float32(x)
		}
	}
	return &out
}

// labelled is what a category is read from.
func labelled(d *data.Dataset, i int) ([]float32, []int32) {
	if d.Labels == nil {
		return d.X.Row(i), nil
	}
	return d.X.Row(i), d.Labels[i : i+1]
}

// aimed is what a number is read from.
func aimed(d *data.Dataset, i int) (row, target []float32) {
	if d.Targets == nil {
		return d.X.Row(i), nil
	}
	return d.X.Row(i), d.Targets[i : i+1]
}
