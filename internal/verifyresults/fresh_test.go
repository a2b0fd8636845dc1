package main

import (
	"math"
	"slices"
	"testing"

	"sotto/reproduce"
)

// With two values each of equal variance T has two degrees of freedom, whose law is
// closed: P[|T| > t] = 1 - t/sqrt(t²+2).
func TestWelch(t *testing.T) {
	apart, p := welch(reproduce.Sample{0, 2}, reproduce.Sample{3, 5})
	if want := 3 / math.Sqrt2; math.Abs(apart-want) > 1e-12 {
		t.Errorf("%v standard errors, want %v", apart, want)
	}
	if want := 1 - apart/math.Sqrt(apart*apart+2); math.Abs(p-want) > 1e-12 {
		t.Errorf("p %v, want %v", p, want)
	}
	if apart, p := welch(reproduce.Sample{1, 1, 1}, reproduce.Sample{1, 1, 1}); apart != 0 || p != 1 {
		t.Errorf("equal constants are %v apart, p %v", apart, p)
	}
	if apart, p := welch(reproduce.Sample{1, 1}, reproduce.Sample{2, 2}); !math.IsInf(apart, 1) || p != 0 {
		t.Errorf("constants that differ are %v apart, p %v", apart, p)
	}
}

// Groups hold rows of one study that differ in the seed alone, and studies take turns.
func TestReadGroups(t *testing.T) {
	t.Chdir("../..")
	groups, err := readGroups(0)
	if err != nil {
		t.Fatal(err)
	}
	folders := map[string]bool{}
	for _, g := range groups {
		first := g.rows[0]
		at := slices.Index(first.axes, "seed")
		for i, c := range g.rows {
			was, is := slices.Clone(first.row.Values), slices.Clone(c.row.Values)
			was[at], is[at] = "", ""
			if c.folder != first.folder || !slices.Equal(was, is) || slices.Index(g.seeds, g.seeds[i]) != i {
				t.Fatalf("%s and %s are in one group", first.name(), c.name())
			}
		}
		folders[first.folder] = true
	}
	if len(folders) < 5 {
		t.Fatalf("groups of %d studies alone", len(folders))
	}
	seen := map[string]bool{}
	for _, g := range spreadOut(groups)[:len(folders)] {
		seen[g.rows[0].folder] = true
	}
	if len(seen) != len(folders) {
		t.Errorf("the first %d groups are of %d studies", len(folders), len(seen))
	}
}
