package query

import (
	"math"
	"slices"
	"strconv"
	"strings"

	"sotto/data/schema"
)

// Counts of one run that are about the same records have to agree: a table's margins with
// the counts of its groups, all with the total. They are made to: what is answered are
// the counts of one table of all their categories, nowhere below 0, that is the nearest
// to all that was released, by least squares with the noise of each question.

// maxJoint is how many cells that table may have; beyond, counts stay as they came.
const maxJoint = 1 << 17

// mostSteps bounds the time for it; margins agree after any number of steps.
const mostSteps = 200_000_000

// counted is a question whose every number is a count, one row each: it counts what
// attributes have which values, the last one fastest.
type counted struct {
	part  int
	attrs []attribute
}

// attribute is a category, or a number by the edges of its bins.
type attribute struct {
	key    string
	values int
	slack  bool // some records have none of the values
}

func attributesOf(vars []*schema.Variable) []attribute {
	var all []attribute
	for _, v := range vars {
		all = append(all, attribute{v.Name, len(v.Categories), v.Missing >= 0 || v.Open})
	}
	return all
}

// counts tells whether a shape's rows are counts of all combinations of attributes.
func (g *grouped) counts() (attrs []attribute, ok bool) {
	attrs = attributesOf(g.groups.vars)
	switch s := g.one.(type) {
	case count:
	case *table:
		attrs = append(attrs, attributesOf(s.cells.vars)...)
	case *bins:
		key := s.v.Name
		for _, e := range s.edges {
			key += " " + strconv.FormatFloat(e, 'g', -1, 64)
		}
		attrs = append(attrs, attribute{key, s.dim(), s.v.Missing >= 0})
	default:
		return nil, false
	}
	for k, a := range attrs { // a category twice has cells that nobody is in
		if slices.ContainsFunc(attrs[:k], func(b attribute) bool { return a.key == b.key }) {
			return nil, false
		}
	}
	return attrs, true
}

// agree returns values for the rows of the parts that are counts and have others to agree
// with, by part. sums are those of all parts in counts, sigmas their noise.
func (p *Plan) agree(sums [][]float64, sigmas []float64) map[int][]float64 {
	by := map[string][]counted{} // parts about the same records
	var keys []string
	for k := range p.Parts {
		g, ok := p.Parts[k].shape.(*grouped)
		if !ok || !(sigmas[k] > 0) {
			continue
		}
		attrs, ok := g.counts()
		if !ok {
			continue
		}
		key := conditionsText(p.Parts[k].Where)
		if by[key] == nil {
			keys = append(keys, key)
		}
		by[key] = append(by[key], counted{k, attrs})
	}
	out := map[int][]float64{}
	for _, key := range keys {
		if len(by[key]) > 1 {
			agreed(by[key], sums, sigmas, out)
		}
	}
	return out
}

func conditionsText(all []Condition) string {
	var texts []string
	for _, c := range all {
		texts = append(texts, c.Var+"\x00"+c.Op+"\x00"+c.Value)
	}
	slices.Sort(texts)
	return strings.Join(texts, "\x01")
}

// agreed solves for one set of parts.
func agreed(parts []counted, sums [][]float64, sigmas []float64, out map[int][]float64) {
	var joint []attribute
	cells := 1
	for _, c := range parts {
		for _, a := range c.attrs {
			if slices.ContainsFunc(joint, func(b attribute) bool { return a.key == b.key }) {
				continue
			}
			joint = append(joint, a)
			if cells *= a.values + b2i(a.slack); cells > maxJoint {
				return
			}
		}
	}
	maps := make([][]int32, len(parts))
	for k, c := range parts {
		maps[k] = cellsOf(c, joint, cells)
	}
	x := nearest(parts, maps, sums, sigmas, cells)
	for k, c := range parts {
		out[c.part] = project(x, maps[k], len(sums[c.part]))
	}
}

// cellsOf says in which cell of a part each cell of the joint table is; -1: in none.
func cellsOf(c counted, joint []attribute, cells int) []int32 {
	at := make([]int32, cells)
	value := make([]int, len(joint))
	for j := range at {
		rest := j
		for k := len(joint) - 1; k >= 0; k-- {
			n := joint[k].values + b2i(joint[k].slack)
			value[k], rest = rest%n, rest/n
		}
		for _, a := range c.attrs {
			v := value[slices.IndexFunc(joint, func(b attribute) bool { return a.key == b.key })]
			if v == a.values {
				at[j] = -1
				break
			}
			at[j] = at[j]*int32(a.values) + int32(v)
		}
	}
	return at
}

// nearest is the table without negative cells whose sums are nearest to the released
// ones: accelerated projected gradients (Beck and Teboulle 2009).
func nearest(parts []counted, maps [][]int32, sums [][]float64, sigmas []float64, cells int) []float64 {
	least := math.Inf(1)
	for _, c := range parts {
		least = min(least, sigmas[c.part])
	}
	weights, steep := make([]float64, len(parts)), 0.
	for k, c := range parts {
		weights[k] = math.Pow(least/sigmas[c.part], 2)
		members := make([]int, len(sums[c.part]))
		for _, at := range maps[k] {
			if at >= 0 {
				members[at]++
			}
		}
		steep += weights[k] * float64(slices.Max(members))
	}
	x, last, y := make([]float64, cells), make([]float64, cells), make([]float64, cells)
	grad := make([]float64, cells)
	t := 1.
	for range min(4000, max(50, mostSteps/(cells*len(parts)))) {
		clear(grad)
		for k, c := range parts {
			residual := project(y, maps[k], len(sums[c.part]))
			for i := range residual {
				residual[i] -= sums[c.part][i]
			}
			for j, at := range maps[k] {
				if at >= 0 {
					grad[j] += weights[k] * residual[at]
				}
			}
		}
		next, moved, size := (1+math.Sqrt(1+4*t*t))/2, 0., 1.
		copy(last, x)
		for j := range x {
			x[j] = max(0, y[j]-grad[j]/steep)
			d := x[j] - last[j]
			y[j] = x[j] + (t-1)/next*d
			moved, size = moved+d*d, size+x[j]*x[j]
		}
		if t = next; moved < 1e-18*size {
			break
		}
	}
	return x
}

// project sums a joint table over the cells of a part.
func project(x []float64, at []int32, n int) []float64 {
	out := make([]float64, n)
	for j, c := range at {
		if c >= 0 {
			out[c] += x[j]
		}
	}
	return out
}

func b2i(b bool) int {
	if b {
		return 1
	}
	return 0
}
