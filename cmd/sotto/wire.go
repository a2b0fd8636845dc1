package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"sotto/experiment/attack"
)

func newAuditWire() *cobra.Command {
	f := auditFlags{}
	var answers int
	c := &cobra.Command{
		Use:   "wire CAPTURE LEDGERDIR",
		Short: "Compare what has left a live node with what its ledger was charged for",
		Long: unwrap(`Compare what has left a live node (sotto node --capture FILE) with what its ledger \
was charged for.

No message may leave in two versions, and none for a round whose answers were not charged; after the last \
charge a node only mixes. The
ledger itself is verified first. Exit code 3 when something does not hold.`),
		Example: "  sotto node --roster roster.toml --key a.key --data a.csv --policy policy.toml --state " +
			"a --capture a.wire\n  sotto audit wire a.wire ledger/4f1d",
		Args: exactly(2, "CAPTURE and LEDGERDIR"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := checkOutput(f.output); err != nil {
				return err
			}
			if answers < 0 {
				return usageError{fmt.Errorf("--answers: found %d, allowed: 0 or more", answers)}
			}
			r, err := attack.Wire(args[0], args[1], answers)
			if err != nil {
				return err
			}
			return f.write(cmd.OutOrStdout(), r)
		},
	}
	c.Flags().IntVar(&answers, "answers", 1,
		"that the algorithm asks for in a round; 0: look for messages in two versions only")
	outputFlag(c, &f.output)
	return c
}
