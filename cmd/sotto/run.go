//go:build !operator

package main

import (
	"cmp"
	"encoding/json"
	"fmt"
	"os"
	"runtime/debug"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"sotto/cmd/sotto/cli"
	"sotto/cmd/sotto/watch"
	"sotto/experiment"
	"sotto/experiment/forecast"
	"sotto/experiment/run"
	"sotto/live/event"
)

type runFlags struct {
	set         []string
	iUnderstand []string
	seed        string
	workers     int
	output      cli.Output
	out         string
	dataDir     string
	resume      string
	suggest     bool
	live        cli.Live
}

func newRun() *cobra.Command {
	var f runFlags
	c := &cobra.Command{
		Use:   "run [FILE]",
		Short: "Simulate one experiment; without FILE, a built-in task that needs no data",
		Long: cli.Unwrap(`\
Simulate one experiment and leave a run directory with its metrics, model, ledger and \
privacy statement.

Without FILE a built-in task runs on generated data. An interrupted run (Ctrl-C) can be resumed.`),
		Example: `  sotto run
  sotto run examples/mnist-dsgd.toml --set topology.graph=ring --set privacy.target_epsilon=1
  sotto run --resume runs/mnist-dsgd-1a2b3c4d.partial`,
		Args: cli.AtMostOne("FILE"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return rememberFigures(func() error { return f.run(cmd, args) })
		},
	}
	fl := c.Flags()
	fl.StringArrayVar(&f.set, "set", nil, "change one key of the run file, section.key=value (repeatable)")
	fl.StringSliceVar(&f.iUnderstand, "i-understand", nil,
		"override a refusal, and record that in every ledger and statement: delta")
	fl.BoolVar(&f.suggest, "suggest", false,
		"where the file leaves out rounds, batch size, clip, step sizes or graph, use what sotto plan "+
			"--suggest proposes")
	fl.StringVar(&f.seed, "seed", "", "seed, in place of the run file's")
	cli.WorkersFlag(c, &f.workers,
		"agents stepped at the same time; 0: one for each processor; changes no result")
	fl.StringVar(&f.out, "out", "runs", "folder of run directories")
	fl.StringVar(&f.resume, "resume", "", "resume the interrupted run in this directory")
	f.output.Register(c)
	f.live.Register(c)
	cli.DataDirFlag(c, &f.dataDir)
	return c
}

func (f *runFlags) run(cmd *cobra.Command, args []string) error {
	if err := f.check(args); err != nil {
		return err
	}
	opt := run.Options{Out: f.out, Workers: f.workers, Watch: run.Watch{Command: f.commandLine(args)}}
	opt.Events = event.NewStream(event.Simulated)
	if f.output == "text" {
		p := watch.NewBar(cli.Notes(cmd))
		defer p.Close()
		opt.Events.Follow(p.Hear)
	}
	ctx, shown, err := f.live.Show(cmd, "run", opt.Events, true)
	if err != nil {
		return err
	}
	defer shown.Close()
	opt.Hold = shown.Hold
	cmd.SetContext(ctx)
	res, err := f.start(cmd, args, opt)
	if err != nil {
		return err
	}
	cli.Say(cmd, "run hash %s", res.Summary.RunHash)
	if f.output.JSON() {
		enc := json.NewEncoder(cmd.OutOrStdout())
		return enc.Encode(res.Summary)
	}
	return res.Summary.WriteTable(cmd.OutOrStdout())
}

func (f *runFlags) check(args []string) error {
	if err := f.output.Check(); err != nil {
		return err
	}
	if err := f.live.Check(); err != nil {
		return err
	}
	if f.seed != "" {
		if _, err := strconv.ParseUint(f.seed, 10, 63); err != nil {
			return cli.Usagef("--seed: found %q, allowed: 0 to 9223372036854775807", f.seed)
		}
	}
	if f.resume != "" && (len(args) > 0 || len(f.set) > 0 || f.seed != "" || len(f.iUnderstand) > 0 ||
		f.suggest) {
		return cli.Usagef("--resume goes on with the interrupted run's own configuration: no " +
			"FILE, --set, --seed, --suggest or --i-understand beside it")
	}
	return nil
}

func (f *runFlags) start(cmd *cobra.Command, args []string, opt run.Options) (*run.Result,
	error) {
	if f.resume != "" {
		endsByContext(cmd.Context())
		return run.Resume(cmd.Context(), f.resume, f.dataDir, opt)
	}
	e, err := f.build(cmd, args)
	if err != nil {
		return nil, err
	}
	if slow := experiment.Slow(e); slow != "" {
		fmt.Fprintf(cli.Notes(cmd), "warning: %s\n", slow)
	}
	if 4*e.Task.Model.Dim()*e.File.Topology.Agents > 256<<20 && os.Getenv("GOGC") == "" {
		// A few large vectors: collecting them costs nothing, and waiting until there is
		// as much garbage again takes that much memory.
		debug.SetGCPercent(15)
	}
	cli.Say(cmd, "configuration %s, training records %s, test records %s", e.Digest(),
		e.Task.Split.Train.Digest, e.Task.Split.Test.Digest)
	endsByContext(cmd.Context())
	return run.Run(cmd.Context(), e, opt)
}

// build reads the run file, and completes it where that is asked for.
func (f *runFlags) build(cmd *cobra.Command, args []string) (*experiment.Experiment, error) {
	if !f.suggest {
		return build(args, f.settings(), f.dataDir)
	}
	e, s, err := forecast.Completed(strings.Join(args, ""), f.settings(), f.dataDir)
	if err == nil {
		fmt.Fprintf(cli.Notes(cmd), "suggested:\n%s\n", cmp.Or(s.TOML(), "nothing: the file states all"))
	}
	return e, err
}

// settings are all changes to the run file that the flags ask for.
func (f *runFlags) settings() []string {
	set := f.set
	if f.seed != "" {
		set = append(set, "seed="+f.seed)
	}
	if len(f.iUnderstand) > 0 {
		quoted := make([]string, len(f.iUnderstand))
		for i, o := range f.iUnderstand {
			quoted[i] = strconv.Quote(o)
		}
		set = append(set, "privacy.i_understand=["+strings.Join(quoted, ", ")+"]")
	}
	return set
}

// commandLine is what runs the same experiment again.
func (f *runFlags) commandLine(args []string) string {
	words := append([]string{"sotto", "run"}, args...)
	for _, s := range f.settings() {
		if strings.ContainsAny(s, " \"'[]$*?;&|<>()") {
			s = "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
		}
		words = append(words, "--set", s)
	}
	if f.resume != "" {
		words = append(words, "--resume", f.resume)
	}
	return strings.Join(words, " ")
}
