//go:build !operator

package main

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"sotto/cmd/sotto/cli"
	"sotto/experiment"
	"sotto/experiment/rundir"
	"sotto/internal/atomicfile"
	"sotto/report"
)

func newReport() *cobra.Command {
	var out, plots string
	var output cli.Output
	c := &cobra.Command{
		Use:   "report RUN...",
		Short: "Make one HTML page, SVG plots and CSV values from finished runs",
		Long: cli.Unwrap(`\
Make one self-contained HTML page from finished runs, and beside it a folder with every plot as SVG
and its values as CSV.

RUN is a run directory, a sweep directory, a folder of run directories, or the state directory of a
finished node, whose page is for its owner alone. Runs that differ only in their seed are drawn as
one curve with its standard deviation. Settings are compared over the seeds that they share, on the
page and in differences.csv. Runs of one setting show the range over agents. If one of the runs has
no privacy, the page shows what privacy costs each class and agent compared with it.`),
		Example: "  sotto report runs/mnist-dsgd-1a2b3c4d\n  sotto report runs/ring-* runs/complete-* " +
			"--out graphs.html\n  sotto report sweeps/sweep-sweep-1a2b3c4d --out sweep.html --plots plots",
		Args: cli.Between(1, math.MaxInt, "one RUN or more"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if plots == "" {
				plots = strings.TrimSuffix(out, filepath.Ext(out)) + "-plots"
			}
			page, files, err := report.Read(experiment.EngineVersion, args)
			if err != nil {
				return err
			}
			mode := cli.ForAll
			if rundir.IsNode(args[0]) {
				mode = cli.ForOwner
			}
			if err := cli.WriteFile(out, page, mode, args...); err != nil {
				return err
			}
			if len(files) > 0 {
				if err := os.MkdirAll(plots, 0o755); err != nil {
					return err
				}
			}
			for _, f := range files {
				if err := atomicfile.Write(filepath.Join(plots, f.Name), f.Bytes); err != nil {
					return err
				}
			}
			drawn := 0
			for _, f := range files {
				if filepath.Ext(f.Name) == ".svg" {
					drawn++
				}
			}
			said := fmt.Sprintf("%s, %d plots in %s\n", out, drawn, plots)
			made := map[string]any{"page": out, "plots": drawn, "folder": plots}
			if len(files) == 0 {
				said, made = out+"\n", map[string]any{"page": out, "plots": 0}
			}
			return output.Print(cmd.OutOrStdout(), made, "%s", said)
		},
	}
	output.Register(c)
	c.Flags().StringVar(&out, "out", "report.html", "file to write")
	c.Flags().StringVar(&plots, "plots", "",
		"folder of plots; default: the file's name without its ending, plus -plots")
	return c
}
