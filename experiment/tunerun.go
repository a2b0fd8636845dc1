package experiment

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"

	"sotto/config"
	"sotto/data"
	"sotto/experiment/rundir"
	"sotto/internal/atomicfile"
	"sotto/internal/rowfile"
)

// TuneOptions say how to run a search; they change no result.
type TuneOptions struct {
	Out     string // folder of search directories
	Dir     string // this directory itself, in place of one in Out
	DataDir string
	Workers int // trials at the same time; 0: one for each processor. Each trial then runs on one.
	// Progress, when not nil, is called after every trial, one call at a time. Rows that
	// an earlier process has left are not reported.
	Progress func(TuneProgress)
}

// TuneProgress says how far a search is.
type TuneProgress struct {
	Done, Of int // Of is 0 where the number of trials is secret
	Trial    string
	Row      TrialRow
	Seconds  float64
}

// TuneResult is a finished search.
type TuneResult struct {
	Dir    string     `json:"directory"`
	Method string     `json:"method"`
	Data   string     `json:"data"` // the data set of the trials
	Metric string     `json:"metric"`
	Best   *TrialRow  `json:"-"` // nil where the law gave no trial
	Values []string   `json:"values,omitempty"`
	Score  *Figure    `json:"score,omitempty"`
	Cost   string     `json:"cost"`
	Spent  []TuneCost `json:"spent,omitempty"`
	Notes  []string   `json:"notes"`
	Keys   []string   `json:"-"`
	// in order of generation and trial. Where the search is charged they are secret
	Rows []TrialRow `json:"-"`
}

// Ranking is what may be shown of the search: the trials of its last generation, the best
// first; of a charged search the chosen one only.
func (r *TuneResult) Ranking() []TrialRow {
	switch {
	case r.Best == nil:
		return nil
	case r.Cost == costCharged:
		return []TrialRow{*r.Best}
	}
	last := slices.DeleteFunc(slices.Clone(r.Rows), func(row TrialRow) bool {
		return row.Generation != r.Best.Generation
	})
	return bestFirst(last)
}

// tuning is a search in progress.
type tuning struct {
	t     *Tuning
	opt   TuneOptions
	dir   string
	table *rowfile.Table[TrialRow]
	cache *data.Cache

	mu   sync.Mutex
	done int
}

// Run searches. Finished trials are rows of trials.csv in the search's directory, written
// one by one: a search that was stopped goes on when it is run again, and ends with the
// same files. They depend on the run file and its seeds only, not on the number of
// workers. best.toml is the run file with the values that were found.
func (t *Tuning) Run(ctx context.Context, opt TuneOptions) (*TuneResult, error) {
	if opt.Workers < 0 {
		return nil, config.Bad("workers", opt.Workers, "at least 0")
	}
	if opt.Workers == 0 {
		opt.Workers = runtime.GOMAXPROCS(0)
	}
	w := &tuning{t: t, opt: opt, cache: data.NewCache()}
	first, err := w.build(1, t.candidate(1)) // bad settings fail before anything is written
	if err != nil {
		return nil, err
	}
	if err := w.check(first); err != nil {
		return nil, err
	}
	w.dir = filepath.Join(opt.Out, first.File.Run.Name+"-tune-"+t.digest()[:8])
	if opt.Dir != "" {
		w.dir = opt.Dir
	}
	if err := os.MkdirAll(w.dir, 0o755); err != nil {
		return nil, err
	}
	if w.table, err = openTrials(w.dir, t); err != nil {
		return nil, err
	}
	defer w.table.Stop()
	search := w.random
	if t.p.Method == methodPBT {
		search = w.population
	}
	best, err := search(ctx)
	if err != nil {
		if ctx.Err() != nil {
			return nil, fmt.Errorf("%w: %d trials are done; the same command goes on", ctx.Err(), w.done)
		}
		return nil, err
	}
	return w.finish(best)
}

func (w *tuning) build(n int, values []string) (*Experiment, error) {
	f, err := w.t.trial(uint64(n), values)
	if err != nil {
		return nil, err
	}
	return f.build(w.opt.DataDir, w.cache)
}

