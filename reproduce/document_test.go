package reproduce

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode"

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

// A table in LaTeX has no character that pdfLaTeX stops at, nor one that means something
// else there; those of the repository neither.
func TestLaTeXIsASCII(t *testing.T) {
	d := Document{Header: []string{"μ or κ", "mean ‖∇f(x̄)‖²", "λ2/n", "a^b~c{d}$"},
		Rows: [][]string{{"α", "√n", `a\b`, "50 %"}}}
	lines := strings.Split(string(d.LaTeX()), "\n")
	want := []string{`$\mu$ or $\kappa$ & mean $\Vert$$\nabla$f($\bar{x}$)$\Vert$$^2$ & $\lambda_2/n$ & ` +
		`a\textasciicircum{}b\textasciitilde{}c\{d\}\$ \\`,
		`$\alpha$ & $\surd$n & a\textbackslash{}b & 50 \% \\`}
	if lines[3] != want[0] || lines[5] != want[1] {
		t.Errorf("%q\n%q", lines[3], lines[5])
	}
	paths, err := filepath.Glob("../docs/results/*/*.tex")
	if err != nil || len(paths) == 0 {
		t.Fatalf("%d tables, %v", len(paths), err)
	}
	for _, path := range paths {
		b, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(string(b)) {
			other := func(r rune) bool { return r > unicode.MaxASCII }
			if !strings.HasPrefix(line, "%") && strings.ContainsFunc(line, other) {
				t.Errorf("%s: %s", path, line)
			}
		}
	}
}
