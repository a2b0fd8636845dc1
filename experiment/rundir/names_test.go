package rundir_test

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"sotto/experiment/rundir"
)

func TestNamesOfAgents(t *testing.T) {
	n := rundir.Names{Agents: []string{"Basel", "", "Chur", "Davos"}, Classes: []string{"no", "yes"}}
	for in, want := range map[string]string{"0-3": "Basel, 1, Chur, Davos", "3": "Davos",
		"0,2-3": "Basel, Chur, Davos", "9": "9", "mean": "mean", "0-900": "0-900", "": ""} {
		if got := n.List(in); got != want {
			t.Errorf("List(%q) = %q, want %q", in, got, want)
		}
	}
	if n.Agent(0) != "Basel" || n.Agent(1) != "1" || n.Agent(-1) != "-1" || n.Class(1) != "yes" ||
		n.Class(2) != "2" {
		t.Error(n.Agent(0), n.Agent(1), n.Agent(-1), n.Class(1), n.Class(2))
	}
	var none rundir.Names
	if !none.None() || n.None() || none.List("0-3") != "0-3" || none.Class(4) != "4" {
		t.Error("no names are not numbers")
	}
}

// Who learns most of whom is said by name.
func TestNamesOfPairs(t *testing.T) {
	n := rundir.Names{Agents: []string{"Basel", "Chur"}}
	network, walk := rundir.NetworkFigures{Agent: 1}, rundir.WalkFigures{Agent: 0, Observer: 5}
	for _, c := range [][2]string{{network.Text(&n), "agent Chur seen by Basel,"},
		{network.Text(new(rundir.Names)), "agent 1 seen by 0,"},
		{walk.Text(&n), "agent Basel seen by 5,"}} {
		if !strings.Contains(c[0], c[1]) {
			t.Errorf("%q lacks %q", c[0], c[1])
		}
	}
}

func TestReadNames(t *testing.T) {
	dir := t.TempDir()
	if n, err := rundir.ReadNames(dir); err != nil || !n.None() {
		t.Errorf("%v, %v of a run without names", n, err)
	}
	path := filepath.Join(dir, rundir.NamesFile)
	if err := os.WriteFile(path, []byte(`{"agents":["A"],"classes":["x","y"]}`), 0o600); err != nil {
		t.Fatal(err)
	}
	if n, err := rundir.ReadNames(dir); err != nil || n.Agent(0) != "A" || n.Class(1) != "y" {
		t.Errorf("%v, %v", n, err)
	}
	if err := os.WriteFile(path, []byte(`{`), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := rundir.ReadNames(dir); err == nil || !strings.Contains(err.Error(), "names.json:1: found ") {
		t.Error(err)
	}
}

// Names stand beside the number of agents where they fit on a line.
func TestTableNames(t *testing.T) {
	s := rundir.Summary{Agents: 2, Privacy: make([]rundir.PrivacyLine, 1),
		Names: rundir.Names{Agents: []string{"Basel", "Chur"}, Classes: []string{"no", "yes"}}}
	var b bytes.Buffer
	if err := s.WriteTable(&b); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{" 2: Basel, Chur\n", " 2: no, yes\n"} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("the table lacks %q:\n%s", want, b.String())
		}
	}
	b.Reset()
	s.Agents, s.Names = 30, rundir.Names{Agents: make([]string, 30)}
	if err := s.WriteTable(&b); err != nil || strings.Contains(b.String(), " 30:") {
		t.Errorf("%v:\n%s", err, b.String())
	}
}

// Figures say how many have them, of agents or of tokens.
func TestTableOfFigures(t *testing.T) {
	base := .5
	s := rundir.Summary{Tokens: 3, Privacy: make([]rundir.PrivacyLine, 1)}
	s.Figures = &rundir.Figures{Records: 40, Tested: 3, BaselineOf: "little", Level: .95,
		Lines: []rundir.FigureLine{
			{Name: "log_loss", Agents: 2, Over: &rundir.Stats{Mean: .25, Min: .125, Max: .375},
				Interval: &[2]float64{.2, .3}, Baseline: &base, Undefined: "no record"},
			{Name: "auroc", Undefined: "one class"}}}
	var b bytes.Buffer
	if err := s.WriteTable(&b); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"of 40 test records, over 3 tokens; the baseline knows little\n",
		"  log loss ", " 0.2500 mean (0.2000 to 0.3000 at level 0.95), 0.1250 min, " +
			"0.3750 max; baseline 0.5000; undefined at 1 of 3 tokens: no record\n",
		" undefined: one class\n"} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("the table lacks %q:\n%s", want, b.String())
		}
	}
}
