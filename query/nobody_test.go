package query_test

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"sotto/data"
	"sotto/data/schema"
	"sotto/query"
	"sotto/rng"
	"sotto/tensor"
)

// Of nobody there is no survival, no recall and no p-value, and a figure without bounds
// that noise drowns is 0.
func TestFiguresOfNobody(t *testing.T) {
	hidden := func(what string, r query.Row) {
		t.Helper()
		if !r.Drowned || r.Low >= r.High || r.Value < -1e3 {
			t.Errorf("%s: %+v", what, r)
		}
	}
	d := people(1, 100)
	hidden("survival", exact(t, d, query.Answerer{}, "survival(time, ill) where age > 100")[0])
	hidden("p-value", exact(t, d, query.Answerer{}, "ttest(age, sex) where age > 100")[1])

	three := &data.Dataset{X: tensor.NewMat(10, 4), Classes: 3, Labels: make([]int32, 10),
		Known: data.Known{Variables: judgedVariables("a", "b", "c")}}
	for i := range 10 { // all are a, of one the model says b
		three.X.Row(i)[1] = 1
	}
	three.X.Row(9)[1], three.X.Row(9)[2] = 0, 1
	p := judge(t, three, "evaluation()")
	got, err := p.Answers(sums(p, three), 0, query.Answerer{})
	if err != nil {
		t.Fatal(err)
	}
	rows := got[0].Rows
	near(t, "accuracy", rows[0].Value, .9)
	near(t, "recall of a", rows[1].Value, .9)
	hidden("recall of b", rows[3])
	near(t, "precision of b", rows[4].Value, 0)
	hidden("recall of c", rows[5])
	hidden("precision of c", rows[6])

	numbers := &data.Dataset{X: tensor.NewMat(3, 1), Targets: make([]float32, 3), Known: data.Known{
		Variables: []schema.Variable{{Name: "price", At: -1, High: 10, Missing: -1},
			{Name: query.ModelValue, At: 0, High: 10, Missing: -1}}}}
	p = judge(t, numbers, "evaluation()")
	if got, err = p.Answers(make([]float64, p.Dim), 100, query.Answerer{}); err != nil {
		t.Fatal(err)
	}
	hidden("R2", got[0].Rows[0])
}

// Categories of several variables may be more than an int counts.
func TestTableOfTooMany(t *testing.T) {
	var vars []schema.Variable
	for k := range 4 {
		vars = append(vars, schema.Variable{Name: fmt.Sprint("c", k), At: k << 16, Missing: -1,
			Categories: make([]string, 1<<16)})
	}
	_, err := query.Compile([]string{"table(c0, c1, c2, c3)"}, nil, vars)
	if err == nil || !strings.Contains(err.Error(), "at most 4096") {
		t.Error(err)
	}
}

// A level that double precision does not tell from 1 is refused; below it intervals end.
func TestHighestLevel(t *testing.T) {
	p := compile(t, nil, "top(sex, 1)", "ttest(age, sex)")
	many := sums(p, people(1, 1000))
	if _, err := p.Answers(many, 1, query.Answerer{Level: math.Nextafter(1, 0)}); err == nil {
		t.Error("a level of all but 1")
	}
	got, err := p.Answers(many, 1, query.Answerer{Level: query.HighestLevel})
	if err != nil || math.IsInf(got[0].Rows[0].High, 0) || math.IsInf(got[1].Rows[0].High, 0) {
		t.Errorf("%+v, %v", got, err)
	}
}

// Loadings of components that explain about as much as each other hold the people's own,
// or are drowned. Each of 200 runs misses with probability .05 at most: 20 or fewer are
// missed but with probability .0012.
func TestLoadingsOfEqualComponents(t *testing.T) {
	const n, sigma = 1000, 4 // without that, up to 75 are missed
	p := compile(t, nil, "pca(age, bmi, time)")
	noise := make([]float64, p.Dim)
	for _, seed := range []int{3, 6} {
		d := people(uint64(seed), n)
		r := rng.Public(uint64(seed), "bmi of nobody's age")
		for i := range n {
			d.X.Row(i)[1] = float32(2*r.Float64() - 1)
		}
		s := sums(p, d)
		truth, err := p.Answers(s, 0, query.Answerer{})
		if err != nil {
			t.Fatal(err)
		}
		missed := make([]int, len(truth[0].Rows))
		for trial := range 200 {
			rng.Public(uint64(trial), fmt.Sprint("noise of loadings ", seed)).Normals(noise)
			for k := range noise {
				noise[k] = s[k] + sigma*noise[k]
			}
			got, err := p.Answers(noise, sigma, query.Answerer{})
			if err != nil {
				t.Fatal(err)
			}
			for k, want := range truth[0].Rows[:12] {
				at, sign := k-k%4, 0.
				for i := at + 1; i < at+4; i++ {
					sign += truth[0].Rows[i].Value * got[0].Rows[i].Value
				}
				if k > at { // of a component no sign is the right one
					want.Value = math.Copysign(1, sign) * want.Value
				}
				if r := got[0].Rows[k]; want.Value < r.Low || want.Value > r.High {
					missed[k]++
				}
			}
		}
		for k, m := range missed {
			if m > 20 {
				t.Errorf("population %d, figure %d: missed %d of 200", seed, k, m)
			}
		}
	}
}

// Recall and precision of a class of which there is one record hold their true values:
// each misses with probability .05, more than 75 of 1,000 with probability 3e-4.
func TestSharesOfFew(t *testing.T) {
	const trials = 1000
	d := &data.Dataset{X: tensor.NewMat(20, 7), Classes: 6, Labels: make([]int32, 20),
		Known: data.Known{Variables: judgedVariables("a", "b", "c", "d", "e", "f")}}
	d.Labels[7] = 3
	for i := range d.Len() { // the model is always right
		d.X.Row(i)[1+d.Labels[i]] = 1
	}
	p := judge(t, d, "evaluation()")
	s, noise := sums(p, d), make([]float64, p.Dim)
	for _, sigma := range []float64{.3, 1} {
		var missed [2]int
		for trial := range trials {
			rng.Public(uint64(trial), "noise of few").Normals(noise)
			for k := range noise {
				noise[k] = s[k] + sigma*noise[k]
			}
			got, err := p.Answers(noise, sigma, query.Answerer{})
			if err != nil {
				t.Fatal(err)
			}
			for j, r := range got[0].Rows[7:9] { // of d
				if r.High < 1 {
					missed[j]++
				}
			}
		}
		if missed[0] > 75 || missed[1] > 75 {
			t.Errorf("sigma %v: missed %v of %d", sigma, missed, trials)
		}
	}
}
