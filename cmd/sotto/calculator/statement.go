//go:build !operator

package calculator

import (
	"encoding/json"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"sotto/cmd/sotto/cli"
	"sotto/experiment"
	"sotto/experiment/rundir"
	"sotto/report"
)

func newAccountStatement() *cobra.Command {
	var output cli.Output
	var out string
	c := &cobra.Command{
		Use:   "statement DIR",
		Short: "The privacy statements of a run or node, recomputed from the ledger, in words",
		Long: cli.Unwrap(`\
The privacy statements of a run directory, or of a finished node's state directory, in words: who is
protected, what epsilon and delta mean, and epsilon as odds.
The ledger is verified first. With --out the command writes a page to print and sign.`),
		Args: cli.Exactly(1, "one run's or node's DIR"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := output.Check(); err != nil {
				return err
			}
			if _, err := rundir.LedgerOf(args[0]); err != nil {
				return err
			}
			if out != "" {
				page, err := report.Statement(experiment.EngineVersion, args[0])
				if err != nil {
					return err
				}
				return cli.WriteTo(cmd, out, page, cli.ForAll, args[0])
			}
			statements, err := rundir.Statements(args[0])
			if err != nil {
				return err
			}
			if output.JSON() {
				return json.NewEncoder(cmd.OutOrStdout()).Encode(statements)
			}
			return sayStatements(cmd.OutOrStdout(), args[0], statements)
		},
	}
	output.Register(c)
	c.Flags().StringVar(&out, "out", "", "HTML file to write, to print and sign")
	return c
}

func sayStatements(w io.Writer, dir string, all []rundir.AgentStatement) error {
	names, err := rundir.ReadNames(dir)
	if err != nil {
		return err
	}
	for i := range all {
		who, s := "agents", &all[i].Statement
		var clauses []rundir.Clause
		if rundir.IsNode(dir) {
			n, err := rundir.ReadNode(dir)
			if err != nil {
				return err
			}
			who, clauses = "member", n.Background(s)
		}
		if g, ok := rundir.GuaranteeOf(s); ok {
			clauses = append(clauses, g.Explain()...)
		}
		fmt.Fprintf(w, "%s %s: %s\n", who, names.List(all[i].Agents), all[i].Text)
		for _, c := range clauses {
			if _, err := fmt.Fprintf(w, "  %s: %s\n", c.Term, c.Text); err != nil {
				return err
			}
		}
	}
	return nil
}
