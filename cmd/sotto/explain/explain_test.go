package explain

import (
	"bytes"
	"errors"
	"flag"
	"os"
	"slices"
	"strings"
	"testing"

	"sotto/config"
	"sotto/experiment"
	"sotto/experiment/keys"
	"sotto/experiment/tune"
)

var update = flag.Bool("update", false, "write docs/keys.md")

// more are the sections beside those of runs.
var more = append([]keys.Section{{Name: experiment.TuneSection, Params: []any{tune.Params()}}},
	keys.Policy()...)

// docs/keys.md is what the program says.
func TestPage(t *testing.T) {
	const path = "../../../docs/keys.md"
	var b bytes.Buffer
	if err := page(&b, keys.List(more...)); err != nil {
		t.Fatal(err)
	}
	if *update {
		if err := os.WriteFile(path, b.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, b.Bytes()) {
		t.Error("docs/keys.md is another page: go test ./cmd/sotto/explain -update")
	}
}

func said(t *testing.T, args ...string) (string, error) {
	t.Helper()
	var b bytes.Buffer
	c := New(tune.Params())
	c.SetArgs(append([]string{}, args...)) // nil: those of the test
	c.SetOut(&b)
	c.SilenceErrors, c.SilenceUsage = true, true
	err := c.Execute()
	return b.String(), err
}

// A key is found by its section, with it, and alone; in every place that it has.
func TestFinds(t *testing.T) {
	for args, want := range map[string][]string{
		"topology":               {"topology.graph: a string", "topology.p: a number; with graph = er\n"},
		"[topology]":             {"topology.graph: a string"},
		"privacy.max_grad_norm":  {"is clipped", "above 0"},
		"max_grad_norm":          {"privacy.max_grad_norm"},
		"privacy.colluding":      {"privacy.curious"}, // a second spelling
		"features":               {"with dataset = cifar-10", "movielens"},
		"algorithm.step_size":    {"name = dinno", "name = central, dsgd"},
		"algorithm.optimizer":    {"adam-bc", "adam-fresh"},
		"seed":                   {"\nseed: ", "tune.seed", "seed of all random draws"},
		"personal":               {"personal.enabled: true or false"},
		"data.bounds":            {"a table of lists of numbers"},
		"evaluate.fold":          {"evaluate.fold: a whole number"},
		"faults.attack":          {"\n        sign-flip   -s x\n"},
		"tune.quantile":          {"Default: 0.25"},
		"topology.graph":         {"One of complete, "},
		"replication.one_record": {"Definition 2"},
		"policy": {"policy.ledger: a string", "policy.dataset.lifetime_epsilon: a number",
			"policy.dataset.smallest_group"},
		"lifetime_delta": {"below 1/min_records"},
	} {
		got, err := said(t, args)
		if err != nil {
			t.Errorf("%s: %v", args, err)
		}
		for _, w := range want {
			if !strings.Contains("\n"+got, w) {
				t.Errorf("%s: no %q in\n%s", args, w, got)
			}
		}
		for line := range strings.Lines(got) {
			if n := len([]rune(line)); n > columns+5 {
				t.Errorf("%s: a line of %d columns: %s", args, n, line)
			}
		}
	}
	if got, err := said(t); err != nil || !strings.Contains(got, "  graph = er: p\n") {
		t.Errorf("the list: %v\n%s", err, got)
	}
	if got, err := said(t, "rounds", "--json"); err != nil ||
		!strings.HasPrefix(got, `[{"section":"","key":"rounds",`) {
		t.Errorf("JSON: %v\n%s", err, got)
	}
	var bad *config.Error
	if _, err := said(t, "privacy.max_grad_nrom"); !errors.As(err, &bad) ||
		!strings.HasSuffix(bad.Error(), "did you mean privacy.max_grad_norm?") {
		t.Errorf("an unknown key: %v", err)
	}
}

// Every key of a search or policy has words, too.
func TestOthersHaveWords(t *testing.T) {
	for _, k := range keys.List(more...) {
		if k.Text == "" {
			t.Errorf("%s: its field has no comment", k.Dotted())
		}
	}
}

// Keys that stand together in a page are there under the same names, and none is lost.
func TestGroups(t *testing.T) {
	all := keys.List(more...)
	n := 0
	for _, g := range groups(all) {
		n += len(g)
		if slices.ContainsFunc(g, func(k keys.Key) bool {
			return k.Section != g[0].Section || with(&k) != with(&g[0])
		}) {
			t.Errorf("%v stand together", names(g))
		}
	}
	if n != len(all) {
		t.Errorf("%d keys of %d", n, len(all))
	}
}
