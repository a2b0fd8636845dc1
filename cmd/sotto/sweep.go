//go:build !operator

package main

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"os"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"sotto/cmd/sotto/cli"
	"sotto/cmd/sotto/watch"
	"sotto/experiment/sweep"
	"sotto/internal/decimal"
)

type sweepFlags struct {
	set, axes []string
	part      partFlags
	workers   int
	out       string
	dataDir   string
	output    cli.Output
	discard   bool
	live      cli.Live
}

func newSweep() *cobra.Command {
	var f sweepFlags
	c := &cobra.Command{
		Use:   "sweep FILE",
		Short: "Run all combinations of a run file's [sweep] lists",
		Long: cli.Unwrap(`\
Run all combinations of the lists in a run file's section [sweep], as many at a time as there are
processors. A list of tables for a section varies several keys at once:

  privacy = [{mechanism = "none"}, {target_epsilon = 1.0}]

Every finished cell is one row of cells.csv in the sweep's directory. A sweep that was stopped
resumes with the same command and ends with the same file. Rows made from other data than are there
now are made again.

Shards split a sweep over machines. "sotto sweep merge" joins their files; a sweep without shards in
the same directory takes their rows over. With --shards N the shard's number comes from
JOB_COMPLETION_INDEX or SLURM_ARRAY_TASK_ID, counted from 0.`),
		Example: `  sotto sweep examples/sweep.toml
  sotto sweep examples/mnist-dsgd.toml --sweep topology.graph=ring,complete --sweep seed=1,2,3
  sotto sweep examples/sweep.toml --shard 0/4`,
		Args: cli.Exactly(1, "one FILE"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return rememberFigures(func() error { return f.run(cmd, args[0]) })
		},
	}
	fl := c.Flags()
	fl.StringArrayVar(&f.set, "set", nil, "change one key of the run file, section.key=value (repeatable)")
	fl.StringArrayVar(&f.axes, "sweep", nil,
		"vary one key, section.key=a,b,c, in place of the file's list (repeatable)")
	f.part.register(fl)
	cli.WorkersFlag(c, &f.workers,
		"cells at the same time; 0: one for each processor; changes no result")
	fl.StringVar(&f.out, "out", "sweeps", "folder of sweep directories")
	fl.BoolVar(&f.discard, "discard-runs", false, "keep only the rows, not the run directories")
	f.output.Register(c)
	f.live.Register(c)
	cli.DataDirFlag(c, &f.dataDir)
	c.AddCommand(newSweepMerge())
	return c
}

func (f *sweepFlags) run(cmd *cobra.Command, path string) error {
	if err := f.output.Check(); err != nil {
		return err
	}
	opt := sweep.Options{Out: f.out, DataDir: f.dataDir, Workers: f.workers, Discard: f.discard}
	var err error
	if opt.Part, err = f.part.read(os.Getenv); err != nil {
		return err
	}
	s, err := sweep.Read(path, f.set, f.axes)
	if err != nil {
		return err
	}
	opt.Progress = func(p sweep.Progress) {
		fmt.Fprintf(cli.Notes(cmd), "cell %d of %d  %s  %s  epsilon %s  %.1f s  left %s\n",
			p.Done, p.Of, p.Cell, quality(p.Row), atMost(p.Row.EpsilonUpper), p.Seconds,
			p.Left.Round(time.Second))
	}
	opt.Command = "sotto sweep " + path
	ctx, shown, err := watch.Run(cmd, &f.live, &opt.Watch, "sweep")
	if err != nil {
		return err
	}
	defer shown.Close()
	res, failed := s.Run(ctx, opt)
	switch {
	case res == nil:
		return failed
	case f.output.JSON():
		err = json.NewEncoder(cmd.OutOrStdout()).Encode(map[string]any{"directory": res.Dir,
			"cells": len(res.Rows)})
	default:
		err = writeCells(cmd.OutOrStdout(), s, res)
	}
	return cmp.Or(failed, err)
}

