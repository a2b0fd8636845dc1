//go:build !operator

package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"sotto/cmd/sotto/cli"
	"sotto/cmd/sotto/ledgers"
	"sotto/cmd/sotto/watch"
	"sotto/experiment/attack"
	"sotto/experiment/run"
	"sotto/privacy/audit"
)

// auditMode is one way to attack a run.
type auditMode struct {
	name, short  string
	run          func(*audit.Target, context.Context, audit.Options) (*audit.Report, error)
	observations int // by default
	smoke        int // in "audit all --scale smoke"; 0: left out of it
}

var auditModes = []auditMode{
	{"step", "Attack single releases: tell from the bytes that leave an agent whether a record was there",
		(*audit.Target).Step, 10000, 400},
	{"onerun", "Attack one run with many canaries, each present or absent by a fair coin",
		(*audit.Target).OneRun, 1000, 0},
	{"runs", "Attack whole runs by the loss of the final model: train many, with and without a record",
		(*audit.Target).Runs, 100, 0},
	{"noise",
		"Test that noise has the declared distribution and grid whatever the data, and that no two " +
			"coordinates or charges share it",
		(*audit.Target).Noise, 1000, 64},
	{"sampler", "Test which records enter a batch, against the claimed sampler",
		(*audit.Target).Sampler, 2000, 300},
	{"ledger", "Watch gate, ledger and messages of a run, or verify a finished run's directory",
		(*audit.Target).Ledger, 100, 20},
	{"keys", "Compare keys that a node's gates draw at the same time, in this process and in two others",
		(*audit.Target).Keys, 64, 16},
}

// auditFlags are what all modes take.
type auditFlags struct {
	options audit.Options
	of      attack.Options
	set     []string
	dataDir string
	output  cli.Output
	scale   string
	kept    watch.Kept // Dir is where the audit's own is made, until target names it
	live    cli.Live
	told    *watch.Audit
}

func newAudit() *cobra.Command {
	c := cli.Group("audit", "Attack a run's own privacy guarantee: lower bounds on epsilon beside the claim")
	for _, m := range auditModes {
		c.AddCommand(newAuditMode(m))
	}
	c.AddCommand(newAuditAll(), newAuditPairwise(), newAuditReconstruct(), newClaims(), newAuditInvert(),
		newAuditWire(), newAuditPrints())
	return c
}

// printsCommand is a hidden one, by which a process draws keys for another's audit.
var printsCommand = []string{"audit", "prints"}

func newAuditPrints() *cobra.Command {
	return &cobra.Command{
		Use:    printsCommand[1],
		Short:  "Draw keys as a daemon does, for audit keys of another process",
		Hidden: true,
		Args:   cli.NoArgs,
		RunE:   func(cmd *cobra.Command, _ []string) error { return attack.WritePrints(cmd.OutOrStdout()) },
	}
}

// self is the command line of a process that draws keys; empty where this program has no
// file to be started from.
func self() []string {
	path, err := os.Executable()
	if err != nil {
		return nil
	}
	return append([]string{path}, printsCommand...)
}

func (f *auditFlags) register(c *cobra.Command) {
	fl := c.Flags()
	fl.IntVar(&f.options.Observations, "observations", 0,
		"how many releases, models, charges or canaries to observe, in each world (with and without the "+
			"record); 0: the mode's own number")
	fl.Float64Var(&f.options.Beta, "beta", .05,
		"largest probability of reporting a violation if the claim holds")
	fl.Uint64Var(&f.options.Seed, "seed", 0, "seed of all keys that the audit draws")
	fl.IntVar(&f.of.Agent, "agent", 0, "the agent whose records are attacked")
	fl.StringVar(&f.of.Canary, "canary", "gradient", "the attacked record: gradient, blank or mislabelled")
	fl.StringArrayVar(&f.set, "set", nil, "change one key of the run file, section.key=value (repeatable)")
	f.output.Register(c)
	f.live.Register(c)
	fl.StringVar(&f.kept.Dir, "out", "audits",
		"folder in which the audit makes its own directory, with a page, the findings and the events; "+
			"\"\": none")
	cli.DataDirFlag(c, &f.dataDir)
}

const auditLong = `

The audit uses the run's own algorithm, mechanism and messages, on records that the auditor makes. A
lower bound above the claim is a violation and gives exit code 3. A bound below the claim proves
nothing. See docs/audit.md.`

func newAuditMode(m auditMode) *cobra.Command {
	var f auditFlags
	c := &cobra.Command{
		Use:   m.name + " [FILE]",
		Short: m.short,
		Long:  m.short + "." + auditLong,
		Args:  cli.AtMostOne("FILE"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := f.output.Check(); err != nil {
				return err
			}
			if m.name == "ledger" && len(args) == 1 && ledgers.IsRun(args[0]) {
				return auditRunDir(cmd.OutOrStdout(), args[0], f.output)
			}
			t, err := f.target(args)
			if err != nil {
				return err
			}
			o := f.options
			o.Observations = cmp.Or(o.Observations, m.observations)
			one := func(ctx context.Context) ([]*audit.Report, error) {
				r, err := f.apply(ctx, m, t, o)
				if err != nil {
					return nil, err
				}
				return []*audit.Report{r}, nil
			}
			return f.shown(cmd, t, m.name, []string{m.name}, one)
		},
	}
	if m.name == "ledger" {
		c.Use = "ledger [FILE|RUNDIR]"
	}
	if m.name == "step" {
		c.Flags().BoolVar(&f.options.Sampled, "sampled", false,
			"leave the sampler on: the record is drawn as the run draws it")
		c.Flags().IntVar(&f.options.Message, "message", 1,
			"which of the messages that follow from an answer is attacked")
		c.Flags().BoolVar(&f.of.Live, "nodes", false,
			"observe the frames of real nodes, in one process and with the operating system's keys, in "+
				"place of the simulator's messages")
	}
	f.register(c)
	return c
}

