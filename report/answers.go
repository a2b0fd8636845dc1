package report

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"sotto/experiment/rundir"
	"sotto/internal/jsontext"
	"sotto/report/plot"
)

// asked is what answers.json says.
type asked struct {
	Owners   int      `json:"owners"`
	Level    float64  `json:"level"`
	Sampling bool     `json:"sampling"`
	Counted  string   `json:"counted"` // person; empty: record
	Answers  []answer `json:"answers"`
	True     []answer `json:"true"` // of a simulation
}

// answer and estimate are as package query writes them.
type answer struct {
	Question string     `json:"question"`
	Kind     string     `json:"kind"`
	Vars     []string   `json:"vars"`
	By       []string   `json:"by"`
	Rows     []estimate `json:"rows"`
}

type estimate struct {
	Labels  []string  `json:"labels"`
	Name    string    `json:"name"`
	Value   float64   `json:"value"`
	Low     float64   `json:"low"`
	High    float64   `json:"high"`
	Drowned bool      `json:"drowned"`
	Note    string    `json:"note"`
	Span    []float64 `json:"span"`
	Cell    []string  `json:"cell"`

	truth *estimate // what the records say; nil: nobody knows
}

// readAnswers reads what a run or node in dir has found out; nil: it asked nothing.
func readAnswers(dir string) (*asked, error) {
	b, err := os.ReadFile(filepath.Join(dir, rundir.AnswersFile))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return parseAnswers(dir, b)
}

func parseAnswers(dir string, b []byte) (*asked, error) {
	if b == nil {
		return nil, nil
	}
	a := new(asked)
	if err := json.Unmarshal(b, a); err != nil {
		return nil, jsontext.Error(filepath.Join(dir, rundir.AnswersFile), b, err, "the answers of a run")
	}
	for k := range a.Answers[:min(len(a.Answers), len(a.True))] {
		rows, known := a.Answers[k].Rows, a.True[k].Rows
		for i := range rows {
			same := func(t estimate) bool {
				return t.Name == rows[i].Name && slices.Equal(t.Labels, rows[i].Labels)
			}
			if i < len(known) && same(known[i]) {
				rows[i].truth = &known[i]
			} else if at := slices.IndexFunc(known, same); at >= 0 {
				rows[i].truth = &known[at]
			}
		}
	}
	return a, nil
}

// none says of a true row that there is no figure, as of no records.
func (e *estimate) none() bool { return e.Note != "" || e.Drowned && e.Low != e.High }

// unbounded is an end of an interval that has none.
func unbounded(x float64) bool { return math.Abs(x) >= math.MaxFloat64 }

// group is what by says of the row, the rest what the row says of its own.
func (a *answer) group(e *estimate) (group, rest string) {
	n := min(len(a.By), len(e.Labels))
	return strings.Join(e.Labels[:n], ", "), strings.Join(e.Labels[n:], ", ")
}

// groups are the rows of each combination of by, in their order; one without by.
func (a *answer) groups() (names []string, rows [][]*estimate) {
	at := map[string]int{}
	for i := range a.Rows {
		g, _ := a.group(&a.Rows[i])
		k, ok := at[g]
		if !ok {
			k = len(names)
			at[g], names, rows = k, append(names, g), append(rows, nil)
		}
		rows[k] = append(rows[k], &a.Rows[i])
	}
	return names, rows
}

// drawn is the estimate as plots have it.
func (e *estimate) drawn(label string) plot.Estimate {
	d := plot.Estimate{Label: label, Value: e.Value, Low: e.Low, High: e.High, True: math.NaN(),
		Drowned: e.Drowned}
	if unbounded(e.Low) {
		d.Low = math.Inf(-1)
	}
	if unbounded(e.High) {
		d.High = math.Inf(1)
	}
	if len(e.Span) == 2 {
		d.From, d.To = e.Span[0], e.Span[1]
	}
	if e.truth != nil && !e.truth.none() {
		d.True = e.truth.Value
	}
	return d
}

// spans says that rows are bins next to each other.
func spans(rows []*estimate) bool {
	for k, e := range rows {
		if len(e.Span) != 2 || !(e.Span[0] < e.Span[1]) || k > 0 && e.Span[0] != rows[k-1].Span[1] {
			return false
		}
	}
	return len(rows) > 0
}

