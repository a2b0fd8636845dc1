package query_test

import (
	"fmt"
	"math"
	"testing"

	"sotto/data"
	"sotto/query"
	"sotto/rng"
	"sotto/tensor"
)

// spread draws n people whose age and time are that function of a uniform number. Half of
// them have an event.
func spread(n int, f func(u float64) float64) *data.Dataset {
	r := rng.Public(7, "spread")
	d := &data.Dataset{X: tensor.NewMat(n, 7), Classes: 2, Known: data.Known{Variables: variables()}}
	for i := range n {
		row := d.X.Row(i)
		x := float32(min(f(r.Float64()), 1))
		row[0], row[1], row[2], row[4] = x, float32(2*r.Float64()-1), 1, x
		d.Labels = append(d.Labels, int32(r.Below(2)))
	}
	return d
}

// missed counts, of each row, how many of so many intervals do not hold what the records
// say without noise.
func missed(t *testing.T, text string, d *data.Dataset, sigma, level float64, trials int) []int {
	t.Helper()
	p := compile(t, nil, text)
	plain := sums(p, d)
	truth, err := p.Answers(plain, 0, query.Answerer{})
	if err != nil {
		t.Fatal(err)
	}
	out, s, noise := make([]int, len(truth[0].Rows)), make([]float64, p.Dim), make([]float64, p.Dim)
	for trial := range trials {
		rng.Public(uint64(trial), "noise of "+text).Normals(noise)
		for k := range s {
			s[k] = plain[k] + sigma*noise[k]
		}
		got, err := p.Answers(s, sigma, query.Answerer{Level: level})
		if err != nil {
			t.Fatal(err)
		}
		for k, r := range got[0].Rows {
			// sums of float32 are off a little
			x := truth[0].Rows[k].Value
			if off := 1e-6 * (1 + math.Abs(x)); r.Low > x+off || r.High < x-off {
				out[k]++
			}
		}
	}
	return out
}

// Intervals hold what there is where few are at risk, or noise is more than all of them:
// each in at least 180 of 200 runs. One that holds 95 % fails with probability .0012.
func TestCoverageOfFew(t *testing.T) {
	early := func(u float64) float64 { return -math.Log(1-u) / 20 }
	for _, c := range []struct {
		text  string
		n     int
		of    func(u float64) float64
		sigma float64
	}{{"survival(time, ill)", 200, early, 3}, {"survival(time, ill)", 2000, early, 15},
		{"survival(time, ill, 4)", 1, early, .5}, {"survival(time, ill, 4)", 5, early, 15},
		{"survival(time, ill)", 200, func(float64) float64 { return .5 }, 15},
		{"variance(age)", 5, math.Round, 60}, {"covariance(age, bmi)", 5, math.Round, 60}} {
		for k, m := range missed(t, c.text, spread(c.n, c.of), c.sigma, .95, 200) {
			if m > 20 {
				t.Errorf("%s of %d, sigma %v: row %d missed %d of 200", c.text, c.n, c.sigma, k, m)
			}
		}
	}
}

// At a level of .9999 intervals by draws miss as seldom as they say: more than 4 of 2,000
// do so with probability 2e-6 for each figure.
func TestCoverageAtHighLevels(t *testing.T) {
	for _, text := range []string{"variance(age)", "covariance(age, bmi)", "regression(bmi, age)",
		"survival(time, ill, 4)"} {
		for k, m := range missed(t, text, people(1, 1000), 5, .9999, 2000) {
			if m > 4 {
				t.Errorf("%s: row %d missed %d of 2000", text, k, m)
			}
		}
	}
}

// Survival never rises, whatever noise says, and what few who are left do not tell is
// drowned, below what the ones before them said.
func TestSurvivalFalls(t *testing.T) {
	p := compile(t, nil, "survival(time, ill)")
	plain, noise := sums(p, spread(600, math.Sqrt)), make([]float64, p.Dim)
	drowned := 0
	for trial := range 50 {
		rng.Public(uint64(trial), "noise of falling").Normals(noise)
		for k := range noise {
			noise[k] = plain[k] + 12*noise[k]
		}
		got, err := p.Answers(noise, 12, query.Answerer{})
		if err != nil {
			t.Fatal(err)
		}
		rows := got[0].Rows
		for k, r := range rows {
			what := fmt.Sprintf("trial %d, bin %d: %+v", trial, k, r)
			if !(r.Low <= r.Value && r.Value <= r.High) || k > 0 && r.Value > rows[k-1].Value {
				t.Error(what)
			}
			if r.Drowned {
				drowned++
				if r.Low != 0 || k > 0 && r.High > rows[k-1].High {
					t.Error(what)
				}
			} else if k > 0 && rows[k-1].Drowned {
				t.Error(what)
			}
		}
	}
	if drowned < 50 || drowned > 900 {
		t.Errorf("%d of 1200 are drowned", drowned)
	}
}
