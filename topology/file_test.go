package topology_test

import (
	"bytes"
	"errors"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"sotto/agent"
	"sotto/config"
	"sotto/topology"
)

func TestReadEdges(t *testing.T) {
	read := func(text string) (*topology.Adjacency, error) {
		return topology.ReadEdges(strings.NewReader(text), "net.txt", 4)
	}
	a, err := read("# a path\n3 2 .25\n\n0 1\t.5 # first\r\n2 1 1e-1\n")
	want := []topology.Edge{{I: 0, J: 1, Weight: .5}, {I: 1, J: 2, Weight: .1}, {I: 2, J: 3, Weight: .25}}
	if err != nil || !a.Weighted || !reflect.DeepEqual(a.Edges, want) {
		t.Errorf("got %+v, %v", a, err)
	}
	for text, line := range map[string]int{
		"0":                                    1,
		"0 1 .5 2":                             1,
		"0 1\n1 1":                             2,
		"0 1\n\n1 4":                           3,
		"0 1\n-1 2":                            2,
		"0 x":                                  1,
		"0 1.0":                                1,
		"0 1 nan":                              1,
		"0 1 0":                                1,
		"0 1 1.01":                             1,
		"0 1 .5\n1 2":                          2,
		"0 1\n1 2 .5":                          2,
		"0 1\n2 3\n1 0\n":                      3,
		"0 1\n99999999999 1":                   2,
		"0 1\n1 2 " + "\x00x":                  2,
		"0 1\n" + strings.Repeat("7", 100_000): 2,
	} {
		_, err := read(text)
		var bad *config.Error
		if !errors.As(err, &bad) || bad.File != "net.txt" || bad.Line != line {
			t.Errorf("%.20q: error %v, want net.txt:%d", text, err, line)
		}
	}
}

func TestFileWeights(t *testing.T) {
	path := filepath.Join(t.TempDir(), "w.txt")
	if err := os.WriteFile(path, []byte("0 1 .25\n1 2 .5\n2 3 .125\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	g := build(t, "file", "", 4, "path = '"+path+"'")
	for i, want := range []float64{.75, .25, .375, .875} {
		if g.SelfWeight(agent.ID(i)) != want {
			t.Errorf("self weight %d is %v, want %v", i, g.SelfWeight(agent.ID(i)), want)
		}
	}
	if g := build(t, "file", "file", 4, "path = '"+path+"'"); g.Weight(0, 1) != .25 {
		t.Errorf("weight %v, the list says .25", g.Weight(0, 1))
	}
	refused := func(spec topology.Spec) {
		t.Helper()
		spec.Agents, spec.Seed = 4, 1
		_, err := topology.Build(spec, params("path = '"+path+"'"))
		var bad *config.Error
		if !errors.As(err, &bad) || bad.Key != "weights" ||
			!strings.Contains(bad.Allowed, "the list has weights") {
			t.Errorf("%s weights beside those of a list: %v", spec.Weights, err)
		}
	}
	for _, weights := range []string{"metropolis", "lazy", "max-degree", "uniform"} {
		refused(topology.Spec{Graph: "file", Weights: weights})
		refused(topology.Spec{Graph: "file", Weights: weights, Dropout: .1})
	}
	refused(topology.Spec{Graph: "file", Weights: "column", Push: true})
	refused(topology.Spec{Graph: "directed-file", Weights: "column", Push: true})
	if err := os.WriteFile(path, []byte("0 1 .75\n1 2 .75\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := topology.New("file", "", 3, 1, params("path = '"+path+"'")); err == nil {
		t.Error("weights of 1.5 at one agent are accepted")
	}
}

// The page of run files names every graph, and the keys of lists and of graphs that
// change.
func TestGraphsAreDocumented(t *testing.T) {
	page, err := os.ReadFile("../docs/run-file.md")
	if err != nil {
		t.Fatal(err)
	}
	names := slices.Concat(slices.Collect(maps.Keys(topology.Graphs)),
		slices.Collect(maps.Keys(topology.Digraphs)), slices.Collect(maps.Keys(topology.Similarities)),
		[]string{"path_digest", "window"})
	for _, name := range names {
		word := regexp.MustCompile("[`\" ]" + regexp.QuoteMeta(name) + "[`\" ;\n]")
		if !word.Match(page) {
			t.Errorf("docs/run-file.md does not name %s", name)
		}
	}
	for _, text := range []string{"path = \"links.txt\"", "`i j` or `i j weight`", "counted from 0",
		"`dropout = 0.1`"} {
		if !bytes.Contains(page, []byte(text)) {
			t.Errorf("docs/run-file.md does not say %s", text)
		}
	}
}

func FuzzReadEdges(f *testing.F) {
	f.Add([]byte("0 1\n1 2\n"))
	f.Add([]byte("# c\n0 1 .5\n2 1 .25 # x\n"))
	f.Add([]byte("0 0\n"))
	f.Fuzz(func(t *testing.T, b []byte) {
		a, err := topology.ReadEdges(bytes.NewReader(b), "f", 100)
		if err != nil {
			return
		}
		for k, e := range a.Edges {
			if e.I >= e.J || e.J >= 100 || a.Weighted != (e.Weight > 0) {
				t.Fatalf("edge %d is %+v", k, e)
			}
			if k > 0 && (a.Edges[k-1].I > e.I || a.Edges[k-1].I == e.I && a.Edges[k-1].J >= e.J) {
				t.Fatalf("edges %d and %d are not in order", k-1, k)
			}
		}
	})
}
