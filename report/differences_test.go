package report_test

import (
	"encoding/csv"
	"fmt"
	"html"
	"math"
	"strconv"
	"strings"
	"testing"

	"sotto/experiment/rundir"
	"sotto/report"
)

// Two settings over five seeds look alike by their means and deviations, and are not: the
// t of 4 degrees of freedom has quantile 2.776 by published tables.
func TestDifferences(t *testing.T) {
	base := []float64{.64, .66, .67, .69, .71}
	gain := []float64{.03, .034, .036, .038, .042}
	runOf := func(name string, seed uint64, accuracy float64) *rundir.Run {
		return small(t, seed, fmt.Sprintf("seed = %d\n[algorithm]\nname = %q\n", seed, name), accuracy, 1)
	}
	var runs []*rundir.Run
	for k := range base {
		runs = append(runs, runOf("dsgd", uint64(k), base[k]), runOf("dsgt", uint64(k), base[k]+gain[k]))
	}
	runs = append(runs, runOf("dsgt", 9, .1)) // no pair
	page, files, err := report.Make("3", runs)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"<h2>Differences between settings</h2>",
		"Difference of accuracy in points from dsgd, paired over the seeds that both have",
		"<td>dsgt</td><td>5</td><td>+3.60</td><td>+3.04 to +4.16</td>",
		"stands under Differences between settings."} {
		if !strings.Contains(html.UnescapeString(string(page)), want) {
			t.Errorf("the page lacks %q", want)
		}
	}
	f := files[len(files)-1]
	rows, err := csv.NewReader(strings.NewReader(string(f.Bytes))).ReadAll()
	if err != nil || f.Name != "differences.csv" || len(rows) != 2 {
		t.Fatalf("%s %v %v", f.Name, rows, err)
	}
	se := math.Sqrt((.6*.6+.2*.2+.2*.2+.6*.6)/4) / math.Sqrt(5) // of 3.0, 3.4, 3.6, 3.8 and 4.2
	for k, want := range []float64{3.6, 3.6 - 2.7764*se, 3.6 + 2.7764*se} {
		if got, err := strconv.ParseFloat(rows[1][4+k], 64); err != nil || math.Abs(got-want) > 2e-5 {
			t.Errorf("%s is %s, want %g", rows[0][4+k], rows[1][4+k], want)
		}
	}
	// one seed each: there is nothing to say
	page, files, err = report.Make("3", runs[:2])
	if err != nil || strings.Contains(string(page), "Differences") {
		t.Errorf("differences of one seed, %v", err)
	}
	for _, f := range files {
		if f.Name == "differences.csv" {
			t.Error("a file of differences of one seed")
		}
	}
}

// Folds share records: they are no pairs, and their mean stands for their seed.
func TestFoldsAreNoPairs(t *testing.T) {
	var runs []*rundir.Run
	for seed := range uint64(2) {
		for fold := range 3 {
			for k, name := range []string{"dsgd", "dsgt"} {
				keys := fmt.Sprintf("seed = %d\n[algorithm]\nname = %q\n[evaluate]\nfolds = 3\nfold = %d\n",
					seed, name, fold)
				runs = append(runs, small(t, seed, keys, .5+float64(10*fold+k*(fold+2*int(seed)))/100,
					1))
			}
		}
	}
	page, _, err := report.Make("3", runs)
	if err != nil {
		t.Fatal(err)
	}
	// by seed .01 and .03; of 1 degree of freedom: 12.706 standard errors of .01
	want := "<td>dsgt</td><td>2</td><td>+2.00</td><td>-10.71 to +14.71</td><td>0.3</td>"
	if !strings.Contains(html.UnescapeString(string(page)), want) {
		t.Errorf("the page lacks %q", want)
	}
	// without one fold of a setting that fold is left out of the other too: .01, and .025
	// where the folds of seed 1 are .02 and .03
	page, _, err = report.Make("3", runs[:11])
	want = "<td>dsgt</td><td>2</td><td>+1.75</td>"
	if err != nil || !strings.Contains(html.UnescapeString(string(page)), want) {
		t.Errorf("the page lacks %q, %v", want, err)
	}
	page, _, err = report.Make("3", runs[:6])
	if err != nil || strings.Contains(string(page), "Differences") {
		t.Errorf("folds alone make pairs, %v", err)
	}
}
