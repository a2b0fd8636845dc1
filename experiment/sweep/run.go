package sweep

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"sync"
	"time"

	"sotto/config"
	"sotto/data"
	"sotto/experiment"
	"sotto/experiment/run"
	"sotto/experiment/rundir"
	"sotto/internal/parallel"
	"sotto/internal/rowfile"
	"sotto/live/event"
)

// Options say how to run a sweep; they change no result.
type Options struct {
	Out     string // folder of sweep directories
	Dir     string // this directory itself, in place of one in Out
	DataDir string
	Workers int // cells at the same time; 0: one for each processor. Each cell then runs on one.
	Part
	Discard bool
	// Keep, when not nil, is called with every finished run before its row is written and
	// its directory is discarded, by as many goroutines as there are workers.
	Keep func(row Row, res *run.Result) error
	// Progress, when not nil, is called after every cell, one call at a time. Rows that
	// an earlier process has left are not reported.
	Progress func(Progress)
	run.Watch
}

// Part are the cells that a process is to run; the zero value are all.
type Part struct {
	Shard  int // this process runs the cells i with i mod Shards = Shard
	Shards int // 0 means 1
	// Only are values of axes: cells that have other values are left out.
	Only map[string]string
}

// Progress says how far a sweep is.
type Progress struct {
	Done, Of int // cells of this shard, those of earlier processes included
	Cell     string
	Row      Row
	Seconds  float64       // that the run took, on one core; an interrupted run's earlier processes included
	Split    rundir.Split  // where they went
	Left     time.Duration // by the mean time of the cells that this process has finished
}

// Result is a finished shard of a sweep.
type Result struct {
	Dir  string
	Rows []Row // in the order of cells
	// OtherData is the number of cells whose rows were of other data, or did not say of
	// which, and were made again.
	OtherData int
}

func (o *Options) validate() error {
	if o.Shards == 0 {
		o.Shards = 1
	}
	if err := parallel.Check(o.Workers); err != nil {
		return err
	}
	switch {
	case o.Shards < 1:
		return config.Bad("shards", o.Shards, "at least 1")
	case o.Shard < 0 || o.Shard >= o.Shards:
		return config.Bad("shard", o.Shard, fmt.Sprintf("0 to %d", o.Shards-1))
	}
	if o.Workers == 0 {
		o.Workers = runtime.GOMAXPROCS(0)
	}
	return nil
}

// sweeping is a sweep in progress.
type sweeping struct {
	s     *Sweep
	opt   Options
	dir   string
	table *rowfile.Table[Row]
	left  []Row          // by earlier processes, in any file of the directory
	cells []int          // of this process
	runs  map[int]string // directories by cell, where they are kept
	cache *data.Cache

	mu sync.Mutex
	pace
}

// pace is how far a process is.
type pace struct {
	began   time.Time
	done    int // cells, those of earlier processes included
	counted int // cells that this process has finished
	others  int // cells whose rows were of other data
}

// Run runs the cells of a shard, as many at a time as there are workers. Finished cells
// are rows of cells.csv in the sweep's directory, written one by one: a sweep that was
// stopped goes on when it is run again, and ends with the same file. A cell that was
// interrupted goes on from its checkpoint. Cells that fail leave the others theirs: the
// result is then one of those that have rows, beside the error.
func (s *Sweep) Run(ctx context.Context, opt Options) (*Result, error) {
	if err := opt.validate(); err != nil {
		return nil, err
	}
	if len(s.cells) == 0 {
		return nil, config.Bad("cells", 0, "those of sweep.New, Read or Parse")
	}
	cells, err := s.part(&opt)
	if err != nil {
		return nil, err
	}
	w := &sweeping{s: s, opt: opt, cells: cells, runs: map[int]string{}, cache: data.NewCache(),
		pace: pace{began: time.Now()}}
	first, err := w.first() // bad settings fail before anything is written
	if err != nil {
		return nil, err
	}
	if first.File.Evaluate.Figures {
		s.more.figures = figuresOf(&first.Task)
	}
	if w.dir = opt.Dir; w.dir == "" {
		digest, err := s.digest()
		if err != nil {
			return nil, err
		}
		w.dir = filepath.Join(opt.Out, first.File.Run.Name+"-sweep-"+digest[:8])
	}
	if err := os.MkdirAll(w.dir, 0o755); err != nil {
		return nil, err
	}
	if w.table, err = openCells(w.dir, s, opt.Shard, opt.Shards); err != nil {
		return nil, err
	}
	defer w.table.Stop()
	if w.left, err = ReadDir(w.dir, s.Axes); err != nil {
		return nil, err
	}
	if err := w.tell(first.File.Run.Name); err != nil {
		return nil, err
	}
	err = w.all(ctx)
	if err != nil && ctx.Err() != nil {
		err = &stopped{ctx.Err(), w.standing(), len(w.cells)}
	}
	page := ""
	if err == nil {
		var lost error // the rows are there all the same
		if page, lost = w.page(); lost != nil {
			w.opt.Events.Emit(&event.Note{Text: "no page of all runs: " + lost.Error()})
		}
	}
	var bad failures
	if err := w.ended(page, err); err != nil && !errors.As(err, &bad) {
		return nil, err
	}
	rows, closed := w.table.Close()
	return &Result{Dir: w.dir, Rows: rows, OtherData: w.others}, errors.Join(err, closed)
}

