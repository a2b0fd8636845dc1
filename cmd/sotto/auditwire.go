package main

import (
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"sotto/node"
	"sotto/privacy/audit"
	"sotto/privacy/ledger"
)

func newAuditWire() *cobra.Command {
	f := auditFlags{}
	var answers int
	c := &cobra.Command{
		Use:   "wire CAPTURE LEDGERDIR",
		Short: "Compare what has left a live node with what its ledger was charged for",
		Long: `Compare what has left a live node (sotto node --capture FILE) with what its ledger was charged for.

No message may leave in two versions, and none for a round whose answers were not charged; after the last charge a node only mixes. The
ledger itself is verified first. Exit code 3 when something does not hold.`,
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
			if _, err := ledger.Verify(args[1], ledger.Options{}); err != nil {
				return err
			}
			r, err := auditWire(args[0], args[1], answers)
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

// auditWire reads a capture, which is of one run, and that run's charges.
func auditWire(capture, dir string, answers int) (*audit.Report, error) {
	file, err := os.Open(capture)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	w := &audit.Wire{Answers: answers}
	run, frames := "", 0
	err = node.ReadCapture(file, func(s node.Sent) error {
		of := fmt.Sprintf("%x", s.Frame.Run[:16])
		if frames++; run != "" && of != run {
			return fmt.Errorf("frame %d: of run %s, the frames before are of %s: capture every run to a "+
				"file of its own", frames-1, of, run)
		}
		run = of
		switch s.Frame.Kind {
		case node.Token, node.Offer, node.Reply: // their numbers are not those of the charges' rounds
			w.Answers = 0
		case node.Messages:
		default:
			return nil
		}
		w.Sent(uint8(s.Frame.Kind), s.To, s.Frame.Round, s.Frame.Payload)
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("%s: %w", capture, err)
	}
	for r, err := range ledger.History(dir, ledger.Options{}) {
		if err != nil {
			return nil, err
		}
		if r.Kind == ledger.Charge && r.Run == run {
			w.Charged(r.Round, int(r.Count))
		}
	}
	return w.Report("run " + run), nil
}
