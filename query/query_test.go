package query_test

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"sotto/config"
	"sotto/data"
	"sotto/data/schema"
	"sotto/internal/long"
	"sotto/query"
	"sotto/rng"
	"sotto/tensor"
)

// variables of people: two numbers, two categories, a time and its event.
func variables() []schema.Variable {
	return []schema.Variable{
		{Name: "age", At: 0, Low: 0, High: 100, Form: schema.Unit, Missing: -1},
		{Name: "bmi", At: 1, Low: 10, High: 50, Form: schema.Symmetric, Missing: 6},
		{Name: "sex", At: 2, Categories: []string{"F", "M"}, Missing: -1},
		{Name: "time", At: 4, Low: 0, High: 24, Form: schema.Unit, Missing: -1},
		{Name: "plain", At: 5, Missing: -1},
		{Name: "ill", At: -1, Categories: []string{"no", "yes"}, Missing: -1},
	}
}

// people draws n of them; bmi follows age.
func people(seed uint64, n int) *data.Dataset {
	r := rng.Public(seed, "people")
	d := &data.Dataset{X: tensor.NewMat(n, 7), Classes: 2, Known: data.Known{Variables: variables()}}
	z := make([]float64, 2)
	for i := range n {
		row := d.X.Row(i)
		r.Normals(z)
		row[0] = float32(min(max(.5+.15*z[0], 0), 1))
		row[1] = float32(min(max(.3*z[0]+.3*z[1], -1), 1))
		row[2+r.Below(2)] = 1
		row[4] = float32(-math.Log(1-r.Float64()) / 3)
		label := int32(1)
		if row[4] > 1 || r.Float64() < .3 {
			label = 0
		}
		row[4] = min(row[4], 1)
		row[5] = float32(i % 3)
		if r.Float64() < .1 {
			row[6] = 1
		}
		d.Labels = append(d.Labels, label)
	}
	return d
}

