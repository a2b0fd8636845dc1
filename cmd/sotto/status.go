package main

import (
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"

	"sotto/cmd/sotto/cli"
	"sotto/config"
	"sotto/experiment/owner"
	"sotto/experiment/rundir"
)

func newStatus() *cobra.Command {
	var probe string
	var output cli.Output
	c := &cobra.Command{
		Use:   "status DIR",
		Short: "What the node with this state directory is doing, or did last",
		Long: `What the node with this state directory is doing, or did last.

Exit code 0: the node makes progress, or has finished. 7: its process runs but makes no progress,
and the reason is printed. 6: no process runs, and the run has not finished. With --probe live, 7
counts as 0, because a node that waits for others is healthy; a process that has written no status
for long does not count as alive.`,
		Args: cli.Exactly(1, "one DIR"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := output.Check(); err != nil {
				return err
			}
			if probe != probeReady && probe != probeLive {
				return cli.Usagef("--probe: found %q, allowed: %s, %s", probe, probeReady, probeLive)
			}
			l, b, err := owner.ReadLiveness(args[0], time.Now())
			if err != nil {
				return err
			}
			if output.JSON() {
				_, err = cmd.OutOrStdout().Write(append(b, '\n'))
			} else {
				err = sayStatus(cmd.OutOrStdout(), l)
			}
			if err != nil {
				return err
			}
			return judge(l, probe)
		},
	}
	output.Register(c)
	c.Flags().StringVar(&probe, "probe", probeReady, "what the exit code is about: ready or live")
	return c
}

const (
	probeReady = "ready"
	probeLive  = "live"
)

// judge turns a liveness into an exit code.
func judge(l *owner.Liveness, probe string) error {
	why := l.Why()
	switch {
	case why == "", probe == probeLive && l.Running && !l.Stale && l.Status.Failure == "":
		return nil
	case l.Running && (probe == probeReady || !l.Stale):
		return codeError{errors.New("not ready: " + why), exitNotReady}
	}
	return codeError{errors.New("not running: " + why), exitStopped}
}

func sayStatus(w io.Writer, l *owner.Liveness) error {
	s := &l.Status
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
	if s.Epoch > 0 {
		row("epoch", "%d: the members have changed so often", s.Epoch)
	}
	if s.Change > 0 && s.Round <= s.Change && !s.Finished {
		row("members", "change after %s %d", one(s.Pace), s.Change)
	}
	switch {
	case s.Failure != "":
		row("STOPPED", "%s", s.Failure)
	case s.Finished && s.Exhausted:
		row("state", "finished; %s refused at its end", config.Count(s.Counts.Exhausted, "answer"))
	case s.Finished:
		row("state", "finished")
	case s.Exhausted:
		row("state", "the privacy budget of this run, or of these data, is spent: mixes only")
	}
	if why := l.Why(); why != "" && s.Failure == "" {
		row("NOT READY", "%s", why)
	}
	if fork := owner.Forked(s); fork != "" {
		row("FORK", "%s", fork)
	}
	if p := s.Privacy; p != nil {
		row("privacy", "epsilon %s of %g at delta %g, from %d of %d ledger records",
			rundir.FormatFine(p.Epsilon), p.Lifetime, p.Delta, p.Records, max(p.Records, s.Charges))
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
