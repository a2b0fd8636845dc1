// Package run simulates an experiment: it steps all agents, measures them now and then,
// keeps a checkpoint, and leaves a run directory. A run that was interrupted goes on from
// its checkpoint to the same bytes.
package run

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"time"

	"sotto/data"
	"sotto/data/schema"
	"sotto/experiment"
	"sotto/experiment/rundir"
	"sotto/internal/flock"
	"sotto/live/event"
	"sotto/privacy/account"
	"sotto/privacy/ledger"
)

// Options say how to run; they change no result.
type Options struct {
	Out     string // folder of run directories
	Workers int    // goroutines; 0: one for each processor
	// Progress, when not nil, is called after every round, or of a run in wakes after
	// every evaluation, with that in words where there was one.
	Progress func(round, rounds uint64, evaluation string)
	// Evaluated, when not nil, is called with the figures of every evaluation, by the
	// goroutine of Run, so never twice at a time. It changes nothing. A resumed run does
	// not repeat those from before the interruption.
	Evaluated func(Evaluation)
	Watch

	persist bool                                                  // see Population
	write   func(path string, fill func(w io.Writer) error) error // tests: a disk that fails
}

// Watch is how somebody follows a run, a sweep or a search. It changes no result.
type Watch struct {
	// Events is the stream that is told how it goes; nil: one of its own. It is kept in
	// the directory of what runs in either case.
	Events *event.Stream
	// Hold, when not nil, is called between two steps, cells or trials, and may wait: the
	// run is paused.
	Hold func(context.Context)
	// Command is the command line, for pages.
	Command string
}

// Evaluation is the figures of one round.
type Evaluation struct {
	Round, Rounds uint64 // done and in all; where the run counts wakes, wakes
	// Rows are those of metrics.csv: of "mean", "min" and "max" over agents, of single
	// agents where they are few, of "all" where a metric has one value for all.
	Rows []rundir.Row
	// Epsilon bounds what the agent that has spent most has spent so far.
	Epsilon rundir.Bounds
}

// Metrics are the metrics that the run has, by name, over the agents that are tested. One
// value for all is mean, min and max.
func (e *Evaluation) Metrics() map[string]rundir.Stats {
	metrics := map[string]rundir.Stats{}
	for _, r := range e.Rows {
		switch r.Agent {
		case "mean", "all":
			metrics[r.Metric] = rundir.StatsIn(e.Rows, r.Metric)
		}
	}
	return metrics
}

// Mean is the mean of a metric over agents; false where the run has no such metric.
func (e *Evaluation) Mean(metric string) (float64, bool) {
	s, ok := e.Metrics()[metric]
	return s.Mean, ok
}

// Result is a finished run.
type Result struct {
	Dir     string
	Summary rundir.Summary
}

// Interrupted is the error of a run whose context ended: nothing is lost, Resume goes on
// from Dir.
type Interrupted struct {
	Dir   string
	Round uint64
	Cause error

	goOn string
}

func (e *Interrupted) Error() string {
	return fmt.Sprintf("interrupted after round %d; go on with: %s", e.Round, e.goOn)
}

func (e *Interrupted) Unwrap() error { return e.Cause }

// Training is a run in progress.
type Training struct {
	*Accounting
	opt         Options
	dir         *rundir.Dir
	world       *Simulation
	evaluations []evaluation
	rows        [][]rundir.Row // by evaluation
	began       time.Time
	before      time.Duration // spent before an interruption
	spent       []account.Interval
	charges     []uint64
	teller      *teller
	storage
}

// storage is what a run knows of its last checkpoint.
type storage struct {
	saved   bool          // it is on disk
	stored  time.Time     // when it was begun
	storing time.Duration // what it took
}

// elapsed is for display and manifest only; no result depends on it.
func (r *Training) elapsed() time.Duration { return r.before + time.Since(r.began) }

