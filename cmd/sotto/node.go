package main

import (
	"crypto/ed25519"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"sotto/cmd/sotto/cli"
	"sotto/cmd/sotto/keys"
	"sotto/cmd/sotto/schemas"
	"sotto/config"
	"sotto/experiment/owner"
	"sotto/experiment/rundir"
	"sotto/internal/descriptors"
	"sotto/live/event"
	"sotto/node"
	"sotto/node/endpoint"
	"sotto/node/keyfile"
	"sotto/node/p2p"
	"sotto/node/pad"
)

type nodeFlags struct {
	files       owner.Files
	node        node.Config  // what the owner chooses of it
	daemon      owner.Daemon // the same
	reach       reachFlags
	iUnderstand []string
	check       bool
	log         logFlags
	secrets     secretFiles
	output      cli.Output
	live        cli.Live
}

// secretFiles hold what a daemon has to know and nobody else.
type secretFiles struct{ passphrase, token string }

// overrideAnew is what --i-understand overrides besides cli.OverrideVolatile: the people
// are others than those of a ledger of their population. The ledger records both.
const overrideAnew = "new-population"

func newNode() *cobra.Command {
	var f nodeFlags
	c := &cobra.Command{
		Use: "node --key FILE --data FILE --policy FILE --state DIR",
		Short: "Take part in an experiment as one member of a signed roster, with your own data, key and " +
			"ledger",
		Long: cli.Unwrap(`\
Take part in an experiment as one member of a signed roster, with your own data, key and ledger.

The node refuses what the policy does not allow. It charges every answer from the data to the
owner's durable ledger before it computes the answer. A node that was stopped, killed or cut off
resumes from its state directory when it is started again.`),
		Example: cli.Unwrap(`  sotto node --roster roster.toml --key hospital-a.key --data a.csv --policy \
policy.toml --state state --check
  sotto node --roster roster.toml --key hospital-a.key --data a.csv --policy policy.toml --state state \
--http 127.0.0.1:7070`),
		Args: cli.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := f.checkTimes(cmd.Flags()); err != nil {
				return err
			}
			return f.run(cmd)
		},
	}
	registerRoster(c, &f.files)
	fl := c.Flags()
	fl.StringVar(&f.files.Key, "key", "", "the member's key file")
	fl.StringVar(&f.files.FormerKey, "former-key", "",
		"key file that the roster still has for this member, until an amendment with the new key takes "+
			"effect")
	dataFlags(c, &f.files)
	fl.StringVar(&f.files.Policy, "policy", "", "the owner's policy file")
	fl.StringVar(&f.files.Population, "population", "", populationUsage)
	fl.StringVar(&f.daemon.State, "state", "", "directory of this run's state and results, on a local disk")
	f.reach.register(fl)
	fl.StringVar(&f.daemon.HTTP, "http", "",
		"serve /livez, /readyz, /version, /metrics and /status at this loopback host:port or unix:/PATH; "+
			"default: nowhere")
	fl.StringVar(&f.secrets.token, "http-token-file", "",
		"file with the token that /status, and the metrics on ledger and neighbors, ask for; default: over "+
			"host:port nobody gets these")
	keys.PassphraseFlag(c, &f.secrets.passphrase)
	fl.StringVar(&f.daemon.Capture, "capture", "",
		"append every frame to this file before it is sent, for sotto audit wire")
	fl.StringVar(&f.node.Missing, "missing", "",
		"what to do about peers that miss a round's deadline: wait for them, or proceed and give their "+
			"weight to the node's own model; default: what the roster says, or wait")
	fl.DurationVar(&f.node.Deadline, "deadline", 0, "deadline of a round; default: the roster's, or 1m")
	fl.DurationVar(&f.node.Patience, "patience", 0,
		"how long the node goes without progress before it ends and names the members that it waits for; "+
			"default: the roster's, or 24h")
	fl.DurationVar(&f.node.Linger, "linger", 10*time.Minute,
		"how long to serve slower neighbors after the last round")
	fl.DurationVar(&f.node.SendTimeout, "send-timeout", time.Minute,
		"time limit of one attempt to send, at most 5m; raise it for large models on slow links")
	fl.DurationVar(&f.daemon.Pad, "pad", 0,
		"minimum time for every answer from the data, so that the times of messages do not reveal batch "+
			"sizes; default: no minimum")
	fl.StringSliceVar(&f.iUnderstand, "i-understand", nil,
		"override a refusal, and record that in the ledger: volatile (a file system that may lose synced "+
			"data), new-population (these are not the people of the population's ledger: begin a new one)")
	fl.BoolVar(&f.daemon.Baseline, "alone", false,
		"at the end, also train on the owner's records alone, without noise, to compare; none of it leaves "+
			"the node")
	fl.BoolVar(&f.check, "check", false,
		"say what would happen and what it would cost, then stop; nothing leaves the node")
	f.log.register(c)
	f.output.Register(c)
	f.live.Register(c)
	c.AddCommand(newNodeBackup(), newNodeRestore())
	return c
}

