package schema_test

import (
	"slices"
	"strings"
	"testing"

	"sotto/data/schema"
)

const clinic = `person;age;sex;note;flat;empty;outcome
a1;63,5;F;fine;7;;ill
a2;41;M;fine;7;?;well
a3;41;F;worse, far;7;;ill
a4;70;M;worse;7;NA;well
a5;NA;F;fine;7;;ill
`

func TestDraft(t *testing.T) {
	how := schema.Reading{DecimalComma: true}
	b, layout, err := schema.Draft("clinic.csv", []byte(clinic), how, "")
	if err != nil {
		t.Fatal(err)
	}
	if layout.Text() != "utf-8, semicolon (guessed)" {
		t.Error(layout.Text())
	}
	for _, line := range []string{
		"bounds = [41, 70]" + schema.Mark, `categories = ["F", "M"]` + schema.Mark,
		"bounds = [6, 7]" + schema.Mark, `values = ["ill", "well"]` + schema.Mark, "confirmed = false",
	} {
		if !strings.Contains(string(b), line+"\n") {
			t.Errorf("no line %s in\n%s", line, b)
		}
	}
	s := parse(t, string(b))
	kinds := ""
	for _, c := range s.Columns {
		kinds += c.Name + " " + c.Kind + ", "
	}
	const want = "person id, age number, sex category, note ignore, flat number, empty ignore, "
	if kinds != want {
		t.Errorf("%s", kinds)
	}
	if _, err := s.Read("clinic.csv", []byte(clinic), how); err == nil {
		t.Error("a draft reads records")
	}
	agreed := strings.Replace(string(b), "confirmed = false", "confirmed = true", 1)
	agreed = strings.Replace(agreed, `missing = "refuse"`, `missing = "drop"`, 1)
	r, err := parse(t, agreed).Read("clinic.csv", []byte(clinic), how)
	if err != nil || r.Len() != 4 || r.Counts.Dropped != 1 {
		t.Errorf("%+v, %v", r, err)
	}
}

// Every line of a draft that differs between two owners' files of the same kinds of
// columns is marked: nothing else came from records.
func TestDraftMarksAllThatIsPrivate(t *testing.T) {
	drafts := make([][]string, 2)
	others := strings.NewReplacer("63,5", "12", "70", "71", "a5;NA", "a5;44", "F", "f", "ill", "gone",
		"7;", "8;", "fine", "good").Replace(clinic)
	for i, text := range []string{clinic, others} {
		b, _, err := schema.Draft("clinic.csv", []byte(text), schema.Reading{DecimalComma: true}, "")
		if err != nil {
			t.Fatal(err)
		}
		drafts[i] = strings.Split(string(b), "\n")
	}
	if len(drafts[0]) != len(drafts[1]) {
		t.Fatalf("%d and %d lines", len(drafts[0]), len(drafts[1]))
	}
	differ := 0
	for k, line := range drafts[0] {
		if line != drafts[1][k] {
			if differ++; !strings.HasSuffix(line, schema.Mark) {
				t.Errorf("not marked: %s, and %s", line, drafts[1][k])
			}
		}
	}
	if differ != 4 {
		t.Errorf("%d lines differ, want 4", differ)
	}
}

func TestDraftTarget(t *testing.T) {
	how := schema.Reading{DecimalComma: true}
	b, _, err := schema.Draft("clinic.csv", []byte(clinic), how, "age")
	if err != nil {
		t.Fatal(err)
	}
	if s := parse(t, string(b)); s.Target.Column != "age" || s.Target.Kind != schema.Number ||
		s.Columns[len(s.Columns)-1].Name != "outcome" {
		t.Errorf("%s", b)
	}
	for _, c := range []struct{ text, target, want string }{
		{clinic, "weight", `target: found "weight"`},
		{clinic, "person", "a column of numbers, or"},
		{clinic, "empty", "clinic.csv: target: found column 6"},
		{"x,SECRET\np,\nq,\n", "", "column 2"}, // the first line may be a record
		{"1,2\n3,4\n", "", "column 1: found no name"},
		{"a,a\n3,4\n", "", "column 2: found no name"},
		{"a,,c\n3,4,5\n", "", "column 2: found no name"},
		{"a,b\n", "", "no rows"},
		{"a\n1\n", "", "at least two columns"},
		{"a,b;c\n1,2;3\n", "", "no line that one delimiter cuts best"},
		{"a,b\np,1\nq,2\n", "", "make no schema"},
		{"", "", "delimiter"},
	} {
		_, _, err := schema.Draft("clinic.csv", []byte(c.text), how, c.target)
		if err == nil || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "SECRET") {
			t.Errorf("%q, %q: %v", c.text, c.target, err)
		}
	}
}

// Numbers with a decimal comma are ignored, or taken for categories, where nobody says
// that they are numbers: the draft names their columns, and no others.
func TestDraftNamesDecimalCommas(t *testing.T) {
	const text = "person;bmi;dose;date;age;gone;class\na;27,1;2,5;1.2.25;61;;x\nb;30;2,5;2.2.25;55;NA;y\n" +
		"c;31,25;3;3.2.25;47;;x\nd;22,5;2,5;4.2.25;39;;y\ne;;3;4.2.25;39;;y\n"
	for _, c := range []struct {
		comma bool
		named []string
	}{{false, []string{`"bmi"`, `"dose"`}}, {true, nil}} {
		b, _, err := schema.Draft("clinic.csv", []byte(text), schema.Reading{DecimalComma: c.comma}, "")
		if err != nil {
			t.Fatal(err)
		}
		var named []string
		for line := range strings.Lines(string(b)) {
			if name, ok := strings.CutPrefix(line, "# Column "); ok {
				named = append(named, strings.Fields(name)[0])
			}
		}
		if !slices.Equal(named, c.named) {
			t.Errorf("decimal comma %t: named %v, want %v:\n%s", c.comma, named, c.named, b)
		}
		s, err := schema.Parse("draft.toml", b)
		if err != nil {
			t.Fatal(err)
		}
		if at := slices.IndexFunc(s.Columns, func(k schema.Column) bool { return k.Name == "bmi" }); at < 0 ||
			(s.Columns[at].Kind == schema.Number) != c.comma {
			t.Errorf("decimal comma %t: bmi among %+v", c.comma, s.Columns)
		}
	}
}