func compile(t testing.TB, shares []float64, texts ...string) *query.Plan {
	t.Helper()
	p, err := query.Compile(texts, shares, variables())
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// sums adds what the map makes of all records.
func sums(p *query.Plan, d *data.Dataset) []float64 {
	m := p.Map(d)
	all := make([]float64, p.Dim)
	for i := range m.Len() {
		for c, x := range m.X.Row(i) {
			all[c] += float64(x)
		}
	}
	return all
}

// Without noise answers are what a loop over the records finds.
func TestAnswersWithoutNoise(t *testing.T) {
	d := people(1, 2000)
	p := compile(t, nil, "count()", "mean(age) by sex", "sum(bmi)", "variance(age)", "table(sex, ill)",
		"histogram(age, 0, 40, 60, 100) where sex = F", "correlation(age, bmi)", "quantile(age, .25, .5)",
		"count() where age >= 50 and ill != no", `histogram("plain", -.5, .5, 1.5, 2.5)`)
	got, err := p.Answers(sums(p, d), 0, query.Answerer{})
	if err != nil {
		t.Fatal(err)
	}
	var want []float64
	age := func(i int) float64 { return 100 * float64(d.X.Row(i)[0]) }
	bmi := func(i int) float64 { return 30 + 20*float64(d.X.Row(i)[1]) }
	has := func(i int) bool { return d.X.Row(i)[6] == 0 }
	female := func(i int) bool { return d.X.Row(i)[2] == 1 }
	count := func(f func(i int) bool) (n float64) {
		for i := range d.Len() {
			if f(i) {
				n++
			}
		}
		return n
	}
	mean := func(v func(int) float64, f func(int) bool) float64 {
		s := 0.
		for i := range d.Len() {
			if f(i) {
				s += v(i)
			}
		}
		return s / count(f)
	}
	every := func(int) bool { return true }
	male := func(i int) bool { return !female(i) }
	want = append(want, 2000, mean(age, female), count(female), mean(age, male), count(male),
		mean(bmi, has)*count(has))
	m := mean(age, every)
	want = append(want, mean(func(i int) float64 { return (age(i) - m) * (age(i) - m) }, every), 2000)
	for _, s := range []func(int) bool{female, male} {
		for _, ill := range []int32{0, 1} {
			want = append(want, count(func(i int) bool { return s(i) && d.Labels[i] == ill }))
		}
	}
	for _, b := range [][2]float64{{-1, 40}, {40, 60}, {60, 101}} {
		want = append(want, count(func(i int) bool { return female(i) && age(i) >= b[0] && age(i) < b[1] }))
	}
	ma, mb := mean(age, has), mean(bmi, has)
	cov := mean(func(i int) float64 { return (age(i) - ma) * (bmi(i) - mb) }, has)
	va := mean(func(i int) float64 { return (age(i) - ma) * (age(i) - ma) }, has)
	vb := mean(func(i int) float64 { return (bmi(i) - mb) * (bmi(i) - mb) }, has)
	want = append(want, cov/math.Sqrt(va*vb), count(has))
	ages := make([]float64, d.Len())
	for i := range ages {
		ages[i] = age(i)
	}
	slices.Sort(ages)
	want = append(want, ages[499], ages[999])
	want = append(want, count(func(i int) bool { return age(i) >= 50 && d.Labels[i] == 1 }), 667, 667, 666)
	compare(t, got, want)
	if text := strings.Join(got[1].Rows[0].Labels, ""); text != "sex = F" {
		t.Error(text)
	}
}

// compare holds the figures of answers against others.
func compare(t *testing.T, got []query.Answer, want []float64) {
	t.Helper()
	var have []float64
	for _, a := range got {
		for _, r := range a.Rows {
			have = append(have, r.Value)
			if r.Drowned && r.Value != 0 {
				t.Errorf("%s: %+v", a.Question, r)
			}
		}
	}
	if len(have) != len(want) {
		t.Fatalf("%d figures, want %d: %v", len(have), len(want), have)
	}
	for k, w := range want {
		tolerance := 1e-4 * max(1, math.Abs(w))
		if k == len(want)-6 || k == len(want)-5 { // quantiles are read from bins
			tolerance = 100. / 64
		}
		if math.Abs(have[k]-w) > tolerance {
			t.Errorf("figure %d: %v, want %v", k, have[k], w)
		}
	}
}

// Survival without censoring is the share of those who live on; with it, that of Kaplan
// and Meier: 10 at risk, 2 events, then 3 are seen no longer, then 1 event of 5.
func TestSurvival(t *testing.T) {
	d := &data.Dataset{X: tensor.NewMat(10, 7), Classes: 2, Known: data.Known{Variables: variables()}}
	for i, at := range []float32{1, 1, 2, 2, 2, 5, 9, 9, 9, 9} {
		d.X.Row(i)[4] = at / 24
		d.Labels = append(d.Labels, map[int]int32{0: 1, 1: 1, 5: 1}[i])
	}
	p := compile(t, nil, "survival(time, ill)")
	got, err := p.Answers(sums(p, d), 0, query.Answerer{})
	if err != nil {
		t.Fatal(err)
	}
	for k, want := range map[int]float64{0: 1, 1: .8, 4: .8, 5: .8 * 4 / 5, 23: .8 * 4 / 5} {
		if s := got[0].Rows[k].Value; math.Abs(s-want) > 1e-9 {
			t.Errorf("bin %d: %v, want %v", k, s, want)
		}
	}
}

// Every record's numbers have norm at most 1, whatever is asked.
func TestNorm(t *testing.T) {
	d := people(2, 500)
	for i := range 100 { // the corners of all bounds
		for c := range 2 {
			d.X.Row(i)[c] = float32(i >> c & 1)
		}
	}
	for _, texts := range [][]string{{"variance(age) by sex", "count()"}, {"correlation(age, bmi, time)"},
		{"mean(age)", "mean(bmi)", "sum(time)", "table(sex, ill)", "survival(time, ill)",
			"quantile(age, .5)"}, {"regression(bmi, age, sex, ill)"}, {"pca(age, bmi)"}, {"covariance(bmi)"},
		{"ttest(bmi, sex) by ill", "top(sex, 1)"}} {
		shares := make([]float64, len(texts))
		for k := range shares {
			shares[k] = float64(k + 1)
		}
		m := compile(t, shares, texts...).Map(d)
		largest := 0.
		for i := range m.Len() {
			largest = max(largest, m.X.Row(i).Norm())
		}
		if largest > 1+1e-6 || largest < .5 {
			t.Errorf("%v: largest norm %v", texts, largest)
		}
	}
}

// Features that are no numbers, and rows that are all in one, do no harm: what is not
// finite is left out by the oracle.
func TestNormOfBrokenRows(t *testing.T) {
	nan, inf := float32(math.NaN()), float32(math.Inf(1))
	d := people(2, 4)
	copy(d.X.Row(0), []float32{nan, nan, nan, nan, nan, nan, nan})
	copy(d.X.Row(1), []float32{inf, -inf, inf, inf, -inf, inf, 0})
	copy(d.X.Row(2), []float32{1e30, -1e30, 1, 1, 1e30, 1e30, 0})
	for kind := range query.Kinds {
		text := map[string]string{"count": "count() by sex", "sum": "sum(age)", "mean": "mean(bmi) by ill",
			"variance": "variance(age)", "histogram": "histogram(age, 7)", "quantile": "quantile(age, .5)",
			"table": "table(sex, ill)", "correlation": "correlation(age, bmi)",
			"covariance": "covariance(age, bmi)",
			"pca":        "pca(age, bmi)",
			"regression": "regression(bmi, age, sex)",
			"ttest":      "ttest(age, sex)", "top": "top(sex, 1)", "survival": "survival(time, ill)"}[kind]
		if kind == "evaluation" { // its records are made for it
			continue
		}
		m := compile(t, nil, text).Map(d)
		for i := range m.Len() {
			if n := m.X.Row(i).Norm(); n > 1+1e-6 {
				t.Errorf("%s: row %d has norm %v", text, i, n)
			}
		}
	}
}

// Intervals hold the true value of the people who were asked in at least 180 of 200
// populations, with the tag long in 929 of 1,000: 95 of 100 less three standard
// deviations. A right program fails with probability below .002 for each figure whose
// coverage is exactly nominal. A coverage of .85 is found with probability .97, of .91
// with the tag long.
func TestCoverage(t *testing.T) {
	trials, fewest := 200, 180
	if long.Tests {
		trials, fewest = 1000, 929
	}
	for _, c := range []struct {
		text  string
		n     int
		sigma float64
	}{{"count()", 300, 10}, {"count() where age > 90", 300, 5}, {"mean(age)", 200, 10}, {"mean(age)", 40, 15},
		{"sum(bmi)", 200, 10}, {"variance(age)", 500, 5}, {"variance(age)", 200, 15},
		{"quantile(age, .1, .5)", 500, 3},
		{"quantile(age, .5)", 200, 10}, {"correlation(age, bmi)", 500, 5}, {"correlation(age, bmi)", 200, 10},
		{"survival(time, ill, 6)", 300, 3}, {"table(sex, ill)", 100, 10}} {
		p := compile(t, nil, c.text)
		var held []int
		noise := make([]float64, p.Dim)
		for trial := range trials {
			d := people(uint64(trial), c.n)
			s := sums(p, d)
			truth, err := p.Answers(s, 0, query.Answerer{})
			if err != nil {
				t.Fatal(err)
			}
			rng.Public(uint64(trial), "noise").Normals(noise)
			for k := range s {
				s[k] += c.sigma * noise[k]
			}
			got, err := p.Answers(s, c.sigma, query.Answerer{})
			if err != nil {
				t.Fatal(err)
			}
			if held == nil {
				held = make([]int, len(got[0].Rows))
			}
			for k, r := range got[0].Rows {
				if x := truth[0].Rows[k]; r.Low <= x.High && x.Low <= r.High {
					held[k]++
				}
			}
		}
		t.Logf("%s, n %d, sigma %v: %v", c.text, c.n, c.sigma, held)
		for k, h := range held {
			if h < fewest {
				t.Errorf("%s, n %d, sigma %v: figure %d is held in %d of %d", c.text, c.n, c.sigma, k, h,
					trials)
			}
		}
	}
}

// With sampling, intervals of means and quantiles hold the value of the law that people
// were drawn from.
func TestSamplingCoverage(t *testing.T) {
	const trials = 1000
	p := compile(t, nil, "mean(age)", "quantile(age, .5)")
	noise, held := make([]float64, p.Dim), [2]int{}
	for trial := range trials {
		s := sums(p, people(uint64(trial), 300))
		rng.Public(uint64(trial), "noise").Normals(noise)
		for k := range s {
			s[k] += 2 * noise[k]
		}
		got, err := p.Answers(s, 2, query.Answerer{Sampling: true})
		if err != nil {
			t.Fatal(err)
		}
		for k, a := range got {
			if a.Rows[0].Low <= 50 && 50 <= a.Rows[0].High {
				held[k]++
			}
		}
	}
	if held[0] < 930 || held[1] < 930 {
		t.Errorf("held %v of %d", held, trials)
	}
}

// Two questions whose difference is one person pay for both: each has √2 times the noise
// of one alone, so that their difference has twice that, for a person who is in one.
func TestDifferencing(t *testing.T) {
	alone := compile(t, nil, "count()")
	both := compile(t, nil, "count()", "count() where age != 37.5")
	for k := range 2 {
		near(t, both.Parts[k].Text, both.Expected(k, 3, .95), math.Sqrt2*alone.Expected(0, 3, .95))
	}
}

// What is foretold of a question is how wide the intervals of its answer are: of its
// counts, of a sum in its own unit, of an evaluation those of the classes.
func TestForetoldIntervals(t *testing.T) {
	const sigma, level = 3, .9
	vars := append(variables()[:5:5], judgedVariables("no", "yes")...)
	for text, name := range map[string]string{"count() by sex": "count", "sum(age)": "sum",
		"sum(bmi) by sex": "sum", "mean(age)": "count", "table(sex)": "count", "ttest(age, sex)": "count",
		"correlation(age, bmi)": "count", "evaluation()": "count", "evaluation(50) by sex": "count"} {
		p, err := query.Compile([]string{"variance(age)", text}, []float64{2, 1}, vars)
		if err != nil {
			t.Fatal(err)
		}
		many := make([]float64, p.Dim)
		for k := range many {
			many[k] = 1e6 // no interval ends at 0
		}
		got, err := p.Answers(many, sigma, query.Answerer{Level: level})
		if err != nil {
			t.Fatal(err)
		}
		widest := 0.
		for _, r := range got[1].Rows {
			if r.Name == name {
				widest = max(widest, (r.High-r.Low)/2)
			}
		}
		if want := p.Expected(1, sigma, level); math.Abs(widest/want-1) > 1e-6 {
			t.Errorf("%s: intervals of %v, foretold %v", text, widest, want)
		}
		said := p.Foretell(1, sigma, level, 10, "record")
		if !strings.Contains(said, fmt.Sprintf("each %s within %.3g", name, widest)) {
			t.Errorf("%s: %q, intervals of %v", text, said, widest)
		}
	}
}

// With relative shares every question's error is the same part of what its cells hold.
func TestRelativeShares(t *testing.T) {
	texts := []string{"count()", "table(sex, ill)", "histogram(age, 10) by sex", "mean(age) by ill",
		"variance(bmi)"}
	shares, err := query.RelativeShares(texts, variables())
	if err != nil {
		t.Fatal(err)
	}
	p := compile(t, shares, texts...)
	for k, cells := range []float64{1, 4, 20, 2, 1} {
		near(t, texts[k], p.Expected(k, 3, .95)*cells, p.Expected(0, 3, .95))
		near(t, texts[k], p.Relative(k, 3, .95, 500), p.Expected(0, 3, .95)/500)
	}
	if _, err := query.RelativeShares([]string{"count("}, variables()); err == nil {
		t.Error("no question")
	}
}

func TestRefusals(t *testing.T) {
	for text, want := range map[string]string{
		"":                           "the end",
		"average(age)":               "average",
		"mean(age":                   ", or )",
		"mean()":                     "0 variables",
		"mean(age, bmi)":             "2 variables",
		"mean(height)":               "one of the variables age, bmi",
		"mean(sex)":                  "a number: this is a category",
		"mean(plain)":                "public bounds",
		"table(age)":                 "a category: this is a number",
		"histogram(age, 1000000)":    "1 to 4096",
		"histogram(age, nan, 1)":     "a finite number",
		"histogram(age, 1, 1)":       "edges that ascend",
		"histogram(age, inf, 1)":     "a finite number",
		"quantile(age, 1)":           "above 0 and below 1",
		"quantile(age)":              "0 probabilities",
		"count() by age":             "a category",
		"count() by":                 "the name of a variable after by",
		"count() where age ~ 3":      "letters, digits",
		"count() where age > old":    "a finite number to compare with",
		"count() where sex > F":      "= or != one of F, M",
		"count() where sex = X":      "= or != one of F, M",
		"count() for all":            "after the question",
		`count() where sex = "F`:     "a closing quote",
		`count() where age "= !=" 3`: "conditions such as",
		"quantile(age, 1e400)":       "1e400\", allowed: a finite number",
		"top(sex, 0)":                "top(sex, 0): 0\", allowed",
		"top(sex)":                   "top(sex): no number",
		"survival(time, ill, 1.5)":   "1.5): 1.5\", allowed",
		"survival(age, age)":         "a category",
		"survival(time, ill, 0)":     "a number of bins",
		"correlation(age)":           "1 variables",
	} {
		_, err := query.Compile([]string{text}, nil, variables())
		var bad *config.Error
		if !errors.As(err, &bad) || bad.Key != "ask" || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", text, err, want)
		}
	}
	if _, err := query.Compile([]string{"count()"}, []float64{0}, variables()); err == nil {
		t.Error("a share of 0")
	}
	if _, err := query.Compile([]string{"count()"}, []float64{1, 1}, variables()); err == nil {
		t.Error("two shares")
	}
	if _, err := query.Compile(nil, nil, variables()); err == nil {
		t.Error("no question")
	}
	many := slices.Repeat([]string{"histogram(age, 4096)"}, 30)
	_, err := query.Compile(many, nil, variables())
	if err == nil || !strings.Contains(err.Error(), "100000 in one release") {
		t.Errorf("%v", err)
	}
}

