package tune

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"slices"
	"time"

	"sotto/experiment"
	"sotto/experiment/metric"
	"sotto/experiment/run"
	"sotto/experiment/rundir"
	"sotto/internal/atomicfile"
	"sotto/internal/parallel"
	"sotto/rng"
)

// Population-based training (Jaderberg et al. 2017, "Population Based Training of Neural
// Networks"), with the rules of the scheduler in Ray Tune, which Bayrooti, Gao, Prorok
// 2023 used, run synchronously: all members train Interval rounds, the Population is then
// ranked by the score of held-out records, and each member of the bottom Quantile
//
//   - exploits: it takes the whole state of a member that is drawn uniformly from the
//     top Quantile. That is the state of every agent's algorithm (parameters, momentum,
//     tracked gradients), the messages in flight, and the ledgers behind them. Rounds go
//     on counting, so that step-size schedules stay where they are.
//   - explores: each of that member's values is drawn anew with probability Resample,
//     else multiplied by 1.2 or 0.8 with equal probability, or moved to the next value of
//     a choice on either side.
//
// Different from Ray: perturbed numbers stay within their range, and perturbed members
// keep streams of batches and noise of their own. Which member copies which, and what it
// changes, is derived from the seed and the scores: not from time or workers.

// generations is the number of intervals in a run; the last one may be shorter.
func (t *Search) generations() int { return int((t.rounds + t.p.Interval - 1) / t.p.Interval) }

// member is what one place of the Population does next.
type member struct {
	from   int // the member whose state it goes on from, counted from 1; 0: none yet
	values []string
}

// Population runs the generations and returns the best member of the last.
func (w *searching) population(ctx context.Context) (*Trial, error) {
	t := w.t
	members := make([]member, t.p.Population)
	for i := range members {
		var err error
		if members[i].values, _, err = w.draw(i + 1); err != nil {
			return nil, err
		}
	}
	for g := 1; ; g++ {
		rows := make([]Trial, len(members))
		err := parallel.Until(ctx, len(members), w.opt.Workers, func(ctx context.Context, i int) error {
			var err error
			if rows[i], err = w.member(ctx, g, i+1, members[i]); err != nil {
				return fmt.Errorf("member %d, generation %d (%s): %w", i+1, g,
					t.space.describe(members[i].values),
					err)
			}
			return nil
		})
		if err != nil {
			return nil, err
		}
		for i := range members { // the generation before is not needed any more
			if err := os.RemoveAll(w.memberDir(g-1, i+1)); err != nil && !errors.Is(err, fs.ErrNotExist) {
				return nil, err
			}
		}
		if g == t.generations() {
			best := &bestFirst(rows)[0]
			return best, w.keepModel(best)
		}
		members, err = t.evolve(g, rows, func(n int, values []string) error {
			_, err := w.build(n, values)
			return err
		})
		if err != nil {
			return nil, err
		}
	}
}

// evolve decides what every member does after generation g, with values with which can
// finds nothing wrong.
func (t *Search) evolve(g int, rows []Trial, can func(n int, values []string) error) ([]member, error) {
	order := bestFirst(rows)
	quantile := int(math.Ceil(t.p.Quantile * float64(len(rows))))
	if 2*quantile > len(rows) {
		quantile = len(rows) / 2
	}
	next := make([]member, len(rows))
	for place, row := range order {
		m := member{row.Trial, row.Values}
		if place >= len(order)-quantile {
			r := rng.Public(t.p.Seed, "population", uint64(g), uint64(row.Trial))
			donor := order[r.Below(uint64(quantile))]
			values, err := t.space.again(
				func() []string { return t.space.explore(donor.Values, t.p.Resample, r) },
				func(values []string) error { return can(row.Trial, values) })
			if err != nil {
				return nil, err
			}
			m = member{donor.Trial, values}
		}
		next[row.Trial-1] = m
	}
	return next, nil
}

