package query_test

import (
	"math"
	"testing"

	"sotto/query"
	"sotto/rng"
)

// Counts of one run agree with each other: margins of tables with counts of groups and
// bins, all with the total; none is below 0. What is not there for some stays below. They
// are nearer to the truth than what was released.
func TestCountsAgree(t *testing.T) {
	p := compile(t, nil, "count()", "table(sex, ill)", "count() by ill", "histogram(age, 4) by sex",
		"histogram(bmi, 2)", "count() by sex where age > 40", "table(sex, ill) where age > 40", "mean(age)")
	noise := make([]float64, p.Dim)
	agreed, came, rawBelow := 0., 0., false
	for trial := range 100 {
		d := people(uint64(trial), 60)
		s := sums(p, d)
		truth, err := p.Answers(s, 0, query.Answerer{})
		if err != nil {
			t.Fatal(err)
		}
		rng.Public(uint64(trial), "noise").Normals(noise)
		for k := range s {
			s[k] += 2 * noise[k]
		}
		got, err := p.Answers(s, 2, query.Answerer{})
		if err != nil {
			t.Fatal(err)
		}
		at := func(k, i int) float64 { return got[k].Rows[i].Value }
		same := func(what string, a, b float64) {
			if math.Abs(a-b) > 1e-6*(1+math.Abs(a)) {
				t.Errorf("trial %d: %s: %v and %v", trial, what, a, b)
			}
		}
		same("total of the table", at(0, 0), at(1, 0)+at(1, 1)+at(1, 2)+at(1, 3))
		for k := range 2 {
			same("margin of the table", at(2, k), at(1, k)+at(1, 2+k))
			same("bins of a sex", at(1, 2*k)+at(1, 2*k+1), at(3, 4*k)+at(3, 4*k+1)+at(3, 4*k+2)+at(3, 4*k+3))
			same("margin of the elder", at(5, k), at(6, 2*k)+at(6, 2*k+1))
		}
		if all := at(4, 0) + at(4, 1); all > at(0, 0)+1e-6 {
			t.Errorf("%v have a bmi, of %v", all, at(0, 0))
		}
		for k := range 7 {
			for i, r := range got[k].Rows {
				part := &p.Parts[k]
				raw, x := s[part.At+i]/part.Weight, truth[k].Rows[i].Value
				rawBelow = rawBelow || raw < 0
				agreed, came = agreed+(r.Value-x)*(r.Value-x), came+(raw-x)*(raw-x)
				if r.Value < 0 || r.Low > r.Value || r.High < r.Value {
					t.Errorf("%+v", r)
				}
			}
		}
	}
	t.Logf("squared distance from the truth: %.0f as released, %.0f agreed", came, agreed)
	if agreed > .7*came || !rawBelow {
		t.Errorf("squared distance from the truth: %.0f as released, %.0f agreed", came, agreed)
	}
}

// Where a record may have none of the values, and no feature says so, counts by value are
// held against a total that may be larger.
func TestCountsOfOpenCategories(t *testing.T) {
	vars := variables()
	vars[2].Open = true // of M and F
	p, err := query.Compile([]string{"count()", "count() by sex", "table(sex)", "count() by ill"}, nil, vars)
	if err != nil {
		t.Fatal(err)
	}
	d := people(1, 300)
	for i := range d.Len() {
		if i%3 == 0 {
			d.X.Row(i)[2], d.X.Row(i)[3] = 0, 0
		}
	}
	s := sums(p, d)
	truth, err := p.Answers(s, 0, query.Answerer{})
	if err != nil {
		t.Fatal(err)
	}
	got, err := p.Answers(s, .01, query.Answerer{})
	if err != nil {
		t.Fatal(err)
	}
	for k := range got {
		for i, r := range got[k].Rows {
			if want := truth[k].Rows[i].Value; math.Abs(r.Value-want) > .1 {
				t.Errorf("%s, %v: %v, want %v", got[k].Question, r.Labels, r.Value, want)
			}
		}
	}
}
