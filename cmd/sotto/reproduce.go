//go:build !operator

package main

import (
	"cmp"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"sotto/cmd/sotto/cli"
	"sotto/cmd/sotto/watch"
	"sotto/experiment/sweep"
	"sotto/reproduce"
	"sotto/reproduce/papers"
)

const reproduceLong = `Run a published table or figure again and print it beside the published one.

Finished runs are rows of cells.csv in the study's directory, and times.csv has their wall times. A
study that was stopped resumes with the same command. The table is also written to that directory as
CSV, Markdown and LaTeX, and the plots as SVG. --finished makes them from the rows that are there,
including those of shards, and runs nothing. --only runs a part and leaves the rest for later.

"sotto reproduce list" names the studies. Each has two names: seed000-table1, which its output uses,
and dpdl2023-table1, which cites the paper. Some studies, such as those of convergence, are no
sweeps: they run as a whole every time, and the rows of their tables carry seed, config digest and
run hash.`

// pageFormats are those of a study's table beside text and JSON.
var pageFormats = []string{"csv", "markdown", "latex"}

// documentJSON is the table as it is in CSV, with its notes.
func documentJSON(d *reproduce.Document) []byte {
	b, _ := json.Marshal(struct { // strings alone: it cannot fail
		Name   string     `json:"name"`
		Title  string     `json:"title"`
		Header []string   `json:"header"`
		Rows   [][]string `json:"rows"`
		Notes  []string   `json:"notes"`
	}{d.Name, d.Title, d.Header, d.Rows, d.Notes})
	return append(b, '\n')
}

func newReproduce() *cobra.Command {
	var (
		scale, dir string
		finished   bool
		f          sweepFlags
		write      = map[cli.Output]func(*reproduce.Document) []byte{"text": (*reproduce.Document).Text,
			"csv": (*reproduce.Document).CSV, "markdown": (*reproduce.Document).Markdown,
			"latex": (*reproduce.Document).LaTeX, "json": documentJSON}
	)
	c := &cobra.Command{
		Use:   "reproduce STUDY",
		Short: "Run a published table or figure again and print it beside the published one",
		Long:  reproduceLong,
		Example: "  sotto reproduce list\n  sotto reproduce seed000-table1 --scale smoke\n  sotto " +
			"reproduce seed000-table1 --scale full --dir docs/results/seed000\n  sotto reproduce " +
			"seed002-bounds --scale full --dir docs/results/seed002-figure4 --finished\n  sotto reproduce " +
			"seed000-table4 --scale short\n  sotto reproduce seed000-table1 --scale full --only " +
			"mode=replace-one --only budget=1",
		Args: cli.Exactly(1, "one STUDY"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if !slices.Contains(reproduce.Scales, reproduce.Scale(scale)) {
				return cli.Usagef("--scale: found %q, allowed: smoke, short, full", scale)
			}
			if err := f.output.Check(pageFormats...); err != nil {
				return err
			}
			if dir == "" {
				dir = filepath.Join("reproductions", args[0]+"-"+scale)
			}
			opt := reproduce.Options{Dir: dir, Scale: reproduce.Scale(scale), Finished: finished}
			opt.Sweep = sweep.Options{DataDir: f.dataDir, Workers: f.workers,
				Progress: func(p sweep.Progress) {
					fmt.Fprintf(cli.Notes(cmd), "run %d of %d  %s  %s  epsilon %s  %.1f s  left %s\n",
						p.Done, p.Of, p.Cell, quality(p.Row), atMost(p.Row.EpsilonUpper), p.Seconds,
						p.Left.Round(time.Second))
				}}
			var err error
			if opt.Sweep.Part, err = f.part.read(os.Getenv); err != nil {
				return err
			}
			opt.Sweep.Command = "sotto reproduce " + args[0] + " --scale " + scale
			ctx, shown, err := watch.Run(cmd, &f.live, &opt.Sweep.Watch, "reproduce")
			if err != nil {
				return err
			}
			defer shown.Close()
			return rememberFigures(func() error {
				d, err := papers.All.Run(ctx, args[0], opt)
				if err != nil {
					return err
				}
				_, err = cmd.OutOrStdout().Write(write[f.output](d))
				return err
			})
		},
	}
	fl := c.Flags()
	fl.StringVar(&scale, "scale", "smoke",
		"smoke: under a minute, figures mean nothing; short: a stated part of a study whose full size "+
			"takes weeks; full: the publication's size")
	fl.StringVar(&dir, "dir", "", "directory of the study; default: reproductions/STUDY-SCALE")
	fl.BoolVar(&finished, "finished", false, "report on the finished runs, and run nothing")
	f.output.Register(c, pageFormats...)
	f.live.Register(c)
	cli.Formerly(c, "format", "output")
	f.part.register(fl)
	cli.WorkersFlag(c, &f.workers, "runs at the same time; 0: one for each processor; changes no result")
	cli.DataDirFlag(c, &f.dataDir)
	c.AddCommand(newCampaign(), newReproduceList())
	return c
}

func newReproduceList() *cobra.Command {
	var output cli.Output
	c := &cobra.Command{
		Use:   "list",
		Short: "List the studies",
		Args:  cli.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			type study struct {
				Name     string `json:"name"`
				Citation string `json:"citation"`
				Title    string `json:"title"`
			}
			var studies []study
			for name, all := range papers.All.Studies() {
				studies = append(studies, study{name, papers.All.Citation(name), all.Title})
			}
			slices.SortFunc(studies, func(a, b study) int { return cmp.Compare(a.Name, b.Name) })
			if output.JSON() {
				return json.NewEncoder(cmd.OutOrStdout()).Encode(studies)
			}
			t := tabwriter.NewWriter(cmd.OutOrStdout(), 0, 4, 2, ' ', 0)
			for _, s := range studies {
				fmt.Fprintf(t, "%s\t%s\t%s\n", s.Name, s.Citation, s.Title)
			}
			return t.Flush()
		},
	}
	output.Register(c)
	return c
}
