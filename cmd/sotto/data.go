package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"sotto/cmd/sotto/cli"
	"sotto/cmd/sotto/schemas"
	"sotto/cmd/sotto/watch"
	"sotto/data"
	"sotto/data/catalog"
	"sotto/data/fetch"
	"sotto/data/schema"
	"sotto/data/summary"
)

func newData() *cobra.Command {
	return cli.Group("data",
		"List, fetch, verify, inspect and partition data sets; agree on what a record is",
		newDataList(), newDataFetch(), newDataVerify(), newDataInspect(), newDataPartition(),
		schemas.New())
}

func newDataList() *cobra.Command {
	var output cli.Output
	c := &cobra.Command{
		Use:   "list",
		Short: "Data sets that a run file can name",
		Args:  cli.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := output.Check(); err != nil {
				return err
			}
			if output.JSON() {
				return json.NewEncoder(cmd.OutOrStdout()).Encode(catalog.List())
			}
			t := tabwriter.NewWriter(cmd.OutOrStdout(), 0, 4, 2, ' ', 0)
			fmt.Fprintln(t, "name\trecords\tshape\ttask\tterms")
			for _, e := range catalog.List() {
				fmt.Fprintf(t, "%s\t%s\t%s\t%s\t%s\n", e.Name, e.Records, e.Shape, e.Task, e.Terms)
			}
			return t.Flush()
		},
	}
	output.Register(c)
	return c
}

// fileLine is one line of "data verify".
type fileLine struct {
	Dataset string `json:"dataset"`
	File    string `json:"file"`
	State   string `json:"state"` // ok, missing, altered
	Detail  string `json:"detail,omitempty"`
}

func newDataVerify() *cobra.Command {
	var dir string
	var output cli.Output
	c := &cobra.Command{
		Use: "verify [NAME...]",
		Short: "Compare data files with their published size and SHA-256; exit code 4 when one is altered " +
			"or missing",
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := output.Check(); err != nil {
				return err
			}
			for _, name := range args {
				if _, ok := data.Datasets[name]; !ok {
					return cli.Usagef("no data set %q; see sotto data list", name)
				}
			}
			lines, err := verify(dir, args)
			if output.JSON() {
				return errors.Join(json.NewEncoder(cmd.OutOrStdout()).Encode(lines), err)
			}
			t := tabwriter.NewWriter(cmd.OutOrStdout(), 0, 4, 2, ' ', 0)
			for _, l := range lines {
				fmt.Fprintf(t, "%s\t%s\t%s\n", l.State, l.File, l.Detail)
			}
			return errors.Join(t.Flush(), err)
		},
	}
	output.Register(c)
	cli.DataDirFlag(c, &dir)
	return c
}

// verify checks the files of the named data sets. Of all data sets when none is named:
// then files that are not there are reported, but are no error. The error is the first
// altered, unreadable or missing file.
func verify(dir string, named []string) ([]fileLine, error) {
	var (
		lines []fileLine
		first error
	)
	for _, s := range catalog.Verify(dir) {
		if len(named) > 0 && !slices.Contains(named, s.Dataset) {
			continue
		}
		l := fileLine{Dataset: s.Dataset, File: s.Path, State: s.State()}
		bad := l.State != "ok" && l.State != "missing"
		if bad {
			l.Detail = s.Err.Error()
		}
		if first == nil && (bad || l.State == "missing" && len(named) > 0) {
			first = s.Err
		}
		lines = append(lines, l)
	}
	return lines, first
}

func newDataInspect() *cobra.Command {
	var (
		dir    string
		output cli.Output
		seed   uint64
		set    []string
		record string
	)
	c := &cobra.Command{
		Use:   "inspect NAME",
		Short: "Shape, classes, groups and moments of a data set (exact figures, no differential privacy)",
		Example: "  sotto data inspect mnist --set resize=32\n  sotto data inspect csv --set " +
			"path=patients.csv --set label=outcome",
		Args: cli.Exactly(1, "one NAME"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := output.Check(); err != nil {
				return err
			}
			decode := cli.DecodeSettings(set)
			if record != "" && args[0] != data.TableName {
				return cli.Usagef("--schema: found %s, allowed: none with data set %s: %s has one", record,
					args[0], data.TableName)
			}
			if record != "" {
				s, err := schema.Read(record)
				if err != nil {
					return err
				}
				decode = data.WithSchema(decode, s)
			}
			split, err := data.Load(args[0], dir, seed, decode)
			if err != nil {
				return err
			}
			parts := []summary.Summary{summary.Of(split.Train), summary.Of(split.Test)}
			if output.JSON() {
				return json.NewEncoder(cmd.OutOrStdout()).Encode(map[string]summary.Summary{"train": parts[0],
					"test": parts[1]})
			}
			for i, s := range parts {
				fmt.Fprintf(cmd.OutOrStdout(), "%s %s\n", s.Name, []string{"training", "test"}[i])
				if err := writeSummary(cmd, s); err != nil {
					return err
				}
			}
			return nil
		},
	}
	c.Flags().StringVar(&record, "schema", "", "schema file, of data set table")
	c.Flags().Uint64Var(&seed, "seed", 1, "seed of generators and of drawn held-out parts")
	c.Flags().StringArrayVar(&set, "set", nil, "parameter of the data set, key=value (repeatable)")
	output.Register(c)
	cli.DataDirFlag(c, &dir)
	return c
}

func writeSummary(cmd *cobra.Command, s summary.Summary) error {
	line, flush := rows(cmd.OutOrStdout())
	row := func(what, format string, args ...any) { line("  "+what, format, args...) }
	row("records", "%d", s.Records)
	row("shape", "%d x %d x %d", s.Shape[0], s.Shape[1], s.Shape[2])
	row("features", "%.4g to %.4g, mean %.5g, sd %.5g", s.Features.Min, s.Features.Max, s.Features.Mean,
		s.Features.Std)
	row("largest norm", "%.5g", s.NormMax)
	if s.Targets != nil {
		row("target", "%.4g to %.4g, mean %.5g, sd %.5g", s.Targets.Min, s.Targets.Max, s.Targets.Mean,
			s.Targets.Std)
	}
	counts := func(names []string, n []int) string {
		var parts []string
		for i, c := range n {
			name := fmt.Sprint(i)
			if i < len(names) {
				name = names[i]
			}
			parts = append(parts, fmt.Sprintf("%s %d", name, c))
		}
		return strings.Join(parts, ", ")
	}
	if s.Classes > 0 {
		row("classes", "%s", counts(s.ClassNames, s.Counts))
	}
	if len(s.Groups) > 0 {
		row("groups", "%s", counts(s.GroupNames, s.Groups))
	}
	row("digest", "%s", s.Digest)
	return flush()
}

func newDataFetch() *cobra.Command {
	var dir string
	var output cli.Output
	c := &cobra.Command{
		Use:   "fetch NAME",
		Short: "Download a data set from its public mirrors, with SHA-256 check and resume",
		Args:  cli.Exactly(1, "one NAME"),
		RunE: func(cmd *cobra.Command, args []string) error {
			p := watch.NewBar(cli.Notes(cmd))
			var opt fetch.Options
			if p.Terminal && !cli.Quiet(cmd) {
				opt.Progress = p.Download
			}
			err := fetch.Fetch(cmd.Context(), args[0], dir, opt)
			p.Close()
			if err != nil {
				return err
			}
			return output.Print(cmd.OutOrStdout(), map[string]string{"dataset": args[0], "folder": dir},
				"%s is complete in %s\n", args[0], dir)
		},
	}
	output.Register(c)
	cli.DataDirFlag(c, &dir)
	return c
}
