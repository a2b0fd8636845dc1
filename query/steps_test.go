package query_test

import (
	"math"
	"slices"
	"testing"

	"sotto/oracle"
	"sotto/privacy"
	"sotto/privacy/account"
)

// What an owner releases before noise is what its records say: every count, and other
// sums within half a step of 2^-20 for each record. So much is lost in no direction that
// a million records would add up.
func TestReleasesLoseNothing(t *testing.T) {
	d := people(5, 4000)
	index := make([]int32, d.Len())
	for i := range index {
		index[i] = int32(i)
	}
	counts := []string{"count()", "count() by sex, ill", "histogram(age, 7)", "table(sex, ill)",
		"quantile(age, .5)", "survival(time, ill)", "top(sex, 1)"}
	others := []string{"sum(age)", "mean(bmi) by sex", "variance(age)", "correlation(age, bmi, time)",
		"regression(bmi, age, sex)", "ttest(age, sex)"}
	for k, texts := range [][]string{{"count()"}, counts, others, slices.Repeat([]string{"count()"}, 1000)} {
		p := compile(t, nil, texts...)
		m := p.Map(d)
		o := oracle.Statistic{ClipNorm: 1, Adjacency: account.AddRemove, Unit: account.Record(), Dim: p.Dim}
		if err := o.Bind(oracle.Records{Data: m, Index: index}, nil); err != nil {
			t.Fatal(err)
		}
		got := make([]int64, p.Dim)
		o.EvaluateGrid(got, nil, nil)
		exact := sums(p, d)
		for c, steps := range got {
			if off := math.Abs(float64(steps)*privacy.GridStep(1) - exact[c]); off > 1e-9 {
				t.Errorf("set %d, number %d: %v is released as %v", k, c, exact[c],
					float64(steps)*privacy.GridStep(1))
			}
		}
		for _, part := range p.Parts {
			if part.Kind == "count" && len(part.By) == 0 {
				if n := float64(got[part.At]) * privacy.GridStep(1) / part.Weight; math.Abs(n-4000) > 1e-9 {
					t.Errorf("set %d: %v of 4000 records", k, n)
				}
			}
		}
	}
}
