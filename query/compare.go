package query

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"gonum.org/v1/gonum/stat/distuv"

	"sotto/data"
	"sotto/data/schema"
)

// comparison is Welch's t-test: the powers of a number in the two groups of a category.
type comparison struct {
	powers
	groups groups
}

func newComparison(q *Question, vars []schema.Variable) (shape, error) {
	v, err := bounded(q, vars, q.Vars[0])
	if err != nil {
		return nil, err
	}
	g, err := category(q, vars, q.Vars[1])
	if err != nil {
		return nil, err
	}
	if len(g.Categories) != 2 {
		return nil, q.bad(fmt.Sprintf("%d values of %s", len(g.Categories), g.Name), "2, which are compared")
	}
	return &comparison{powers{v, "variance"}, groups{[]*schema.Variable{g}}}, nil
}

func (c *comparison) dim() int { return 2 * c.powers.dim() }

func (c *comparison) add(dst []float64, d *data.Dataset, i int) {
	if k := c.groups.of(d, i); k >= 0 {
		n := c.powers.dim()
		c.powers.add(dst[k*n:(k+1)*n], d, i)
	}
}

// answer is the difference of the second group's mean from the first's, with an interval
// for other people like these, and the probability of one as large where there is none.
// What noise can hide of the groups' variances and counts is held against a difference;
// it is drowned where noise alone explains it.
func (c *comparison) answer(sums []float64, sigma float64, a *Answerer) []Row {
	_, half := column{c.v, -1}.scale()
	group := c.groups.vars[0]
	label := []string{group.Categories[1] + " - " + group.Categories[0]}
	// of four unknown figures each may be off by its noise at a quarter of .5 %
	const z = 3.02
	counted, drowning := true, 0.
	var means, squares, freedom [2]float64
	var counts []Row
	for k := range 2 {
		s := sums[3*k : 3*k+3]
		row := a.count("count", s[0], sigma)
		row.Labels = c.groups.labels(k)
		counts = append(counts, row)
		n := s[0] - z*sigma
		if n < 1+fewestOf {
			counted = false
			continue
		}
		m := min(max(s[1]/s[0], -1), 1)
		v := (s[2]/s[0]+1)/2 - m*m
		// both are ratios, with errors of first order
		noise := math.Hypot(.5*math.Hypot(1, s[2]/s[0])+2*math.Abs(m), m) * sigma / n
		v = min(max(0, v)+z*noise, 1-m*m)
		means[k] = m
		square := sigma * sigma * (1 + m*m) / (n * n)
		squares[k] = v/(n-1) + square
		drowning += square
		freedom[k] = n - 1
	}
	all := []Row{{Name: "difference", Low: -2 * half, High: 2 * half, Drowned: true, Labels: label},
		{Name: "p-value", Value: 1, High: 1, Drowned: true, Labels: label}}
	if counted {
		d, square, p, w := half*(means[1]-means[0]), squares[0]+squares[1], 1., 0.
		if square > 0 {
			df := square * square / (squares[0]*squares[0]/freedom[0] + squares[1]*squares[1]/freedom[1])
			t := distuv.StudentsT{Sigma: 1, Nu: max(1, df)}
			se := half * math.Sqrt(square)
			w = t.Quantile(1-(1-a.Level)/2) * se
			p = 2 * t.Survival(math.Abs(d)/se)
		} else if d != 0 { // two numbers that nobody differs from
			p = 0
		}
		all[0].Value, all[0].Low, all[0].High = d, d-w, d+w
		all[0].Drowned = math.Abs(d) < a.z*half*math.Sqrt(drowning)
		all[1] = Row{Name: "p-value", Value: p, Low: p, High: p, Labels: label}
	}
	return append(all, counts...)
}

// top are the most frequent values of a category.
type top struct {
	table
	many int
}

// newTop asks for the first values by their counts. A count by value costs what one count
// does, since a record has one value, and shows how many there are; the exponential
// mechanism at the same cost errs as much for about 4,000 values and more for fewer, and
// is no sum that owners could share.
func newTop(q *Question, vars []schema.Variable) (shape, error) {
	s, err := newTable(&Question{Text: q.Text, Kind: q.Kind, Vars: q.Vars[:1]}, vars)
	if err != nil {
		return nil, err
	}
	t := &top{*s.(*table), int(q.Nums[0])}
	if t.many > t.dim() {
		return nil, q.bad(fmt.Sprint(t.many), fmt.Sprintf("at most the %d values of %s", t.dim(), q.Vars[0]))
	}
	return t, nil
}

// answer is the first values, with intervals that hold for all values together; one that
// may not be among the first is drowned.
func (t *top) answer(sums []float64, sigma float64, a *Answerer) []Row {
	all := *a
	all.z = math.Sqrt2 * math.Erfinv(1-(1-a.Level)/float64(t.dim()))
	order := make([]int, len(sums))
	for k := range order {
		order[k] = k
	}
	slices.SortStableFunc(order, func(x, y int) int {
		switch {
		case sums[x] > sums[y]:
			return -1
		case sums[x] < sums[y]:
			return 1
		}
		return 0
	})
	var rows []Row
	for _, k := range order[:t.many] {
		r := all.count("count", sums[k], sigma)
		r.Labels = []string{strings.Join(t.cells.labels(k), ", ")}
		if t.many < len(order) {
			r.Drowned = sums[k]-sums[order[t.many]] < 2*all.z*sigma
		}
		rows = append(rows, r)
	}
	return rows
}
