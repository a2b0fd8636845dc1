//go:build !operator

package main

import (
	"github.com/spf13/cobra"

	"sotto/cmd/sotto/cli"
	"sotto/experiment/attack"
	"sotto/experiment/rundir"
	"sotto/node/roster"
)

func newAuditWire() *cobra.Command {
	f := auditFlags{}
	var answers int
	var files []string
	c := &cobra.Command{
		Use:   "wire CAPTURE LEDGERDIR | STATEDIR",
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
		Args: cli.Between(1, 2, "CAPTURE and LEDGERDIR, or STATEDIR"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := f.output.Check(); err != nil {
				return err
			}
			if answers < 0 {
				return cli.Usagef("--answers: found %d, allowed: 0 or more", answers)
			}
			capture, dir, err := captured(args)
			if err != nil {
				return err
			}
			var rosters []*roster.Roster
			for _, file := range files {
				r, err := roster.Read(file)
				if err != nil {
					return err
				}
				rosters = append(rosters, r)
			}
			r, err := attack.Wire(capture, dir, answers, rosters...)
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

// captured are the capture and the ledger that the arguments name, or a node's state
// directory does.
func captured(args []string) (capture, ledger string, err error) {
	if len(args) == 2 {
		ledger, err = rundir.LedgerOf(args[1])
		return args[0], ledger, err
	}
	if !rundir.IsNode(args[0]) {
		return "", "", cli.Usagef("found one argument that is no node's state directory, allowed: CAPTURE " +
			"and LEDGERDIR, or STATEDIR")
	}
	n, err := rundir.ReadNode(args[0])
	if err == nil && n.Capture == "" {
		err = cli.Usagef("%s: found a node without --capture, allowed: one with it, or CAPTURE and LEDGERDIR",
			args[0])
	}
	if err != nil {
		return "", "", err
	}
	return n.Capture, n.Ledger, nil
}
