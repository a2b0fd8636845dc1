package run

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"sotto/experiment"
	"sotto/experiment/experimenttest"
	"sotto/experiment/forecast"
	"sotto/experiment/rundir"
	"sotto/privacy/account/network"
	"sotto/query"
	"sotto/tensor"
)

func questions(t *testing.T, set ...string) *experiment.Experiment {
	t.Helper()
	f, err := experiment.Parse("questions.toml", []byte(experimenttest.Questions), set)
	if err != nil {
		t.Fatal(err)
	}
	e, err := f.Build("")
	if err != nil {
		t.Fatal(err)
	}
	return e
}

func answersOf(t *testing.T, e *experiment.Experiment) *experiment.Answers {
	t.Helper()
	r, err := Run(context.Background(), e, Options{Out: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	b, err := os.ReadFile(filepath.Join(r.Dir, rundir.AnswersFile))
	if err != nil {
		t.Fatal(err)
	}
	a := new(experiment.Answers)
	if err := json.Unmarshal(b, a); err != nil {
		t.Fatal(err)
	}
	return a
}

// With noise of their own, owners are the square root of their number worse than one
// trusted curator with the same epsilon; with noise that they share they are within 1.1
// times the curator's error, on any graph.
func TestNoiseBesideACurator(t *testing.T) {
	budget := []string{"privacy.noise_multiplier=0", "privacy.target_epsilon=1", "data.train=400",
		"rounds=20000", "algorithm.acceleration=plain"}
	curator := answersSigma(t, append(budget, "topology.agents=1", "topology.graph=complete")...)
	for _, n := range []int{10, 100} {
		for _, graph := range []string{"ring", "complete", "er"} {
			set := append(budget[:len(budget):len(budget)], fmt.Sprintf("topology.agents=%d", n),
				"topology.graph="+graph)
			if graph == "er" {
				set = append(set, "topology.p=0.3")
			}
			own := answersSigma(t, set...)
			if math.Abs(own-curator*math.Sqrt(float64(n))) > 1e-6*own {
				t.Errorf("%d owners, %s: own noise %v, want %v", n, graph, own, curator*math.Sqrt(float64(n)))
			}
			shared := answersSigma(t, append(set, "privacy.mechanism=decor", "privacy.curious=none",
				"privacy.pair_noise_ratio=1000")...)
			if shared > 1.1*curator || shared < curator*(1-1e-6) {
				t.Errorf("%d owners, %s: shared noise %v, a curator has %v", n, graph, shared, curator)
			}
		}
	}
}

// Noise that neighbors share cancels in the sum, whatever it counts for at each owner: n
// owners with own noise of 2 leave 2 √n, on a star as on a ring.
func TestSharedNoiseLeavesTheOwnOne(t *testing.T) {
	for _, curious := range []string{"neighbors", "one", "none"} {
		for _, graph := range []string{"star", "path", "ring"} {
			got := answersSigma(t, "topology.agents=5", "topology.graph="+graph, "rounds=500",
				"algorithm.acceleration=plain", "privacy.mechanism=decor", "privacy.curious="+curious,
				"privacy.pair_noise_ratio=5", "privacy.noise_multiplier=2")
			if want := 2 * math.Sqrt(5); math.Abs(got-want) > 1e-9*want {
				t.Errorf("%s curious, %s: noise %v, want %v", curious, graph, got, want)
			}
		}
	}
}

// Shared noise cancels in sums whatever owners have, and a plan does not say that it will
// not; of gradients, whose sums are divided by batches that differ, it does. What is left
// of noise that is 10,000 times the own one is the own one: a right program misses 7 of
// its deviations with a probability below 1e-10.
func TestSharedNoiseOfUnequalOwners(t *testing.T) {
	const doubt = "does not cancel"
	e := questions(t, "topology.agents=7", "topology.graph=complete", "rounds=2",
		"algorithm.ask=[\"count()\"]", "algorithm.shares=[1]", "algorithm.acceleration=plain",
		"privacy.mechanism=decor", "privacy.pair_noise_ratio=1e4")
	if n := e.Plans[0].Public.Records; n == e.Plans[6].Public.Records {
		t.Fatalf("all have %d records", n)
	}
	if text := strings.Join(e.Notes.Warnings, " "); strings.Contains(text, doubt) {
		t.Error(text)
	}
	a := answersOf(t, e)
	if off := a.Answers[0].Rows[0].Value - a.True[0].Rows[0].Value; math.Abs(off) > 7*a.Noise {
		t.Errorf("the count is off by %v, noise %v", off, a.Noise)
	}
	f, err := experiment.Parse("run.toml", []byte(experimenttest.Small), []string{decorSet,
		"privacy.pair_noise_ratio=3", "topology.agents=4", "data.train=122", "privacy.batch_size=0",
		"privacy.sample_rate=0.5"})
	if err == nil {
		e, err = f.Build("")
	}
	if err != nil {
		t.Fatal(err)
	}
	if text := strings.Join(e.Notes.Warnings, " "); !strings.Contains(text, doubt) {
		t.Errorf("batches differ: %q", text)
	}
}

// answersSigma is the noise of the sums that a run has planned.
func answersSigma(t *testing.T, set ...string) float64 {
	t.Helper()
	e := questions(t, set...)
	a, err := experiment.AnswersOf(e, e.Task.Init)
	if err != nil {
		t.Fatal(err)
	}
	return a.Noise
}

// The noise of a count is that of Google's differential privacy library: the variances
// that its tests publish (google/differential-privacy, go/noise/gaussian_noise_test.go)
// for one owner, one record put in or taken out. Its sigmas are at most .1 % above the
// smallest. A person in two cells is two questions here: each has the variance for an L0
// sensitivity of 2. Intervals at .95 are 1.959964 deviations on either side, as OpenDP's
// gaussian_scale_to_accuracy has it for alpha .05.
func TestNoiseBesideGoogle(t *testing.T) {
	for _, c := range []struct {
		epsilon, delta, variance float64
		ask, shares              string
	}{{math.Log(3), 1e-10, 28.76478576660, `["count()"]`, "[1]"},
		{math.Log(3), 1e-5, 11.73597717285, `["count()"]`, "[1]"},
		{2 * math.Log(3), 1e-10, 7.65948867798, `["count()"]`, "[1]"},
		{2 * math.Log(3), 1e-10, 15.318977, `["count()", "count()"]`, "[1, 1]"}} {
		e := questions(t, "privacy.noise_multiplier=0", fmt.Sprintf("privacy.target_epsilon=%v", c.epsilon),
			fmt.Sprintf("privacy.target_delta=%v", c.delta), "privacy.adjacency=add-remove",
			"privacy.min_records=10", "algorithm.acceleration=plain", "topology.agents=1",
			"topology.graph=complete", "algorithm.ask="+c.ask, "algorithm.shares="+c.shares)
		a, err := experiment.AnswersOf(e, make(tensor.Vec, len(e.Task.Init)))
		if err != nil {
			t.Fatal(err)
		}
		r := a.Answers[0].Rows[0] // of the sum 0: cut there on one side
		if got := math.Pow(r.High/1.959964, 2); math.Abs(got/c.variance-1) > .003 {
			t.Errorf("epsilon %v, delta %v, %s: variance %v, Google's %v", c.epsilon, c.delta, c.ask, got,
				c.variance)
		}
	}
}

// What is measured is what is planned: over 40 seeds, answers differ from the true values
// by the noise that is stated. A right program fails with a probability below 1e-5.
func TestAnswersHaveTheStatedNoise(t *testing.T) {
	for _, mechanism := range [][]string{nil, {"privacy.mechanism=decor", "privacy.curious=none",
		"privacy.pair_noise_ratio=20"}} {
		squares, count := 0., 0
		for seed := range 40 {
			set := append([]string{fmt.Sprintf("seed=%d", seed+1), "topology.graph=complete", "rounds=2",
				"algorithm.ask=[\"count() by label\"]", "algorithm.shares=[1]",
				"algorithm.acceleration=plain"}, mechanism...)
			a := answersOf(t, questions(t, set...))
			for k, r := range a.Answers[0].Rows {
				if r.Value == 0 { // below 0 before it was cut there
					continue
				}
				squares += math.Pow((r.Value-a.True[0].Rows[k].Value)/a.Noise, 2)
				count++
			}
		}
		// the mean square of count normal numbers has mean 1 and deviation sqrt(2/count);
		// counts of 12 that fall below 0 are left out, which takes at most .15 off
		if mean := squares / float64(count); mean > 1+5*math.Sqrt(2/float64(count)) || mean < .6 {
			t.Errorf("%v: mean square %v over %d figures, want 1", mechanism, mean, count)
		}
	}
}

// Where the number of records is private, delta is compared with a public bound of it.
func TestQuestionsUnderAddRemove(t *testing.T) {
	for set, want := range map[string]string{
		"":                               "privacy.min_records: found nothing, allowed: with add-remove",
		"privacy.min_records=2000":       "privacy.target_delta: found 0.001, allowed: below 1/n",
		"privacy.min_records=10":         "",
		"privacy.adjacency=\"zero-out\"": "",
	} {
		all := []string{"privacy.adjacency=add-remove"}
		if set != "" {
			all = append(all, set)
		}
		f, err := experiment.Parse("questions.toml", []byte(experimenttest.Questions), all)
		if err == nil {
			_, err = f.Build("")
		}
		if (want == "") != (err == nil) || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v", set, err)
		}
	}
}

// Where the number of records is private, one alone is asked, be it for tests or not, and
// two are.
func TestQuestionsOfOneRecord(t *testing.T) {
	for k, rows := range []string{"30,a\n", "31,a\n", "45,a\n", "52,b\n", "77,a\n", "30,a\n31,b\n"} {
		path := filepath.Join(t.TempDir(), "own.csv")
		if err := os.WriteFile(path, []byte("x,class\n"+rows), 0o600); err != nil {
			t.Fatal(err)
		}
		f, err := experiment.Parse("one.toml", []byte(`rounds = 2
[topology]
graph = "complete"
agents = 1
[data]
dataset = "csv"
partition = "iid"
label = "class"
label_values = ["a", "b"]
[model]
name = "mean"
[algorithm]
name = "query"
ask = ["count()"]
[privacy]
adjacency = "add-remove"
min_records = 1
noise_multiplier = 1
target_delta = 1e-3
`), []string{"data.path=" + path})
		if err == nil {
			_, err = f.Build("")
		}
		if err != nil {
			t.Errorf("file %d: %v", k, err)
		}
	}
}

// A question for nobody, or with absurd numbers, costs nothing and crashes nothing.
func TestAbsurdQuestions(t *testing.T) {
	for _, ask := range []string{`histogram(\"400\", 1000000)`, `mean(\"400\")`, `count() by nothing`} {
		f, err := experiment.Parse("questions.toml", []byte(experimenttest.Questions),
			[]string{`algorithm.ask=["` + ask + `"]`, "algorithm.shares=[1]"})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := f.Build(""); err == nil || !strings.Contains(err.Error(), "algorithm.ask: found") {
			t.Errorf("%s: %v", ask, err)
		}
	}
	a := answersOf(t, questions(t, `algorithm.ask=["count() where \"400\" > 5"]`, "algorithm.shares=[1]"))
	if r := a.Answers[0].Rows[0]; a.True[0].Rows[0].Value != 0 || r.High < 0 {
		t.Errorf("%+v", a)
	}
}

// What the records say of a difference and a correlation is there, whatever another
// sample of people would say; of no records there is nothing.
func TestTrueValuesAreThere(t *testing.T) {
	path := filepath.Join(t.TempDir(), "own.csv")
	rows := "age,bmi,ill\n"
	for i := range 40 {
		rows += fmt.Sprintf("%d,%d,%s\n", 20+i*7%40, 20+i*11%20, []string{"no", "yes"}[i%2])
	}
	if err := os.WriteFile(path, []byte(rows), 0o600); err != nil {
		t.Fatal(err)
	}
	a := answersOf(t, questions(t, `data={dataset="csv", partition="iid", label="ill", test_fraction=0.1, `+
		`label_values=["no", "yes"], bounds={age=[0, 100], bmi=[0, 50]}, path="`+path+`"}`,
		"topology.agents=1", "topology.graph=complete", "algorithm.sampling=true",
		"algorithm.shares=[1, 1, 1]",
		"privacy.target_delta=1e-2", "algorithm.acceleration=plain", "privacy.target_epsilon=1e4",
		"privacy.noise_multiplier=0", `algorithm.ask=["ttest(bmi, ill)", "correlation(age, bmi)", `+
			`"mean(age) where age > 90"]`))
	var b strings.Builder
	if err := a.WriteTable(&b); err != nil {
		t.Fatal(err)
	}
	text := strings.Split(b.String(), "mean(age)")
	if strings.Contains(text[0], "there are none") || !strings.Contains(text[1], "there are none") {
		t.Error(b.String())
	}
}

// A text shows the interval of a large figure, which five digits would lose: 1.2346e+06
// is not within 4 of 1,234,567.
func TestTextShowsNarrowIntervals(t *testing.T) {
	row := query.Row{Name: "count", Value: 1234567, Low: 1234563, High: 1234571}
	known := query.Row{Name: "count", Value: 1234566, Low: 1234566, High: 1234566}
	one := func(r query.Row) []query.Answer {
		return []query.Answer{{Question: "count()", Rows: []query.Row{r}}}
	}
	a := experiment.Answers{Answers: one(row), True: one(known)}
	var b strings.Builder
	if err := a.WriteTable(&b); err != nil {
		t.Fatal(err)
	}
	if want := "1234567 (1234563 to 1234571)  true 1234566"; !strings.Contains(b.String(), want) {
		t.Errorf("%s, want %s", b.String(), want)
	}
}

// Where persons count, the true values beside answers count persons too: each by the mean
// of its first rows.
func TestTrueValuesCountPersons(t *testing.T) {
	path := filepath.Join(t.TempDir(), "own.csv")
	rows := "id,age,ill\na,10,no\na,30,yes\nb,50,no\nc,20,yes\nc,20,yes\nc,80,no\nd,40,no\n"
	if err := os.WriteFile(path, []byte(rows), 0o600); err != nil {
		t.Fatal(err)
	}
	e := questions(t, `data={dataset="csv", partition="iid", unit_column="id", label="ill", `+
		`test_fraction=0.5, label_values=["no", "yes"], bounds={age=[0, 100]}, path="`+path+`"}`,
		"topology.agents=1", "topology.graph=complete", "privacy.unit=person",
		"privacy.max_rows_per_person=2", `algorithm.ask=["count() by ill", "mean(age)"]`,
		"privacy.target_delta=1e-2",
		"algorithm.acceleration=plain")
	a := answersOf(t, e)
	// a is half a yes and half a no, c a whole yes; means of age 20, 50, 20, 40
	for k, want := range []float64{2.5, 1.5} {
		if got := a.True[0].Rows[k].Value; math.Abs(got-want) > 1e-4 {
			t.Errorf("count %d: %v, want %v", k, got, want)
		}
	}
	if got := a.True[1].Rows[0].Value; math.Abs(got-32.5) > 1e-3 {
		t.Errorf("mean %v, want 32.5", got)
	}
}

// An answer is a sum, whose noise goes by no number of records: in a star of four a
// leaf learns half of each of the two others, one of which has a record less.
func TestNetworkOfAnswers(t *testing.T) {
	e := questions(t, "topology.graph=star", "topology.agents=4", "data.train=101", "rounds=70",
		"algorithm.acceleration=plain", "privacy.adjacency=zero-out")
	if e.Plans[2].Public.Records == e.Plans[3].Public.Records {
		t.Fatalf("both have %d records", e.Plans[3].Public.Records)
	}
	g, err := forecast.Gossip(e)
	if err != nil {
		t.Fatal(err)
	}
	v, err := g.View(network.Observer(1))
	if err != nil {
		t.Fatal(err)
	}
	if math.Abs(v.Leak[2]-.5) > 1e-12 || math.Abs(v.Leak[3]-.5) > 1e-12 {
		t.Errorf("leaks %v", v.Leak)
	}
}
