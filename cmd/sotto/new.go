package main

import (
	"encoding/json"
	"fmt"
	"path/filepath"

	"github.com/spf13/cobra"

	"sotto/cmd/sotto/cli"
	"sotto/cmd/sotto/scaffold"
)

// begun is what "new" prints.
type begun struct {
	Kind  string   `json:"kind"`
	Files []string `json:"files"`
}

func newNew() *cobra.Command {
	var kind string
	var output cli.Output
	c := &cobra.Command{
		Use:   "new DIR",
		Short: "Start from an example: a folder with a commented run file and the commands to run, in order",
		Long: cli.Unwrap(`\
Start from an example: write a folder with a run file, in which a comment on each key says what it
means and what values it takes, and a README.md with the commands to run, in order. All of them run
as they stand.

simulation  ten owners on this machine learn generated digits
table       your own table of records, in a simulation; it holds made-up records until you replace them
federation  members with keys, policies and a roster, all on one machine

DIR must be new or empty: nothing is overwritten.`),
		Example: "  sotto new mine\n  sotto new mine --kind table",
		Args:    cli.Exactly(1, "one DIR"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := output.Check(); err != nil {
				return err
			}
			files, err := scaffold.Write(args[0], kind)
			if err != nil {
				return cli.OfFlag(err, map[string]string{"kind": "--kind"})
			}
			if output.JSON() {
				return json.NewEncoder(cmd.OutOrStdout()).Encode(begun{kind, files})
			}
			for _, f := range files {
				fmt.Fprintln(cmd.OutOrStdout(), f)
			}
			_, err = fmt.Fprintf(cmd.OutOrStdout(), "%s has the commands to run in this folder, in order\n",
				filepath.Join(args[0], "README.md"))
			return err
		},
	}
	c.Flags().StringVar(&kind, "kind", scaffold.Kinds[0], "simulation, table or federation")
	output.Register(c)
	return c
}
