package sweep

import (
	"cmp"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"sotto/experiment/metric"
	"sotto/internal/sample"
)

// SayTogether writes what the folds of each setting give together, and its seeds, and how
// settings differ; nothing where there are none of these.
func (s *Sweep) SayTogether(w io.Writer, rows []Row) error {
	return cmp.Or(s.sayFolds(w, rows), s.saySeeds(w, rows))
}

// settingName names a setting by the axes that it has a value of.
func settingName(axes []string, of Joined) string {
	var parts []string
	for k, a := range axes {
		if of.Values[k] != "" {
			parts = append(parts, a+" "+of.Values[k])
		}
	}
	return strings.Join(parts, ", ")
}

// figureNames are those of the figures of rows, in their order.
func figureNames(rows []Row) (names []string) {
	had := map[string]bool{}
	for _, r := range rows {
		for _, f := range r.Quality() {
			if !had[f.Name] {
				had[f.Name], names = true, append(names, f.Name)
			}
		}
	}
	return names
}

// saySpread writes what the runs of each setting give together.
func (s *Sweep) saySpread(w io.Writer, all []Joined, runs string,
	of func(*Joined, string) []float64) {
	for k := range all {
		head := "mean ± sd"
		if name := settingName(s.Axes, all[k]); name != "" {
			head += ", " + name
		}
		for _, f := range figureNames(all[k].Rows) {
			if x := SpreadOf(of(&all[k], f)); x.Values > 0 {
				fmt.Fprintf(w, "%s, of %d %s: %s %.4f ± %.4f\n", head, x.Values, runs, f, x.Mean, x.SD)
			}
		}
	}
}

// sayFolds says what the folds of each setting give together.
func (s *Sweep) sayFolds(w io.Writer, rows []Row) error {
	all := ByFold(s.Axes, rows)
	s.saySpread(w, all, "folds", func(of *Joined, figure string) (values []float64) {
		for _, r := range of.Rows {
			for _, f := range r.Quality() {
				if f.Name == figure {
					values = append(values, f.Value)
				}
			}
		}
		return values
	})
	if all == nil {
		return nil
	}
	_, err := io.WriteString(w, "note: each fold is a run of its own, with figures of its own test records; "+
		"with secret noise each would cost its own epsilon\n")
	return err
}

// saySeeds says what the seeds of each setting give together, and how settings differ.
func (s *Sweep) saySeeds(w io.Writer, rows []Row) error {
	all := BySeed(s.Axes, rows)
	s.saySpread(w, all, "seeds", func(of *Joined, figure string) []float64 {
		return of.Seeds(s.Axes, figure)
	})
	figure, less := Compare(s.Axes, all)
	if less == nil {
		return nil
	}
	scale, digits := 1., 4
	if figure == metric.Accuracy {
		figure, scale, digits = "accuracy in points", 100, 2
	}
	first := settingName(s.Axes, all[0])
	t := tabwriter.NewWriter(w, 0, 4, 2, ' ', 0)
	fmt.Fprintf(t, "less %s\t%s\n", first, strings.Join(sample.Columns, "\t"))
	for k, d := range less {
		fmt.Fprintf(t, "%s\t%s\n", settingName(s.Axes, all[k+1]), strings.Join(d.Row(scale, digits), "\t"))
	}
	if err := t.Flush(); err != nil {
		return err
	}
	_, err := fmt.Fprintf(w, "note: %s\n", sample.About(figure, first, less))
	return err
}