// check refuses a search whose metric the model does not have, or whose candidates
// private selection cannot compare. Keys are tried at the ends of their ranges.
func (w *tuning) check(first *Experiment) error {
	t := w.t
	if t.p.Metric == scoreAccuracy && !first.Classifies() {
		return &config.Error{
			File:    t.file,
			Key:     tuneSection + ".metric",
			Found:   `"accuracy"`,
			Allowed: "loss: this model does not classify",
		}
	}
	if t.cost != costCharged {
		return nil
	}
	if err := t.accountable(first); err != nil {
		return err
	}
	values := t.candidate(1)
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
func (t *Tuning) sameCost(a, b *Experiment, what string) error {
	same := len(a.Plans) == len(b.Plans)
	for i := range a.Plans {
		p, q := &a.Plans[i], &b.Plans[min(i, len(b.Plans)-1)]
		same = same && p.Queries() == q.Queries() && p.Limited == q.Limited &&
			p.Admitted == q.Admitted && p.Events[0].Equal(q.Events[0])
	}
	if same {
		return nil
	}
	return refuse(&config.Error{
		File:    t.file,
		Key:     tuneSection + ".space",
		Found:   what,
		Allowed: "values that cost every owner the same: private selection has one bound for all candidates",
	})
}

// random runs the trials of a random search and returns the best.
func (w *tuning) random(ctx context.Context) (*TrialRow, error) {
	rows := make([]TrialRow, w.t.runs)
	err := inParallel(ctx, w.t.runs, w.opt.Workers, func(ctx context.Context, i int) error {
		var err error
		rows[i], err = w.trial(ctx, i+1)
		return err
	})
	if err != nil || len(rows) == 0 {
		return nil, err
	}
	return &bestFirst(rows)[0], nil
}

// inParallel calls f for 0 .. n-1 from several goroutines, until one fails.
func inParallel(ctx context.Context, n, workers int, f func(ctx context.Context, i int) error) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	next := make(chan int)
	go func() {
		defer close(next)
		for i := range n {
			select {
			case next <- i:
			case <-ctx.Done():
				return
			}
		}
	}()
	var wg sync.WaitGroup
	for range min(workers, n) {
		wg.Go(func() {
			for i := range next {
				if err := f(ctx, i); err != nil {
					cancel(err)
					return
				}
			}
		})
	}
	wg.Wait()
	return context.Cause(ctx)
}

// trial returns the row of trial n, which it runs if there is none.
func (w *tuning) trial(ctx context.Context, n int) (TrialRow, error) {
	values := w.t.candidate(uint64(n))
	fail := func(err error) (TrialRow, error) {
		return TrialRow{}, fmt.Errorf("trial %d (%s): %w", n, w.t.describe(values), err)
	}
	e, err := w.build(n, values)
	if err != nil {
		return fail(err)
	}
	if w.t.cost == costCharged {
		first, err := w.build(1, w.t.candidate(1))
		if err == nil {
			err = w.t.sameCost(first, e, w.t.describe(values))
		}
		if err != nil {
			return fail(err)
		}
	}
	row, ok := findTrial(w.table, 1, n, 0, e)
	if ok && exists(filepath.Join(w.dir, row.Run, rundir.SummaryFile)) {
		w.count()
		return row, nil
	}
	began := time.Now()
	res, err := runIn(ctx, e, w.dir, w.opt.DataDir)
	if err != nil {
		return fail(err)
	}
	row = w.row(n, values, e, res)
	if err := w.table.Add(row); err != nil {
		return TrialRow{}, err
	}
	w.report(row, time.Since(began).Seconds())
	return row, nil
}

// row is what a finished run scores: the noisy score that its agents released, or what
// was seen of held-out records.
func (w *tuning) row(n int, values []string, e *Experiment, res *Result) TrialRow {
	s := &res.Summary
	c := newCellRow(n, values, s)
	row := TrialRow{
		Generation:   1,
		Trial:        n,
		Values:       values,
		Accuracy:     c.Accuracy.Mean,
		Loss:         c.Loss,
		Epsilon:      c.EpsilonUpper,
		ConfigDigest: c.ConfigDigest,
		Engine:       c.Engine,
		Arithmetic:   c.Arithmetic,
		RunHash:      c.RunHash,
		Run:          "runs/" + filepath.Base(res.Dir),
	}
	switch {
	case s.Score != nil:
		// those of the run are of test records, which a search does not look at
		row.Accuracy, row.Loss = nan, nan
		row.Score = w.t.larger(float64(*s.Score))
	case w.t.p.Metric == scoreAccuracy:
		row.Score = row.Accuracy
	default:
		row.Score = w.t.larger(row.Loss)
	}
	return row
}

