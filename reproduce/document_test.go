package reproduce

import (
	"fmt"
	"math"
	"testing"

	"sotto/report/plot"
)

func TestSample(t *testing.T) {
	s := Sample{2, 4, 4, 4, 5, 5, 7, 9} // a textbook sample: mean 5, sum of squares 32
	if s.Mean() != 5 || math.Abs(s.SD()-math.Sqrt(32./7)) > 1e-12 {
		t.Errorf("mean %g, sd %g", s.Mean(), s.SD())
	}
	if got := (Sample{3}).String(); got != "3.00" {
		t.Error(got)
	}
}

func ExampleDocument() {
	d := &Document{
		Name:    "seed000-table1",
		Title:   "accuracy",
		Header:  []string{"λ2/n", "ours"},
		Rows:    [][]string{{"1", "90.10 ± 0.20"}},
		Notes:   []string{"a note"},
		Figures: []plot.Figure{{Name: "figure1", Title: "DP-DSGD"}},
	}
	fmt.Print(string(d.Markdown()), string(d.LaTeX()), string(d.CSV()))
	// Output:
	// ## seed000-table1: accuracy
	//
	// | λ2/n | ours |
	// |---|---|
	// | 1 | 90.10 ± 0.20 |
	//
	// - a note
	//
	// ![DP-DSGD](figure1.svg)
	// % seed000-table1: accuracy
	// \begin{tabular}{ll}
	// \hline
	// $\lambda_2/n$ & ours \\
	// \hline
	// 1 & 90.10 $\pm$ 0.20 \\
	// \hline
	// \end{tabular}
	// λ2/n,ours
	// 1,90.10 ± 0.20
}