// memberDir holds the checkpoint of a member after a generation.
func (w *searching) memberDir(generation, n int) string {
	return filepath.Join(w.dir, "members", fmt.Sprintf("%d-%d", generation, n))
}

// member returns the row of a member after generation g, which it trains if there is
// none.
func (w *searching) member(ctx context.Context, g, n int, m member) (Trial, error) {
	e, err := w.build(n, m.values)
	if err != nil {
		return Trial{}, err
	}
	if row, ok := findTrial(w, g, n, m.from, e); ok {
		later := g < w.t.generations() && w.generationBegun(g+1)
		if later || rundir.Stands(filepath.Join(w.memberDir(g, n), rundir.CheckpointFile)) {
			w.count()
			return row, nil
		}
	}
	began := time.Now()
	r, err := w.continued(e, g-1, m.from)
	if err != nil {
		return Trial{}, err
	}
	if err := r.Advance(ctx, min(uint64(g)*w.t.p.Interval, w.t.rounds)); err != nil {
		return Trial{}, err
	}
	accuracy, loss, err := r.Look()
	if err != nil {
		return Trial{}, err
	}
	if err := r.Save(w.memberDir(g, n)); err != nil {
		return Trial{}, err
	}
	sum := r.Digest()
	row := Trial{
		Generation: g,
		Trial:      n,
		From:       m.from,
		Values:     m.values,
		Accuracy:   nan,
		Loss:       loss.Mean,
		Epsilon:    nan,
		Origin:     experiment.OriginOf(e),
		RunHash:    hex.EncodeToString(sum[:]),
	}
	row.Score = w.t.larger(row.Loss)
	if accuracy != nil {
		row.Accuracy = accuracy.Mean
	}
	if w.t.p.Metric == metric.Accuracy {
		row.Score = row.Accuracy
	}
	if err := w.table.Add(row); err != nil {
		return Trial{}, err
	}
	w.report(row, time.Since(began).Seconds())
	return row, nil
}

// generationBegun says that a row of the generation is there: all of the one before were
// then finished.
func (w *searching) generationBegun(g int) bool {
	return slices.ContainsFunc(w.table.Rows(), func(r Trial) bool { return r.Generation >= g })
}

// continued is a run of e that goes on from the state of a member after a generation, or
// begins where from is 0.
func (w *searching) continued(e *experiment.Experiment, generation, from int) (*run.Training, error) {
	for i := range e.Plans { // the ledgers of a copied member hold other noise than the plan
		e.Plans[i].Limited = false
	}
	if from == 0 {
		return run.Begin(e)
	}
	dir := w.memberDir(generation, from)
	r, err := run.Continue(e, dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("%w; remove %s to search from the beginning", err, w.dir)
	}
	if err != nil {
		return nil, fmt.Errorf("these values cannot go on from member %d's state: %w", from, err)
	}
	return r, nil
}

// keepModel writes the best member's models.
func (w *searching) keepModel(best *Trial) error {
	e, err := w.build(best.Trial, best.Values)
	if err != nil {
		return err
	}
	r, err := w.continued(e, best.Generation, best.Trial)
	if err != nil {
		return err
	}
	return atomicfile.Stream(filepath.Join(w.dir, rundir.ModelFile), r.WriteModel)
}

// lineage tells the best member's history backwards through those that it copied, first
// generation first.
func (t *Search) lineage(rows []Trial, last Trial) []string {
	at := map[[2]int]Trial{}
	for _, r := range rows {
		at[[2]int{r.Generation, r.Trial}] = r
	}
	var lines []string
	for r := last; ; r = at[[2]int{r.Generation - 1, r.From}] {
		end := min(uint64(r.Generation)*t.p.Interval, t.rounds)
		lines = append(lines, fmt.Sprintf("to round %d: member %d, %s", end, r.Trial,
			t.space.describe(r.Values)))
		if r.From == 0 {
			break
		}
	}
	slices.Reverse(lines)
	return lines
}