func newAuditAll() *cobra.Command {
	var f auditFlags
	c := &cobra.Command{
		Use:   "all [FILE]",
		Short: "All modes that apply, at smoke or full scale",
		Long: "All modes that apply, at smoke or full scale; smoke skips those that train many models." +
			auditLong,
		Args: cli.AtMostOne("FILE"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := f.output.Check(); err != nil {
				return err
			}
			if f.scale != "smoke" && f.scale != "full" {
				return cli.Usagef("--scale: found %q, allowed: smoke, full", f.scale)
			}
			t, err := f.target(args)
			if err != nil {
				return err
			}
			return f.shown(cmd, t, "all", f.modes(), func(ctx context.Context) ([]*audit.Report, error) {
				return f.all(ctx, t, cli.Notes(cmd))
			})
		},
	}
	f.register(c)
	c.Flags().StringVar(&f.scale, "scale", "full", "smoke or full")
	return c
}

func (f *auditFlags) target(args []string) (*audit.Target, error) {
	f.kept.Command = strings.Join(append([]string{"sotto"}, os.Args[1:]...), " ")
	e, err := build(args, f.set, f.dataDir)
	if err != nil {
		return nil, err
	}
	f.of.Self = self()
	if f.kept.Dir != "" {
		f.kept.Dir = filepath.Join(f.kept.Dir, run.Name(e)+"-audit-")
	}
	return attack.Target(e, f.of)
}

// apply runs one mode.
func (f *auditFlags) apply(ctx context.Context, m auditMode, t *audit.Target, o audit.Options) (*audit.Report,
	error) {
	if err := o.Validate(); err != nil {
		return nil, err
	}
	if err := f.told.Begun(m.name, &o); err != nil {
		return nil, err
	}
	r, err := m.run(t, ctx, o)
	f.told.Ended(m.name, r, err)
	return r, err
}

// all runs every mode that applies to the target and says which do not. Together they
// call a right system violated with probability beta at most. Beside an error are the
// reports of the modes before it.
func (f *auditFlags) all(ctx context.Context, t *audit.Target, notes io.Writer) ([]*audit.Report, error) {
	var reports []*audit.Report
	o := f.options
	o.Beta /= float64(len(auditModes))
	for _, m := range auditModes {
		if f.scale == "smoke" && m.smoke == 0 {
			continue
		}
		o.Observations = m.observations
		if f.scale == "smoke" {
			o.Observations = m.smoke
		}
		r, err := f.apply(ctx, m, t, o)
		if audit.NotApplicable(err) {
			fmt.Fprintf(notes, "%s: %v\n", m.name, err)
			continue
		}
		if err != nil {
			return reports, fmt.Errorf("%s: %w", m.name, err)
		}
		reports = append(reports, r)
	}
	return reports, nil
}

// modes are those of "audit all" at the scale.
func (f *auditFlags) modes() (names []string) {
	for _, m := range auditModes {
		if f.scale != "smoke" || m.smoke > 0 {
			names = append(names, m.name)
		}
	}
	return names
}

// shown runs an audit, of one mode or of all, tells how it goes, and prints what it has
// found.
func (f *auditFlags) shown(cmd *cobra.Command, t *audit.Target, of string, modes []string,
	run func(context.Context) ([]*audit.Report, error)) error {
	k := f.kept
	if k.Of, k.Modes = t.Name, modes; k.Dir != "" {
		k.Dir += of
	}
	reports, err := watch.ShowAudit(cmd, &f.live, k,
		func(ctx context.Context, told *watch.Audit) ([]*audit.Report, error) {
			f.told = told
			return run(ctx)
		})
	if len(reports) == 0 {
		return err
	}
	if k.Dir != "" {
		fmt.Fprintf(cli.Notes(cmd), "written to %s\n", k.Dir)
	}
	return errors.Join(f.write(cmd.OutOrStdout(), reports...), err)
}

// write prints reports; its error is that of the first one that is violated.
func (f *auditFlags) write(w io.Writer, reports ...*audit.Report) error {
	var err error
	if f.output.JSON() {
		if len(reports) == 1 {
			err = json.NewEncoder(w).Encode(reports[0])
		} else {
			err = json.NewEncoder(w).Encode(reports)
		}
	}
	for _, r := range reports {
		if f.output == "text" {
			err = errors.Join(err, r.WriteText(w))
		}
	}
	if k := slices.IndexFunc(reports, func(r *audit.Report) bool { return r.Violated }); k >= 0 {
		err = errors.Join(err, reports[k].Err())
	}
	return err
}

// auditRunDir verifies a finished run's ledgers against its statements and its
// configuration.
func auditRunDir(w io.Writer, dir string, output cli.Output) error {
	r, err := attack.RunDir(dir)
	if err != nil {
		return err
	}
	f := auditFlags{output: output}
	return f.write(w, r)
}
