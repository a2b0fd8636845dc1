package run

import (
	"context"
	"errors"
	"path/filepath"
	"testing"

	"sotto/experiment/rundir"
	"sotto/internal/flock"
)

// A run that somebody is at can be neither resumed nor thrown away, and ends as one that
// was left alone; a second one of its name has a directory of its own.
func TestTwoAtOneRun(t *testing.T) {
	e := build(t)
	whole := train(t, e, Options{})
	dir := t.TempDir()
	opt := Options{Out: filepath.Join(dir, "runs")}
	other := ""
	opt.Progress = func(round, _ uint64, _ string) {
		left := filepath.Join(opt.Out, Name(e)+rundir.PartialSuffix)
		var busy *flock.Busy
		if round == 1 || round == 6 { // before the first checkpoint, and after one
			if rundir.Stands(filepath.Join(left, rundir.CheckpointFile)) != (round == 6) {
				t.Errorf("round %d: the test means to come before and after a checkpoint", round)
			}
			_, err := Below(context.Background(), e, dir, "")
			if !errors.As(err, &busy) || busy.Path != left {
				t.Errorf("a second process at round %d: %v", round, err)
			}
		}
		if round != 6 {
			return
		}
		if _, err := Resume(context.Background(), left, "", Options{}); !errors.As(err, &busy) {
			t.Errorf("resumed while it runs: %v", err)
		}
		other = train(t, e, Options{Out: opt.Out}).Dir
	}
	r := train(t, e, opt)
	sameFiles(t, whole.Dir, r.Dir)
	sameFiles(t, whole.Dir, other)
	if r.Dir == other {
		t.Errorf("both are %s", other)
	}
	if left, _ := filepath.Glob(filepath.Join(opt.Out, ".*")); left != nil {
		t.Errorf("%q are left", left)
	}
}
