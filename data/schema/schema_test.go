package schema_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"sotto/config"
	"sotto/data/schema"
)

// heart has every key.
const heart = `version = 1
name = "heart"
confirmed = true
intercept = true
missing_cells = ["", "NA"]

[[column]]
name = "patient"
kind = "id"

[[column]]
name = "age"
kind = "number"
unit = "years"
bounds = [0, 100]

[[column]]
name = "sex"
kind = "category"
categories = ["F", "M"]
other = true
missing = "other"
indicator = true

[[column]]
name = "bmi"
kind = "number"
unit = "kg/m2"
bounds = [10.0, 50]
scale = [-1, 1]
missing = "mean of bounds"
indicator = true

[[column]]
name = "pressure"
kind = "number"
unit = "mmHg"
bounds = [0, 256]
missing = 128

[[column]]
name = "pain"
kind = "category"
categories = ["none", "some"]
missing = "drop"

[[column]]
name = "remark"
kind = "ignore"

[target]
column = "outcome"
kind = "class"
values = ["well", "ill"]
missing = "drop"
`

func parse(t testing.TB, text string) *schema.Schema {
	t.Helper()
	s, err := schema.Parse("heart.toml", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestFeatures(t *testing.T) {
	want := []string{"age", "sex=F", "sex=M", "sex=other", "sex missing", "bmi", "bmi missing", "pressure",
		"pain=none", "pain=some", "intercept"}
	if got := parse(t, heart).Features(); !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
}

// swap replaces the n-th occurrence, from 1, of old in heart.
func swap(t *testing.T, n int, old, with string) string {
	t.Helper()
	parts := strings.SplitAfterN(heart, old, n+1)
	if len(parts) <= n {
		t.Fatalf("no %d of %q", n, old)
	}
	parts[n-1] = strings.TrimSuffix(parts[n-1], old) + with
	return strings.Join(parts, "")
}

// Every refusal names file, line, key, what was found and what is allowed.
func TestRefusals(t *testing.T) {
	for _, c := range []struct {
		n              int
		old, with      string
		line           int
		key, found, ok string
	}{
		{1, "version = 1", "version = 2", 1, "version", "2", "1"},
		{1, `name = "heart"`, "nam = 1", 2, "nam", "an unknown key", "missing_cells"},
		{1, "unit =", "units =", 14, "column.units", "an unknown key", "indicator"},
		{1, "values =", "classes =", 54, "target.classes", "an unknown key", "one of column, kind"},
		{1, `["", "NA"]`, `["NA", "NA"]`, 5, "missing_cells", `"NA"`, "once"},
		{1, `["", "NA"]`, `[" NA"]`, 5, "missing_cells", `" NA"`, "space"},
		{1, `["", "NA"]`, `["M"]`, 20, "column[2].categories", `"M"`, "missing_cells"},
		{1, `kind = "id"`, `kind = "key"`, 9, "column[0].kind", `"key"`, "ignore"},
		{1, `kind = "id"`, "kind = \"id\"\nother = true", 10, "column[0].other", "a value", "kind id"},
		{1, `kind = "ignore"`, `kind = "id"`, 49, "column[6].kind", `"id"`, "one column"},
		{1, `name = "patient"`, `name = ""`, 8, "column[0].name", `""`, "256"},
		{1, `name = "remark"`, `name = "age"`, 48, "column[6].name", `"age"`, "no other"},
		{1, "bounds = [0, 100]", "", 11, "column[1].bounds", "[]", "public knowledge"},
		{1, "[0, 100]", "[100, 0]", 15, "column[1].bounds", "[100 0]", "low < high"},
		{1, "[0, 100]", "[0, inf]", 15, "column[1].bounds", "[0 +Inf]", "finite"},
		{1, "[0, 100]", "[0, nan]", 15, "column[1].bounds", "[0 NaN]", "finite"},
		{1, "[0, 100]", "[1, 1.000000001]", 15, "column[1].bounds", "[1 1.000000001]",
			"different as float32"},
		{1, "[0, 100]", `"all"`, 15, "column.bounds", `"all"`, "a list of numbers"},
		{1, "[-1, 1]", "[-1, 2]", 30, "column[3].scale", "[-1 2]", "[0, 1] or [-1, 1]"},
		{1, "missing = 128", "missing = 257", 39, "column[4].missing", "257", "0 to 256"},
		{1, "missing = 128", "missing = true", 39, "column[4].missing", "true", "mean of bounds"},
		{1, "missing = 128", `missing = "mean"`, 39, "column[4].missing", `"mean"`, "mean of bounds"},
		{1, "missing = 128", "indicator = true", 39, "column[4].indicator", "true", "refuse or drop"},
		{1, "missing = 128", "categories = []", 39, "column[4].categories", "a value", "kind number"},
		{1, `missing = "other"`, `missing = "X"`, 22, "column[2].missing", `"X"`, "a category"},
		{1, `missing = "other"`, `missing = 3`, 22, "column[2].missing", "3", "a category"},
		{1, `["F", "M"]`, `["F", "F"]`, 20, "column[2].categories", `"F"`, "once"},
		{1, `["F", "M"]`, `[]`, 20, "column[2].categories", "none", "at least one"},
		{1, `["F", "M"]`, `["F", "other"]`, 20, "column[2].categories", `"other"`, "another word"},
		{1, `name = "pain"`, `name = "intercept"`, 0, "", "", ""}, // no fault: intercept=none
		{1, `name = "pressure"`, `name = "intercept"`, 35, "column[4].name", `"intercept"`, "second feature"},
		{1, `name = "pressure"`, `name = "bmi missing"`, 35, "column[4].name", "", "second feature"},
		{1, `column = "outcome"`, `column = "age"`, 52, "target.column", `"age"`, "not among"},
		{1, `column = "outcome"`, ``, 51, "target.column", `""`, "256"},
		{1, `kind = "class"`, `kind = "number"`, 54, "target.values", "a value", "kind number"},
		{1, `["well", "ill"]`, `["well"]`, 54, "target.values", "1", "at least two"},
		{2, `missing = "drop"`, `missing = "well"`, 55, "target.missing", `"well"`, "refuse or drop"},
		{1, "[target]", "[target", 51, "", "", ""},
	} {
		_, err := schema.Parse("heart.toml", []byte(swap(t, c.n, c.old, c.with)))
		if c.line == 0 {
			if err != nil {
				t.Errorf("%s: %v", c.with, err)
			}
			continue
		}
		var e *config.Error
		if !errors.As(err, &e) || e.File != "heart.toml" || e.Allowed == "" || e.Found == "" {
			t.Errorf("%s: %v", c.with, err)
			continue
		}
		if c.key != "" && e.Key != c.key || !strings.Contains(e.Found, c.found) ||
			!strings.Contains(e.Allowed, c.ok) {
			t.Errorf("%s: %v", c.with, err)
		}
		if e.Line != c.line {
			t.Errorf("%s: line %d, want %d: %v", c.with, e.Line, c.line, err)
		}
	}
}

// Columns may stand in one list; the error has its line.
func TestLineOfAList(t *testing.T) {
	_, err := schema.Parse("x", []byte("version = 1\n\ncolumn = [{name = \"a\", kind = \"b\"}]\n"))
	if err == nil || !strings.HasPrefix(err.Error(), "x:3: column[0].kind: ") {
		t.Error(err)
	}
}

// docs/data.md explains every key, with an example.
func TestKeysAreDocumented(t *testing.T) {
	b, err := os.ReadFile(filepath.Join("..", "..", "docs", "data.md"))
	if err != nil {
		t.Fatal(err)
	}
	for _, v := range []any{schema.Schema{}, schema.Column{}, schema.Target{}} {
		s := reflect.TypeOf(v)
		for i := range s.NumField() {
			key := s.Field(i).Tag.Get("toml")
			if key == "" || key == "column" && s.Name() == "Schema" || key == "target" {
				continue
			}
			if !strings.Contains(string(b), "\n| `"+key+"` |") || !strings.Contains(string(b), key+" = ") {
				t.Errorf("docs/data.md lacks %s of %s, or an example", key, s.Name())
			}
		}
	}
}

func TestEmptySchemas(t *testing.T) {
	for _, text := range []string{"", "version = 1", "version = 1\n[target]\ncolumn = \"y\"",
		"version = 1\n[[column]]\nname = \"p\"\nkind = \"id\"\n[target]\ncolumn = \"y\""} {
		if _, err := schema.Parse("x", []byte(text)); err == nil {
			t.Errorf("%q is a schema", text)
		}
	}
}

// A schema is the same after it was written and read, and with its defaults spelled out;
// comments, layout and confirmed do not count.
func TestDigestOfTheSame(t *testing.T) {
	s := parse(t, heart)
	same := map[string]string{
		"encoded":     string(s.Encode()),
		"comments":    "# a comment\n" + heart,
		"unconfirmed": swap(t, 1, "confirmed = true", "confirmed = false"),
		"defaults": swap(t, 1, "bounds = [0, 100]",
			"bounds = [-0.0, 1e2]\nmissing = \"refuse\"\nscale = [0, 1.0]"),
		"a number": swap(t, 1, "missing = 128", "missing = 128.0"),
	}
	for what, text := range same {
		o := parse(t, text)
		if s.Digest() != o.Digest() || s.Diff(o) != "" {
			t.Errorf("%s: another digest: %s", what, s.Diff(o))
		}
	}
	// the digest may never change: rosters will hold it
	if got := fmt.Sprintf("%x", s.Digest()); got != digest {
		t.Errorf("digest %s", got)
	}
}

const digest = "bb4211008af8e39ab33baf0b70c2e09cd5eea973c5bc44a5dbc69daee6c1257a"

// Every other value counts, and the difference is said in words.
func TestDiff(t *testing.T) {
	s := parse(t, heart)
	for _, c := range []struct{ old, with, want string }{
		{`"heart"`, `"hearts"`, `name: "heart" here, "hearts" there`},
		{"intercept = true", "intercept = false", "intercept: true here, false there"},
		{`["", "NA"]`, `[""]`, `missing_cells: ["", "NA"] here, [""] there`},
		{`name = "age"`, `name = "years"`, `column 2: "age" here, "years" there`},
		{`kind = "ignore"`, "kind = \"number\"\nbounds = [0, 1]",
			`column 7, "remark": kind: "ignore" here, "number" there`},
		{`"years"`, `"months"`, `column 2, "age": unit: "years" here, "months" there`},
		{"[0, 100]", "[0, 120]", `column 2, "age": bounds: [0, 100] here, [0, 120] there`},
		{"[-1, 1]", "[0, 1]", `column 4, "bmi": scale: [-1, 1] here, [0, 1] there`},
		{`["F", "M"]`, `["M", "F"]`, `column 3, "sex": categories: ["F", "M"] here, ["M", "F"] there`},
		{"missing = 128", "missing = 127", `column 5, "pressure": missing: 128 here, 127 there`},
		{"missing = 128", "missing = \"drop\"", `column 5, "pressure": missing: 128 here, drop there`},
		{"[[column]]\nname = \"remark\"\nkind = \"ignore\"\n", "", `column 7: "remark" here, none there`},
		{`"outcome"`, `"state"`, `target: column: "outcome" here, "state" there`},
		{`["well", "ill"]`, `["ill", "well"]`, `target: values: ["well", "ill"] here, ["ill", "well"] there`},
	} {
		o := parse(t, swap(t, 1, c.old, c.with))
		if s.Digest() == o.Digest() {
			t.Errorf("%s: the same digest", c.with)
		}
		if got := s.Diff(o); strings.ReplaceAll(got, `"drop"`, "drop") != c.want {
			t.Errorf("%s:\n got %s\nwant %s", c.with, got, c.want)
		}
		if back := o.Diff(s); back == "" {
			t.Errorf("%s: no difference the other way", c.with)
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add(heart)
	f.Add("version = 1\n[[column]]\nname = \"x\"\nkind = \"number\"\nbounds = [0, 1]\n" +
		"[target]\ncolumn = \"y\"\nkind = \"number\"\nbounds = [-1e30, 1]\nscale = [-1, 1]")
	f.Add("[[column]]\n[[column]]\nname = \"\\u007f\"")
	f.Fuzz(func(t *testing.T, text string) {
		s, err := schema.Parse("fuzz", []byte(text))
		var bad *config.Error
		if err != nil {
			if !errors.As(err, &bad) {
				t.Fatalf("%T: %v", err, err)
			}
			return
		}
		o, err := schema.Parse("again", s.Encode())
		if err != nil {
			t.Fatalf("%v\n%s", err, s.Encode())
		}
		if s.Digest() != o.Digest() || o.Confirmed != s.Confirmed {
			t.Fatal(s.Diff(o))
		}
	})
}

// What stands for a missing number is asked of a column of numbers; others have none.
func TestFillOfOtherColumns(t *testing.T) {
	for _, c := range []schema.Column{{}, {Kind: schema.Category, Missing: schema.Refuse},
		{Kind: schema.Category, Missing: "other"}, {Kind: schema.ID}} {
		if v, ok := c.Fill(); ok {
			t.Errorf("%+v: %v", c, v)
		}
	}
	c := schema.Column{Kind: schema.Number, Missing: schema.Mean, Bounds: []float64{1, 2}}
	if v, ok := c.Fill(); v != 1.5 || !ok {
		t.Errorf("the middle of 1 and 2: %v, %v", v, ok)
	}
}
