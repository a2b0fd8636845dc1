//go:build !operator

package main

import (
	"github.com/spf13/cobra"

	"sotto/cmd/sotto/cli"
	"sotto/experiment/attack"
	"sotto/node/roster"
)

func newAuditWire() *cobra.Command {
	f := auditFlags{}
	var answers int
	var files []string
	c := &cobra.Command{
		Use:   "wire CAPTURE LEDGERDIR",
		Short: "Compare what has left a live node with what its ledger was charged for",
		Long: cli.Unwrap(`Compare what has left a live node (sotto node --capture FILE) with what its ledger \
was charged for.

No message may leave in two versions, and none for a round whose answers were not charged; after the last \
charge a node only mixes. Charges
that were added because the ledger was rolled back count for the rounds between, and the report says how \
many. The ledger itself is verified
first. Exit code 3 when something does not hold.`),
		Example: "  sotto node --roster roster.toml --key a.key --data a.csv --policy policy.toml --state " +
			"a --capture a.wire\n  sotto audit wire a.wire ledger/4f1d",
		Args: cli.Exactly(2, "CAPTURE and LEDGERDIR"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := f.output.Check(); err != nil {
				return err
			}
			if answers < 0 {
				return cli.Usagef("--answers: found %d, allowed: 0 or more", answers)
			}
			var rosters []*roster.Roster
			for _, file := range files {
				r, err := roster.Read(file)
				if err != nil {
					return err
				}
				rosters = append(rosters, r)
			}
			r, err := attack.Wire(args[0], args[1], answers, rosters...)
			if err != nil {
				return err
			}
			return f.write(cmd.OutOrStdout(), r)
		},
	}
	c.Flags().IntVar(&answers, "answers", 1,
		"that the algorithm asks for in a round; 0: look for messages in two versions only")
	c.Flags().StringArrayVar(&files, "roster", nil,
		"an amended roster of the run, for a node that came with it; others stand in the capture")
	f.output.Register(c)
	return c
}
