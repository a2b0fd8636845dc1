//go:build !operator

package calculator

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"sotto/cmd/sotto/cli"
	"sotto/config"
	"sotto/experiment"
	"sotto/experiment/exposure"
	"sotto/experiment/forecast"
	"sotto/experiment/owner"
	"sotto/node/roster"
	"sotto/report/plot"
)

// networkFlags describe one private averaging and who looks at it.
type networkFlags struct {
	exposure.Settings
	source      sourceFlags
	steps       int
	drawing     string
	output      cli.Output
	reference   bool
	reconstruct bool
}

// sourceFlags say what is averaged over.
type sourceFlags struct {
	graph               cli.GraphFlags
	family, run, roster string
}

func newAccountNetwork() *cobra.Command {
	var f networkFlags
	c := &cobra.Command{
		Use:   "network",
		Short: "Who learns what about whom when agents release one noisy value each and average over a graph",
		Long: cli.Unwrap(`\
Every agent releases one value with Gaussian noise, and the network averages for some rounds. The
figures say how much of an agent's local privacy loss an observer, a coalition or an eavesdropper
gets: leak 1 is all of it, leak 0 nothing. Epsilon follows from the leak by the exact Gaussian
formula. The figures add to the local guarantee, which holds against everyone, and do not replace
it. They hold for averaging, not for training over many rounds, where other agents react to an
agent's update.`),
		Example: "  sotto account network --topology path --agents 3 --rounds 2 --adversary 2\n  sotto " +
			"account network --topology hypercube --agents 256 --rounds 10 --adversary all --output svg > " +
			"heat.svg\n" +
			"  sotto account network --roster roster.toml --rounds 5 --adversary {0,3} --epsilon 1",
		Args: cli.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := cmp.Or(f.check(), f.unread(cmd.Flags().Changed)); err != nil {
				return err
			}
			defer patience(cmd)()
			src, err := f.source.open(cmd.Flags().Changed)
			if err != nil {
				return err
			}
			if err := f.takeOver(cmd, src); err != nil {
				return err
			}
			c, err := exposure.NewCase(src, &f.Settings)
			if err != nil {
				return cli.OfFlag(err, networkFlagOf)
			}
			if f.steps != 1 {
				return f.writeTraining(cmd.OutOrStdout(), c)
			}
			return f.writeViews(cmd.OutOrStdout(), c)
		},
	}
	fl := c.Flags()
	f.source.register(fl)
	fl.IntVar(&f.Rounds, "rounds", 10, "rounds of averaging, 0 to 100000")
	fl.IntVar(&f.steps, "steps", 1,
		"releases of each agent, each followed by the rounds of averaging; what a partial view says about "+
			"such training is an estimate, never a guarantee")
	fl.StringVar(&f.Adversary, "adversary", "all",
		"an agent (3), a coalition ({3,7}), all (each agent by itself), all-messages or eavesdropper")
	fl.StringVar(&f.Method, "method", "plain", "plain, chebyshev, chebyshev-ns, jacobi or paper")
	fl.Float64Var(&f.Dimension, "dimension", 2, "jacobi: spectral dimension of the graph, 1 for rings")
	fl.Float64Var(&f.Noise, "noise-multiplier", 0,
		"noise standard deviation divided by the clip; default: 1, with --run the run's own")
	fl.Float64Var(&f.Epsilon, "epsilon", 0,
		"in place of --noise-multiplier: set the noise by the local epsilon, which holds against everyone")
	fl.Float64Var(&f.Delta, "delta", 1e-5, "delta, above 0 and below 1; with --run the run's own")
	fl.StringVar(&f.Adjacency, "adjacency", "add-remove",
		"add-remove, replace-one or zero-out; with --run the run's own")
	fl.BoolVar(&f.SecureSum, "secure-sum", false,
		"every agent gets only the weighted sum of a round's messages to it")
	fl.BoolVar(&f.reference, "reference", false,
		"print the published per-message formula beside the exact figures; it is not a bound")
	fl.BoolVar(&f.reconstruct, "reconstruct", false,
		"also say whose values an adversary would learn exactly if there were no noise")
	f.output.Register(c, "csv", "svg")
	cli.Formerly(c, "graph-seed", "seed")
	fl.StringVar(&f.drawing, "draw", "",
		"with --output svg: heatmap, distance, coalition or graph; default: heatmap for several "+
			"adversaries, else graph")
	return c
}