// An answer that noise drowns says so.
func TestDrowned(t *testing.T) {
	p := compile(t, nil, "count()", "mean(age)", "correlation(age, bmi)", "quantile(age, .5)", "sum(bmi)")
	got, err := p.Answers(make([]float64, p.Dim), 1000, query.Answerer{})
	if err != nil {
		t.Fatal(err)
	}
	for _, a := range got {
		if r := a.Rows[0]; !r.Drowned {
			t.Errorf("%s: %+v", a.Question, r)
		}
	}
}

func FuzzParse(f *testing.F) {
	for _, text := range []string{"mean(age) by sex where ill = yes and age >= 18",
		"histogram(\"a b\", 1, 2, 3)", "quantile(age, .5)", "count()", "survival(time, ill, 5)",
		`count() where age "= !=" 3`} {
		f.Add(text)
	}
	d := people(3, 5)
	f.Fuzz(func(t *testing.T, text string) {
		p, err := query.Compile([]string{text}, nil, variables())
		var bad *config.Error
		if err != nil {
			if !errors.As(err, &bad) {
				t.Fatalf("%T: %v", err, err)
			}
			return
		}
		if _, err := p.Answers(sums(p, d), 1, query.Answerer{}); err != nil {
			t.Fatal(err)
		}
	})
}