// dataFlags add the flags that name an owner's file and say how it is written.
func dataFlags(c *cobra.Command, f *owner.Files) {
	c.Flags().StringVar(&f.Data.Path, "data", "", "the owner's records")
	schemas.ReadingFlags(c, &f.Data.Reading)
}

// checkTimes refuses times that were given and cannot be. 0 is in force as a default, so
// that a node would take another one for it.
func (f *nodeFlags) checkTimes(given *pflag.FlagSet) error {
	for _, t := range []struct {
		name  string
		value time.Duration
	}{{"deadline", f.node.Deadline}, {"patience", f.node.Patience}, {"linger", f.node.Linger},
		{"send-timeout", f.node.SendTimeout}} {
		if given.Changed(t.name) && t.value <= 0 {
			return cli.Usagef("--%s: found %v, allowed: above 0", t.name, t.value)
		}
	}
	if f.node.SendTimeout > p2p.LongestSend {
		return cli.Usagef("--send-timeout: found %v, allowed: above 0, at most %v", f.node.SendTimeout,
			p2p.LongestSend)
	}
	return nil
}

func (f *nodeFlags) validate() error {
	for _, p := range []struct {
		name, value string
	}{{"key", f.files.Key}, {"data", f.files.Data.Path}, {"policy", f.files.Policy},
		{"state", f.daemon.State}} {
		if p.value == "" {
			return cli.Usagef("--%s: found nothing, allowed: a path", p.name)
		}
	}
	for _, o := range f.iUnderstand {
		if o != cli.OverrideVolatile && o != overrideAnew {
			return cli.Usagef("--i-understand: found %q, allowed: %s, %s", o, cli.OverrideVolatile,
				overrideAnew)
		}
	}
	if f.node.Missing != "" && f.node.Missing != node.Wait && f.node.Missing != node.Proceed {
		return cli.Usagef("--missing: found %q, allowed: %s, %s", f.node.Missing, node.Wait, node.Proceed)
	}
	if f.daemon.Pad < 0 || f.daemon.Pad > pad.Longest {
		return cli.Usagef("--pad: found %v, allowed: 0 to %v", f.daemon.Pad, pad.Longest)
	}
	if _, err := f.reach.ways(); err != nil {
		return err
	}
	if err := f.live.Check(); err != nil {
		return err
	}
	if f.secrets.token != "" && f.daemon.HTTP == "" {
		return cli.Usage(errors.New("--http-token-file: found without --http, allowed: with --http"))
	}
	if f.daemon.HTTP != "" {
		return cli.OfFlag(endpoint.CheckLocal(f.daemon.HTTP), map[string]string{"http": "--http"})
	}
	return nil
}

func (f *nodeFlags) run(cmd *cobra.Command) error {
	if err := f.validate(); err != nil {
		return err
	}
	f.log.quiet, f.log.verbose = cli.Quiet(cmd), cli.Verbose(cmd)
	hangups := make(chan os.Signal, 1)
	signal.Notify(hangups, syscall.SIGHUP) // from now on: by default it ends the process
	defer signal.Stop(hangups)
	f.daemon.Reload = owner.Reload{Asked: hangups, Level: &f.log.Level}
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
	f.daemon.Events = event.NewOwned()
	f.live.Connections = descriptors.Page
	_, shown, err := f.live.Show(cmd, m.Name(), f.daemon.Events.Stream(), false)
	if err != nil {
		return err
	}
	defer shown.Close()
	for {
		err := f.takePart(cmd, m)
		if !errors.Is(err, node.ErrChange) {
			return err
		}
		f.files.Epoch = m.Roster.Number() + 1
		if m, err = owner.Join(f.files, f.node); err != nil {
			return err
		}
		f.log.know(m.Roster)
		f.daemon.Reload.Log(m.Policy)
	}
}

