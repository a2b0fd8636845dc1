package run

import (
	"context"
	"errors"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"sotto/config"
	"sotto/experiment"
	"sotto/experiment/forecast"
	"sotto/experiment/rundir"
)

// Another edge list is another run: none goes on from a checkpoint with it, and
// config.toml of a finished run does not repeat that run with another graph. Nor does a
// run go on without its list.
func TestEdgeListHasAnIdentity(t *testing.T) {
	const key = "topology.path_digest"
	for _, c := range []struct{ graph, algorithm, other string }{
		{"file", "dsgd", "0 1\n1 2\n"},
		{"directed-file", "sgp", "0 1\n1 2\n2 0\n1 0\n"},
	} {
		list := filepath.Join(t.TempDir(), "links.txt")
		write := func(text string) {
			if err := os.WriteFile(list, []byte(text), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		refused := func(what, key, found string, err error) {
			t.Helper()
			var bad *config.Error
			if !errors.As(err, &bad) || bad.Key != key || !strings.Contains(bad.Found, found) ||
				filepath.Base(bad.File) != rundir.ConfigFile || bad.Line == 0 {
				t.Errorf("%s: %s: %v", c.graph, what, err)
			}
		}
		set := []string{"topology.graph=" + c.graph, "topology.path=" + list, "topology.agents=3",
			"algorithm.name=" + c.algorithm}
		write("0 1\n1 2\n2 0\n")
		e := build(t, set...)
		if again := build(t, set...); again.Identity() != e.Identity() || again.Digest() != e.Digest() {
			t.Errorf("%s: the same list makes another run", c.graph)
		}
		halted := haltAfter(t, build(t, set...), 2)
		finished := filepath.Join(train(t, e, Options{}).Dir, rundir.ConfigFile)
		repeat := func() error {
			f, err := experiment.Read(finished, nil)
			if err == nil {
				_, err = f.Build("")
			}
			return err
		}
		if err := repeat(); err != nil {
			t.Errorf("%s: repeated with its list: %v", c.graph, err)
		}
		write(c.other)
		if other := build(t, set...); other.Identity() == e.Identity() || other.Digest() == e.Digest() {
			t.Errorf("%s: a changed list makes the same run", c.graph)
		}
		_, err := Resume(context.Background(), halted, "", Options{})
		refused("resumed", key, "", err)
		refused("repeated", key, "", repeat())
		if err := os.Remove(list); err != nil {
			t.Fatal(err)
		}
		_, err = Resume(context.Background(), halted, "", Options{})
		refused("without its list", "topology.path", "no file "+list, err)
	}
}

// haltAfter runs some rounds and returns the directory that is left.
func haltAfter(t *testing.T, e *experiment.Experiment, rounds uint64) string {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	var halt *Interrupted
	if _, err := Run(ctx, e, Options{Out: t.TempDir(), Progress: func(k, _ uint64, _ string) {
		if k == rounds {
			cancel()
		}
	}}); !errors.As(err, &halt) {
		t.Fatal(err)
	}
	return halt.Dir
}

// The eigenvalues of a ring of four with weight w on its links are 1, 1 - 2w twice, and
// 1 - 4w. The summary's gap is 1 - |1 - 4w| where that is less than 2w. Of a graph that
// changes it says that its links are those of the first round.
func TestGraphInWords(t *testing.T) {
	list := filepath.Join(t.TempDir(), "links.txt")
	ring := []string{"topology.graph=file", "topology.path=" + list, "topology.agents=4"}
	for _, c := range []struct {
		weight, want string
		gap          float64 // 0: none in JSON
		set          []string
	}{
		{"0.25", "file, 4 links, spectral gap 0.5000, normalized Fiedler value 0.5000", 0, ring},
		{"0.4", "file, 4 links, spectral gap 0.4000 (of lambda_n; 1 - lambda_2 is 0.8000), " +
			"normalized Fiedler value 0.5000", .4, ring},
		{"0.5", "file, 4 links, spectral gap 0.0000 (lambda_n is -1, and disagreement does not shrink; " +
			"1 - lambda_2 is 1.0000), normalized Fiedler value 0.5000", 0, ring},
		{"0.1", "exp-directed, 10 of 40 links in the first round, spectrum not computed: " +
			"the matrix is not in detailed balance", 0,
			[]string{"topology.graph=exp-directed", "topology.agents=10", "algorithm.name=sgp"}},
		{"0.1", "complete, 45 links, spectral gap 1.0000, normalized Fiedler value 1.0000", 0,
			[]string{"topology.graph=complete", "topology.agents=10"}},
	} {
		text := strings.ReplaceAll("0 1 W\n1 2 W\n2 3 W\n3 0 W\n", "W", c.weight)
		if err := os.WriteFile(list, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		g := forecast.Graph(build(t, c.set...))
		if got := g.Text(); got != c.want {
			t.Errorf("weight %s: %q, want %q", c.weight, got, c.want)
		}
		if c.gap != 0 && (g.AbsoluteGap == nil || math.Abs(float64(*g.AbsoluteGap)-c.gap) > 1e-9) {
			t.Errorf("weight %s: the gap is %v, want %g", c.weight, g.AbsoluteGap, c.gap)
		}
	}
	g := forecast.Graph(build(t, "topology.graph=ring", "topology.agents=10", "topology.dropout=0.5"))
	if g.AllLinks != 10 || g.Links >= 10 || !strings.Contains(g.Text(), " of 10 links in the first round") {
		t.Errorf("links that drop out: %q", g.Text())
	}
}
