package run

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"sotto/experiment"
)

// Labels that never occur in the user's file are named, and a file of one class says that
// its accuracy tells nothing.
func TestEmptyClassesAreNamed(t *testing.T) {
	for labels, want := range map[string]string{
		"no yes":    "",
		"no":        `all training records have the label "no"`,
		"no yes so": `no training record has the label "so"`,
	} {
		var b strings.Builder
		b.WriteString("x,ill\n")
		for i := range 40 {
			fmt.Fprintf(&b, "%d,%s\n", i, strings.Fields(labels)[i%min(2, len(strings.Fields(labels)))])
		}
		path := filepath.Join(t.TempDir(), "own.csv")
		if err := os.WriteFile(path, []byte(b.String()), 0o600); err != nil {
			t.Fatal(err)
		}
		values := `["no", "yes"]`
		if strings.Contains(labels, "so") {
			values = `["no", "yes", "so"]`
		}
		f, err := experiment.Parse("own.toml", fmt.Appendf(nil, `rounds = 1
topology.agents = 3
privacy.mechanism = "none"
privacy.batch_size = 4
[data]
dataset = "csv"
path = %q
label = "ill"
label_values = %s
[data.bounds]
x = [0, 40]
[model]
name = "mlp"
hidden = [2]
`, path, values), nil)
		if err != nil {
			t.Fatal(err)
		}
		e, err := f.Build("")
		if err != nil {
			t.Fatal(err)
		}
		got := strings.Join(e.Notes.Warnings, "\n")
		if (want == "") != (got == "") || !strings.Contains(got, want) {
			t.Errorf("%s: warnings %q, want %q", labels, got, want)
		}
	}
}

// Rows that are left out, features without bounds, and a model that is no better than the
// most frequent class are said.
func TestHopelessTables(t *testing.T) {
	var b strings.Builder
	b.WriteString("x,y,ill\n")
	for i := range 60 {
		fmt.Fprintf(&b, "%d,%d,%s\n", 1000+i, i%7, []string{"no", "no", "yes"}[i%3])
	}
	b.WriteString("?,3,no\n2000,?,yes\n")
	path := filepath.Join(t.TempDir(), "own.csv")
	if err := os.WriteFile(path, []byte(b.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	f, err := experiment.Parse("own.toml", fmt.Appendf(nil, `rounds = 2
topology.agents = 3
privacy.mechanism = "none"
privacy.batch_size = 4
[data]
dataset = "csv"
path = %q
missing = ["?"]
label = "ill"
label_values = ["no", "yes"]
[data.bounds]
y = [0, 6]
[model]
name = "logistic"
[algorithm]
step_size = 1e-9
`, path), nil)
	if err != nil {
		t.Fatal(err)
	}
	e, err := f.Build("")
	if err != nil {
		t.Fatal(err)
	}
	r, err := Run(context.Background(), e, Options{Out: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	said := strings.Join(append(e.Notes.Warnings, r.Summary.Notes...), "\n")
	for _, want := range []string{"2 rows of the files are left out", "values of about 1: x; [data.bounds]",
		"which a model has that always says \"no\""} { // one that hardly moves says one class of all

		if !strings.Contains(said, want) {
			t.Errorf("%q does not say %q", said, want)
		}
	}
}
