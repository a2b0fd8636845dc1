package report

import (
	"cmp"
	"encoding/json"
	"fmt"
	"math"
	"path/filepath"
	"slices"

	"sotto/experiment/rundir"
	"sotto/internal/jsontext"
	"sotto/report/plot"
)

// shapeOf is a shape of shapes.json.
type shapeOf struct {
	Variable   string  `json:"variable"`
	Unit       string  `json:"unit"`
	Importance float64 `json:"importance"`
	Points     []struct {
		At       float64 `json:"at"`
		Category string  `json:"category"`
		Adds     float64 `json:"adds"`
		Noise    float64 `json:"noise"`
		Share    float64 `json:"share"`
	} `json:"points"`
}

// mostShapes is how many shapes a page draws: the most important ones.
const mostShapes = 24

const aboutShapes = "What each variable adds to the output: the log-odds of the second class, or the " +
	"number that is predicted. Bands are two standard deviations of what the noise alone can do to a " +
	"shape. Importance is the standard deviation of what a variable adds over the records, by the noisy " +
	"counts."

// shaped is the section of a run or a node whose model has shapes: raw is the shapes.json
// of its directory, nil where there is none.
func shaped(dir string, raw []byte) ([]Section, []plot.Drawing, error) {
	if raw == nil {
		return nil, nil, nil
	}
	var all []shapeOf
	if err := json.Unmarshal(raw, &all); err != nil {
		return nil, nil, jsontext.Error(filepath.Join(dir, rundir.ShapesFile), raw, err,
			"the shapes of a run")
	}
	slices.SortStableFunc(all, func(a, b shapeOf) int { return cmp.Compare(b.Importance, a.Importance) })
	t := plot.Table{Header: []string{"variable", "importance"}}
	var drawings []plot.Drawing
	for k := range all {
		t.Rows = append(t.Rows, []string{all[k].Variable, fmt.Sprintf("%.3f", all[k].Importance)})
		if k < mostShapes {
			drawings = append(drawings, all[k].draw(fmt.Sprintf("shape-%d", k+1)))
		}
	}
	s := Section{Title: "What the model has learned", Text: []string{aboutShapes}, Tables: []plot.Table{t}}
	err := s.Draw(drawings...)
	return []Section{s}, drawings, err
}

// draw makes a curve of a number, and a point for each category.
func (s *shapeOf) draw(name string) plot.Drawing {
	label := s.Variable
	if s.Unit != "" {
		label += " in " + s.Unit
	}
	if len(s.Points) > 0 && s.Points[0].Category != "" {
		d := plot.Dots{Name: name, Title: s.Variable, XLabel: "added to the output", Zero: true}
		for _, p := range s.Points {
			d.Of = append(d.Of, plot.Estimate{Label: p.Category, Value: p.Adds, Low: p.Adds - 2*p.Noise,
				High: p.Adds + 2*p.Noise, True: math.NaN()})
		}
		return d
	}
	c := plot.Curve{Name: s.Variable}
	for _, p := range s.Points {
		c.Points = append(c.Points, plot.Point{X: p.At, Y: p.Adds, Low: p.Adds - 2*p.Noise,
			High: p.Adds + 2*p.Noise})
	}
	return plot.Figure{Name: name, Title: s.Variable, XLabel: label, YLabel: "added to the output",
		Curves: []plot.Curve{c}}
}
