package run

import (
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
