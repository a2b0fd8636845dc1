package run

import (
	"errors"
	"io"
	"testing"
	"time"

	"sotto/experiment/rundir"
)

// A checkpoint that took long is not made again before ten times as long has passed, but
// for the last one; others are made after every evaluation.
func TestCheckpointAt(t *testing.T) {
	e := build(t)
	made := 0
	r, err := Begin(e)
	if err != nil {
		t.Fatal(err)
	}
	r.dir = &rundir.Dir{Path: t.TempDir(), Write: func(string, func(io.Writer) error) error {
		made++
		return nil
	}}
	now := time.Now()
	for k, c := range []struct {
		stored  time.Time
		storing time.Duration
		last    bool
		want    int
	}{
		{time.Time{}, 0, false, 1}, {now, quickCheckpoint, false, 1}, {now, time.Hour, false, 0},
		{now, time.Hour, true, 1},
		{now.Add(-11 * time.Hour), time.Hour, false, 1}, {now.Add(-9 * time.Hour), time.Hour, false, 0},
	} {
		made, r.stored, r.storing = 0, c.stored, c.storing
		if err := r.checkpointAt(c.last); err != nil || made != c.want {
			t.Errorf("case %d: %d checkpoints, want %d, %v", k, made, c.want, err)
		}
	}
	full := errors.New("disk full")
	r.dir.Write = func(string, func(io.Writer) error) error { return full }
	if err := r.checkpointAt(true); !errors.Is(err, full) || r.saved != true {
		t.Errorf("%v, saved %t", err, r.saved)
	}
}
