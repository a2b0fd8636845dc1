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
		Short: "Compare what a live node has sent with what its ledger was charged for",
		Long: cli.Unwrap(`\
Compare what a live node (sotto node --capture FILE) has sent with what its ledger was charged for.

No message may leave in two versions, not even for two neighbors, and none for a round whose answers
were not charged. After the last charge a node only mixes. The state directory says which rounds ask
for answers, and may be given in place of LEDGERDIR. Tokens and meetings are not matched with single
charges, but without any charge none may leave. Charges that were added because the ledger was
rolled back count for the rounds between, and the report says how many there are. The ledger itself
is verified first. Exit code 3 means that one of these does not hold.`),
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
			n, err := captured(args)
			if err != nil {
				return err
			}
			rosters := make([]*roster.Roster, len(files))
			for i, file := range files {
				if rosters[i], err = roster.Read(file); err != nil {
					return err
				}
			}
			asks := n.Asks
			if asks == nil || cmd.Flags().Changed("answers") {
				asks = attack.EveryRound(answers)
			}
			r, err := attack.Wire(n.Capture, n.Ledger, asks, rosters...)
			if err != nil {
				return err
			}
			return f.write(cmd.OutOrStdout(), r)
		},
	}
	c.Flags().IntVar(&answers, "answers", 1,
		"answers that the algorithm asks for in every round, in place of what the state directory says; 0: "+
			"do not compare them")
	c.Flags().StringArrayVar(&files, "roster", nil,
		"an amended roster of the run, for a node that joined with it; the capture holds the others")
	f.output.Register(c)
	return c
}

// captured are the capture and the ledger that the arguments name, or a node's state
// directory does, which says which rounds ask, too.
func captured(args []string) (n *rundir.Node, err error) {
	n = new(rundir.Node)
	switch dir := args[len(args)-1]; {
	case rundir.IsNode(dir):
		n, err = rundir.ReadNode(dir)
	case len(args) == 2:
		n.Ledger, err = rundir.LedgerOf(dir)
	default:
		err = cli.Usagef("found one argument that is no node's state directory, allowed: CAPTURE and " +
			"LEDGERDIR, or STATEDIR")
	}
	if err == nil && len(args) == 2 {
		n.Capture = args[0]
	} else if err == nil && n.Capture == "" {
		err = cli.Usagef("%s: found a node without --capture, allowed: one with it, or CAPTURE and LEDGERDIR",
			args[0])
	}
	return n, err
}
