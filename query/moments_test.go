package query_test

import (
	"math"
	"slices"
	"testing"

	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/stat"
	"gonum.org/v1/gonum/stat/distuv"

	"sotto/data"
	"sotto/internal/long"
	"sotto/query"
	"sotto/rng"
)

// columns are the ages, body mass indices and 1 for M of those who have all of them.
func columns(d *data.Dataset) (age, bmi, male []float64) {
	for i := range d.Len() {
		if row := d.X.Row(i); row[6] == 0 {
			age, bmi = append(age, 100*float64(row[0])), append(bmi, 30+20*float64(row[1]))
			male = append(male, float64(row[3]))
		}
	}
	return age, bmi, male
}

// exact answers one question without noise.
func exact(t testing.TB, d *data.Dataset, o query.Answerer, text string) []query.Row {
	t.Helper()
	p := compile(t, nil, text)
	got, err := p.Answers(sums(p, d), 0, o)
	if err != nil {
		t.Fatal(err)
	}
	return got[0].Rows
}

func near(t *testing.T, what string, got, want float64) {
	t.Helper()
	if !(math.Abs(got-want) <= 1e-4*max(1, math.Abs(want))) {
		t.Errorf("%s: %v, want %v", what, got, want)
	}
}

// Without noise covariances, components, regression and t-test are those of gonum/stat,
// or of its decompositions of the records themselves.
func TestMomentsWithoutNoise(t *testing.T) {
	d := people(4, 1500)
	age, bmi, male := columns(d)
	n := float64(len(age))

	rows := exact(t, d, query.Answerer{}, "covariance(age, bmi)")
	biased := (n - 1) / n
	near(t, "variance of age", rows[0].Value, biased*stat.Variance(age, nil))
	near(t, "covariance", rows[1].Value, biased*stat.Covariance(age, bmi, nil))
	near(t, "variance of bmi", rows[2].Value, biased*stat.Variance(bmi, nil))

	x := mat.NewDense(len(age), 3, nil)
	var time []float64
	for i := range d.Len() {
		if row := d.X.Row(i); row[6] == 0 {
			time = append(time, 24*float64(row[4]))
		}
	}
	for k, col := range [][]float64{age, bmi, time} {
		m, s := stat.MeanStdDev(col, nil)
		for i, v := range col {
			x.Set(i, k, (v-m)/s)
		}
	}
	var pc stat.PC
	if !pc.PrincipalComponents(x, nil) {
		t.Fatal("no components")
	}
	var vectors mat.Dense
	pc.VectorsTo(&vectors)
	rows = exact(t, d, query.Answerer{}, "pca(age, bmi, time)")
	for k, v := range pc.VarsTo(nil) {
		near(t, "share", rows[4*k].Value, v/3)
		for i := range 3 {
			near(t, "loading", math.Abs(rows[4*k+1+i].Value), math.Abs(vectors.At(i, k)))
		}
	}

	design := mat.NewDense(len(age), 3, nil)
	for i := range age {
		design.SetRow(i, []float64{1, age[i], male[i]})
	}
	var b mat.VecDense
	if err := b.SolveVec(design, mat.NewVecDense(len(bmi), bmi)); err != nil {
		t.Fatal(err)
	}
	rows = exact(t, d, query.Answerer{Sampling: true}, "regression(bmi, age, sex)")
	var fitted mat.VecDense
	fitted.MulVec(design, &b)
	square := 0.
	for i, y := range bmi {
		square += (y - fitted.AtVec(i)) * (y - fitted.AtVec(i))
	}
	var gram, inverse mat.Dense
	gram.Mul(design.T(), design)
	if err := inverse.Inverse(&gram); err != nil {
		t.Fatal(err)
	}
	for k := range 3 {
		near(t, "coefficient", rows[k].Value, b.AtVec(k))
		near(t, "its interval", rows[k].High-rows[k].Value, 1.959964*math.Sqrt(square/n*inverse.At(k, k)))
	}
	near(t, "R2", rows[3].Value, stat.RSquaredFrom(fitted.RawVector().Data, bmi, nil))
	near(t, "residual deviation", rows[4].Value, math.Sqrt(square/n))

	var groups [2][]float64
	for i, v := range bmi {
		groups[int(male[i])] = append(groups[int(male[i])], v)
	}
	rows = exact(t, d, query.Answerer{}, "ttest(bmi, sex)")
	m0, v0 := stat.MeanVariance(groups[0], nil)
	m1, v1 := stat.MeanVariance(groups[1], nil)
	a, c := v0/float64(len(groups[0])), v1/float64(len(groups[1]))
	df := (a + c) * (a + c) / (a*a/float64(len(groups[0])-1) + c*c/float64(len(groups[1])-1))
	near(t, "difference", rows[0].Value, m1-m0)
	p := 2 * distuv.StudentsT{Sigma: 1, Nu: df}.Survival(math.Abs(m1-m0)/math.Sqrt(a+c))
	near(t, "p-value", rows[1].Value, p)
}

