package run

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"sotto/config"
	"sotto/experiment"
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
