package main

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"sotto/cmd/sotto/cli"
	"sotto/cmd/sotto/scaffold"
)

func newNew() *cobra.Command {
	kind := scaffold.Kinds[0]
	c := &cobra.Command{
		Use:   "new DIR",
		Short: "Write a commented start into a new folder: a simulation, owners' tables, or a federation",
		Long: cli.Unwrap(`\
Write a commented start into a new or an empty folder: a run file with each key explained, and a README.md \
with the commands to
run in order.`),
		Example: "  sotto new first\n  sotto new ours --kind table\n  sotto new consortium --kind federation",
		Args:    cli.Exactly(1, "one DIR"),
		RunE: func(cmd *cobra.Command, args []string) error {
			names, err := scaffold.New(kind, args[0])
			if err != nil {
				return cli.OfFlag(err, map[string]string{"kind": "--kind"})
			}
			_, err = fmt.Fprintf(cmd.OutOrStdout(), "%s: %s; begin with README.md\n", args[0],
				strings.Join(names, ", "))
			return err
		},
	}
	c.Flags().StringVar(&kind, "kind", kind, "simulation, table (owners' files by a schema) or federation")
	return c
}
