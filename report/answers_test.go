package report_test

import (
	"regexp"
	"strings"
	"testing"

	"sotto/experiment/rundir"
	"sotto/report"
)

// found is an answers.json of a simulation, by hand.
const found = `{"owners": 2, "noise": 3, "level": 0.9, "answers": [
	{"question": "histogram(age, 2)", "kind": "histogram", "vars": ["age"], "rows": [
		{"labels": ["age in [0, 50)"], "name": "count", "value": 20, "low": 15, "high": 25, "span": [0, 50]},
		{"labels": ["age in [50, 100]"], "name": "count", "value": 1, "low": 0, "high": 6, "drowned": true,
			"span": [50, 100]}]},
	{"question": "table(sex, ward) by ill", "kind": "table", "vars": ["sex", "ward"], "by": ["ill"], "rows": [
		{"labels": ["ill = yes", "sex = F, ward = <script>alert(1)</script>"], "name": "count", "value": 11,
			"low": 7, "high": 15, "cell": ["F", "<script>alert(1)</script>"]},
		{"labels": ["ill = yes", "sex = F, ward = b, c"], "name": "count", "value": 0, "low": 0, "high": 4,
			"drowned": true, "cell": ["F", "b, c"]}]},
	{"question": "mean(age) by ill", "kind": "mean", "vars": ["age"], "by": ["ill"], "rows": [
		{"labels": ["ill = \"><script>"], "name": "mean", "value": 61.5, "low": 60, "high": 63},
		{"labels": ["ill = no"], "name": "mean", "value": 41.5, "low": 0, "high": 100, "drowned": true}]},
	{"question": "survival(months, died, 2)", "kind": "survival", "vars": ["months", "died"], "rows": [
		{"labels": ["months up to 6"], "name": "survival", "value": 0.8125, "low": 0.7, "high": 0.9,
			"span": [0, 6]},
		{"labels": ["months up to 12"], "name": "survival", "value": 0.5, "low": 0, "high": 1,
			"drowned": true, "span": [6, 12]}]},
	{"question": "evaluation()", "kind": "evaluation", "rows": [
		{"name": "AUROC", "value": 0, "low": 0, "high": 0, "note": "too few records"},
		{"name": "R2", "value": 0, "low": -1.7976931348623157e308, "high": 1, "drowned": true}]},
	{"question": "top(ward, 1)", "kind": "top", "vars": ["ward"], "rows": [
		{"labels": ["ward = a"], "name": "count", "value": 9, "low": 8, "high": 10, "drowned": true,
			"cell": ["a"]}]}],
	"true": [{"rows": [{"labels": ["age in [0, 50)"], "name": "count", "value": 18, "low": 18, "high": 18},
			{"labels": ["age in [50, 100]"], "name": "count", "value": 2, "low": 2, "high": 2}]},
		{"rows": [{"labels": ["ill = yes", "sex = F, ward = b, c"], "name": "count", "value": 3, "low": 3,
			"high": 3}]},
		{"rows": [{"labels": ["ill = no"], "name": "mean", "value": 50, "low": 0, "high": 100,
			"drowned": true}]},
		{"rows": []}, {"rows": []},
		{"rows": [{"labels": ["ward = b"], "name": "count", "value": 77777, "low": 77777, "high": 77777}]}]}`