// A name or value with quotes in it can be asked for: two stand for one.
func TestQuotes(t *testing.T) {
	for text, want := range map[string]string{`count() where "a ""b""" = """"`: `a "b" = "`,
		`count() where "" = "c""d"`: ` = c"d`, `count() where a = "x"`: "a = x"} {
		q, err := query.Parse(text)
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		if c := q.Where[0]; c.Var+" "+c.Op+" "+c.Value != want {
			t.Errorf("%s: %+v", text, c)
		}
	}
	for _, text := range []string{`count() where a = "b""`, `count() where a = "`, `count() by "a"""`} {
		if _, err := query.Parse(text); (err == nil) != (text == `count() by "a"""`) {
			t.Errorf("%s: %v", text, err)
		}
	}
}

func ExampleCompile() {
	p, err := query.Compile([]string{"count() by sex"}, nil, variables())
	if err != nil {
		panic(err)
	}
	answers, err := p.Answers([]float64{120, 80}, 5, query.Answerer{})
	if err != nil {
		panic(err)
	}
	for _, r := range answers[0].Rows {
		fmt.Printf("%s: %.0f (%.1f to %.1f)\n", r.Labels[0], r.Value, r.Low, r.High)
	}
	// Output:
	// sex = F: 120 (110.2 to 129.8)
	// sex = M: 80 (70.2 to 89.8)
}