func writeCells(w io.Writer, s *sweep.Sweep, res *sweep.Result) error {
	t := tabwriter.NewWriter(w, 0, 4, 2, ' ', 0)
	for _, a := range s.Axes {
		fmt.Fprintf(t, "%s\t", a)
	}
	fmt.Fprintln(t, "accuracy\tmin\tmax\tloss\tepsilon\trun hash")
	for _, r := range res.Rows {
		for _, v := range r.Values {
			fmt.Fprintf(t, "%s\t", v)
		}
		for _, a := range []float64{r.Accuracy.Mean, r.Accuracy.Min, r.Accuracy.Max} {
			fmt.Fprintf(t, "%s\t", figure("%.2f", 100*a))
		}
		fmt.Fprintf(t, "%.4f\t%s\t%.8s\n", r.Loss, atMost(r.EpsilonUpper), r.RunHash)
	}
	if err := t.Flush(); err != nil {
		return err
	}
	if err := s.SayTogether(w, res.Rows); err != nil {
		return err
	}
	if n := res.OtherData; n > 0 {
		fmt.Fprintf(w, "note: rows made again, because they were of other data or did not say of which: %d\n",
			n)
	}
	warning, err := s.Warning()
	if err == nil && warning != "" {
		warning = "note: " + warning + "\n"
	}
	if err == nil {
		_, err = fmt.Fprintf(w, "sweep directory  %s\n%s", res.Dir, warning)
	}
	return err
}

// atMost is an upper end of epsilon in four digits, rounded up.
func atMost(epsilon float64) string { return decimal.Digits(epsilon, 4, true) }

// quality is a cell's accuracy, or where there are no classes its root mean squared error
// or loss.
func quality(r sweep.Row) string {
	if !math.IsNaN(r.RMSE) {
		return fmt.Sprintf("rmse %.4f", r.RMSE)
	}
	if math.IsNaN(r.Accuracy.Mean) {
		return fmt.Sprintf("loss %.4f", r.Loss)
	}
	return fmt.Sprintf("accuracy %.2f %%", 100*r.Accuracy.Mean)
}

func newSweepMerge() *cobra.Command {
	var f sweepFlags
	var file string
	c := &cobra.Command{
		Use:   "merge CELLS...",
		Short: "Join the cells files of a sweep's shards",
		Long: cli.Unwrap(`\
Join the cells files of a sweep's shards. If a shard is missing, the command refuses and names its
number; if a row is missing before others, it names its cell.

Files outside the sweep's own directory do not say which sweep they belong to. With --file their
rows are checked against the sweep's run file, which also tells whether the last rows are missing.
Without it, rows missing at the end of a stopped shard go unnoticed, because the files do not say
how many cells the sweep has: compare the number of rows. "sotto sweep FILE" in the directory of the
shards takes all rows over and runs what is missing.`),
		Example: `  sotto sweep merge sweeps/name-sweep-1a2b3c4d/cells-*-of-4.csv --out cells.csv
  sotto sweep merge collected/cells-*-of-4.csv --file sweep.toml --out cells.csv`,
		Args: cli.Between(1, math.MaxInt, "one CELLS or more"),
		RunE: func(cmd *cobra.Command, args []string) error {
			b, err := f.merge(cmd, file, args)
			if err != nil {
				return err
			}
			return cli.WriteTo(cmd, f.out, b, cli.ForAll, args...)
		},
	}
	fl := c.Flags()
	fl.StringVar(&f.out, "out", "", "file to write; default: standard output")
	fl.StringVar(&file, "file", "", "the sweep's run file: rows of other settings or data are refused")
	fl.StringArrayVar(&f.set, "set", nil, "with --file: the --set that the sweep was run with (repeatable)")
	fl.StringArrayVar(&f.axes, "sweep", nil,
		"with --file: the --sweep that the sweep was run with (repeatable)")
	cli.DataDirFlag(c, &f.dataDir)
	return c
}

// merge joins cells files, held against a run file where one is given.
func (f *sweepFlags) merge(cmd *cobra.Command, file string, paths []string) ([]byte, error) {
	if file != "" {
		s, err := sweep.Read(file, f.set, f.axes)
		if err != nil {
			return nil, err
		}
		return s.MergeAll(paths, f.dataDir)
	}
	if f.set != nil || f.axes != nil {
		return nil, cli.Usagef("--set, --sweep: found a value, allowed: none without --file")
	}
	b, err := sweep.MergeAll(paths)
	if err == nil {
		fmt.Fprintf(cli.Notes(cmd), "%d rows; where the sweep has more cells, a shard was stopped "+
			"before its end\n", bytes.Count(b, []byte("\n"))-1)
	}
	return b, err
}
