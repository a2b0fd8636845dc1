package roster

import (
	"fmt"
	"slices"
	"strings"

	"sotto/config"
)

// QuestionPolicy is what an owner allows to be asked of a data set by algorithm query. A
// key that is not there allows all.
type QuestionPolicy struct {
	// Questions are the kinds of questions that may be asked, such as "mean". Without the
	// key: all.
	Questions []string `toml:"questions,omitempty"`
	// Columns are the columns that questions may name, also in by and where. Without the
	// key: all.
	Columns []string `toml:"question_columns,omitempty"`
	// SmallestGroup refuses questions for which min_records divided by the number of sums
	// is below it. A question needs one sum for each group, bin and cell, and more if a
	// group needs several, such as a mean its sum and its count.
	SmallestGroup float64 `toml:"smallest_group,omitempty"`
	// Epsilon is the most that all questions of one run may cost, at lifetime_delta: the
	// run's target_delta must not be above that; 0: no limit of its own.
	Epsilon float64 `toml:"question_epsilon,omitempty"`
}

// Asked is one question of a request.
type Asked struct {
	Text, Kind string
	Columns    []string
	Cells      int // numbers that it asks for
}

func (q *QuestionPolicy) validate(key func(string) string) error {
	switch {
	case !(q.SmallestGroup >= 0):
		return config.Bad(key("smallest_group"), q.SmallestGroup, "at least 0")
	case !(q.Epsilon >= 0):
		return config.Bad(key("question_epsilon"), q.Epsilon, "at least 0; 0 or nothing: no limit of its own")
	}
	return nil
}

// allow refuses questions that the owner does not answer.
func (d *DatasetPolicy) allow(r *Questions) error {
	q := &d.QuestionPolicy
	for _, a := range r.Asked {
		if q.Questions != nil && !slices.Contains(q.Questions, a.Kind) {
			return refusal("questions", a.Text, "one of "+strings.Join(q.Questions, ", "))
		}
		for _, c := range a.Columns {
			if q.Columns != nil && !slices.Contains(q.Columns, c) {
				return refusal("question_columns", a.Text+": "+c, "one of "+strings.Join(q.Columns, ", "))
			}
		}
		if g := q.SmallestGroup; g > 0 && float64(d.MinRecords) < g*float64(a.Cells) {
			return refusal("smallest_group", fmt.Sprintf("%s: %d cells", a.Text, a.Cells),
				fmt.Sprintf("at most %d: min_records %d over smallest_group %g",
					int(float64(d.MinRecords)/g), d.MinRecords, g))
		}
	}
	if q.Epsilon == 0 || len(r.Asked) == 0 {
		return nil
	}
	if !(r.Epsilon <= q.Epsilon) {
		return refusal("question_epsilon", r.Epsilon,
			fmt.Sprintf("a target_epsilon of at most %g for the questions of one run", q.Epsilon))
	}
	if !(r.Delta <= d.LifetimeDelta) { // at the policy's own delta they may cost more
		return refusal("question_epsilon", fmt.Sprintf("epsilon %g at target_delta %g", r.Epsilon, r.Delta),
			fmt.Sprintf("a target_delta of at most lifetime_delta %g", d.LifetimeDelta))
	}
	return nil
}
