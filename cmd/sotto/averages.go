//go:build !operator

package main

import (
	"encoding/json"
	"io"

	"github.com/spf13/cobra"

	"sotto/cmd/sotto/cli"
	"sotto/config"
	"sotto/experiment"
	"sotto/experiment/attack"
	"sotto/privacy/audit"
)

// averagingFlags say which private average is attacked, and by whom.
type averagingFlags struct {
	graph, observer, dataDir string
	output                   cli.Output
	agents, rounds           int
	seed                     uint64
	set                      []string
}

func (f *averagingFlags) add(c *cobra.Command) {
	fl := c.Flags()
	fl.StringVar(&f.graph, "topology", "",
		"graph family in place of FILE, see sotto topology show; with clip 1, noise multiplier 1, unit "+
			"owner and adjacency replace-one")
	fl.IntVar(&f.agents, "agents", 8, "number of agents, with --topology")
	fl.IntVar(&f.rounds, "rounds", 4, "rounds of averaging, with --topology")
	fl.StringArrayVar(&f.set, "set", nil, "change one key of the run file, section.key=value (repeatable)")
	fl.StringVar(&f.observer, "observer", "0", "an agent (3) or a coalition ({3,7})")
	fl.Uint64Var(&f.seed, "seed", 1, "seed of the auditor's values and of the runs' keys")
	f.output.Register(c)
	cli.Formerly(c, "audit-seed", "seed")
	cli.DataDirFlag(c, &f.dataDir)
}

// build reads the run file, or makes one.
func (f *averagingFlags) build(cmd *cobra.Command, args []string) (*experiment.Experiment, error) {
	if err := f.output.Check(); err != nil {
		return nil, err
	}
	if (f.graph == "") == (len(args) == 0) {
		return nil, cli.Usagef("an audit of averaging takes a FILE or --topology")
	}
	for _, name := range []string{"agents", "rounds"} {
		if f.graph == "" && cmd.Flags().Changed(name) {
			return nil, cli.Usagef("--%s: found with FILE, allowed: with --topology", name)
		}
	}
	if f.graph == "" {
		return build(args, f.set, f.dataDir)
	}
	switch {
	case f.rounds < 1 || f.rounds > 10_000:
		return nil, config.Bad("--rounds", f.rounds, "1 to 10000")
	case f.agents < 2 || f.agents > 10_000:
		return nil, config.Bad("--agents", f.agents, "2 to 10000")
	}
	file, err := experiment.Parse("--topology", attack.AveragingFile(f.graph, f.agents, f.rounds), f.set)
	if err != nil {
		return nil, err
	}
	return file.Build(f.dataDir)
}

// finding is a report of a mode.
type finding interface {
	WriteText(io.Writer) error
	Err() error
}

// conclude writes a report and returns its violation.
func conclude(cmd *cobra.Command, output cli.Output, r finding) error {
	var err error
	if output.JSON() {
		e := json.NewEncoder(cmd.OutOrStdout())
		e.SetIndent("", "  ")
		err = e.Encode(r)
	} else {
		err = r.WriteText(cmd.OutOrStdout())
	}
	if err != nil {
		return err
	}
	return r.Err()
}

func newAuditPairwise() *cobra.Command {
	var (
		f     averagingFlags
		o     audit.PairwiseOptions
		claim string
	)
	c := &cobra.Command{
		Use: "pairwise [FILE]",
		Short: "Measure what an observer of a private average learns about one agent's value from what it " +
			"receives",
		Long: cli.Unwrap(`\
Measure what an observer of a private average learns about one agent's value, from the messages that
it really receives.

The simulator runs the average many times with values that the auditor makes. The target's value is
one of two that are as far apart as its clip allows; the observer knows everyone else's. The
observer computes the best linear score from the messages that it receives. The command prints how
well this score tells the two values apart, beside what the network accountant (or --claim) says.
Exit code 3: the claim is too small.`),
		Example: "  sotto audit pairwise --topology ring --agents 8 --rounds 4 --observer 0 --target 4\n  " +
			"sotto audit pairwise --topology ring --agents 8 --rounds 2 --observer 0 --target 2 --claim " +
			"printed\n" +
			"  sotto audit pairwise examples/average.toml --observer {0,5} --target 3\n" +
			"  sotto audit pairwise --topology ring --agents 16 --rounds 1 --set privacy.mechanism=decor " +
			"--set privacy.pair_noise_ratio=4 --everywhere --target 1 --claim laplacian",
		Args: cli.AtMostOne("FILE"),
		RunE: func(cmd *cobra.Command, args []string) error {
			e, err := f.build(cmd, args)
			if err != nil {
				return err
			}
			o.Seed = f.seed
			r, err := attack.Pairwise(cmd.Context(), e, f.observer, claim, o)
			if err != nil {
				return err
			}
			return conclude(cmd, f.output, r)
		},
	}
	f.add(c)
	fl := c.Flags()
	fl.IntVar(&o.Target, "target", 1, "the agent whose value is attacked")
	fl.BoolVar(&o.Everywhere, "everywhere", false, "the observer sees the messages on all links")
	fl.StringVar(&claim, "claim", attack.ExactClaim,
		"exact, local, printed (the published per-message formula), or laplacian (shared noise with the "+
			"curious node's links counted)")
	fl.IntVar(&o.Observations, "observations", 2000, "runs with each of the two values")
	fl.Float64Var(&o.Beta, "beta", 1e-3, "largest probability of refuting a correct claim")
	fl.Float64Var(&o.Delta, "delta", 1e-5, "delta of the epsilons that are printed beside mu")
	return c
}

func newAuditReconstruct() *cobra.Command {
	var f averagingFlags
	c := &cobra.Command{
		Use:   "reconstruct [FILE]",
		Short: "Solve for the values that an observer of an average without noise learns exactly",
		Long: `Solve for the values that an observer of an average without noise learns exactly.

Exact algebra over fractions says whose values the observer's messages determine. One run in the
simulator, without noise and with values that the auditor makes, shows that they can be solved for.
For every other agent, a second run with other values gives the same messages.`,
		Example: "  sotto audit reconstruct --topology ring --agents 8 --rounds 4 --observer 0\n  sotto " +
			"audit reconstruct --topology hypercube --agents 16 --rounds 3 --observer {0,1} --output json",
		Args: cli.AtMostOne("FILE"),
		RunE: func(cmd *cobra.Command, args []string) error {
			e, err := f.build(cmd, args)
			if err != nil {
				return err
			}
			r, err := attack.Reconstruct(cmd.Context(), e, f.observer, f.seed)
			if err != nil {
				return err
			}
			return conclude(cmd, f.output, r)
		},
	}
	f.add(c)
	return c
}