func (w *sweeping) build(cell int) (*experiment.Experiment, error) {
	f, err := w.s.Cell(cell)
	if err != nil {
		return nil, err
	}
	return f.BuildWith(w.opt.DataDir, w.cache)
}

// first is a cell of the shard. That the first one's data are missing, or that one which
// is not asked for cannot be run, keeps no other from running.
func (w *sweeping) first() (e *experiment.Experiment, err error) {
	e, err = w.build(w.opt.Shard % w.s.Cells())
	for k, i := range w.cells {
		if err == nil || !errors.Is(err, data.ErrMissing) && (k > 0 || len(w.opt.Only) == 0) {
			break
		}
		e, err = w.build(i)
	}
	return e, err
}

// all runs every cell of the shard that has no row yet. A cell that fails has none, and
// the others are run.
func (w *sweeping) all(ctx context.Context) error {
	var bad failures
	err := parallel.Until(ctx, len(w.cells), w.opt.Workers, func(ctx context.Context, k int) error {
		if w.opt.Hold != nil {
			w.opt.Hold(ctx)
		}
		err := w.cell(ctx, w.cells[k])
		var own *failure
		if ctx.Err() != nil || !errors.As(err, &own) {
			return err
		}
		w.mu.Lock()
		defer w.mu.Unlock()
		if bad = append(bad, own); len(bad) == mostFailures && w.done == 0 {
			return bad
		}
		return nil
	})
	if err != nil || bad == nil {
		return err
	}
	slices.SortFunc(bad, func(a, b *failure) int { return a.cell - b.cell })
	return bad
}

func (w *sweeping) cell(ctx context.Context, i int) error {
	e, err := w.build(i)
	if err != nil {
		return &failure{i, w.s.describe(i), err}
	}
	had, err := w.takeOver(i, e)
	if err != nil {
		return err
	}
	if had {
		if err := w.discard(w.runOf(e)); err != nil {
			return err
		}
		row, _ := w.table.Find(strconv.Itoa(i))
		w.mu.Lock()
		defer w.mu.Unlock()
		w.done++
		w.stands(&row, w.runOf(e), 0)
		return nil
	}
	w.begun(i, e)
	res, err := run.Below(ctx, e, w.dir, w.opt.DataDir)
	if err != nil {
		return &failure{i, w.s.describe(i), err}
	}
	row := newRow(i, w.s.cells[i].Values, &res.Summary)
	if w.s.more.data {
		row.Data = experiment.DataDigest(e)
	}
	if w.opt.Keep != nil {
		if err := w.opt.Keep(row, res); err != nil {
			return err
		}
	}
	if err := w.table.Add(row); err != nil {
		return err
	}
	if err := w.discard(res.Dir, w.runOf(e)); err != nil {
		return err
	}
	w.report(row, &res.Summary)
	return nil
}

// runOf is the directory of a cell's run.
func (w *sweeping) runOf(e *experiment.Experiment) string {
	return filepath.Join(w.dir, "runs", run.Name(e))
}

// discard removes finished runs of a cell that has a row, where runs are not kept: its
// own, and one that a process has left which was killed before it could.
func (w *sweeping) discard(dirs ...string) error {
	for _, dir := range dirs {
		if w.opt.Discard {
			if err := os.RemoveAll(dir); err != nil {
				return err
			}
		}
	}
	return nil
}

func (w *sweeping) report(row Row, s *rundir.Summary) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.done++
	w.counted++
	each := time.Since(w.began) / time.Duration(w.counted)
	w.stands(&row, s.Run, s.Seconds)
	w.progress(each * time.Duration(len(w.cells)-w.done))
	if w.opt.Progress == nil {
		return
	}
	w.opt.Progress(Progress{
		Done:    w.done,
		Of:      len(w.cells),
		Cell:    w.s.describe(row.Cell),
		Row:     row,
		Seconds: s.Seconds,
		Split:   s.Split,
		Left:    each * time.Duration(len(w.cells)-w.done),
	})
}
