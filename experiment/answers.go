package experiment

import (
	"encoding/csv"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"

	"sotto/config"
	"sotto/internal/decimal"
	"sotto/query"
)

// TrueOf is what the records themselves say of row i of answer k; nil where nobody knows.
func (a *Answers) TrueOf(k, i int) *query.Row {
	if k >= len(a.True) {
		return nil
	}
	r, rows := &a.Answers[k].Rows[i], a.True[k].Rows
	same := func(t query.Row) bool { return t.Name == r.Name && slices.Equal(t.Labels, r.Labels) }
	if i < len(rows) && same(rows[i]) {
		return &rows[i]
	}
	// the most frequent values have another order, and perhaps others among them
	if at := slices.IndexFunc(rows, same); at >= 0 {
		return &rows[at]
	}
	return nil
}

// isThere says that a true row has a figure: of no records there is none.
func isThere(r *query.Row) bool { return r.Note == "" && (r.Low == r.High || !r.Drowned) }

// WriteCSV writes one row for each figure. What is not there is empty: the ends of an
// interval without bounds, a figure with a note in its place, an unknown true value.
func (a *Answers) WriteCSV(w io.Writer) error {
	c := csv.NewWriter(w)
	header := []string{"question", "labels", "name", "value", "low", "high", "drowned", "note"}
	if a.True != nil {
		header = append(header, "true")
	}
	rows := [][]string{header}
	for k, q := range a.Answers {
		for i, r := range q.Rows {
			row := []string{q.Question, strings.Join(r.Labels, ", "), r.Name, "", "", "",
				strconv.FormatBool(r.Drowned), r.Note}
			for n, x := range []float64{r.Value, r.Low, r.High} {
				if r.Note == "" && math.Abs(x) < math.MaxFloat64 {
					row[3+n] = strconv.FormatFloat(x, 'g', -1, 64)
				}
			}
			if a.True != nil {
				row = append(row, "")
			}
			if t := a.TrueOf(k, i); t != nil && isThere(t) {
				row[len(row)-1] = strconv.FormatFloat(t.Value, 'g', 7, 64) // sums are of float32
			}
			rows = append(rows, row)
		}
	}
	return c.WriteAll(rows)
}

// WriteTable writes the answers for reading.
func (a *Answers) WriteTable(w io.Writer) error {
	fmt.Fprintf(w, "%s, intervals at level %g", config.Count(a.Owners, "owner"), a.Level)
	if a.Sampling {
		fmt.Fprint(w, ", of all but counts and sums for others like these people too")
	}
	if a.Counted != "" {
		fmt.Fprintf(w, "; counts are of %ss, each with the mean of its rows", a.Counted)
	}
	fmt.Fprintln(w)
	for k, q := range a.Answers {
		fmt.Fprintf(w, "\n%s\n", q.Question)
		t := tabwriter.NewWriter(w, 0, 4, 2, ' ', 0)
		for i, r := range q.Rows {
			short := func(x float64) string {
				return fmt.Sprintf("%.*g", decimal.Resolving(r.Low, r.High), x)
			}
			text := fmt.Sprintf("%s (%s to %s)", short(r.Value), short(r.Low), short(r.High))
			switch {
			case r.Note != "":
				text = r.Note
			case r.Drowned && r.Low == -math.MaxFloat64:
				text = "drowned by noise"
			case r.Drowned:
				text = fmt.Sprintf("drowned by noise: %s to %s", short(r.Low), short(r.High))
			case r.Low == r.High:
				text = short(r.Value)
			}
			fmt.Fprintf(t, "  %s\t%s\t%s", strings.Join(r.Labels, ", "), r.Name, text)
			if known := a.TrueOf(k, i); known != nil && isThere(known) {
				fmt.Fprintf(t, "\ttrue %s", short(known.Value))
			} else if known != nil {
				fmt.Fprint(t, "\tthere are none")
			}
			fmt.Fprintln(t)
		}
		if err := t.Flush(); err != nil {
			return err
		}
	}
	return nil
}
