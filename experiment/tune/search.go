package tune

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"sync"
	"time"

	"sotto/config"
	"sotto/data"
	"sotto/experiment"
	"sotto/experiment/metric"
	"sotto/experiment/run"
	"sotto/experiment/rundir"
	"sotto/internal/jsonfloat"
	"sotto/internal/parallel"
	"sotto/internal/rowfile"
	"sotto/privacy/account"
)

// Options say how to run a search; they change no result.
type Options struct {
	Out     string // folder of search directories
	Dir     string // this directory itself, in place of one in Out
	DataDir string
	Workers int // trials at the same time; 0: one for each processor. Each trial then runs on one.
	// Progress, when not nil, is called after every trial, one call at a time. Rows that
	// an earlier process has left are not reported.
	Progress func(Progress)
	run.Watch
}

// Progress says how far a search is.
type Progress struct {
	Done, Of int // both 0, and the rest but Seconds empty, where trials are secret
	Trial    string
	Row      Trial
	Seconds  float64
}

// Result is a finished search.
type Result struct {
	Dir    string           `json:"directory"`
	Method string           `json:"method"`
	Data   string           `json:"data"` // the data set of the trials
	Metric string           `json:"metric"`
	Best   *Trial           `json:"-"` // nil where the law gave no trial
	Values []string         `json:"values,omitempty"`
	Score  *jsonfloat.Float `json:"score,omitempty"`
	Cost   string           `json:"cost"`
	Spent  []Cost           `json:"spent,omitempty"`
	Notes  []string         `json:"notes"`
	Keys   []string         `json:"-"`
	// in order of generation and trial. Where the search is charged they are secret
	Rows []Trial `json:"-"`
}

// Ranking is what may be shown of the search: the trials of its last generation, the best
// first; of a charged search the chosen one only.
func (r *Result) Ranking() []Trial {
	switch {
	case r.Best == nil:
		return nil
	case r.Cost == experiment.CostCharged:
		b := r.Best
		return []Trial{{Values: b.Values, Score: b.Score, Accuracy: b.Accuracy, Loss: b.Loss,
			Epsilon: b.Epsilon}}
	}
	last := slices.DeleteFunc(slices.Clone(r.Rows), func(row Trial) bool {
		return row.Generation != r.Best.Generation
	})
	return bestFirst(last)
}

// searching is a search in progress.
type searching struct {
	t     *Search
	opt   Options
	dir   string
	table *rowfile.Table[Trial]
	cache *data.Cache

	mu    sync.Mutex
	done  int
	again redrawn
}

// Run searches. Finished trials are rows of trials.csv in the search's directory, written
// one by one: a search that was stopped goes on when it is run again, and ends with the
// same files. They depend on the run file and its seeds only, those of a charged search
// on the secret in its directory too, not on the number of workers. best.toml is the run
// file with the values that were found.
func (t *Search) Run(ctx context.Context, opt Options) (*Result, error) {
	if err := parallel.Check(opt.Workers); err != nil {
		return nil, err
	}
	if opt.Workers == 0 {
		opt.Workers = runtime.GOMAXPROCS(0)
	}
	own := *t // what is drawn below belongs to one directory
	t = &own
	w := &searching{t: t, opt: opt, cache: data.NewCache()}
	values, first, err := w.draw(1) // bad settings fail before anything is written
	if err != nil {
		return nil, err
	}
	if err := w.check(first, values); err != nil {
		return nil, err
	}
	if w.dir = opt.Dir; w.dir == "" {
		digest, err := t.digest()
		if err != nil {
			return nil, err
		}
		w.dir = filepath.Join(opt.Out, first.File.Run.Name+"-tune-"+digest[:8])
	}
	if err := os.MkdirAll(w.dir, 0o755); err != nil {
		return nil, err
	}
	if w.table, err = openTrials(w.dir, t); err != nil {
		return nil, err
	}
	defer w.table.Stop()
	if t.cost == experiment.CostCharged {
		if err := cmp.Or(w.drawSecrets(), sameData(w, first)); err != nil {
			return nil, err
		}
	}
	if err := w.tell(first.File.Run.Name); err != nil {
		return nil, err
	}
	res, err := w.search(ctx)
	return res, w.ended(err, err != nil && ctx.Err() != nil)
}

// search finds the best trial and writes the files.
func (w *searching) search(ctx context.Context) (*Result, error) {
	t, search := w.t, w.random
	if t.p.Method == methodPBT {
		search = w.population
	}
	best, err := search(ctx)
	if err != nil {
		if ctx.Err() != nil && t.cost == experiment.CostCharged {
			return nil, fmt.Errorf("%w: the same command goes on", ctx.Err())
		}
		if ctx.Err() != nil {
			return nil, fmt.Errorf("%w: %d trials are done; the same command goes on", ctx.Err(), w.done)
		}
		return nil, err
	}
	return w.finish(best)
}

func (w *searching) build(n int, values []string) (e *experiment.Experiment, err error) {
	f, err := w.t.trial(uint64(n), values)
	if err == nil {
		e, err = f.BuildWith(w.opt.DataDir, w.cache)
	}
	if err != nil {
		w.again.add(n, w.t.space.describe(values), err)
	}
	return e, err
}