// Run trains, and leaves a run directory below opt.Out. When ctx ends first it leaves a
// resumable directory and returns *Interrupted.
func Run(ctx context.Context, e *experiment.Experiment, opt Options) (*Result, error) {
	r, err := begin(e, opt, nil)
	if err != nil {
		return nil, err
	}
	if r.dir, err = rundir.New(opt.Out, Name(e)); err != nil {
		return nil, err
	}
	defer r.dir.Release()
	if opt.write != nil {
		r.dir.Write = opt.write
	}
	if err := r.dir.Put(rundir.ConfigFile, e.Effective); err != nil {
		return nil, err
	}
	if s, err := experiment.SchemaOf(e.File); err != nil {
		return nil, err
	} else if s != nil {
		if err := r.dir.Put(schema.FileName, s.Encode()); err != nil {
			return nil, err
		}
	}
	return r.run(ctx)
}

// begin starts all agents.
func begin(e *experiment.Experiment, opt Options, restored [][]ledger.Record) (*Training, error) {
	if e == nil {
		return nil, errNoExperiment
	}
	if err := experiment.Unchanged(e.File); err != nil {
		return nil, err
	}
	if err := disjoint(e); err != nil {
		return nil, err
	}
	began := time.Now()
	pop := Own(e)
	pop.Persist = opt.persist
	w, err := Start(e, pop, opt.Workers, restored)
	if err != nil {
		return nil, err
	}
	return &Training{Accounting: NewAccounting(e, opt.Workers, w.ledgers), opt: opt, world: w,
		began: began}, nil
}

// Name is that of the run directory.
func Name(e *experiment.Experiment) string { return e.File.Run.Name + "-" + e.Identity()[:8] }

// Resume goes on with the interrupted run in dir. The run directory that results is the
// one an uninterrupted run would have left, but for wall times.
func Resume(ctx context.Context, dir, dataDir string, opt Options) (*Result, error) {
	return resume(ctx, dir, opt, func(f *experiment.File) (*experiment.Experiment, error) {
		return f.Build(dataDir)
	})
}

// ResumeOn is Resume of a run on records in memory, which must be the same.
func ResumeOn(ctx context.Context, dir string, records *data.Split, opt Options) (*Result, error) {
	return resume(ctx, dir, opt, func(f *experiment.File) (*experiment.Experiment, error) {
		return experiment.BuildOn(f, records)
	})
}

func resume(ctx context.Context, dir string, opt Options,
	build func(*experiment.File) (*experiment.Experiment, error)) (*Result, error) {
	d, c, f, err := resumeDir(dir)
	if err != nil {
		return nil, err
	}
	defer d.Release()
	defer c.state.Close()
	e, err := build(f)
	if err != nil {
		return nil, err
	}
	if err := c.belongs(e); err != nil {
		return nil, fmt.Errorf("%s: %w", dir, err)
	}
	r, err := begin(e, opt, c.Ledgers)
	if err != nil {
		return nil, err
	}
	r.dir, r.saved = d, true
	if err := r.restore(c); err != nil {
		return nil, fmt.Errorf("%s: %w", dir, err)
	}
	return r.run(ctx)
}

func (r *Training) run(ctx context.Context) (*Result, error) {
	if err := newTeller(r); err != nil {
		return nil, err
	}
	res, err := trainAll(ctx, r)
	if err != nil {
		r.teller.gaveUp(err)
	}
	return res, err
}

func trainAll(ctx context.Context, r *Training) (*Result, error) {
	rounds, every := r.e.File.Steps, r.e.File.Evaluate.Every
	if len(r.evaluations) == 0 {
		if err := r.evaluate(); err != nil {
			return nil, err
		}
		r.teller.flush()
	}
	for r.world.Sim.Done() < rounds {
		r.teller.hold(ctx)
		began := time.Now()
		err := r.world.Sim.Run(ctx, r.next())
		lap(&r.world.watch.rounds, began)
		if err != nil {
			return nil, r.stopped(ctx, err)
		}
		said := ""
		if k := r.world.Sim.Done(); k%every == 0 || k == rounds {
			if err := r.evaluate(); err != nil {
				return nil, err
			}
			said = r.evaluations[len(r.evaluations)-1].String()
			if err := r.checkpointAt(k == rounds); err != nil {
				return nil, r.kept(err)
			}
			r.teller.flush()
		}
		r.teller.step()
		if r.opt.Progress != nil {
			r.opt.Progress(r.world.Sim.Done(), rounds, said)
		}
	}
	return r.finish(ctx)
}

