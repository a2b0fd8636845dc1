package report

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"sotto/config"
	"sotto/experiment/rundir"
	"sotto/internal/decimal"
	"sotto/internal/jsontext"
	"sotto/report/plot"
)

// ownFigures is what own.json has of figures.
type ownFigures struct {
	Metric string `json:"metric"`
	Tests  int    `json:"test_records"`
	Scores *struct {
		Classes  []string   `json:"classes"`
		Together *ownScores `json:"together"`
		Alone    *ownScores `json:"alone"`
		Baseline *ownScores `json:"baseline"`
		Less     figures    `json:"together_less_baseline"`
		Personal *struct {
			Weights [3]float64 `json:"weights"`
			Scores  *struct {
				Together *ownScores `json:"together"`
				Alone    *ownScores `json:"alone"`
			} `json:"scores"`
		} `json:"personal"`
	} `json:"scores"`
}

type figures map[string]figure

type ownScores struct {
	Figures     figures `json:"figures"`
	Confusion   [][]int `json:"confusion"`
	Calibration []bin   `json:"calibration"`
}

// figure and bin are as package score writes them.
type figure struct {
	Value     *float64    `json:"value"`
	Interval  *[2]float64 `json:"interval"`
	Undefined string      `json:"undefined"`
}

type bin struct {
	Low     float64 `json:"low"`
	High    float64 `json:"high"`
	Records int     `json:"records"`
	Mean    float64 `json:"predicted"`
	Share   float64 `json:"observed"`
}

// Node makes the page of a finished node from its state directory. It shows figures of
// the owner's private records: it is for the owner alone, and says so.
func Node(engine, dir string) ([]byte, error) {
	n, err := rundir.ReadNode(dir)
	if err != nil {
		return nil, err
	}
	stated, err := rundir.Statements(dir)
	if err != nil {
		return nil, err
	}
	s := &stated[0].Statement
	p := Page{Title: n.Run + ": " + n.Member, Produced: "Made by sotto, engine " + engine + "."}
	p.Facts = []Fact{
		{"member", fmt.Sprintf("%s, one of %d%s", n.Member, len(n.Members), n.Lastly())},
		{"training", fmt.Sprintf("%s with %s, %s", n.Model, n.Algorithm, n.Done())},
	}
	if g, ok := rundir.GuaranteeOf(s); ok {
		p.Facts = append(p.Facts, Fact{"epsilon", fmt.Sprintf("%s at delta %g, adjacency %s, unit %s: all "+
			"runs on these data", rundir.FormatFine(float64(g.Epsilon.Upper)), g.Delta, g.Adjacency, g.Unit)})
		p.Sections = append(p.Sections, Section{Title: "The privacy statement",
			Text:   []string{stated[0].Text},
			Tables: []plot.Table{clauseTable(append(n.Background(s), g.Explain()...))}})
	}
	asked, err := readAnswers(dir)
	if err != nil {
		return nil, err
	}
	use := "sotto export %[1]s --out model.onnx"
	if asked != nil {
		sections, _, err := asked.ofNode(n)
		if err != nil {
			return nil, err
		}
		p.Facts[1] = Fact{"questions", config.Count(len(asked.Answers), "question")}
		p.Sections, use = append(sections, p.Sections...), "sotto query %[1]s --output csv"
	}
	own, err := readOwn(dir)
	if err != nil {
		return nil, err
	}
	if own != nil && own.Scores != nil && own.Scores.Together != nil {
		p.Notes = append(p.Notes, "This page shows statistics of private records without noise: it is "+
			"for the owner alone.")
		p.Facts = append(p.Facts, own.headlines()...)
		p.Sections = slices.Insert(p.Sections, 0, own.section())
	}
	raw, err := os.ReadFile(filepath.Join(dir, rundir.ShapesFile))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	shapes, _, err := shaped(dir, raw)
	if err != nil {
		return nil, err
	}
	p.Sections = append(p.Sections, shapes...)
	p.Sections = append(p.Sections, Section{Title: "Files", Listings: []Listing{{Text: fmt.Sprintf(
		"sotto ledger verify %[1]s\nsotto account statement %[1]s --out statement.html\n"+use, dir)}}})
	g, stands := rundir.GuaranteeOf(s)
	p.Lead, p.Figures = leadOfNode(n, own)
	if stands {
		text, figure := leadOfEpsilon(&g)
		p.Lead, p.Figures = p.Lead+text, append(p.Figures, figure)
	}
	var b bytes.Buffer
	err = WriteHTML(&b, p)
	return b.Bytes(), err
}

// leadOfNode is what came of a node's run in a sentence, and the figures that matter; own
// is nil where the owner has none.
func leadOfNode(n *rundir.Node, own *ownFigures) (text string, figures []Figure) {
	others := config.Count(len(n.Members)-1, "other member")
	switch {
	case n.Left():
		text = fmt.Sprintf("%s left the run after %s, with %s%s.", n.Member, n.Done(), others, n.Lastly())
	case n.Epoch > 0:
		text = fmt.Sprintf("%s has finished %s, with %s%s.", n.Member, n.Done(), others, n.Lastly())
	default:
		text = fmt.Sprintf("%s and %s have finished %s.", n.Member, others, n.Done())
	}
	if own != nil && own.Scores != nil && own.Scores.Together != nil {
		name, together := own.headline(), own.Scores.Together
		if x := together.Figures[name].Value; x != nil {
			figures = append(figures, Figure{Name: strings.ToUpper(name[:1]) + name[1:] +
				" of the shared model", Value: fmt.Sprintf("%.4g", *x),
				Under: fmt.Sprintf("on %d own test records", own.Tests)})
			text += fmt.Sprintf(" The shared model has %s %s on the owner's own test records.", name,
				figureText(together.Figures[name]))
			if p := own.Scores.Personal; p != nil && p.Scores != nil {
				text += fmt.Sprintf(" The owner's own model has %s.",
					figureText(p.Scores.Together.Figures[name]))
			}
		}
	}
	return text, figures
}

