package report_test

import (
	"encoding/csv"
	"fmt"
	"slices"
	"strings"
	"testing"

	"sotto/experiment/rundir"
	"sotto/report"
)

// of is a run with keys of [privacy] and a step size.
func of(t *testing.T, epsilon float64, step, privacy string) *rundir.Run {
	t.Helper()
	return small(t, 1, fmt.Sprintf("seed = 1\nrounds = 9\n[algorithm]\nstep_size = %s\n[privacy]\n"+
		"target_epsilon = %.1f\n%s", step, epsilon, privacy), .5+epsilon/100, epsilon)
}

// curvesOf are the epsilons of each curve of accuracy over epsilon, and the caption.
func curvesOf(t *testing.T, runs []*rundir.Run) (map[string][]string, string) {
	t.Helper()
	page, plots, err := report.Make("3", runs)
	if err != nil {
		t.Fatal(err)
	}
	curves := map[string][]string{}
	for _, f := range plots {
		if f.Name == "accuracy-epsilon.csv" {
			rows, err := csv.NewReader(strings.NewReader(string(f.Bytes))).ReadAll()
			if err != nil {
				t.Fatal(err)
			}
			for _, row := range rows[1:] {
				curves[row[0]] = append(curves[row[0]], row[1])
			}
		}
	}
	return curves, string(page)
}

// A curve over epsilon joins settings of one guarantee and one method: what says how much
// budget there is varies along it, and what people tune for a budget.
func TestCurvesOfOneGuarantee(t *testing.T) {
	const zero, replace = "adjacency = \"zero-out\"\n", "adjacency = \"replace-one\"\n"
	for name, tc := range map[string]struct {
		runs    []*rundir.Run
		want    map[string][]string
		caption string
	}{
		"adjacency": {[]*rundir.Run{of(t, 1, "0.1", zero), of(t, 1, "0.1", replace), of(t, 2, "0.1", zero),
			of(t, 2, "0.1", replace)}, map[string][]string{"adjacency zero-out": {"1", "2"},
			"adjacency replace-one": {"1", "2"}}, ""},
		"adjacency that epsilon tells": {[]*rundir.Run{of(t, 1, "0.1", zero), of(t, 2, "0.1", replace)},
			map[string][]string{"adjacency zero-out": {"1"}, "adjacency replace-one": {"2"}}, ""},
		"delta": {[]*rundir.Run{of(t, 1, "0.1", "target_delta = 1e-3\n"),
			of(t, 2, "0.1", "target_delta = 1e-5\n")},
			map[string][]string{"target_delta 0.001": {"1"}, "target_delta 1e-05": {"2"}}, ""},
		"mechanism": {[]*rundir.Run{of(t, 1, "0.1", "mechanism = \"gaussian\"\n"),
			of(t, 2, "0.1", "mechanism = \"laplace\"\n")},
			map[string][]string{"gaussian": {"1"}, "laplace": {"2"}}, ""},
		"steps of each epsilon": {[]*rundir.Run{of(t, 1, "0.1", zero), of(t, 2, "0.3", zero)},
			map[string][]string{"all runs": {"1", "2"}},
			"Points of one curve also differ in algorithm.step_size."},
		"two steps at one epsilon": {[]*rundir.Run{of(t, 1, "0.1", zero), of(t, 1, "0.3", zero),
			of(t, 2, "0.1", zero)},
			map[string][]string{"step_size 0.1": {"1", "2"}, "step_size 0.3": {"1"}}, ""},
		"steps of one method": {[]*rundir.Run{of(t, 1, "0.1", zero), of(t, 1, "0.3", zero),
			of(t, 1, "0.1", replace), of(t, 2, "0.3", replace)}, map[string][]string{
			"adjacency zero-out, step_size 0.1": {"1"}, "adjacency zero-out, step_size 0.3": {"1"},
			"adjacency replace-one": {"1", "2"}},
			"Points of one curve also differ in algorithm.step_size."},
		"batches": {[]*rundir.Run{of(t, 1, "0.1", "batch_size = 8.0\n"),
			of(t, 1, "0.1", "batch_size = 16.0\n"), of(t, 2, "0.1", "batch_size = 16.0\n")},
			map[string][]string{"batch_size 8": {"1"}, "batch_size 16": {"1", "2"}}, ""},
	} {
		curves, page := curvesOf(t, tc.runs)
		if len(curves) != len(tc.want) {
			t.Errorf("%s: %v", name, curves)
		}
		for c, epsilons := range tc.want {
			if !slices.Equal(curves[c], epsilons) {
				t.Errorf("%s: %v, want %v", name, curves, tc.want)
			}
		}
		if got := strings.Contains(page, "Points of one curve also differ"); got != (tc.caption != "") ||
			!strings.Contains(page, tc.caption) {
			t.Errorf("%s: the page says of other keys: %v", name, got)
		}
	}
}
