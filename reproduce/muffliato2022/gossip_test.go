package muffliato2022

import (
	"context"
	"errors"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"sotto/config"
	"sotto/experiment/sweep"
	"sotto/reproduce"
)

// cellNumber reads a cell of a table.
func cellNumber(t *testing.T, s string) float64 {
	t.Helper()
	x, err := strconv.ParseFloat(s, 64)
	if err != nil {
		t.Fatal(err)
	}
	return x
}

// Exact losses are shares, whole for neighbors, and of 64 agents of a hypercube those of
// the published tables: .4 at two links after twelve rounds, where the formula says
// 1.474. There are ceil(ln 64/sqrt(2/7)) = 8 rounds here, after which the view is the
// same and the formula lower.
func TestGossipStudies(t *testing.T) {
	for _, name := range []string{"seed004-figa", "seed004-figb"} {
		d, err := reproduce.Papers{Paper}.Run(context.Background(), name,
			reproduce.Options{Dir: t.TempDir(), Scale: reproduce.Smoke,
				Sweep: sweep.Options{Workers: 1}})
		if err != nil {
			t.Fatal(err)
		}
		if len(d.Figures) != 1 || len(d.Figures[0].Curves) < 2 {
			t.Fatalf("%s: %d plots", name, len(d.Figures))
		}
		for _, r := range d.Rows {
			mean, most := cellNumber(t, r[6]), cellNumber(t, r[7])
			if !(mean >= 0 && mean <= most && most <= 1) || r[3] == "1" && mean != 1 {
				t.Errorf("%s: %v", name, r)
			}
			if r[0] == "hypercube" && r[3] == "2" {
				if formula := cellNumber(t, r[5]); r[2] != "8" || mean != .4 ||
					!(formula > 0 && formula < 1.474) {
					t.Errorf("hypercube of 64 at two links: %v", r)
				}
			}
		}
	}
}

// Fresh graphs make losses concentrate: the largest is lower than on one graph, where a
// neighbor loses everything in every iteration. The mean is not.
func TestGDStudy(t *testing.T) {
	d, err := reproduce.Papers{Paper}.Run(context.Background(), "seed004-gd",
		reproduce.Options{Dir: t.TempDir(), Scale: reproduce.Smoke,
			Sweep: sweep.Options{Workers: 1}})
	if err != nil {
		t.Fatal(err)
	}
	last := d.Rows[len(d.Rows)-2]
	if one, fresh := cellNumber(t, last[4]), cellNumber(t, last[5]); last[1] != "largest" || one != 1 ||
		fresh > 1 {
		t.Errorf("largest losses %v on one graph, %v on fresh ones", one, fresh)
	}
	for k := 2; k <= 5; k++ {
		before := 0.
		for _, r := range d.Rows[:len(fractions)] {
			x := cellNumber(t, r[k])
			if x < before || x > 1 {
				t.Errorf("%v: a histogram that falls", r)
			}
			before = x
		}
	}
	if text := strings.Join(d.Notes, "\n"); !strings.Contains(text, "estimate") ||
		!strings.Contains(text, "composition against everyone") {
		t.Errorf("notes without what they are: %s", text)
	}
}

// On a ring of 10 after two rounds the closed form has 1 for two neighbors and 2 * 2 *
// 2/8 = 1 for seven others; on one of 100 three rounds have 12/98 for 97.
func TestClosedForm(t *testing.T) {
	for _, tc := range []struct {
		agents, rounds int
		want           float64
	}{{10, 2, 1}, {100, 3, (2 + 97*12./98) / 99}, {10, 40, 1}} {
		g, err := drawGraph("ring", tc.agents, 1, nil)
		if err != nil {
			t.Fatal(err)
		}
		if got := closedForm(g, tc.rounds); math.Abs(got-tc.want) > 1e-12 {
			t.Errorf("%+v: %v", tc, got)
		}
	}
}

// The generated graph comes first, with about the published number of links, whether the
// social one is there or not; a file that is none is refused.
func TestSocialGraphs(t *testing.T) {
	dir := t.TempDir()
	graphs, err := socialGraphs(reproduce.Full, dir)
	if err != nil || len(graphs) != 1 {
		t.Fatalf("without the file: %d graphs, %v", len(graphs), err)
	}
	if g := graphs[0].graph; g.Agents() != 747 || g.Links() != 747*40 {
		t.Errorf("generated: %d agents, %d links, want 747 and 29,880", g.Agents(), g.Links())
	}
	generated := graphs[0].settings
	path := filepath.Join(dir, "ego-facebook", "1912.edges")
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte("# people\n10 20\n20 10\n20 30\n7 8\n\n30 10\n30 40\n"),
		0o644); err != nil {
		t.Fatal(err)
	}
	if graphs, err = socialGraphs(reproduce.Full, dir); err != nil || len(graphs) != 2 ||
		graphs[0].settings != generated {
		t.Fatalf("with the file: %d graphs, %v", len(graphs), err)
	}
	g := graphs[1].graph
	// 10, 20, 30 and 40 are one component; 30 has three links.
	if g.Agents() != 4 || g.Links() != 4 || g.Degree(2) != 3 || g.Weight(2, 3) != .25 ||
		g.Weight(0, 1) != 1./3 || !g.DoublyStochastic() {
		t.Errorf("%d agents, %d links, weights %v and %v", g.Agents(), g.Links(), g.Weight(2, 3),
			g.Weight(0, 1))
	}
	for _, text := range []string{"", "1 1\n", "1 2 3\n", "a b\n", "1 -2\n", "1\n"} {
		var bad *config.Error
		if _, err := readSocial(strings.NewReader(text), "x"); !errors.As(err, &bad) {
			t.Errorf("%q: %v", text, err)
		}
	}
	if err := os.WriteFile(path, []byte("1 1\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	var bad *config.Error
	if _, err := socialGraphs(reproduce.Full, dir); !errors.As(err, &bad) || bad.Line != 1 {
		t.Errorf("a file that is no graph: %v", err)
	}
}

func FuzzReadSocial(f *testing.F) {
	for _, s := range []string{"1 2\n2 3\n", "# x\n\n5 9\n", "1 1\n", "0 4294967296\n"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		near, err := readSocial(strings.NewReader(s), "x")
		if err != nil {
			return
		}
		g, err := component(near)
		if err != nil || !g.Connected() || !g.DoublyStochastic() {
			t.Errorf("%q: %v", s, err)
		}
	})
}
