package reproduce

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"sotto/config"
	"sotto/experiment/rundir"
	"sotto/experiment/sweep"
	"sotto/internal/rowfile"
	"sotto/report/plot"
)

// Studies of how a run goes keep some of its metrics beside cells.csv: the figures over
// all agents at every evaluation, and where a study needs them the last accuracies of
// agents and of classes. The run hash in cells.csv covers all of them.

// curveColumns name a row by its run, as cells.csv does (the first 16 digits of the
// configuration's digest), and by what metrics.csv says of it.
var curveColumns = []string{"config_digest", "engine", "arithmetic", "round", "agent", "metric", "value"}

// Curves are the kept metrics of a study's runs.
type Curves map[RunKey][]rundir.Row

// CurveKey names the run of a row in a file of kept metrics.
func CurveKey(r *sweep.Row) RunKey {
	return RunKey{r.ConfigDigest[:min(16, len(r.ConfigDigest))], r.Engine, r.Arithmetic}
}

// of returns the kept metrics of a row's run.
func (c Curves) of(r *sweep.Row) []rundir.Row {
	return c[CurveKey(r)]
}

// series returns a metric of a run by round, for one agent or "mean" or "all".
func series(rows []rundir.Row, metric, agent string) (rounds []uint64, values []float64) {
	for _, r := range rows {
		if r.Metric == metric && r.Agent == agent {
			rounds, values = append(rounds, r.Round), append(values, r.Value)
		}
	}
	return rounds, values
}

// over is a metric of equal runs against rounds, or against vectors transmitted: mean and
// standard deviation over seeds.
func (c Curves) over(runs []sweep.Row, metric, agent string, vectors bool) []plot.Point {
	var xs, ys []Sample
	for i := range runs {
		kept := c.of(&runs[i])
		rounds, values := series(kept, metric, agent)
		_, sent := series(kept, "vectors_sent", "all")
		for k, y := range values {
			x := float64(rounds[k])
			if vectors && k >= len(sent) {
				break // a file that lacks some
			}
			if vectors {
				x = sent[k]
			}
			if k == len(xs) {
				xs, ys = append(xs, nil), append(ys, nil)
			}
			xs[k], ys[k] = append(xs[k], x), append(ys[k], y)
		}
	}
	points := make([]plot.Point, len(xs))
	for k := range points {
		points[k] = ys[k].Band(xs[k].Mean())
	}
	return points
}

// last is a metric's value at the end of each run.
func (c Curves) last(runs []sweep.Row, metric, agent string) Sample {
	var s Sample
	for i := range runs {
		if _, values := series(c.of(&runs[i]), metric, agent); len(values) > 0 {
			s = append(s, values[len(values)-1])
		}
	}
	return s
}

// keptMetrics are those over all agents that a study of curves keeps.
var keptMetrics = []string{"accuracy", "objective", "vectors_sent", "train_loss", "gradient_norm",
	"gradient_rms", "gradient_max",
	"estimation_rmse", "estimation_rmse_noise_free"}

// curveRow is a line of a file of kept metrics.
type curveRow struct {
	run RunKey
	rundir.Row
}

// curveCodec is how kept metrics are written: in the order in which runs ended.
var curveCodec = rowfile.Codec[curveRow]{
	Header: curveColumns,
	Key: func(r curveRow) string {
		return fmt.Sprintf("%q %d %q %q", r.run, r.Round, r.Agent, r.Metric)
	},
	Encode: func(r curveRow) []string {
		return []string{r.run.digest, r.run.engine, r.run.arithmetic, strconv.FormatUint(r.Round, 10),
			r.Agent, r.Metric, strconv.FormatFloat(r.Value, 'g', 8, 64)}
	},
	Decode: parseCurve,
	Row:    "metric",
	Table:  "study",
}

// parseCurve reads a line of a file of kept metrics.
func parseCurve(f []string) (curveRow, error) {
	r := curveRow{RunKey{f[0][:min(16, len(f[0]))], f[1], f[2]}, rundir.Row{Agent: f[4], Metric: f[5]}}
	var err error
	if r.Round, err = strconv.ParseUint(f[3], 10, 64); err != nil {
		return r, &config.Error{Key: "round", Found: f[3], Allowed: "a whole number, at least 0"}
	}
	if r.Value, err = strconv.ParseFloat(f[6], 64); err != nil {
		return r, &config.Error{Key: "value", Found: f[6], Allowed: "a number"}
	}
	return r, nil
}

// PersonalMetric names a figure of one of the models that an owner ends with among kept
// metrics, such as own.auroc; see [rundir.Personal].
func PersonalMetric(model, figure string) string { return model + "." + figure }

// personalOf are the figures of the models that the owners of a run end with.
func personalOf(row *sweep.Row, dir string, round uint64) ([]curveRow, error) {
	done, err := rundir.Read(dir)
	if err != nil || done.Summary.Personal == nil {
		return nil, err
	}
	var kept []curveRow
	p := done.Summary.Personal
	for _, l := range p.Lines {
		for m, values := range l.Values {
			for f, v := range values {
				if v != nil {
					kept = append(kept, curveRow{CurveKey(row), rundir.Row{Round: round,
						Agent:  strconv.Itoa(l.Agent),
						Metric: PersonalMetric(p.Models[m], p.Figures[f]), Value: *v}})
				}
			}
		}
	}
	return kept, nil
}

// keptOf is what a study keeps of a finished run, from its directory: the last accuracies
// of agents and of classes where it asks for them, and figures of owners' own models.
func keptOf(row *sweep.Row, dir string, s *Study) ([]curveRow, error) {
	rows, err := rundir.ReadMetrics(dir)
	if err != nil {
		return nil, err
	}
	last := rows[len(rows)-1].Round
	var kept []curveRow
	for _, r := range rows {
		whole := slices.Contains([]string{"mean", "all"}, r.Agent) && slices.Contains(keptMetrics, r.Metric)
		own := s.Agents && r.Round == last && r.Metric == "accuracy" &&
			!slices.Contains([]string{"mean", "min", "max"}, r.Agent)
		class := s.Classes && slices.Contains([]string{"mean", "min"}, r.Agent) &&
			strings.HasPrefix(r.Metric, rundir.ClassAccuracy)
		if whole || own || class {
			kept = append(kept, curveRow{CurveKey(row), r})
		}
	}
	own, err := personalOf(row, dir, last)
	return append(kept, own...), err
}

// readCurves reads all kept metrics of a study's directory.
func readCurves(dir string) (Curves, error) {
	rows, err := readBeside(dir, "curves", curveCodec)
	all := Curves{}
	all.add(rows)
	return all, err
}

// add enters rows by their runs.
func (c Curves) add(rows []curveRow) {
	for _, r := range rows {
		c[r.run] = append(c[r.run], r.Row)
	}
}

// tidyCurves writes the kept metrics of a whole study in the order of its rows, so that
// their order does not depend on which run ended first.
func tidyCurves(dir string, rows []sweep.Row, all Curves) error {
	path := filepath.Join(dir, "curves.csv")
	if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	var kept []curveRow
	for i := range rows {
		k := CurveKey(&rows[i])
		for _, r := range all[k] {
			kept = append(kept, curveRow{k, r})
		}
	}
	return os.WriteFile(path, rowfile.Encode(kept, curveCodec), 0o644)
}