// Noise drowns a difference, or a correlation, that it explains alone; that another
// sample of people may have none is no noise. A difference of groups without spread is
// exact.
func TestDrownedByNoiseAlone(t *testing.T) {
	d := people(4, 1500)
	for _, text := range []string{"ttest(time, sex)", "correlation(time, bmi)"} {
		r := exact(t, d, query.Answerer{Sampling: true}, text)[0]
		if !(r.Low < 0 && r.High > 0) || r.Drowned {
			t.Errorf("%s without noise: %+v", text, r)
		}
		p := compile(t, nil, text)
		got, err := p.Answers(sums(p, d), 100, query.Answerer{Sampling: true})
		if err != nil || !got[0].Rows[0].Drowned {
			t.Errorf("%s with noise: %+v, %v", text, got, err)
		}
	}
	for i := range d.Len() { // at both ends of its range
		d.X.Row(i)[1], d.X.Row(i)[6] = float32(i%2*2-1), 0
	}
	if r := exact(t, d, query.Answerer{}, "quantile(bmi, .5)")[0]; r.Drowned {
		t.Errorf("%+v", r)
	}
	for _, apart := range []float32{0, 1} {
		for i := range d.Len() {
			d.X.Row(i)[1] = apart * (2*d.X.Row(i)[3] - 1)
		}
		rows := exact(t, d, query.Answerer{}, "ttest(bmi, sex)")
		near(t, "difference", rows[0].Value, 40*float64(apart))
		near(t, "its interval", rows[0].High-rows[0].Low, 0)
		near(t, "p-value", rows[1].Value, 1-float64(apart))
	}
}

// populations is how many are drawn of each kind, and how many of them an interval of
// nominally 95 % has to hold. One that holds 95 % of all fails with probability .0012 of
// 200 draws and .0016 of 1000.
func populations() (trials, fewest int) {
	if long.Tests {
		return 1000, 929
	}
	return 200, 180
}

// covers counts how often intervals hold what want makes of the rows without noise.
func covers(t *testing.T, text string, n int, sigma float64, o query.Answerer,
	want func(truth, got []query.Row) []float64) []int {
	t.Helper()
	trials, _ := populations()
	p := compile(t, nil, text)
	noise, held := make([]float64, p.Dim), []int(nil)
	for trial := range trials {
		s := sums(p, people(uint64(trial), n))
		truth, err := p.Answers(s, 0, query.Answerer{})
		if err != nil {
			t.Fatal(err)
		}
		rng.Public(uint64(trial), "noise").Normals(noise)
		for k := range s {
			s[k] += sigma * noise[k]
		}
		got, err := p.Answers(s, sigma, o)
		if err != nil {
			t.Fatal(err)
		}
		w := want(truth[0].Rows, got[0].Rows)
		if held == nil {
			held = make([]int, len(w))
		}
		for k, x := range w {
			if r := got[0].Rows[k]; r.Low <= x && x <= r.High {
				held[k]++
			}
		}
	}
	return held
}

// Intervals hold the values of the people asked. Of a component no sign is the right one.
func TestMomentsCoverage(t *testing.T) {
	same := func(truth, got []query.Row) (all []float64) {
		sign := 1.
		for k, r := range truth {
			switch r.Name {
			case "share of variance":
				dot := 0.
				for i := k + 1; i < len(truth) && truth[i].Name == "loading"; i++ {
					dot += truth[i].Value * got[i].Value
				}
				sign = math.Copysign(1, dot)
			case "loading":
				r.Value *= sign
			}
			all = append(all, r.Value)
		}
		return all
	}
	_, fewest := populations()
	for _, c := range []struct {
		text  string
		n     int
		sigma float64
	}{{"covariance(age, bmi)", 300, 5}, {"covariance(age, bmi)", 100, 5},
		{"regression(bmi, age, sex)", 600, 2}, {"regression(bmi, age)", 1000, 5},
		{"pca(age, bmi, time)", 600, 3}, {"top(sex, 2)", 100, 5}} {
		held := covers(t, c.text, c.n, c.sigma, query.Answerer{}, same)
		t.Logf("%s, n %d, sigma %v: %v", c.text, c.n, c.sigma, held)
		for k, h := range held {
			if h < fewest {
				t.Errorf("%s, n %d, sigma %v: figure %d is held in %d", c.text, c.n, c.sigma, k, h)
			}
		}
	}
}

