package main

import (
	"crypto/ed25519"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"sotto/experiment/owner"
	"sotto/experiment/rundir"
	"sotto/node"
	"sotto/node/p2p"
)

type nodeFlags struct {
	files       owner.Files
	node        node.Config  // what the owner chooses of it
	daemon      owner.Daemon // the same
	listen      string
	iUnderstand []string
	check       bool
	quiet, mdns bool
}

// overrideVolatile accepts a file system that may lose what was synced; the ledger
// records it.
const overrideVolatile = "volatile"

func newNode() *cobra.Command {
	var f nodeFlags
	c := &cobra.Command{
		Use: "node --key FILE --data FILE --policy FILE --state DIR",
		Short: "Take part in an experiment as one member of a signed roster, with your own data, key and " +
			"ledger",
		Long: unwrap(`Take part in an experiment as one member of a signed roster, with your own data, key \
and ledger.

What the policy does not allow is refused. Every answer of the data is charged to the owner's durable \
ledger before it is
computed. A node that was stopped, killed or cut off goes on from its state directory when it is started \
again.`),
		Example: unwrap(`  sotto node --roster roster.toml --key hospital-a.key --data a.csv --policy \
policy.toml --state state --check
  sotto node --roster roster.toml --key hospital-a.key --data a.csv --policy policy.toml --state state \
--http 127.0.0.1:7070`),
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return f.run(cmd) },
	}
	registerRoster(c, &f.files)
	fl := c.Flags()
	fl.StringVar(&f.files.Key, "key", "", "the member's key file")
	fl.StringVar(&f.files.Data, "data", "", "the owner's records")
	fl.StringVar(&f.files.Policy, "policy", "", "what the owner allows")
	fl.StringVar(&f.daemon.State, "state", "", "directory of this run's state and results, on a local disk")
	fl.StringVar(&f.listen, "listen", "",
		"host:port to listen on; default: the member's address of the roster")
	fl.BoolVar(&f.mdns, "mdns", false,
		"announce this node in the local network, and look there for members who are not at their "+
			"roster's address")
	fl.StringVar(&f.daemon.HTTP, "http", "",
		"loopback host:port for /status, /metrics and /healthz; default: none")
	fl.StringVar(&f.daemon.Capture, "capture", "",
		"append every frame to this file before it is sent, for sotto audit wire")
	fl.StringVar(&f.node.Missing, "missing", node.Wait,
		"peers that miss a round's deadline: wait for them, or proceed with their weight on self")
	fl.DurationVar(&f.node.Deadline, "deadline", time.Minute, "of a round")
	fl.DurationVar(&f.node.Linger, "linger", 10*time.Minute,
		"how long to serve slower neighbors after the last round")
	fl.DurationVar(&f.node.SendTimeout, "send-timeout", time.Minute,
		"of one attempt to send; raise it for large models on slow links")
	fl.DurationVar(&f.daemon.Pad, "pad", 0,
		"how long every answer of the data takes at least, so that times of messages do not tell the "+
			"sizes of batches; default: as long as it takes")
	fl.StringSliceVar(&f.iUnderstand, "i-understand", nil,
		"override a refusal, recorded in the ledger: volatile (a file system that may lose what was synced)")
	fl.BoolVar(&f.daemon.Baseline, "alone", false,
		"at the end, also train on the own records alone, without noise, to compare; nothing of it leaves")
	fl.BoolVar(&f.check, "check", false,
		"say what would happen and what it would cost, and stop; nothing leaves")
	fl.BoolVar(&f.quiet, "quiet", false, "log warnings and errors only")
	return c
}

func (f *nodeFlags) validate() error {
	for _, p := range []struct {
		name, value string
	}{{"key", f.files.Key}, {"data", f.files.Data}, {"policy", f.files.Policy}, {"state", f.daemon.State}} {
		if p.value == "" {
			return usageError{fmt.Errorf("--%s: found nothing, allowed: a path", p.name)}
		}
	}
	for _, o := range f.iUnderstand {
		if o != overrideVolatile {
			return usageError{fmt.Errorf("--i-understand: found %q, allowed: %s", o, overrideVolatile)}
		}
	}
	if f.node.Missing != node.Wait && f.node.Missing != node.Proceed {
		return usageError{fmt.Errorf("--missing: found %q, allowed: %s, %s", f.node.Missing, node.Wait,
			node.Proceed)}
	}
	if f.daemon.Pad < 0 || f.daemon.Pad > node.MaxPad {
		return usageError{fmt.Errorf("--pad: found %v, allowed: 0 to %v", f.daemon.Pad, node.MaxPad)}
	}
	if f.daemon.HTTP != "" {
		return node.CheckLocal(f.daemon.HTTP)
	}
	return nil
}

