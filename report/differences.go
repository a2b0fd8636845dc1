package report

import (
	"bytes"
	"encoding/csv"
	"strconv"

	"sotto/internal/sample"
	"sotto/report/plot"
)

// headline is the figure that settings are compared by: accuracy, or of a regression the
// root mean squared error where it was asked for, or else the loss.
type headline struct {
	name   string
	scale  float64
	digits int
	of     func(r *run) (float64, bool)
}

var headlines = []headline{
	{"accuracy in points", 100, 2, func(r *run) (float64, bool) {
		if !r.classification() {
			return 0, false
		}
		return r.Summary.Accuracy.Mean, true
	}},
	{"root mean squared error", 1, 4, func(r *run) (float64, bool) {
		if r.Summary.RMSE == nil {
			return 0, false
		}
		return r.Summary.RMSE.Mean, true
	}},
	{"loss", 1, 4, func(r *run) (float64, bool) { return float64(r.Summary.Loss), r.asked == nil }},
}

// bySeed is a figure of the setting's runs by seed.
func (s *group) bySeed(h *headline) map[string][]sample.Run {
	all := map[string][]sample.Run{}
	for _, r := range s.runs {
		if v, ok := h.of(r); ok {
			seed := strconv.FormatUint(r.Summary.Seed, 10)
			all[seed] = append(all[seed], sample.Run{Fold: r.keys[foldKey], Figure: v})
		}
	}
	return all
}

// compared are the settings that the first one is compared with, on its data and in its
// figure, and what they have more than the first.
type compared struct {
	first  *group
	figure *headline
	others []*group
	less   []sample.Difference
}

// compare compares settings where seeds make pairs; nil where none do.
func compare(groups []*group) *compared {
	if len(groups) < 2 {
		return nil
	}
	c := &compared{first: groups[0]}
	for k := range headlines {
		if _, ok := headlines[k].of(c.first.runs[0]); ok {
			c.figure = &headlines[k]
			break
		}
	}
	if c.figure == nil {
		return nil
	}
	values := []map[string][]sample.Run{c.first.bySeed(c.figure)}
	for _, s := range groups[1:] {
		v := s.bySeed(c.figure)
		if s.runs[0].Summary.Dataset == c.first.runs[0].Summary.Dataset && len(v) > 0 {
			c.others, values = append(c.others, s), append(values, v)
		}
	}
	if c.less = sample.Compare(values); !sample.Paired(c.less) {
		return nil
	}
	return c
}

const differencesTitle = "Differences between settings"

// addDifferences adds a section, and its numbers as a file, where seeds make pairs.
func addDifferences(p *Page, groups []*group) error {
	c := compare(groups)
	if c == nil {
		return nil
	}
	if p.Lead != "" {
		p.Lead += " How settings differ, and how surely, stands under " + differencesTitle + "."
	}
	f, err := c.file()
	p.Sections, p.files = append(p.Sections, c.section()), append(p.files, f)
	return err
}

// section is the table of differences.
func (c *compared) section() Section {
	t := plot.Table{Header: append([]string{"setting"}, sample.Columns...)}
	for k, s := range c.others {
		t.Rows = append(t.Rows, append([]string{s.label}, c.less[k].Row(c.figure.scale, c.figure.digits)...))
	}
	return Section{Title: differencesTitle, Tables: []plot.Table{t},
		Text: []string{sample.About(c.figure.name, c.first.label, c.less)}}
}

// file has the table's numbers; what is not defined is empty.
func (c *compared) file() (File, error) {
	var b bytes.Buffer
	w := csv.NewWriter(&b)
	rows := [][]string{{"setting", "less", "figure", "seeds", "difference", "low", "high", "p", "p_holm"}}
	for k, s := range c.others {
		d := &c.less[k]
		row := []string{s.label, c.first.label, c.figure.name, strconv.Itoa(d.Pairs)}
		for n, x := range []float64{d.Mean, d.Low, d.High, d.P, d.Holm} {
			if n < 3 {
				x *= c.figure.scale
			}
			text := ""
			if x-x == 0 {
				text = number(x)
			}
			row = append(row, text)
		}
		rows = append(rows, row)
	}
	err := w.WriteAll(rows)
	return File{"differences.csv", b.Bytes()}, err
}
