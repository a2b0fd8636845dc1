//go:build !operator

package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"sotto/cmd/sotto/cli"
	"sotto/experiment"
	"sotto/report"
)

func newReport() *cobra.Command {
	var out, plots string
	c := &cobra.Command{
		Use:   "report RUN...",
		Short: "Make one HTML page, SVG plots and CSV values from finished runs",
		Long: cli.Unwrap(`Make one self-contained HTML page from finished runs, and beside it a folder with \
every plot as SVG and its values as CSV.

RUN is a run directory, a sweep directory, a folder of run directories, or the state directory of a \
finished node, whose page is for its owner alone. Runs that differ only in their \
seed are drawn as one
curve with its standard deviation; runs of one setting show the range over agents. A run without privacy \
among the others is
what privacy's loss by class and agent is measured against.`),
		Example: "  sotto report runs/mnist-dsgd-1a2b3c4d\n  sotto report runs/ring-* runs/complete-* " +
			"--out graphs.html\n  sotto report sweeps/sweep-sweep-1a2b3c4d --out sweep.html --plots plots",
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return cli.Usagef("%s takes one RUN or more, found none; see %s --help",
					cmd.CommandPath(), cmd.CommandPath())
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			if plots == "" {
				plots = strings.TrimSuffix(out, filepath.Ext(out)) + "-plots"
			}
			page, files, err := report.Read(experiment.EngineVersion, args)
			if err != nil {
				return err
			}
			if len(files) > 0 {
				if err := os.MkdirAll(plots, 0o755); err != nil {
					return err
				}
			}
			for _, f := range files {
				if err := os.WriteFile(filepath.Join(plots, f.Name), f.Bytes, 0o644); err != nil {
					return err
				}
			}
			if err := os.WriteFile(out, page, 0o644); err != nil {
				return err
			}
			if len(files) == 0 {
				_, err = fmt.Fprintln(cmd.OutOrStdout(), out)
				return err
			}
			_, err = fmt.Fprintf(cmd.OutOrStdout(), "%s, %d plots in %s\n", out, len(files)/2, plots)
			return err
		},
	}
	c.Flags().StringVar(&out, "out", "report.html", "file to write")
	c.Flags().StringVar(&plots, "plots", "",
		"folder of plots; default: the file's name without its ending, and -plots")
	return c
}