// With sampling, intervals hold the values of the law that people were drawn from: those
// of a million of them.
func TestMomentsSamplingCoverage(t *testing.T) {
	law := people(1<<40, 1_000_000)
	_, fewest := populations()
	for _, c := range []struct {
		text  string
		n     int
		sigma float64
	}{{"variance(age)", 300, 2}, {"correlation(age, bmi)", 300, 2}, {"covariance(age, bmi)", 300, 2},
		{"regression(bmi, age, sex)", 600, 1}, {"survival(time, ill, 4)", 300, 1},
		{"ttest(bmi, sex)", 400, 2}, {"pca(age, bmi)", 500, 2}} {
		var want []float64
		for _, r := range exact(t, law, query.Answerer{}, c.text) {
			if slices.Contains([]string{"p-value", "residual standard deviation", "R2", "loading"}, r.Name) {
				r.Value = math.NaN() // no interval, or one for these people alone
			}
			if r.Name != "count" {
				want = append(want, r.Value)
			}
		}
		held := covers(t, c.text, c.n, c.sigma, query.Answerer{Sampling: true},
			func(_, _ []query.Row) []float64 { return want })
		t.Logf("%s, n %d, sigma %v: %v", c.text, c.n, c.sigma, held)
		for k, h := range held {
			if h < fewest && !math.IsNaN(want[k]) {
				t.Errorf("%s, n %d, sigma %v: figure %d is held in %d", c.text, c.n, c.sigma, k, h)
			}
		}
	}
}

// Where sexes do not differ, at most 5 of 100 p-values are below .05: 67 of 1,000 are two
// and a half standard deviations more. Where they do, most are.
func TestPValues(t *testing.T) {
	p := compile(t, nil, "ttest(bmi, sex)")
	noise := make([]float64, p.Dim)
	for _, c := range []struct {
		sigma float64
		shift float32
	}{{0, 0}, {2, 0}, {10, 0}, {2, .2}} {
		small := 0
		for trial := range 1000 {
			d := people(uint64(trial), 400)
			for i := range d.Len() {
				d.X.Row(i)[1] = min(d.X.Row(i)[1]+c.shift*d.X.Row(i)[3], 1)
			}
			s := sums(p, d)
			rng.Public(uint64(trial), "noise").Normals(noise)
			for k := range s {
				s[k] += c.sigma * noise[k]
			}
			got, err := p.Answers(s, c.sigma, query.Answerer{})
			if err != nil {
				t.Fatal(err)
			}
			if got[0].Rows[1].Value < .05 {
				small++
			}
		}
		t.Logf("sigma %v, shift %v: %d", c.sigma, c.shift, small)
		if c.shift == 0 && small > 67 || c.shift > 0 && small < 800 {
			t.Errorf("sigma %v, shift %v: %d of 1000 p-values below .05", c.sigma, c.shift, small)
		}
	}
}

// The first values of a histogram are found as well as by the exponential mechanism at
// the same cost of rho, with up to 4,000 values: it is the reason for having no other.
// Counts fall as 1/k; what counts is how far below the best the chosen one is.
func TestTopAgainstTheExponentialMechanism(t *testing.T) {
	const rho, trials = .005, 400 // epsilon .25 at delta 1e-5
	sigma, epsilon := math.Sqrt(1/(2*rho)), math.Sqrt(8*rho)
	r := rng.Public(1, "top")
	for _, values := range []int{10, 100, 1000, 4000} {
		var missed [2]float64
		z := make([]float64, values)
		for range trials {
			r.Normals(z)
			best, first := [2]int{}, [2]float64{math.Inf(-1), math.Inf(-1)}
			for k := range values {
				n := 60 / float64(k+1)
				gumbel := -math.Log(-math.Log(1-r.Float64()+1e-300) + 1e-300)
				// one record changes one count by one: epsilon over the sensitivity
				for j, x := range []float64{n + sigma*z[k], n + gumbel/epsilon} {
					if x > first[j] {
						best[j], first[j] = k, x
					}
				}
			}
			for j, k := range best {
				missed[j] += (60 - 60/float64(k+1)) / trials
			}
		}
		t.Logf("%d values: %.2f below the best by counts, %.2f by the exponential mechanism", values,
			missed[0], missed[1])
		if missed[0] > missed[1]+2 {
			t.Errorf("%d values: %.2f below the best by counts, %.2f by the exponential mechanism", values,
				missed[0], missed[1])
		}
	}
}

// The first values of a category come in order, and one that may be another is drowned.
func TestTop(t *testing.T) {
	vars := variables()
	vars[2].Categories = []string{"a", "b", "c", "d"}
	p, err := query.Compile([]string{"top(sex, 2)"}, nil, vars)
	if err != nil {
		t.Fatal(err)
	}
	got, err := p.Answers([]float64{10, 500, 90, 80}, 3, query.Answerer{})
	if err != nil {
		t.Fatal(err)
	}
	rows := got[0].Rows
	if len(rows) != 2 || !slices.Equal(rows[0].Labels, []string{"sex = b"}) || rows[0].Drowned ||
		!slices.Equal(rows[1].Labels, []string{"sex = c"}) || !rows[1].Drowned {
		t.Errorf("%+v", rows)
	}
	// of four intervals together 95 %: each 98.75 %
	near(t, "interval", rows[0].High, 500+2.4977*3)
	if _, err := query.Compile([]string{"top(sex, 5)"}, nil, vars); err == nil {
		t.Error("the first five of four")
	}
}
