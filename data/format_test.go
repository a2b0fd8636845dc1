package data_test

import (
	"errors"
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
		r, err := f.Read(write(t, "new.csv", text), labelled)
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
	r, err := other.Read(write(t, "new.csv", "50,7,3\n"), false)
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
		_, err := f.Read(write(t, "new.csv", text), strings.Contains(text, "ill"))
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