// check refuses a search whose metric the model does not have, or whose candidates
// private selection cannot compare. Keys are tried at the ends of their ranges.
func (w *searching) check(first *experiment.Experiment, values []string) error {
	t := w.t
	if t.p.Metric == metric.Accuracy && !first.Task.Classifies() {
		return &config.Error{
			File:    t.file,
			Key:     experiment.TuneSection + ".metric",
			Found:   `"accuracy"`,
			Allowed: "loss: this model does not classify",
		}
	}
	if t.cost != experiment.CostCharged {
		return nil
	}
	if err := t.accountable(first); err != nil {
		return err
	}
	for i := range t.space {
		for _, v := range t.space[i].ends() {
			tried := slices.Clone(values)
			tried[i] = v
			e, err := w.build(1, tried)
			if err != nil {
				return err
			}
			if err := t.sameCost(first, e, t.space[i].key+"="+v); err != nil {
				return err
			}
		}
	}
	return nil
}

// sameCost compares what two candidates ask of every agent.
func (t *Search) sameCost(a, b *experiment.Experiment, what string) error {
	same := len(a.Plans) == len(b.Plans)
	for i := range a.Plans {
		p, q := &a.Plans[i], &b.Plans[min(i, len(b.Plans)-1)]
		same = same && p.Queries() == q.Queries() && p.Limited == q.Limited &&
			p.Admitted == q.Admitted && unclipped(p.Events[0]).Equal(unclipped(q.Events[0]))
	}
	if same {
		return nil
	}
	return refuse(&config.Error{
		File:    t.file,
		Key:     experiment.TuneSection + ".space",
		Found:   what,
		Allowed: "values that cost every owner the same: private selection has one bound for all candidates",
	})
}

// unclipped is an event without the clip that it states: its noise is a multiple of the
// clip, and so are its shifts, so that the clip changes no cost.
func unclipped(e account.Event) account.Event {
	e.Clip = 0
	return e
}

// random runs the trials of a random search and returns the best.
func (w *searching) random(ctx context.Context) (*Trial, error) {
	rows := make([]Trial, w.t.runs)
	err := parallel.Until(ctx, w.t.runs, w.opt.Workers, func(ctx context.Context, i int) error {
		var err error
		rows[i], err = w.trial(ctx, i+1)
		return err
	})
	if err != nil || len(rows) == 0 {
		return nil, err
	}
	return &bestFirst(rows)[0], nil
}

// trial returns the row of trial n, which it runs if there is none.
func (w *searching) trial(ctx context.Context, n int) (Trial, error) {
	values, e, err := w.draw(n)
	fail := func(err error) (Trial, error) {
		return Trial{}, fmt.Errorf("trial %d (%s): %w", n, w.t.space.describe(values), err)
	}
	if err != nil {
		return Trial{}, fmt.Errorf("trial %d: %w", n, err)
	}
	if w.t.cost == experiment.CostCharged {
		_, first, err := w.draw(1)
		if err == nil {
			err = w.t.sameCost(first, e, w.t.space.describe(values))
		}
		if err != nil {
			return fail(err)
		}
	}
	row, ok := findTrial(w, 1, n, 0, e)
	if ok && rundir.Stands(filepath.Join(w.dir, row.Run, rundir.SummaryFile)) {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.done++
		w.scored(&row, 0)
		return row, nil
	}
	if w.opt.Hold != nil {
		w.opt.Hold(ctx)
	}
	w.begun(n, values, e)
	began := time.Now()
	res, err := run.Below(ctx, e, w.dir, w.opt.DataDir)
	if err != nil {
		return fail(err)
	}
	row = w.row(n, values, e, res)
	if err := w.table.Add(row); err != nil {
		return Trial{}, err
	}
	w.report(row, time.Since(began).Seconds())
	return row, nil
}

// row is what a finished run scores: the noisy score that its agents released, or what
// was seen of held-out records.
func (w *searching) row(n int, values []string, e *experiment.Experiment, res *run.Result) Trial {
	s := &res.Summary
	row := Trial{
		Generation: 1,
		Trial:      n,
		Values:     values,
		Accuracy:   nan,
		Loss:       float64(s.Loss),
		Origin:     experiment.OriginOf(e),
		RunHash:    s.RunHash,
		Run:        "runs/" + filepath.Base(res.Dir),
	}
	_, row.Epsilon = s.Worst()
	if s.Accuracy != nil {
		row.Accuracy = s.Accuracy.Mean
	}
	switch {
	case s.Score != nil:
		// those of the run are of test records, which a search does not look at
		row.Accuracy, row.Loss = nan, nan
		row.Score = w.t.larger(float64(*s.Score))
	case w.t.p.Metric == metric.Accuracy:
		row.Score = row.Accuracy
	default:
		row.Score = w.t.larger(row.Loss)
	}
	return row
}

// larger turns a figure of the metric into one that is the better the larger it is.
func (t *Search) larger(figure float64) float64 {
	if t.p.Metric == metric.Loss {
		return -figure
	}
	return figure
}

func (w *searching) count() {
	w.mu.Lock()
	w.done++
	w.mu.Unlock()
}

// report tells how far the search is. A charged one keeps its trials, their number and
// their scores to itself.
func (w *searching) report(row Trial, seconds float64) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.done++
	w.scored(&row, seconds)
	if w.opt.Progress == nil {
		return
	}
	p := Progress{
		Done:    w.done,
		Of:      w.t.total(),
		Trial:   w.t.space.describe(row.Values),
		Row:     row,
		Seconds: seconds,
	}
	if w.t.cost == experiment.CostCharged {
		p = Progress{Row: Trial{Score: nan, Accuracy: nan, Loss: nan, Epsilon: nan}, Seconds: seconds}
	}
	w.opt.Progress(p)
}

// total is the number of rows of a finished search.
func (t *Search) total() int {
	if t.p.Method == methodPBT {
		return t.p.Population * t.generations()
	}
	return t.runs
}