// join reads and checks everything that the owner was asked for, and asks the policy.
func (f *nodeFlags) join(log io.Writer) (*owner.Membership, error) {
	var err error
	if f.node.Log, err = f.log.open(log); err != nil {
		return nil, err
	}
	f.daemon.Reload.Usual = f.log.Level.Level()
	f.daemon.Endpoint.Version = versions()
	if f.secrets.token != "" {
		if f.daemon.Endpoint.Token, err = keyfile.ReadToken(f.secrets.token); err != nil {
			return nil, err
		}
	}
	f.files.Passphrase, f.files.State = keys.Passphrase(f.secrets.passphrase), f.daemon.State
	m, err := owner.Join(f.files, f.node)
	if err == nil {
		err = m.CheckPad(f.daemon.Pad)
	}
	if err != nil {
		return nil, cli.OfFlag(err, map[string]string{"pad": "--pad", "member": "--member",
			"population": "--population", "state": "--state", "missing": "--missing",
			"deadline": "--deadline", "patience": "--patience", "delimiter": "--delimiter",
			"encoding": "--encoding", "decimal_comma": "--decimal-comma"})
	}
	f.log.know(m.Roster)
	f.daemon.Reload.Log(m.Policy)
	return m, nil
}

// takePart runs the node and says what it has come to.
func (f *nodeFlags) takePart(cmd *cobra.Command, m *owner.Membership) error {
	endsByContext(cmd.Context())
	d := f.daemon
	d.Membership = m
	d.Volatile = slices.Contains(f.iUnderstand, cli.OverrideVolatile)
	d.Anew = slices.Contains(f.iUnderstand, overrideAnew)
	d.Dial = func(key ed25519.PrivateKey, maxPayload int) (node.Transport, error) {
		t, err := f.reach.dial(key, maxPayload, m.Roster, m.OtherKeys(), m.Node.Log)
		if err != nil {
			return nil, err
		}
		return p2p.Brief{Transport: t, Rename: f.log.rename}, nil
	}
	out, err := d.Run(cmd.Context())
	if out == nil {
		return err
	}
	return errors.Join(f.sayOutcome(cmd.OutOrStdout(), &d, out), err)
}

func (f *nodeFlags) sayOutcome(w io.Writer, d *owner.Daemon, out *owner.Outcome) error {
	s := &out.Status
	if out.Result != nil {
		return f.sayResult(w, d, out.Result, s, out.Ledger)
	}
	at := fmt.Sprintf("%s %d of %d", one(s.Pace), s.Round, s.Rounds)
	if s.Pace == node.InVisits {
		at = config.Count(s.Round, "visit")
	}
	return f.output.Print(w, []cli.Row{{Name: "stopped", Value: at}},
		"stopped after %s; start it again to go on\n", at)
}

// one is the singular of a pace.
func one(pace string) string { return strings.TrimSuffix(pace, "s") }

func (f *nodeFlags) sayResult(w io.Writer, d *owner.Daemon, r *owner.Result, s *node.Status,
	ledger string) error {
	row, flush := f.output.Rows(w)
	if s.Pace == node.InVisits {
		row("visits", "%d, of %s", s.Round, config.Count(len(d.Terms.Holders), "token"))
	} else if s.Pace == node.InWakes {
		row("wakes", "%d of %d, %d meetings refused or missed, %d were one-sided", s.Round,
			s.Rounds, s.Counts.Missing+s.Counts.Busy, s.Counts.OneSided)
	} else {
		row("rounds", "%d, %s missing, %d of them one-sided, %s skipped", s.Round,
			config.Count(s.Counts.Missing, "frame"), s.Counts.OneSided,
			config.Count(s.Counts.Skipped, "round"))
	}
	if s.Exhausted {
		row("warning", "%s refused at the end: the privacy budget of this run, or of these data, was spent",
			config.Count(s.Counts.Exhausted, "answer"))
	}
	row("epsilon", "%s at delta %g over all runs on these data, %s", rundir.FormatFine(r.Epsilon),
		r.Delta, config.Count(r.Charges, "charge"))
	for _, what := range r.Open {
		row("not covered", "%s", what)
	}
	if r.Over > 0 {
		row("pad", "%s took longer than %v: choose a longer --pad", config.Count(r.Over, "answer"), d.Pad)
	}
	sayFigures(row, d.State, r)
	row("model", "%s", filepath.Join(d.State, owner.ModelFile))
	row("statement", "%s, signed; sotto ledger verify %s computes an epsilon from the charges again",
		filepath.Join(d.State, owner.StatementFile), ledger)
	return flush()
}
