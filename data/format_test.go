package data_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"sotto/config"
	"sotto/data"
)

func csvOf(t *testing.T, change func(*data.CSVParams)) *data.Format {
	t.Helper()
	f, err := data.FormatOf("csv", func(params any) error {
		p := params.(*data.CSVParams)
		p.Path, p.Drop, p.Label, p.Classes = "run.csv", []string{"name"}, "ill", []string{"no", "yes"}
		p.Missing, p.Bounds = []string{"NA"}, map[string][]float64{"age": {0, 100}}
		if change != nil {
			change(p)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// Files with and without the columns that are not read give the same features.
func TestFormatReads(t *testing.T) {
	f := csvOf(t, nil)
	want := []float32{.5, 3, 1, 4}
	for text, labelled := range map[string]bool{
		"name,age,ill,weight\na,50,yes,3\nb,NA,yes,1\nc,120,no,4\n": true,
		"age,weight\n50,3\nNA,1\n120,4\n":                           false,
		"ill,age,weight\nSECRET,50,3\n,NA,1\nno,120,4\n":            false,
	} {
		r, err := f.Read(write(t, "new.csv", text), nil, labelled)
		if err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(r.X.Data, want) || !slices.Equal(r.Lines, []int{2, 4}) ||
			!slices.Equal(r.Dropped, []int{3}) {
			t.Errorf("%q: %v, lines %v, dropped %v", text, r.X.Data, r.Lines, r.Dropped)
		}
		if labelled != slices.Equal(r.Labels, []int32{1, 0}) {
			t.Errorf("%q: labels %v", text, r.Labels)
		}
	}
	other := csvOf(t, func(p *data.CSVParams) {
		p.Header, p.Drop, p.Label, p.Classes, p.Target = false, nil, "", nil, "2"
		p.Bounds = map[string][]float64{"1": {0, 100}}
	})
	r, err := other.Read(write(t, "new.csv", "50,7,3\n"), nil, false)
	if err != nil || !slices.Equal(r.X.Data, []float32{.5, 3}) || r.Targets != nil {
		t.Errorf("%v, %v", r, err)
	}
}

func TestFormatRefuses(t *testing.T) {
	f := csvOf(t, nil)
	for text, want := range map[string]string{
		"age,weight\n1,SECRET\n":       `new.csv:2: column weight`,
		"age,weight,ill\n1,2,SECRET\n": `new.csv:2: column ill`,
		"weight\n2\n":                  `bounds: found "age"`,
		"":                             "no rows",
		"age,weight\n1\n":              "number of fields",
	} {
		_, err := f.Read(write(t, "new.csv", text), nil, strings.Contains(text, "ill"))
		var e *config.Error
		if !errors.As(err, &e) || !strings.Contains(err.Error(), want) ||
			strings.Contains(err.Error(), "SECRET") {
			t.Errorf("%q: %v, want %s", text, err, want)
		}
	}
	if f, err := data.FormatOf("glyphs", nil); f != nil || err != nil {
		t.Error(f, err)
	}
}

// Where the names of features are given a file is read by them, whatever the order of its
// columns and what else it has.
func TestFormatReadsByName(t *testing.T) {
	f := csvOf(t, nil)
	names := []string{"age", "weight"}
	want := []float32{.5, 3, 1, 4}
	for text, labelled := range map[string]bool{
		"name,age,ill,weight\na,50,yes,3\nc,120,no,4\n":          true,
		"weight,ill,age\n3,yes,50\n4,no,120\n":                   true,
		"weight,age\n3,50\n4,120\n":                              false,
		"town,weight,ill,age\nx,3,?,50\ny,4,SECRET,120\n":        false,
		"weight,name,town,age,ill\n3,a,x,50,yes\n4,b,y,120,no\n": true,
	} {
		r, err := f.Read(write(t, "new.csv", text), names, labelled)
		if err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(r.X.Data, want) || labelled != slices.Equal(r.Labels, []int32{1, 0}) {
			t.Errorf("%q: %v, labels %v", text, r.X.Data, r.Labels)
		}
	}
	for text, want := range map[string]string{
		"age,length\n1,2\n":         `new.csv:1: header: found no column "weight", allowed: the features`,
		"age,weight\n1,SECRET\n":    `new.csv:2: column weight`,
		"age,weight\n1,2\n":         `column: found "ill"`,
		"age,weight,ill\n1,2,MAY\n": `new.csv:2: column ill`,
	} {
		_, err := f.Read(write(t, "new.csv", text), names, strings.Contains(text+want, "ill"))
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "SECRET") {
			t.Errorf("%q: %v, want %s", text, err, want)
		}
	}
}

// A file is read by its names where it has some and the run asks for columns by them.
func TestColumnsAreNamed(t *testing.T) {
	train := write(t, "train.csv", "age,weight,ill\n50,3,yes\n20,4,no\n30,5,no\n40,6,yes\n")
	load := func(label, more string) (*data.Split, error) {
		return data.Load("csv", "", 1, params(fmt.Sprintf(
			"path = %q\nlabel = %q\nlabel_values = [\"no\", \"yes\"]\n%s", train, label, more)))
	}
	for _, c := range []struct {
		label, more string
		want        []string
	}{
		{"ill", "", []string{"age", "weight"}},
		{"ill", "drop = [\"age\"]", []string{"weight"}},
		{"ill", "bounds = {weight = [0, 9]}", []string{"age", "weight"}},
		{"3", "", nil},
		{"ill", "bounds = {2 = [0, 9]}", nil},
	} {
		s, err := load(c.label, c.more)
		if err != nil || !slices.Equal(s.Train.Columns, c.want) || !slices.Equal(s.Test.Columns, c.want) {
			t.Errorf("%+v: %q, %v", c, s.Train.Columns, err)
		}
	}
	for head, ok := range map[string]bool{"age,weight,ill": true, "ill,age,weight": true,
		"weight,age,ill": false, "age,length,ill": false} {
		cells := map[string]string{"age": "1", "weight": "2", "length": "2", "ill": "no"}
		var row []string
		for name := range strings.SplitSeq(head, ",") {
			row = append(row, cells[name])
		}
		test := write(t, "test.csv", head+"\n"+strings.Join(row, ",")+"\n")
		_, err := load("ill", fmt.Sprintf("test_path = %q", test))
		if ok != (err == nil) || !ok && !strings.Contains(err.Error(), "test.csv:1: header: found the fe") {
			t.Errorf("test records with %s: %v", head, err)
		}
	}
}

// With feature_columns every file is read by the names: what trains, what tests, an
// owner's own, and what is predicted. Others are not looked at, and digests of parameters
// without it are what they were.
func TestColumnsByName(t *testing.T) {
	const straight = "age,weight,ill\n50,3,yes\n20,4,no\n30,5,no\n40,6,yes\n"
	const turned = "ward,ill,weight,age\nx,yes,3,50\nx,no,4,20\ny,no,5,30\nSECRET,yes,6,40\n"
	keys := "label = \"ill\"\nlabel_values = [\"no\", \"yes\"]\nfeature_columns = [\"weight\", \"age\"]\n" +
		"bounds = {age = [0, 100]}\n"
	want := []float32{3, .5, 4, .2, 5, .3, 6, .4}
	for _, text := range []string{straight, turned} {
		file := write(t, "records.csv", text)
		s, err := data.Load("csv", "", 1,
			params(fmt.Sprintf("path = %q\ntest_path = %q\n%s", file, file, keys)))
		if err != nil {
			t.Fatal(err)
		}
		own, err := data.LoadOwn("csv", data.OwnFile{Path: file}, data.Source{Seed: 1},
			params("test_fraction = 0.5\n"+keys))
		if err != nil {
			t.Fatal(err)
		}
		var used []string
		for k, c := range own.Columns {
			if own.Used[k] {
				used = append(used, c)
			}
		}
		slices.Sort(used)
		if !slices.Equal(s.Train.X.Data, want) || !slices.Equal(s.Test.X.Data, want) ||
			!slices.Equal(s.Train.Columns, []string{"weight", "age"}) ||
			own.Split.Train.X.Cols != 2 || own.Split.Train.X.Data[0] < 3 ||
			!slices.Equal(used, []string{"age", "ill", "weight"}) {
			t.Errorf("%q: %v, own %v with %q", text, s.Train.X.Data, own.Split.Train.X.Data, used)
		}
	}
	for more, want := range map[string]string{
		`feature_columns = []`:                                    "feature_columns: found",
		`feature_columns = ["age", "age"]`:                        `feature_columns: found "age"`,
		`feature_columns = ["age", "ill"]`:                        `feature_columns: found "ill"`,
		"feature_columns = [\"age\"]\nheader = false":             "feature_columns: found",
		"feature_columns = [\"age\"]\ndrop = [\"weight\"]":        "drop: found",
		"feature_columns = [\"age\"]\nbounds = {weight = [0, 1]}": `bounds: found "weight"`,
		`feature_columns = ["age", "height"]`:                     `header: found no column "height"`,
	} {
		file := write(t, "records.csv", straight)
		_, err := data.Load("csv", "", 1, params(fmt.Sprintf("path = %q\nlabel = \"ill\"\n"+
			"label_values = [\"no\", \"yes\"]\n%s", file, more)))
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", more, err, want)
		}
	}
	named := fmt.Sprintf("%#v", data.CSVParams{CSVNames: data.CSVNames{Columns: []string{"a"}}})
	if text := fmt.Sprintf("%#v", data.CSVParams{}); strings.Contains(text, "Columns") ||
		!strings.Contains(named, `Columns:[]string{"a"}`) {
		t.Error(text, named)
	}
}

// New records need no column of persons.
func TestFormatWithoutPersons(t *testing.T) {
	for _, names := range [][]string{nil, {"age", "weight"}} {
		f := csvOf(t, func(p *data.CSVParams) { p.UnitColumn = "person" })
		for _, text := range []string{"age,weight\n50,3\n", "person,age,weight\np1,50,3\n"} {
			r, err := f.Read(write(t, "new.csv", text), names, false)
			if err != nil || !slices.Equal(r.X.Data, []float32{.5, 3}) {
				t.Errorf("%q: %+v, %v", text, r, err)
			}
		}
	}
}