func (f *nodeFlags) run(cmd *cobra.Command) error {
	if err := f.validate(); err != nil {
		return err
	}
	m, err := f.join(cmd.ErrOrStderr())
	if err != nil {
		return err
	}
	if f.check {
		return f.preflight(cmd.OutOrStdout(), m)
	}
	for _, w := range m.Terms.Warnings {
		m.Node.Log.Warn(w)
	}
	return f.takePart(cmd, m)
}

// join reads and checks everything that the owner was asked for, and asks the policy.
func (f *nodeFlags) join(log io.Writer) (*owner.Membership, error) {
	level := slog.LevelInfo
	if f.quiet {
		level = slog.LevelWarn
	}
	f.node.Log = slog.New(slog.NewTextHandler(log, &slog.HandlerOptions{Level: level}))
	m, err := owner.Join(f.files, f.node)
	return m, ofFlag(err, map[string]string{"member": "--member"})
}

// takePart runs the node and says what it has come to.
func (f *nodeFlags) takePart(cmd *cobra.Command, m *owner.Membership) error {
	d := f.daemon
	d.Membership = m
	d.Volatile = len(f.iUnderstand) > 0
	d.Dial = func(key ed25519.PrivateKey, maxPayload int) (node.Transport, error) {
		c := p2p.Config{Key: key, Listen: f.listen, MaxPayload: maxPayload, MDNS: f.mdns, Log: m.Node.Log}
		for i, key := range m.Roster.Keys() {
			c.Members = append(c.Members, p2p.Member{Key: key, Address: m.Roster.Members[i].Address})
		}
		return p2p.New(c)
	}
	out, err := d.Run(cmd.Context())
	if out == nil {
		return err
	}
	return errors.Join(sayOutcome(cmd.OutOrStdout(), &d, out), err)
}

func sayOutcome(w io.Writer, d *owner.Daemon, out *owner.Outcome) error {
	s := &out.Status
	if out.Result != nil {
		return sayResult(w, d, out.Result, s, out.Ledger)
	}
	at := fmt.Sprintf("%s %d of %d", one(s.Pace), s.Round, s.Rounds)
	if s.Pace == node.InVisits {
		at = fmt.Sprintf("%d visits", s.Round)
	}
	_, err := fmt.Fprintf(w, "stopped after %s; start it again to go on\n", at)
	return err
}

// one is the singular of a pace.
func one(pace string) string { return strings.TrimSuffix(pace, "s") }

func sayResult(w io.Writer, d *owner.Daemon, r *owner.Result, s *node.Status, ledger string) error {
	row, flush := rows(w)
	if s.Pace == node.InVisits {
		row("visits", "%d, of %d tokens", s.Round, len(d.Terms.Holders))
	} else if s.Pace == node.InWakes {
		row("wakes", "%d of %d, %d without the neighbor that was drawn, %d met on one side only", s.Round,
			s.Rounds, s.Counts.Missing+s.Counts.Busy, s.Counts.OneSided)
	} else {
		row("rounds", "%d, %d frames missing, %d of them one-sided, %d rounds skipped", s.Round,
			s.Counts.Missing, s.Counts.OneSided, s.Counts.Skipped)
	}
	row("epsilon", "%s at delta %g over all runs on these data, %d charges", rundir.FormatFine(r.Epsilon),
		r.Delta,
		r.Charges)
	row(r.Metric, "%.4g on %d own test records", r.Value, r.Tests)
	if r.Over > 0 {
		row("pad", "%d answers took longer than %v: choose a longer --pad", r.Over, d.Pad)
	}
	if r.Alone != nil {
		row("alone", "%.4g, trained on the own records only, without noise", *r.Alone)
	}
	row("model", "%s", filepath.Join(d.State, owner.ModelFile))
	row("statement", "%s, signed; sotto ledger verify %s recomputes it",
		filepath.Join(d.State, owner.StatementFile), ledger)
	return flush()
}