// leadOfEpsilon is what all runs on an owner's data have cost.
func leadOfEpsilon(g *rundir.Guarantee) (string, Figure) {
	upper := float64(g.Epsilon.Upper)
	return fmt.Sprintf(" All runs on these data cost any one %s at most epsilon %s at delta %g.", g.Unit,
			rundir.FormatEpsilon(upper), g.Delta), Figure{Name: "Epsilon, at most",
			Value: decimal.Fixed(upper, 2, true),
			Under: fmt.Sprintf("for one %s, at delta %g, over all runs on these data", g.Unit, g.Delta)}
}

// headline names the figure that is looked at first.
func (o *ownFigures) headline() string {
	if len(o.Scores.Classes) > 0 {
		return "accuracy"
	}
	return "r2"
}

// readOwn reads the owner's figures; nil: there are none.
func readOwn(dir string) (*ownFigures, error) {
	path := filepath.Join(dir, rundir.OwnFile)
	b, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	own := new(ownFigures)
	if err := json.Unmarshal(b, own); err != nil {
		return nil, jsontext.Error(path, b, err, "what sotto node has written")
	}
	return own, nil
}

// headlines are the figures that a reader looks for first.
func (o *ownFigures) headlines() []Fact {
	name := o.headline()
	facts := []Fact{{name, fmt.Sprintf("%s on %d own test records",
		figureText(o.Scores.Together.Figures[name]), o.Tests)}}
	if o.Scores.Baseline != nil {
		facts = append(facts, Fact{"baseline", figureText(o.Scores.Baseline.Figures[name])})
	}
	if o.Scores.Alone != nil {
		facts = append(facts, Fact{"alone", figureText(o.Scores.Alone.Figures[name]) + ", without noise"})
	}
	if p := o.Scores.Personal; p != nil && p.Scores != nil {
		facts = append(facts, Fact{"own model", fmt.Sprintf("%s, fitted alone %s; of alone %.1f, "+
			"shared %.1f, personal %.1f", figureText(p.Scores.Together.Figures[name]),
			figureText(p.Scores.Alone.Figures[name]), p.Weights[0], p.Weights[1], p.Weights[2])})
	}
	return facts
}

// section has all figures, each with its interval, and what is predicted for whom.
func (o *ownFigures) section() Section {
	t := plot.Table{Header: []string{"figure", "together", "baseline", "together less baseline"}}
	s := o.Scores
	if s.Alone != nil {
		t.Header = append(t.Header, "alone, without noise")
	}
	for _, name := range slices.Sorted(maps.Keys(s.Together.Figures)) {
		row := []string{name, figureText(s.Together.Figures[name]), "", figureText(s.Less[name])}
		if s.Baseline != nil {
			row[2] = figureText(s.Baseline.Figures[name])
		}
		if s.Alone != nil {
			row = append(row, figureText(s.Alone.Figures[name]))
		}
		t.Rows = append(t.Rows, row)
	}
	sec := Section{Title: "How good the model is", Tables: []plot.Table{t}, Text: []string{"Of the owner's " +
		"own test records, with bootstrap intervals at level .95. Figures of two classes are about the " +
		"second one."}}
	if c := s.Together.Confusion; len(c) > 0 && len(c) == len(s.Classes) {
		sec.Tables = append(sec.Tables, confusionTable(s.Classes, c))
	}
	if bins := s.Together.Calibration; len(bins) > 0 {
		sec.Tables = append(sec.Tables, calibrationTable(bins))
	}
	return sec
}

func confusionTable(classes []string, counts [][]int) plot.Table {
	t := plot.Table{Header: []string{"records of class"}}
	for _, c := range classes {
		t.Header = append(t.Header, "predicted "+c)
	}
	for k, row := range counts {
		cells := []string{classes[k]}
		for _, n := range row {
			cells = append(cells, strconv.Itoa(n))
		}
		t.Rows = append(t.Rows, cells)
	}
	return t
}

func calibrationTable(bins []bin) plot.Table {
	t := plot.Table{Header: []string{"predicted probability", "records", "mean predicted", "share observed"}}
	for _, b := range bins {
		t.Rows = append(t.Rows, []string{fmt.Sprintf("%.2g to %.2g", b.Low, b.High), strconv.Itoa(b.Records),
			fmt.Sprintf("%.3f", b.Mean), fmt.Sprintf("%.3f", b.Share)})
	}
	return t
}

func figureText(f figure) string {
	switch {
	case f.Value == nil:
		return "undefined: " + f.Undefined
	case f.Interval == nil || f.Interval[0] == f.Interval[1]: // a width of 0 would claim certainty
		return fmt.Sprintf("%.4g", *f.Value)
	}
	return fmt.Sprintf("%.4g (%.3g to %.3g)", *f.Value, f.Interval[0], f.Interval[1])
}
