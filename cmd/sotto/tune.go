//go:build !operator

package main

import (
	"encoding/json"
	"fmt"
	"io"
	"math"
	"path/filepath"
	"strings"
	"sync"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"sotto/cmd/sotto/cli"
	"sotto/cmd/sotto/watch"
	"sotto/experiment"
	"sotto/experiment/rundir"
	"sotto/experiment/tune"
)

type tuneFlags struct {
	set, space []string
	notPrivate bool
	simulated  bool
	workers    int
	out        string
	dataDir    string
	output     cli.Output
	live       cli.Live
}

func newTune() *cobra.Command {
	var f tuneFlags
	c := &cobra.Command{
		Use:   "tune FILE",
		Short: "Search for hyper-parameters by random search or population-based training",
		Long: `Search over any keys of a run file, by its sections [tune] and [tune.space] or by flags:

  [tune]
  method = "random"        # or "pbt", population-based training
  metric = "accuracy"      # or "loss", of records held out from training; test records play no part
  validation = 0.1         # share of every agent's training records that is held out
  seed = 1                 # draws the trials; a charged search reads it only if simulated = true
  set = ["data.dataset=glyphs", "rounds=100"]   # applies to the trials only
  trials = 16              # random: how many; for a charged search, the expected number
  law = "geometric"        # random, charged: distribution of that number; or "logarithmic", "poisson"
  score_noise_multiplier = 10.0   # random, charged: noise of the score, relative to what one record adds
  score_clip = 5.0         # random, charged, metric loss: the largest loss that one record counts
  population = 8           # pbt: number of trials that run side by side
  interval = 20            # pbt: rounds between perturbations; 0: a tenth of the run
  quantile = 0.25          # pbt: the bottom share copies trials of the top share, weights included
  resample = 0.25          # pbt: probability of a new value, in place of a factor 1.2 or 0.8
  simulated = false        # random, charged: draw trials from the seed, for research; protects nobody
  accept_cost_not_included = false   # the same as --not-private

  [tune.space]
  algorithm.step_size = { log = [0.01, 1.0] }
  privacy.max_grad_norm = { uniform = [0.1, 2.0] }
  rounds = { integer = [50, 200] }
  model.hidden = { choice = [[16], [32, 16]] }

Privacy. Trials on generated data, such as glyphs, or on a published data set that is not the run's
own, cost nobody anything. Random search on the run's own data, or on files of yours, is charged:
each trial trains privately, its score is a noisy release, and the number of trials is random. The
theorem of private selection needs trials that nobody can tell apart. They and their number
therefore follow from a secret, drawn once and kept in the search's directory. The command prints
what the search cost against those who see only the chosen trial; privacy.json has the cost against
those who see all trials.

--simulated draws such a search from its seed: it protects nobody, and best.toml says so.
Population-based training and trials without noise are refused on such data. --not-private lifts
that: nothing is charged, and every result carries "tuned on private data, cost not included".

The search's directory has trials.csv, best.toml (the run file with the values found) and tune.json.
For a charged search it also has privacy.json, ledger/ and secret.key, and then only best.toml and
tune.json may be shown. A search that was stopped resumes with the same command.`,
		Example: `  sotto tune examples/tune.toml
  sotto tune examples/mnist-dsgd.toml --set 'tune.set=["data.dataset=fashion-mnist", "rounds=200"]' \
      --tune algorithm.step_size=log:0.01:1 --tune privacy.max_grad_norm=1,3,10
  sotto tune examples/tune.toml --set tune.method=pbt --set tune.population=8`,
		Args: cli.Exactly(1, "one FILE"),
		RunE: func(cmd *cobra.Command, args []string) error { return f.run(cmd, args[0]) },
	}
	fl := c.Flags()
	fl.StringArrayVar(&f.set, "set", nil,
		"change one key of the run file, section.key=value, those of [tune] included (repeatable)")
	fl.StringArrayVar(&f.space, "tune", nil,
		"search one key: key=log:low:high, uniform:low:high, integer:low:high or a,b,c (repeatable)")
	fl.BoolVar(&f.notPrivate, "not-private", false,
		"charge nothing for a search on private data; every result says so")
	fl.BoolVar(&f.simulated, "simulated", false,
		"draw a charged search from its seed, for research; it protects nobody")
	cli.WorkersFlag(c, &f.workers,
		"trials at the same time; 0: one for each processor; changes no result")
	fl.StringVar(&f.out, "out", "tunes", "folder of search directories")
	f.output.Register(c)
	f.live.Register(c)
	cli.DataDirFlag(c, &f.dataDir)
	return c
}