func TestPageOfAnswers(t *testing.T) {
	r := small(t, 1, "seed = 1\n", .5, 2)
	r.Rows[0].Metric, r.Rows[1].Metric = "loss", "loss"
	r.Summary.Quality.Accuracy = nil
	r.Summary.Names.Agents = []string{"Basel", "Chur"}
	r.Answers = []byte(found)
	b, plots, err := report.Make("3", []*rundir.Run{r})
	if err != nil {
		t.Fatal(err)
	}
	page := string(b)
	for _, want := range []string{
		"<p>6 questions of 2 owners (Basel, Chur) at epsilon 2.0000 and delta 1e-05; intervals are at " +
			"level 0.9.</p>",
		"<h2>histogram(age, 2)</h2>",
		`<th scope="row">age in [0, 50)</th><td>count</td><td>20</td><td>15</td><td>25</td><td>18</td>`,
		`<th scope="row" class="drowned">age in [50, 100]</th><td class="drowned">count</td>` +
			`<td class="drowned">drowned by noise</td><td class="drowned">0</td>` +
			`<td class="drowned">6</td><td>2</td>`,
		"Noise drowns 1 of 2 figures: they are grey.",
		"<caption>ill = yes</caption>",
		`<th scope="col">&lt;script&gt;alert(1)&lt;/script&gt;</th><th scope="col">b, c</th>`,
		`<th scope="row">F</th><td>11 (7 to 15)</td><td class="drowned">` +
			`drowned by noise: 0 to 4<br><small>true 3</small></td>`,
		"<td>61.5</td><td>60</td><td>63</td><td></td>",
		`<td class="drowned">100</td><td>there are none</td>`,
		"<td>0.8125</td><td>0.7</td><td>0.9</td>",
		"<td>too few records</td><td></td><td></td>",
		`<td class="drowned">no bound</td><td class="drowned">1</td>`,
		`aria-labelledby="answer-1-title answer-1-about"`,
		"Whiskers: intervals at level 0.9. A dashed grey outline: drowned by noise. Crosses: true values",
		"band: its interval at level 0.9.",
	} {
		if !strings.Contains(page, want) {
			t.Errorf("the page lacks %q", want)
		}
	}
	for _, bad := range []string{"<script", "http://", "https://", "src=", "href=", "url(", "@import",
		"77777", "Over rounds", "<th>loss</th>", "NaN"} {
		if strings.Contains(page, bad) {
			t.Errorf("the page contains %q", bad)
		}
	}
	ids := map[string]bool{}
	for _, id := range regexp.MustCompile(` id="[^"]*"`).FindAllString(page, -1) {
		if ids[id] {
			t.Errorf("%s twice", id)
		}
		ids[id] = true
	}
	var names []string
	for _, f := range plots {
		names = append(names, f.Name)
	}
	// a table of two categories, a figure alone and an evaluation have no plot
	if got := strings.Join(names, " "); !strings.HasPrefix(got, "answer-1.svg answer-1.csv answer-3.svg "+
		"answer-3.csv answer-4.svg answer-4.csv graph.svg") {
		t.Error(got)
	}

	r.Answers = []byte("{")
	if _, _, err := report.Make("3", []*rundir.Run{r}); err == nil ||
		!strings.Contains(err.Error(), "answers.json:1: found ") {
		t.Error(err)
	}
}

// Spans and cells that are no bins and no table are read by rows all the same.
func TestStrangeAnswers(t *testing.T) {
	for _, rows := range []string{`[]`, `null`, `[{"name": "count", "value": 7123}]`,
		`[{"name": "count", "value": 7123, "span": [1], "cell": ["a"], "labels": []}]`,
		`[{"name": "count", "value": 7123, "span": [2, 1], "cell": ["a", "b", "c"]}]`,
		`[{"name": "count", "value": 1e308, "span": [0, 1]},
			{"name": "count", "value": 7123, "span": [3, 4]}]`} {
		for _, kind := range []string{"histogram", "survival", "table", "mean", "quantile", "pca", ""} {
			for _, vars := range []string{`null`, `["a"]`, `["a", "b"]`} {
				r := small(t, 1, "seed = 1\n", .5, 1)
				r.Answers = []byte(`{"owners": 1, "level": 0.95, "answers": [{"question": "q", "kind": "` +
					kind + `", "vars": ` + vars + `, "by": ["c"], "rows": ` + rows + `}]}`)
				page, _, err := report.Make("3", []*rundir.Run{r})
				if err != nil {
					t.Fatalf("%s of %s: %v", rows, kind, err)
				}
				if strings.Contains(rows, "7123") != strings.Contains(string(page), ">7123<") {
					t.Errorf("%s of %s: the figure is lost", rows, kind)
				}
			}
		}
	}
}
