package tune

import (
	"fmt"
	"path/filepath"
	"strings"

	"sotto/experiment"
	"sotto/experiment/rundir"
	"sotto/internal/atomicfile"
	"sotto/internal/jsonfloat"
)

// finish writes best.toml, what the search cost, and its summary.
func (w *searching) finish(best *Trial) (*Result, error) {
	rows, err := w.table.Close()
	if err != nil {
		return nil, err
	}
	t := w.t
	res := &Result{
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
	if t.cost == experiment.CostCharged {
		if err := w.spend(res, found); err != nil {
			return nil, err
		}
	}
	res.Notes = t.notes(found)
	if again := w.again.note(); again != "" && !w.hushed() { // draws of a charged search are secret
		res.Notes = append(res.Notes, again)
	}
	if best != nil {
		figure := t.larger(best.Score)
		res.Values, res.Score, found.Score = t.space.settings(best.Values), (*jsonfloat.Float)(&figure),
			figure
		b, err := t.best(best.Values, found, t.comment(res, rows))
		if err != nil {
			return nil, err
		}
		if err := atomicfile.Write(filepath.Join(w.dir, "best.toml"), b); err != nil {
			return nil, err
		}
	}
	b, err := res.page(filepath.Base(w.dir))
	if err == nil {
		err = atomicfile.Write(filepath.Join(w.dir, rundir.ReportFile), b)
	}
	if err != nil {
		return nil, err
	}
	if b, err = rundir.Indent(res); err != nil {
		return nil, err
	}
	return res, atomicfile.Write(filepath.Join(w.dir, "tune.json"), b)
}

// notes say what must be known before the result is believed.
func (t *Search) notes(found *experiment.TunedParams) []string {
	n := []string{fmt.Sprintf("scores are of %g of every agent's training records, held out; test records "+
		"play no part", t.p.Validation)}
	if text := found.Text(); text != "" {
		n = append(n, text)
	}
	switch t.cost {
	case experiment.CostCharged:
		n = append(n,
			"best.toml and tune.json may be shown; all else in the search's directory is secret, and so is "+
				"how long the search took: against those who see more only the epsilon of all trials holds, "+
				"which is in privacy.json because it tells their number")
		if t.p.Simulated {
			n = append(n, "epsilon is what the same search would cost with a secret in the place of seeds")
			break
		}
		n = append(n,
			"trials, their number, batches and noise follow from "+secretFile+", which was drawn once; the "+
				"seed plays no part, and a search in another directory costs the owners again",
			"noise is the simulator's, from 63 secret bits a trial: epsilon is what the same search would "+
				"cost with a node's noise")
	case experiment.CostNone:
		if t.p.AcceptCost {
			n = append(n, "accept_cost_not_included had nothing to accept")
		}
	}
	return n
}

// comment heads best.toml.
func (t *Search) comment(res *Result, rows []Trial) string {
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