// register adds the flags of graphs.
func (f *sourceFlags) register(fl *pflag.FlagSet) {
	fl.StringVar(&f.family, "topology", "", "graph family, see sotto topology show")
	fl.StringVar(&f.run, "run", "",
		"use the graphs of this run directory in place of --topology, with its delta and adjacency, and "+
			"the noise, rounds and method of a run that averages")
	fl.StringVar(&f.roster, "roster", "",
		"use the graphs of this roster in place of --topology, and take the rest from the run file beside "+
			"it, as --run does")
	fl.IntVar(&f.graph.Agents, "agents", 10, "number of agents")
	fl.StringVar(&f.graph.Weights, "weights", "",
		"metropolis, uniform, lazy, max-degree, or column for push-sum")
	fl.Uint64Var(&f.graph.Seed, "seed", 1, "seed of random graphs")
	fl.Float64Var(&f.graph.Dropout, "dropout", 0, "probability that a link is missing from a round")
	fl.BoolVar(&f.graph.Pairs, "pairs", false,
		"in every round one random agent averages with one random neighbor, and the others wait")
	fl.StringArrayVar(&f.graph.Set, "set", nil, "parameter of the graph, key=value (repeatable)")
}

// takeOver sets what a run that averages has of its own, and refuses another method.
func (f *networkFlags) takeOver(cmd *cobra.Command, src *exposure.Source) error {
	given, own := cmd.Flags().Changed, &src.Recursion
	if err := f.takeRelease(given, src); err != nil {
		return err
	}
	if src.Rounds > 0 && !given("rounds") {
		f.Rounds = src.Rounds
	}
	switch {
	case own.Acceleration == "":
		return nil
	case given("method") && f.Method != own.Acceleration:
		return config.Bad("--method", f.Method, own.Acceleration+", which the run averages by, or no flag")
	case given("dimension") && f.Dimension != own.Dimension && own.Acceleration == "jacobi":
		return config.Bad("--dimension", f.Dimension,
			fmt.Sprintf("%g, which the run averages by, or no flag", own.Dimension))
	}
	return nil
}

// check refuses flags before anything is read.
func (f *networkFlags) check() error {
	if err := f.output.Check("csv", "svg"); err != nil {
		return err
	}
	switch {
	case f.steps < 1:
		return config.Bad("--steps", f.steps, "at least 1")
	case f.steps > 1 && f.output != "text" && f.output != "json":
		return config.Bad("--output", string(f.output), "text or json with --steps")
	case f.steps > 1 && (f.reference || f.reconstruct):
		return config.Bad("--steps", f.steps, "1 with --reference or --reconstruct")
	case f.drawing != "" && !slices.Contains(exposure.Drawings, f.drawing):
		return cli.Usagef("--draw: found %q, allowed: %s", f.drawing,
			strings.Join(exposure.Drawings, ", "))
	case f.Noise != 0 && f.Epsilon != 0:
		return cli.Usage(errors.New("--epsilon sets the noise: no --noise-multiplier beside it"))
	}
	return cli.OfFlag(f.Check(), networkFlagOf)
}

// unread refuses flags that the others leave without a meaning.
func (f *networkFlags) unread(given func(flag string) bool) error {
	switch {
	case f.drawing != "" && f.output != "svg":
		return cli.Usagef("--draw: found %s, allowed: none without --output svg", f.drawing)
	case given("dimension") && f.source.family != "" && f.Method != "jacobi":
		return config.Bad("--dimension", f.Dimension, "none with --method "+f.Method+": jacobi reads it")
	}
	return nil
}

// networkFlagOf has the flags that stand for settings.
var networkFlagOf = map[string]string{
	"noise_multiplier":   "--noise-multiplier",
	"epsilon":            "--epsilon",
	"delta":              "--delta",
	"rounds":             "--rounds",
	"agents":             "--agents",
	"acceleration":       "--method",
	"spectral_dimension": "--dimension",
}