// drawings of the k-th answer, from 0.
func (a *asked) drawings(k int) []plot.Drawing {
	q := &a.Answers[k]
	var out []plot.Drawing
	name := func() string {
		if len(out) == 0 {
			return fmt.Sprintf("answer-%d", k+1)
		}
		return fmt.Sprintf("answer-%d-%d", k+1, len(out)+1)
	}
	groups, rows := q.groups()
	switch {
	case q.Kind == "histogram" && !slices.ContainsFunc(rows, notSpans):
		for i := range groups {
			all := drawnAll(rows[i], "")
			out = append(out, plot.Bars{Name: name(), Title: title(q, groups[i]), XLabel: first(q.Vars),
				YLabel: "records", Of: all,
				Caption: a.caption("Bars: counts, equally wide whatever their bins; "+
					"what lies beyond the edges is in the outermost bins.", "A dashed grey outline",
					"Crosses", all)})
		}
	case q.Kind == "survival" && !slices.ContainsFunc(rows, notSpans):
		for part := range slices.Chunk(rows, mostSteps) {
			s := plot.Steps{Name: name(), Title: title(q, ""), XLabel: first(q.Vars),
				YLabel: "share without the event (%)"}
			var all []plot.Estimate
			for _, r := range part {
				g, _ := q.group(r[0])
				s.Curves = append(s.Curves, plot.StepCurve{Name: g, Of: drawnAll(r, "")})
				all = append(all, drawnAll(r, "")...)
			}
			s.Caption = a.caption("Line: share at the ends of the bins; band: its interval.",
				"A dashed grey line", "Dotted lines", all)
			out = append(out, s)
		}
	default:
		for part := range slices.Chunk(q.figures(), mostDots) {
			out = append(out, plot.Dots{Name: name(), Title: title(q, ""), XLabel: q.unit(), Of: part,
				Zero: q.unit() == "records",
				Caption: a.caption("Dots: values.", "A hollow dot with a dashed grey whisker", "Crosses",
					part)})
		}
	}
	return out
}

// What one plot shows.
const (
	mostSteps = 3
	mostDots  = 40
)

func notSpans(rows []*estimate) bool { return !spans(rows) }

func drawnAll(rows []*estimate, label string) []plot.Estimate {
	all := make([]plot.Estimate, len(rows))
	for i, e := range rows {
		all[i] = e.drawn(label)
	}
	return all
}

func title(q *answer, group string) string {
	if group == "" {
		return q.Question
	}
	return group + ": " + q.Question
}

func first(names []string) string {
	if len(names) == 0 {
		return ""
	}
	return names[0]
}

// pointed are kinds whose answers are figures that lie on one axis, with how the names of
// these figures begin.
var pointed = map[string]string{"count": "count", "sum": "sum", "mean": "mean", "variance": "variance",
	"quantile": "quantile", "table": "count", "top": "count", "correlation": "correlation"}

// unit is what the axis of figures has.
func (a *answer) unit() string {
	switch figure := pointed[a.Kind]; figure {
	case "count":
		return "records"
	case "quantile", "mean":
		return first(a.Vars)
	case "correlation":
		return figure
	default:
		return figure + " of " + first(a.Vars)
	}
}

// figures are those that are drawn as dots: two or more that lie on one axis. A table of
// several categories is read as a table.
func (a *answer) figures() []plot.Estimate {
	begins, ok := pointed[a.Kind]
	if !ok || a.Kind == "table" && len(a.Vars) > 1 {
		return nil
	}
	var all []plot.Estimate
	for i := range a.Rows {
		e := &a.Rows[i]
		if e.Note != "" || !strings.HasPrefix(e.Name, begins) {
			continue
		}
		group, rest := a.group(e)
		label := strings.TrimPrefix(rest, first(a.Vars)+" = ")
		if a.Kind == "quantile" {
			label = strings.TrimPrefix(e.Name, "quantile ")
		}
		if group != "" && label != "" {
			label = group + ": " + label
		}
		if label == "" {
			label = group
		}
		all = append(all, e.drawn(label))
	}
	if len(all) < 2 {
		return nil
	}
	return all
}

// caption says what the marks of a plot are.
func (a *asked) caption(what, drowned, known string, all []plot.Estimate) string {
	s := what
	if !strings.Contains(what, "interval") {
		s += fmt.Sprintf(" Whiskers: intervals at level %g.", a.Level)
	} else {
		s = strings.TrimSuffix(s, ".") + fmt.Sprintf(" at level %g.", a.Level)
	}
	if slices.ContainsFunc(all, func(e plot.Estimate) bool { return e.Drowned }) {
		s += " " + drowned + ": drowned by noise."
	}
	if slices.ContainsFunc(all, func(e plot.Estimate) bool { return !math.IsNaN(e.True) }) {
		s += " " + known + ": true values, which a simulation alone sees."
	}
	return s
}
