package main

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"sotto/experiment/owner"
	"sotto/experiment/rundir"
	"sotto/node"
	"time"

	"github.com/spf13/cobra"
)

func newStatus() *cobra.Command {
	var output string
	c := &cobra.Command{
		Use:   "status DIR",
		Short: "What the node with this state directory is doing, or did last",
		Args:  exactly(1, "one DIR"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := checkOutput(output); err != nil {
				return err
			}
			b, err := os.ReadFile(filepath.Join(args[0], owner.StatusFile))
			if err != nil {
				return err
			}
			if output == "json" {
				_, err := cmd.OutOrStdout().Write(append(b, '\n'))
				return err
			}
			var s node.Status
			if err := json.Unmarshal(b, &s); err != nil {
				return fmt.Errorf("%s: %w", owner.StatusFile, err)
			}
			return sayStatus(cmd.OutOrStdout(), &s)
		},
	}
	outputFlag(c, &output)
	return c
}

func sayStatus(w io.Writer, s *node.Status) error {
	row, flush := rows(w)
	row("member", "%s", s.Name)
	left := ""
	if s.Left > 0 {
		left = fmt.Sprintf(", about %v left", time.Duration(float64(s.Left)*float64(time.Second)))
	}
	if s.Rounds == 0 {
		row(s.Pace, "%d", s.Round)
	} else {
		row(one(s.Pace), "%d of %d%s", s.Round, s.Rounds, left)
	}
	switch {
	case s.Failure != "":
		row("STOPPED", "%s", s.Failure)
	case s.Finished:
		row("state", "finished")
	case s.Exhausted:
		row("state", "the privacy budget is spent: mixes only")
	}
	if p := s.Privacy; p != nil {
		row("privacy", "epsilon %s of %g at delta %g, %d ledger records", rundir.FormatFine(p.Epsilon),
			p.Lifetime,
			p.Delta, p.Records)
	}
	c := &s.Counts
	row("frames", "%d missing, %d one-sided, %d refused, %d old or repeated; %d rounds skipped", c.Missing,
		c.OneSided, c.Refused, c.Stale+c.Replayed, c.Skipped)
	if c.Busy > 0 {
		row("busy", "%d meetings that this member or a neighbor had no time for", c.Busy)
	}
	for _, p := range s.Peers {
		text := fmt.Sprintf("%s since %s, %s %d", p.State, p.Since.Format(time.DateTime), one(s.Pace),
			p.Round)
		if p.Fault != "" {
			text += ": " + p.Fault
		}
		if c := p.Attestation; c != nil {
			text += fmt.Sprintf("; it claims epsilon %s at delta %g, %d ledger records",
				rundir.FormatFine(c.Epsilon), c.Delta, c.Head.Seq)
		}
		row(p.Name, "%s", text)
	}
	return flush()
}