// larger turns a figure of the metric into one that is the better the larger it is.
func (t *Tuning) larger(figure float64) float64 {
	if t.p.Metric == scoreLoss {
		return -figure
	}
	return figure
}

func (w *tuning) count() {
	w.mu.Lock()
	w.done++
	w.mu.Unlock()
}

// report tells how far the search is. A charged one keeps the number of its trials and
// their scores to itself.
func (w *tuning) report(row TrialRow, seconds float64) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.done++
	if w.opt.Progress == nil {
		return
	}
	p := TuneProgress{
		Done:    w.done,
		Of:      w.t.total(),
		Trial:   w.t.describe(row.Values),
		Row:     row,
		Seconds: seconds,
	}
	if w.t.cost == costCharged {
		p.Of, p.Row = 0, TrialRow{Trial: row.Trial, Score: nan}
	}
	w.opt.Progress(p)
}

// total is the number of rows of a finished search.
func (t *Tuning) total() int {
	if t.p.Method == methodPBT {
		return t.p.Population * t.generations()
	}
	return t.runs
}

// finish writes best.toml, what the search cost, and its summary.
func (w *tuning) finish(best *TrialRow) (*TuneResult, error) {
	rows, err := w.table.Close()
	if err != nil {
		return nil, err
	}
	t := w.t
	res := &TuneResult{
		Dir:    w.dir,
		Method: t.p.Method,
		Data:   t.data,
		Metric: t.p.Metric,
		Best:   best,
		Cost:   t.cost,
		Rows:   rows,
	}
	for _, d := range t.space {
		res.Keys = append(res.Keys, d.key)
	}
	found := t.history(0)
	if t.cost == costCharged {
		if err := w.spend(res, found); err != nil {
			return nil, err
		}
	}
	res.Notes = t.notes(found)
	if best != nil {
		figure := t.larger(best.Score)
		res.Values, res.Score, found.Score = t.settings(best.Values), (*Figure)(&figure), figure
		b, err := t.best(best.Values, found, t.comment(res, rows))
		if err != nil {
			return nil, err
		}
		if err := atomicfile.Write(filepath.Join(w.dir, "best.toml"), b); err != nil {
			return nil, err
		}
	}
	b, err := indent(res)
	if err != nil {
		return nil, err
	}
	return res, atomicfile.Write(filepath.Join(w.dir, "tune.json"), b)
}

// settings are "key=value" for values.
func (t *Tuning) settings(values []string) []string {
	var list []string
	for i, v := range values {
		list = append(list, t.space[i].key+"="+v)
	}
	return list
}

// notes say what must be known before the result is believed.
func (t *Tuning) notes(found *TunedParams) []string {
	n := []string{fmt.Sprintf("scores are of %g of every agent's training records, held out; test records "+
		"play no part", t.p.Validation)}
	if text := found.text(); text != "" {
		n = append(n, text)
	}
	switch t.cost {
	case costCharged:
		n = append(n,
			"the number of trials, trials.csv, privacy.json, ledger/ and the runs that were not chosen "+
				"are secret: against those who see them only the epsilon of all trials holds",
			"the search is a simulation: its noise and its number of trials are derived from seeds, so "+
				"that it protects nobody; epsilon is what the same search with secret ones would cost")
	case costNone:
		if t.p.AcceptCost {
			n = append(n, "accept_cost_not_included had nothing to accept")
		}
	}
	return n
}

// comment heads best.toml.
func (t *Tuning) comment(res *TuneResult, rows []TrialRow) string {
	var b strings.Builder
	fmt.Fprintf(&b, "# Found by sotto tune, %s search on %s, by %s of held-out records.\n", t.p.Method,
		t.data, t.p.Metric)
	for _, n := range res.Notes {
		fmt.Fprintf(&b, "# %s\n", n)
	}
	if t.p.Method == methodPBT {
		b.WriteString("# Values of a population change during a run. These are the last of the best " +
			"member; model.safetensors has its models.\n# Its history, from round to round:\n")
		for _, line := range t.lineage(rows, *res.Best) {
			fmt.Fprintf(&b, "#   %s\n", line)
		}
	}
	return b.String()
}
