package attack

import (
	"context"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"testing"

	"sotto/experiment"
	"sotto/experiment/run"
	"sotto/privacy/audit"
	"sotto/query"
)

// asked is a question of every kind, for the people of peopleFile.
var asked = map[string]string{"count": "count() by sex", "sum": "sum(age)", "mean": "mean(age) by ill",
	"variance": "variance(bmi)", "histogram": "histogram(age, 5)", "quantile": "quantile(age, .5)",
	"table": "table(sex, ill)", "correlation": "correlation(age, bmi)", "covariance": "covariance(age, bmi)",
	"pca": "pca(age, bmi)", "regression": "regression(bmi, age, sex)", "ttest": "ttest(age, sex)",
	"top": "top(sex, 1)", "survival": "survival(age, ill, 4)", "evaluation": "evaluation(4)"}

const peopleSchema = `version = 1
[[column]]
name = "age"
kind = "number"
bounds = [0, 100]
[[column]]
name = "bmi"
kind = "number"
bounds = [10, 50]
[[column]]
name = "sex"
kind = "category"
categories = ["F", "M"]
[target]
column = "ill"
kind = "class"
values = ["no", "yes"]
`

// peopleRun builds a run on 60 people, of whom the first is who the caller says.
func peopleRun(t *testing.T, dir, first, text string, set ...string) *experiment.Experiment {
	t.Helper()
	rows := "age,bmi,sex,ill\n" + first + "\n"
	for i := range 59 {
		sex, ill := []string{"F", "M"}[i%2], []string{"no", "yes"}[i/30]
		rows += fmt.Sprintf("%d,%d,%s,%s\n", 20+i, 18+i%20, sex, ill)
	}
	path := filepath.Join(dir, "people.csv")
	for name, text := range map[string]string{path: rows, filepath.Join(dir, "people.toml"): peopleSchema} {
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	f, err := experiment.Parse(filepath.Join(dir, "run.toml"), fmt.Appendf(nil, text, path), set)
	if err != nil {
		t.Fatal(err)
	}
	e, err := f.Build("")
	if err != nil {
		t.Fatal(err)
	}
	return e
}

const (
	peopleHead = `
[topology]
graph = "complete"
agents = 1
[data]
dataset = "table"
partition = "natural"
schema = "people.toml"
paths = [%q]
`
	peopleTrain = `name = "trained"
rounds = 3` + peopleHead + `[model]
name = "logistic"
[algorithm]
name = "dsgd"
step_size = 0.5
[privacy]
mechanism = "none"
max_grad_norm = 1.0
batch_size = 10
`
	peopleAsk = `name = "asked"
rounds = 1` + peopleHead + `[model]
name = "mean"
[algorithm]
name = "query"
ask = []
[privacy]
target_epsilon = 1.0
target_delta = 1e-3
`
)

// Every statistic is attacked: of two data sets that differ by one person who is as
// extreme as the bounds allow, the numbers released differ by at most the clip, and what
// one release shows of the person, in any direction and coordinate and at both tails of
// the noise, is within the claim. At beta 1e-6 a statement, all of them together raise a
// false alarm with a probability below 1e-4.
func TestAuditOfEveryStatistic(t *testing.T) {
	if testing.Short() {
		t.Skip("many observations on one goroutine: the race detector has nothing to find")
	}
	dir := t.TempDir()
	trained, err := run.Run(context.Background(), peopleRun(t, dir, "50,30,F,no", peopleTrain),
		run.Options{Out: filepath.Join(dir, "runs")})
	if err != nil {
		t.Fatal(err)
	}
	modes := map[string]func(*audit.Target, context.Context, audit.Options) (*audit.Report, error){
		"step": (*audit.Target).Step, "noise": (*audit.Target).Noise}
	for kind := range query.Kinds {
		t.Run(kind, func(t *testing.T) {
			if asked[kind] == "" {
				t.Fatal("no question of this kind is attacked")
			}
			set := []string{fmt.Sprintf("algorithm.ask=[%q]", asked[kind])}
			if kind == "evaluation" {
				set = append(set, "algorithm.model="+trained.Dir)
			}
			var worlds [2][]float64
			var e *experiment.Experiment
			for w, first := range []string{"0,10,F,no", "100,50,M,yes"} {
				e = peopleRun(t, dir, first, peopleAsk, set...)
				x := e.Task.Split.Train.X
				sums := make([]float64, x.Cols)
				for i := range x.Rows {
					for c, v := range x.Row(i) {
						sums[c] += float64(v)
					}
				}
				worlds[w] = sums
			}
			square := 0.
			for c, v := range worlds[0] {
				square += (v - worlds[1][c]) * (v - worlds[1][c])
			}
			// in place of each other two people may differ by two clips
			if d := math.Sqrt(square); d > 2*(1+1e-6) || d < .5 {
				t.Errorf("the sums of neighbors differ by %v, allowed: 0.5 to 2", d)
			}
			for _, canary := range []string{"gradient", "mislabelled"} {
				target, err := Target(e, Options{Canary: canary})
				if err != nil {
					t.Fatal(err)
				}
				o := audit.Options{Observations: 100, Beta: 1e-6, Seed: 5}
				for name, mode := range modes {
					if r, err := mode(target, context.Background(), o); err != nil || r.Violated {
						t.Errorf("%s by %s: %v, %+v", name, canary, err, r)
					}
				}
			}
		})
	}
}