// next is where the run stops for a moment: after one round, or at the next evaluation,
// because wakes are many.
func (r *Training) next() uint64 {
	at, every := r.world.Sim.Done(), r.e.File.Evaluate.Every
	if r.e.File.Pace.EveryStep {
		return at + 1
	}
	return min(r.e.File.Steps, (at/every+1)*every)
}

// stopped keeps an interrupted run resumable.
func (r *Training) stopped(ctx context.Context, err error) error {
	if ctx.Err() != nil && errors.Is(err, ctx.Err()) {
		if err := r.checkpoint(); err != nil {
			return r.kept(err)
		}
	}
	return orInterrupted(ctx, r, err)
}

// orInterrupted is the error of a run that lies in its checkpoint and that ctx has ended;
// err where it has not.
func orInterrupted(ctx context.Context, r *Training, err error) error {
	if ctx.Err() == nil || !errors.Is(err, ctx.Err()) {
		return err
	}
	return &Interrupted{Dir: r.dir.Path, Round: r.world.Sim.Done(), Cause: err, goOn: r.goOn()}
}

func (r *Training) evaluate() error {
	// The last figure is the one that the run's files state, upper end and lower.
	spent, _, err := r.accounts.spentBy(r.Ledgers, r.world.Sim.Done() < r.e.File.Steps)
	if err != nil {
		return err
	}
	upper := make([]float64, len(spent))
	for i, s := range spent {
		upper[i] = s.Upper
	}
	defer lap(&r.world.watch.evaluation, time.Now())
	scene, err := r.world.Scene(r.opt.Workers)
	if err != nil {
		return err
	}
	rows := scene.Measure(upper)
	r.evaluations = append(r.evaluations, evaluationOf(rows))
	r.rows = append(r.rows, rows.Rows)
	var worst rundir.Bounds
	for _, s := range spent {
		if b := rundir.NewBounds(s.Lower, s.Upper); b.Upper > worst.Upper {
			worst = b
		}
	}
	r.teller.due = func() { r.teller.evaluated(rows.Rows, worst, scene) }
	if r.opt.Evaluated != nil {
		r.opt.Evaluated(Evaluation{Round: r.world.Sim.Done(), Rounds: r.e.File.Steps,
			Rows: slices.Clone(rows.Rows), Epsilon: worst})
	}
	return nil
}

// Below runs one cell or trial below dir, from its checkpoint where an interrupted
// process has left one. One that diverges goes on to its end.
func Below(ctx context.Context, e *experiment.Experiment, dir, dataDir string) (*Result, error) {
	if e == nil || e.File == nil || e.Task.Split == nil {
		return nil, errNoExperiment
	}
	opt := Options{Out: filepath.Join(dir, "runs"), Workers: 1, persist: true,
		Watch: Watch{Command: "sotto run config.toml"}}
	left := filepath.Join(opt.Out, Name(e)+rundir.PartialSuffix)
	if rundir.Stands(filepath.Join(left, rundir.CheckpointFile)) {
		res, err := Resume(ctx, left, dataDir, opt)
		var busy *flock.Busy
		if err == nil || ctx.Err() != nil || errors.As(err, &busy) {
			return res, err
		}
	}
	if err := discard(opt.Out, Name(e)); err != nil {
		return nil, err
	}
	return Run(ctx, e, opt)
}

// discard removes what an interrupted run has left that cannot go on.
func discard(out, name string) error {
	d, err := rundir.Left(out, name)
	if err != nil {
		return err
	}
	defer d.Release()
	return os.RemoveAll(d.Path)
}
