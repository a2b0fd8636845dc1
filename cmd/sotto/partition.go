package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"

	"github.com/spf13/cobra"

	"sotto/cmd/sotto/cli"
	"sotto/config"
	"sotto/data"
	"sotto/experiment/forecast"
)

// dealt is what "data partition" prints.
type dealt struct {
	Files []dealtFile       `json:"files"`
	Plan  forecast.Forecast `json:"plan"`
}

type dealtFile struct {
	Path    string `json:"path"`
	Records int    `json:"records"`
}

func newDataPartition() *cobra.Command {
	var (
		dir, out string
		set      []string
		output   cli.Output
	)
	c := &cobra.Command{
		Use:   "partition FILE --out DIR",
		Short: "Split a run file's data set over its agents, one folder each, to rehearse with nodes",
		Long: `Split the records of a run file's data set, training and test together, over its agents, as the
file's partition says. Each agent gets a folder agent-N with a file in the format of the original,
which sotto node reads as an owner's own. Incomplete records are left out. The files are as private
as the original. Data sets: csv, heart-disease.

The printed table is that of sotto plan. Nodes hold out their test records from their own files,
which may move a record or two between training and test. Nodes take run files with partition =
"natural" only.`,
		Example: "  sotto data partition examples/hospitals/heart.toml --out rehearsal",
		Args:    cli.Exactly(1, "one FILE"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if out == "" {
				return cli.Usagef("--out: found nothing, allowed: a folder that does not exist yet")
			}
			out = filepath.Clean(out)
			e, err := build(args, set, dir)
			if err != nil {
				return err
			}
			plan, err := forecast.Of(e)
			if err != nil {
				return err
			}
			files, records, err := e.Deal(dir)
			if err != nil {
				return err
			}
			err = data.WriteDealt(out, files)
			if errors.Is(err, fs.ErrExist) {
				return cli.Usagef("--out: %s exists; nothing is overwritten", out)
			}
			if err != nil {
				return err
			}
			w := cmd.OutOrStdout()
			if output.JSON() {
				d := dealt{Plan: plan}
				for i, n := range records {
					d.Files = append(d.Files, dealtFile{data.DealtPath(out, i), n})
				}
				return json.NewEncoder(w).Encode(d)
			}
			for i, n := range records {
				fmt.Fprintf(w, "%s\t%s\n", data.DealtPath(out, i), config.Count(n, "record"))
			}
			if e.Partition() != "natural" {
				fmt.Fprintf(w, "nodes read these files under partition = \"natural\", this run file has %q\n",
					e.Partition())
			}
			return writePlan(w, &plan)
		},
	}
	c.Flags().StringVar(&out, "out", "", "folder to make; it must not exist")
	c.Flags().StringArrayVar(&set, "set", nil,
		"change one key of the run file, section.key=value (repeatable)")
	output.Register(c)
	cli.DataDirFlag(c, &dir)
	return c
}