// open reads the graphs of a family, a run or a roster.
func (f *sourceFlags) open(given func(flag string) bool) (*exposure.Source, error) {
	sources := 0
	for _, s := range []string{f.family, f.run, f.roster} {
		if s != "" {
			sources++
		}
	}
	switch {
	case sources != 1:
		return nil, cli.Usage(errors.New("account network takes one of --topology, --run and --roster"))
	case f.family != "":
		return f.ofFamily()
	case slices.ContainsFunc([]string{"agents", "dropout", "graph-seed", "pairs", "seed", "set",
		"weights"}, given):
		return nil, cli.Usagef("--agents, --dropout, --pairs, --seed, --set and --weights go with " +
			"--topology")
	case f.run != "":
		r, err := forecast.ReadGraphs(f.run)
		if err != nil {
			return nil, err
		}
		return exposure.OfRun(r.Schedule, r.Whole, r.Averaging, r.Recursion, r.Release)
	}
	return f.ofRoster()
}

func (f *sourceFlags) ofFamily() (*exposure.Source, error) {
	schedule, base, err := f.graph.Build(f.family)
	s := &exposure.Source{Schedule: schedule, Whole: base, Dropout: f.graph.Dropout}
	if f.graph.Pairs {
		s.First = 1
	}
	if err != nil || f.graph.Dropout == 0 {
		return s, err
	}
	whole := f.graph
	whole.Dropout = 0
	_, s.Whole, err = whole.Build(f.family)
	return s, err
}

// ofRoster has the graphs of all rounds where the run file lies beside the roster, and
// else the weights that the roster states.
func (f *sourceFlags) ofRoster() (*exposure.Source, error) {
	r, file, err := owner.ReadRoster(f.roster, "")
	if err == nil {
		whole, schedule, err := owner.AgreedGraph(r, file)
		if err != nil {
			return nil, err
		}
		rounds := experiment.AveragingRounds(file)
		if rounds > 0 {
			err = cmp.Or(experiment.CheckViews(file), f.checkMissing(r))
		}
		if err != nil {
			return nil, err
		}
		by, err := experiment.Acceleration(file)
		if err != nil {
			return nil, err
		}
		release, err := forecast.Agreed(file)
		if err != nil {
			return nil, err
		}
		return exposure.OfRun(schedule, whole, rounds, by, release)
	}
	if !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	if r, err = roster.Read(f.roster); err != nil {
		return nil, err
	}
	if err := f.checkMissing(r); err != nil { // it may average
		return nil, err
	}
	g, err := r.Topology()
	if err != nil {
		return nil, err
	}
	return exposure.OfWeights(g)
}

// checkMissing refuses values that are averaged without a member that is missing: each
// then weighs more than planned.
func (f *sourceFlags) checkMissing(r *roster.Roster) error {
	found := "nothing" // everybody chooses
	switch {
	case r.Terms == nil:
	case r.Terms.Missing == roster.Wait:
		return nil
	default:
		found = strconv.Quote(r.Terms.Missing)
	}
	return &config.Error{
		File:  f.roster,
		Key:   "terms.missing",
		Found: found,
		Allowed: roster.Wait + ": where a member is missing, others learn more of each value, up to all of " +
			"it; the figure against everyone, which sotto plan states, holds",
	}
}

func (f *networkFlags) writeViews(w io.Writer, c *exposure.Case) error {
	r, err := c.Views(f.reference, f.reconstruct)
	if err != nil {
		return err
	}
	switch f.output {
	case "json":
		return json.NewEncoder(w).Encode(r.Figures())
	case "csv":
		return r.WriteCSV(w)
	case "svg":
		d, err := r.Draw(f.drawing)
		if err != nil {
			return cli.OfFlag(err, networkFlagOf)
		}
		return plot.WriteSVG(w, d)
	}
	return r.WriteText(w)
}

func (f *networkFlags) writeTraining(w io.Writer, c *exposure.Case) error {
	x, err := c.Training(f.steps)
	if err != nil {
		return err
	}
	if f.output.JSON() {
		return json.NewEncoder(w).Encode(x)
	}
	return x.WriteText(w)
}
