package report

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"sotto/config"
	"sotto/experiment/rundir"
	"sotto/internal/decimal"
	"sotto/report/plot"
)

// Grid is a table of figures with their intervals.
type Grid struct {
	Caption string
	Header  []string
	Rows    [][]Cell
}

// Cell is a text with what stands below it.
type Cell struct {
	Text, Below string
	Head        bool // of its row
	Drowned     bool // noise leaves nothing to say
}

// mostFigures is how many rows of an answer a page has.
const mostFigures = 500

// sentence says what was asked of whom at which price.
func (a *asked) sentence(owners, price string) string {
	if owners != "" {
		owners = " (" + owners + ")"
	}
	s := fmt.Sprintf("%s of %s%s at %s; intervals are at level %g", config.Count(len(a.Answers), "question"),
		config.Count(a.Owners, "owner"), owners, price, a.Level)
	if a.Sampling {
		s += " and, of all but counts and sums, hold for other people like these too"
	}
	if a.Counted != "" {
		s += "; counts are of " + a.Counted + "s, each with the mean of its rows"
	}
	return s + "."
}

// answered are the sections of a run that asked questions, and their drawings; none of
// one that learned.
func (r *run) answered() ([]Section, []plot.Drawing, error) {
	if r.asked == nil {
		return nil, nil, nil
	}
	owners := ""
	if n := r.Summary.Names.Agents; len(n) <= mostOwners {
		owners = strings.Join(n, ", ")
	}
	_, upper := r.Summary.Worst()
	p := r.Summary.Privacy[0]
	price := fmt.Sprintf("epsilon %s and delta %g", rundir.FormatEpsilon(upper), p.Delta)
	return r.asked.sections(r.asked.sentence(owners, price))
}

// ofNode are those of a node.
func (a *asked) ofNode(n *rundir.Node) ([]Section, []plot.Drawing, error) {
	owners := ""
	if len(n.Members) <= mostOwners {
		owners = strings.Join(n.Members, ", ")
	}
	price := "the epsilon of the statement below"
	if n.Target > 0 && !math.IsInf(float64(n.Target), 1) {
		price = fmt.Sprintf("epsilon %s at most and delta %g", rundir.FormatEpsilon(float64(n.Target)),
			n.TargetDelta)
	}
	return a.sections(a.sentence(owners, price))
}

// mostOwners is how many owners are named.
const mostOwners = 20

// sections has one for each question after one with what was asked. all are the drawings,
// those that the page leaves out included.
func (a *asked) sections(what string) (sections []Section, all []plot.Drawing, err error) {
	sections = []Section{{Title: "What was asked", Text: []string{what}}}
	for k := range a.Answers {
		q := &a.Answers[k]
		s := Section{Title: q.Question}
		if n := countDrowned(q.Rows); n > 0 {
			s.Text = append(s.Text, fmt.Sprintf("Noise drowns %d of %s: they are grey.", n,
				config.Count(len(q.Rows), "figure")))
		}
		drawings := a.drawings(k)
		shown := drawings[:min(len(drawings), mostOnPage)]
		if len(shown) < len(drawings) {
			s.Text = append(s.Text, fmt.Sprintf("The first %d of %d plots are shown.", len(shown),
				len(drawings)))
		}
		if err := s.Draw(shown...); err != nil {
			return nil, nil, err
		}
		if s.Grids = q.matrices(); s.Grids == nil {
			if len(q.Rows) > mostFigures {
				s.Text = append(s.Text, fmt.Sprintf("The first %d of %d figures are shown; sotto query "+
					"--output csv has all.", mostFigures, len(q.Rows)))
			}
			s.Grids = []Grid{a.rows(k)}
		}
		sections, all = append(sections, s), append(all, drawings...)
	}
	return sections, all, nil
}

func countDrowned(rows []estimate) int {
	n := 0
	for i := range rows {
		if rows[i].Drowned {
			n++
		}
	}
	return n
}

// rows has a line for each figure.
func (a *asked) rows(k int) Grid {
	q := &a.Answers[k]
	labelled := slices.ContainsFunc(q.Rows, func(e estimate) bool { return len(e.Labels) > 0 })
	g := Grid{Header: []string{"figure", "value", "low", "high"}}
	if labelled {
		g.Header = append([]string{"of"}, g.Header...)
	}
	if a.True != nil {
		g.Header = append(g.Header, "true")
	}
	for i := range q.Rows[:min(len(q.Rows), mostFigures)] {
		e := &q.Rows[i]
		row := []Cell{{Text: e.Name}, {Text: e.short(e.Value)}, {Text: e.short(e.Low)},
			{Text: e.short(e.High)}}
		if labelled {
			row = append([]Cell{{Text: strings.Join(e.Labels, ", ")}}, row...)
		}
		row[0].Head = true
		value := len(row) - 3
		if e.Drowned {
			row[value].Text = "drowned by noise"
		}
		if e.Note != "" {
			row[value].Text, row[value+1].Text, row[value+2].Text = e.Note, "", ""
		}
		for c := range row {
			row[c].Drowned = e.Drowned
		}
		if a.True != nil {
			row = append(row, Cell{Text: e.known()})
		}
		g.Rows = append(g.Rows, row)
	}
	return g
}

// known is the true value; "" where nobody knows.
func (e *estimate) known() string {
	switch {
	case e.truth == nil:
		return ""
	case e.truth.none():
		return "there are none"
	}
	return e.short(e.truth.Value)
}

// short writes x beside the figure's interval.
func (e *estimate) short(x float64) string {
	if unbounded(x) {
		return "no bound"
	}
	return fmt.Sprintf("%.*g", decimal.Resolving(e.Low, e.High), x)
}

// text is the figure with its interval.
func (e *estimate) text() string {
	switch {
	case e.Note != "":
		return e.Note
	case e.Drowned:
		return fmt.Sprintf("drowned by noise: %s to %s", e.short(e.Low), e.short(e.High))
	}
	return fmt.Sprintf("%s (%s to %s)", e.short(e.Value), e.short(e.Low), e.short(e.High))
}

// matrices are the two-way tables of an answer, one for each group; nil where it is none.
func (a *answer) matrices() []Grid {
	if a.Kind != "table" || len(a.Vars) != 2 {
		return nil
	}
	names, groups := a.groups()
	var all []Grid
	for k, rows := range groups {
		g := Grid{Caption: names[k], Header: []string{a.Vars[0] + " \\ " + a.Vars[1]}}
		columns, lines := map[string]int{}, map[string]int{}
		for _, e := range rows {
			if len(e.Cell) != 2 {
				return nil
			}
			if _, ok := columns[e.Cell[1]]; !ok {
				columns[e.Cell[1]] = len(g.Header)
				g.Header = append(g.Header, e.Cell[1])
			}
		}
		if len(g.Header) > mostColumns {
			return nil
		}
		for _, e := range rows {
			i, ok := lines[e.Cell[0]]
			if !ok {
				i = len(g.Rows)
				lines[e.Cell[0]] = i
				g.Rows = append(g.Rows, make([]Cell, len(g.Header)))
				g.Rows[i][0] = Cell{Text: e.Cell[0], Head: true}
			}
			c := Cell{Text: e.text(), Drowned: e.Drowned}
			if known := e.known(); known != "" {
				c.Below = "true " + known
			}
			g.Rows[i][columns[e.Cell[1]]] = c
		}
		if len(g.Rows) > mostFigures {
			return nil
		}
		all = append(all, g)
	}
	if len(all) > mostOnPage {
		return nil
	}
	return all
}

// mostColumns is how many columns a table has; a wider one is read by rows.
const mostColumns = 13
