package experiment

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"sync"
	"time"

	"sotto/config"
	"sotto/data"
	"sotto/experiment/rundir"
	"sotto/internal/rowfile"
)

// SweepOptions say how to run a sweep; they change no result.
type SweepOptions struct {
	Out     string // folder of sweep directories
	Dir     string // this directory itself, in place of one in Out
	DataDir string
	Workers int // cells at the same time; 0: one for each processor. Each cell then runs on one.
	Shard   int // this process runs the cells i with i mod Shards = Shard
	Shards  int // 0 means 1
	Discard bool
	// Keep, when not nil, is called with the directory of every finished run before its
	// row is written and the directory is discarded, by as many goroutines as there are
	// workers.
	Keep func(row CellRow, dir string) error
	// Progress, when not nil, is called after every cell, one call at a time. Rows that
	// an earlier process has left are not reported.
	Progress func(SweepProgress)
}

// SweepProgress says how far a sweep is.
type SweepProgress struct {
	Done, Of int // cells of this shard, those of earlier processes included
	Cell     string
	Row      CellRow
	Seconds  float64       // that the run took, on one core; an interrupted run's earlier processes included
	Split    rundir.Split  // where they went
	Left     time.Duration // by the mean time of the cells that this process has finished
}

// SweepResult is a finished shard of a sweep.
type SweepResult struct {
	Dir  string
	Rows []CellRow // in the order of cells
}

func (o *SweepOptions) validate() error {
	if o.Shards == 0 {
		o.Shards = 1
	}
	switch {
	case o.Workers < 0:
		return config.Bad("workers", o.Workers, "at least 0")
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
	opt   SweepOptions
	dir   string
	table *rowfile.Table[CellRow]
	cache *data.Cache

	mu      sync.Mutex
	done    int
	of      int
	began   time.Time
	counted int // cells this process has finished
}

// Run runs the cells of a shard, as many at a time as there are workers. Finished cells
// are rows of cells.csv in the sweep's directory, written one by one: a sweep that was
// stopped goes on when it is run again, and ends with the same file. A cell that was
// interrupted goes on from its checkpoint.
func (s *Sweep) Run(ctx context.Context, opt SweepOptions) (*SweepResult, error) {
	if err := opt.validate(); err != nil {
		return nil, err
	}
	w := &sweeping{s: s, opt: opt, cache: data.NewCache(), began: time.Now()}
	first, err := w.build(opt.Shard % s.Cells()) // bad settings fail before anything is written
	if err != nil {
		return nil, err
	}
	w.dir = filepath.Join(opt.Out, first.File.Run.Name+"-sweep-"+s.digest()[:8])
	if opt.Dir != "" {
		w.dir = opt.Dir
	}
	if err := os.MkdirAll(w.dir, 0o755); err != nil {
		return nil, err
	}
	if w.table, err = openCells(w.dir, s, opt.Shard, opt.Shards); err != nil {
		return nil, err
	}
	defer w.table.Stop()
	if err := w.all(ctx); err != nil {
		if ctx.Err() != nil {
			return nil, fmt.Errorf("%w: %d of %d cells are done; the same command goes on", ctx.Err(), w.done,
				w.of)
		}
		return nil, err
	}
	rows, err := w.table.Close()
	return &SweepResult{Dir: w.dir, Rows: rows}, err
}

func (w *sweeping) build(cell int) (*Experiment, error) {
	f, err := w.s.Cell(cell)
	if err != nil {
		return nil, err
	}
	return f.build(w.opt.DataDir, w.cache)
}

// load returns the data set that the run file names, which other cells may have loaded.
func load(f *File, dataDir string, cache *data.Cache) (*data.Split, error) {
	section, err := f.doc.Section("data")
	if err != nil {
		return nil, err
	}
	params, err := section.Encode()
	if err != nil {
		return nil, err
	}
	return cache.Load(f.Data.Dataset, dataDir, f.Run.Seed, string(params), section.Decode)
}

// all runs every cell of the shard that has no row yet.
func (w *sweeping) all(ctx context.Context) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	cells := make(chan int)
	go func() {
		defer close(cells)
		for i := w.opt.Shard; i < w.s.Cells(); i += w.opt.Shards {
			select {
			case cells <- i:
			case <-ctx.Done():
				return
			}
		}
	}()
	w.of = (w.s.Cells() - w.opt.Shard + w.opt.Shards - 1) / w.opt.Shards
	var wg sync.WaitGroup
	for range min(w.opt.Workers, max(1, w.of)) {
		wg.Go(func() {
			for i := range cells {
				if err := w.cell(ctx, i); err != nil {
					cancel(err)
					return
				}
			}
		})
	}
	wg.Wait()
	return context.Cause(ctx)
}

func (w *sweeping) cell(ctx context.Context, i int) error {
	e, err := w.build(i)
	if err != nil {
		return fmt.Errorf("cell %d (%s): %w", i, w.s.describe(i), err)
	}
	if hasCell(w.table, i, e) {
		w.mu.Lock()
		w.done++
		w.mu.Unlock()
		return nil
	}
	res, err := runIn(ctx, e, w.dir, w.opt.DataDir)
	if err != nil {
		return fmt.Errorf("cell %d (%s): %w", i, w.s.describe(i), err)
	}
	row := newCellRow(i, w.s.cells[i].Values, &res.Summary)
	if w.opt.Keep != nil {
		if err := w.opt.Keep(row, res.Dir); err != nil {
			return err
		}
	}
	if err := w.table.Add(row); err != nil {
		return err
	}
	if w.opt.Discard {
		if err := os.RemoveAll(res.Dir); err != nil {
			return err
		}
	}
	w.report(row, &res.Summary)
	return nil
}

// runIn runs one cell or trial below dir, from its checkpoint where an interrupted
// process has left one.
func runIn(ctx context.Context, e *Experiment, dir, dataDir string) (*Result, error) {
	opt := Options{Out: filepath.Join(dir, "runs"), Workers: 1, Command: "sotto run config.toml"}
	left := filepath.Join(opt.Out, e.Name()+rundir.PartialSuffix)
	if _, err := os.Stat(filepath.Join(left, rundir.CheckpointFile)); err == nil {
		res, err := Resume(ctx, left, dataDir, opt)
		if err == nil || ctx.Err() != nil {
			return res, err
		}
	}
	if err := os.RemoveAll(left); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	return e.Run(ctx, opt)
}

func (w *sweeping) report(row CellRow, s *rundir.Summary) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.done++
	w.counted++
	if w.opt.Progress == nil {
		return
	}
	each := time.Since(w.began) / time.Duration(w.counted)
	w.opt.Progress(SweepProgress{
		Done:    w.done,
		Of:      w.of,
		Cell:    w.s.describe(row.Cell),
		Row:     row,
		Seconds: s.Seconds,
		Split:   s.Split,
		Left:    each * time.Duration(w.of-w.done),
	})
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}
