package query_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"sotto/config"
	"sotto/data"
	"sotto/data/schema"
	"sotto/query"
	"sotto/tensor"
)

// wards are variables with a category that has no feature for its first value, and one
// whose values a record may lack.
func wards() []schema.Variable {
	v := variables()
	return append(v[:5:5], schema.Variable{Name: "ward", At: 7, Categories: []string{"n", "s", "w"},
		Implicit: true, Missing: 9}, schema.Variable{Name: "a b", At: 10, Categories: []string{"x", "y"},
		Open: true, Missing: -1}, v[5])
}

// asked draws a question of any kind, most of which those variables allow.
func asked(t *rapid.T) string {
	number := rapid.SampledFrom([]string{"age", "bmi", "time", "plain"})
	category := rapid.SampledFrom([]string{"sex", "ill", "ward", `"a b"`})
	categories := func(least, most int) string {
		return strings.Join(rapid.SliceOfN(category, least, most).Draw(t, "categories"), ", ")
	}
	kind := rapid.SampledFrom([]string{"count", "sum", "mean", "variance", "histogram", "edges", "quantile",
		"table", "correlation", "covariance", "pca", "regression", "ttest", "top",
		"survival"}).Draw(t, "kind")
	n, many := number.Draw(t, "number"), rapid.IntRange(1, 30).Draw(t, "how many")
	switch kind {
	case "count":
		n = ""
	case "histogram":
		n += fmt.Sprintf(", %d", many)
	case "edges":
		kind, n = "histogram", n+", -1e300, 0, 1e-300, 37.5, 1e300"
	case "quantile":
		n += fmt.Sprintf(", %v, .5", rapid.Float64Range(1e-9, 1-1e-9).Draw(t, "probability"))
	case "table":
		n = categories(1, 4)
	case "correlation", "covariance", "pca":
		n = strings.Join(rapid.SliceOfNDistinct(number, 1, 3, rapid.ID).Draw(t, "numbers"), ", ")
	case "regression", "ttest":
		n += ", " + categories(1, 1)
	case "top":
		n = categories(1, 1) + fmt.Sprintf(", %d", many%4+1)
	case "survival":
		n += ", " + categories(1, 1) + fmt.Sprintf(", %d", many)
	}
	text := kind + "(" + n + ")"
	if by := categories(0, 2); by != "" {
		text += " by " + by
	}
	if rapid.IntRange(0, 3).Draw(t, "where") == 0 {
		text += " where " + number.Draw(t, "number") + rapid.SampledFrom([]string{" = ", " != ", " < ",
			" >= "}).Draw(t, "comparison") + `40 and sex != F`
	}
	return text
}

// Of any questions and records, what a record adds has norm at most 1, so that no clip
// cuts what is counted, and depends on no other record; and of any sums there are answers
// that a file can hold, with figures inside their intervals.
func TestAnyQuestions(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var texts []string
		var shares []float64
		for range rapid.IntRange(1, 4).Draw(t, "questions") {
			texts = append(texts, asked(t))
			shares = append(shares, rapid.SampledFrom([]float64{1e-3, 1, 2, 1e6}).Draw(t, "share"))
		}
		p, err := query.Compile(texts, shares, wards())
		if bad := new(config.Error); err != nil {
			if !errors.As(err, &bad) {
				t.Fatal(err)
			}
			return
		}
		const columns = 12
		d := &data.Dataset{X: tensor.NewMat(rapid.IntRange(0, 5).Draw(t, "records"), columns), Classes: 2,
			Labels: []int32{}, Known: data.Known{Variables: wards()}}
		cell := rapid.OneOf(rapid.Float32Range(-1, 1), rapid.Float32Range(-1, 1),
			rapid.SampledFrom([]float32{0, 1, -1, .5, 2, 1e30, -1e30, float32(math.NaN()),
				float32(math.Inf(1))}))
		for i := range d.Len() {
			row := d.X.Row(i)
			for c := range row {
				row[c] = cell.Draw(t, "cell")
			}
			for _, c := range []int{2, 7, 10} { // a category has one of its values, or none
				row[c], row[c+1] = 0, 0
				if k := rapid.IntRange(0, 2).Draw(t, "value"); k < 2 {
					row[c+k] = 1
				}
			}
			d.Labels = append(d.Labels, int32(rapid.IntRange(0, 1).Draw(t, "label")))
		}
		all := p.Map(d)
		for i := range d.Len() {
			if n := all.X.Row(i).Norm(); n > 1+1e-7 {
				t.Fatalf("%q: norm %v", texts, n)
			}
			alone := *d
			alone.X, alone.Labels = tensor.NewMat(1, columns), d.Labels[i:i+1]
			copy(alone.X.Row(0), d.X.Row(i))
			one := p.Map(&alone).X.Row(0)
			for c, x := range all.X.Row(i) {
				if math.Float32bits(x) != math.Float32bits(one[c]) {
					t.Fatalf("%q: number %d of record %d is %v, alone %v", texts, c, i, x, one[c])
				}
			}
		}
		sums := make([]float64, p.Dim)
		scale := rapid.SampledFrom([]float64{0, 1, 1e3, 1e9}).Draw(t, "scale")
		for c := range sums {
			sums[c] = math.Round(scale*rapid.Float64Range(-1, 1).Draw(t, "sum")*1e6) / 1e6
		}
		got, err := p.Answers(sums, rapid.SampledFrom([]float64{0, 1e-9, 1, 1e6}).Draw(t, "sigma"),
			query.Answerer{Sampling: rapid.Bool().Draw(t, "sampling"),
				Level: rapid.SampledFrom([]float64{.501, .95, query.HighestLevel}).Draw(t, "level")})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := json.Marshal(got); err != nil {
			t.Fatalf("%q: %v", texts, err)
		}
		for _, a := range got {
			for _, r := range a.Rows {
				if !(r.Low <= r.Value && r.Value <= r.High) {
					t.Fatalf("%s: %+v", a.Question, r)
				}
			}
		}
	})
}