func (f *tuneFlags) run(cmd *cobra.Command, path string) error {
	if err := f.output.Check(); err != nil {
		return err
	}
	set := f.set
	if f.notPrivate {
		set = append(set, "tune.accept_cost_not_included=true")
	}
	if f.simulated {
		set = append(set, "tune.simulated=true")
	}
	t, err := tune.Read(path, set, f.space)
	if err != nil {
		return err
	}
	var secret sync.Once
	opt := tune.Options{Out: f.out, DataDir: f.dataDir, Workers: f.workers,
		Progress: func(p tune.Progress) { tuneLine(cli.Notes(cmd), p, &secret) }}
	opt.Command = "sotto tune " + path
	ctx, shown, err := watch.Run(cmd, &f.live, &opt.Watch, "tune")
	if err != nil {
		return err
	}
	defer shown.Close()
	res, err := t.Run(ctx, opt)
	if err != nil {
		return err
	}
	if f.output.JSON() {
		return json.NewEncoder(cmd.OutOrStdout()).Encode(res)
	}
	return writeTuning(cmd.OutOrStdout(), res)
}

func tuneLine(w io.Writer, p tune.Progress, secret *sync.Once) {
	if p.Of == 0 { // a line for each would tell their number
		secret.Do(func() { fmt.Fprintln(w, "trials are done; their values and number are secret") })
		return
	}
	fmt.Fprintf(w, "trial %d of %d  %s  score %.4f  %.1f s\n", p.Done, p.Of, p.Trial, p.Row.Score, p.Seconds)
}

// writeTuning prints the last generation's trials, the best first; of a charged search
// the chosen one only.
func writeTuning(w io.Writer, res *tune.Result) error {
	t := tabwriter.NewWriter(w, 0, 4, 2, ' ', 0)
	numbered := res.Cost != experiment.CostCharged // which trial was chosen is secret
	if numbered {
		fmt.Fprint(t, "trial\t")
	}
	for _, k := range res.Keys {
		fmt.Fprintf(t, "%s\t", k)
	}
	fmt.Fprintln(t, "score\taccuracy\tloss\tepsilon")
	for _, r := range res.Ranking() {
		if numbered {
			fmt.Fprintf(t, "%d\t", r.Trial)
		}
		for _, v := range r.Values {
			fmt.Fprintf(t, "%s\t", strings.Trim(v, `"'`))
		}
		epsilon := "-"
		if !math.IsNaN(r.Epsilon) {
			epsilon = atMost(r.Epsilon)
		}
		fmt.Fprintf(t, "%.4f\t%s\t%s\t%s\n", r.Score, figure("%.2f", 100*r.Accuracy), figure("%.4f", r.Loss),
			epsilon)
	}
	if err := t.Flush(); err != nil {
		return err
	}
	if res.Best != nil {
		fmt.Fprintf(w, "best               %s\n", strings.Join(res.Values, " "))
		fmt.Fprintf(w, "best configuration %s\n", filepath.Join(res.Dir, "best.toml"))
	}
	writeSpent(w, res.Spent)
	for _, n := range res.Notes {
		fmt.Fprintf(w, "note: %s\n", n)
	}
	_, err := fmt.Fprintf(w, "search directory   %s\n", res.Dir)
	return err
}

// writeSpent prints what the owner who spent most has spent.
func writeSpent(w io.Writer, spent []tune.Cost) {
	chosen := math.Inf(-1)
	for _, c := range spent {
		if c.Chosen != nil {
			chosen = math.Max(chosen, float64(c.Chosen.Upper))
		}
	}
	if chosen >= 0 {
		fmt.Fprintf(w,
			"epsilon, selection %s at delta %g, against those who see the chosen trial only (simulated "+
				"noise)\n", rundir.FormatEpsilon(chosen), spent[0].Delta)
	}
}

// figure writes a number, a dash where there is none.
func figure(format string, x float64) string {
	if math.IsNaN(x) {
		return "-"
	}
	return fmt.Sprintf(format, x)
}
