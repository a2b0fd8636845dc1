package run

import (
	"context"
	"crypto/sha256"
	"fmt"
	"path/filepath"

	"sotto/config"
	"sotto/experiment"
	"sotto/experiment/rundir"
)

// A search trains in pieces: a member of a population goes on from the checkpoint of
// another, whose configuration may differ from its own.

// Begin starts a run that leaves nothing behind but checkpoints, and ends though its
// values diverge.
func Begin(e *experiment.Experiment) (*Training, error) { return begin(e, piece, nil) }

var piece = Options{Workers: 1, persist: true}

// Continue is Begin from the state of a checkpoint in dir.
func Continue(e *experiment.Experiment, dir string) (*Training, error) {
	if e == nil {
		return begin(nil, piece, nil)
	}
	path := filepath.Join(dir, rundir.CheckpointFile)
	c, err := openCheckpoint(path)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	defer c.state.Close()
	if len(c.Ledgers) != len(e.Task.Parts) {
		return nil, config.Bad("topology.agents", len(e.Task.Parts),
			fmt.Sprintf("%d, as in %s", len(c.Ledgers), path))
	}
	r, err := begin(e, piece, c.Ledgers)
	if err != nil {
		return nil, err
	}
	return r, r.world.Sim.ReadState(c.state)
}

// Advance trains until a round.
func (r *Training) Advance(ctx context.Context, to uint64) error { return r.world.Sim.Run(ctx, to) }

// Look tests the models as they are: their mean accuracy, nil where they do not classify,
// and loss.
func (r *Training) Look() (accuracy *rundir.Stats, loss rundir.Stats, err error) {
	scene, err := r.world.Scene(r.opt.Workers)
	if err != nil {
		return nil, loss, err
	}
	ev := evaluationOf(scene.Measure(make([]float64, len(r.e.Task.Tests))))
	return ev.Accuracy, ev.Loss, nil
}

// OwnModels judges the models that the tested owners end with, as [personal] makes them
// of those that r has; nil where the run makes none.
func OwnModels(ctx context.Context, r *Training) (*rundir.Personal, error) { return personal(ctx, r) }

// Save writes a checkpoint into dir.
func (r *Training) Save(dir string) error {
	r.dir = &rundir.Dir{Path: dir}
	return r.checkpoint()
}

// Digest is the SHA-256 of the state of all agents and messages.
func (r *Training) Digest() (sum [sha256.Size]byte) {
	h := sha256.New()
	r.world.Sim.WriteState(h) // a hash takes all that is written
	h.Sum(sum[:0])
	return sum
}
