package main

import (
	"crypto/ed25519"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"github.com/spf13/cobra"

	"sotto/agent"
	"sotto/config"
	"sotto/experiment"
	"sotto/node"
	"sotto/topology"
)

func newKeygen() *cobra.Command {
	var out string
	c := &cobra.Command{
		Use:     "keygen --out FILE",
		Short:   "Make an owner's Ed25519 key, readable by its owner alone, and print the peer id",
		Example: "  sotto keygen --out hospital-a.key",
		Args:    noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if out == "" {
				return usageError{fmt.Errorf("--out: found nothing, allowed: a file that does not exist yet")}
			}
			key, err := node.NewKey(out)
			if os.IsExist(err) {
				return usageError{fmt.Errorf("--out: %s exists; a key is never replaced", out)}
			}
			if err != nil {
				return err
			}
			_, err = fmt.Fprintln(cmd.OutOrStdout(), node.PeerID(key.Public().(ed25519.PublicKey)))
			return err
		},
	}
	c.Flags().StringVar(&out, "out", "", "file to write, which must not exist")
	return c
}

func newRoster() *cobra.Command {
	return group("roster", "Agree on who takes part in an experiment: every member signs one roster",
		newRosterNew(), newRosterAdd(), newRosterSign(), newRosterVerify())
}

// rosterFlags name the files of all roster commands.
type rosterFlags struct {
	roster     string
	experiment string
}

func (f *rosterFlags) register(c *cobra.Command) {
	c.Flags().StringVar(&f.roster, "roster", "roster.toml", "roster file")
}

func (f *rosterFlags) registerBoth(c *cobra.Command) {
	f.register(c)
	c.Flags().StringVar(&f.experiment, "experiment", "",
		"run file; default: the one that the roster names, beside the roster")
}

// read reads the roster and the run file that it is about.
func (f *rosterFlags) read() (*node.Roster, *experiment.File, error) {
	r, err := node.ReadRoster(f.roster)
	if err != nil {
		return nil, nil, err
	}
	path := f.experiment
	if path == "" {
		path = filepath.Join(filepath.Dir(f.roster), r.RunFile)
	}
	e, b, err := experiment.ReadBytes(path)
	if err != nil {
		return nil, nil, err
	}
	if d := experiment.FileDigest(b); d != r.Experiment {
		return nil, nil, &config.Error{File: path, Found: "SHA-256 " + d,
			Allowed: r.Experiment + ", the experiment of " + f.roster}
	}
	return r, e, nil
}

// checkGraph wants the roster's weights to be those of the run file's graph, and returns
// it with the graphs of the rounds that it is the whole of.
func checkGraph(r *node.Roster, e *experiment.File) (*topology.Graph, topology.Schedule, error) {
	g, err := r.Topology()
	if err != nil {
		return nil, nil, err
	}
	s, err := e.ScheduleFor(r.MembersSeed())
	if err != nil {
		return nil, nil, err
	}
	want, err := topology.Whole(s)
	if err != nil {
		return nil, nil, err
	}
	for i := range agent.ID(want.Agents()) {
		if g.SelfWeight(i) != want.SelfWeight(i) || !slices.Equal(g.In(i), want.In(i)) {
			return nil, nil, config.Bad(fmt.Sprintf("member[%d].weights", i), r.Members[i].Weights,
				"the weights of the run file's graph "+want.Name())
		}
	}
	return want, s, nil
}

func newRosterNew() *cobra.Command {
	var f rosterFlags
	c := &cobra.Command{
		Use:   "new EXPERIMENT.toml",
		Short: "Begin a roster for an experiment",
		Args:  exactly(1, "one EXPERIMENT.toml"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if _, err := os.Stat(f.roster); err == nil {
				return usageError{fmt.Errorf("--roster: %s exists; choose a new file", f.roster)}
			}
			e, b, err := experiment.ReadBytes(args[0])
			if err != nil {
				return err
			}
			r, err := node.NewRoster(filepath.Base(args[0]), b, e.Agents())
			if err != nil {
				return err
			}
			if _, err := e.GraphFor(0); err != nil {
				return err
			}
			if err := r.Write(f.roster); err != nil {
				return err
			}
			_, err = fmt.Fprintf(cmd.OutOrStdout(), "%s: experiment %s of %d members, none yet\n", f.roster,
				r.Experiment, r.Size)
			return err
		},
	}
	f.register(c)
	return c
}

func newRosterAdd() *cobra.Command {
	var f rosterFlags
	var name, id, address string
	c := &cobra.Command{
		Use:     "add --name NAME --peer ID --addr HOST:PORT",
		Short:   "Add a member; the last one completes the roster with the graph and its weights",
		Example: "  sotto roster add --name hospital-a --peer 3f5c... --addr hospital-a.example:4001",
		Args:    noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			r, e, err := f.read()
			if err != nil {
				return err
			}
			if err := r.Add(name, id, address); err != nil {
				return err
			}
			if r.Complete() {
				g, err := e.GraphFor(r.MembersSeed())
				if err != nil {
					return err
				}
				r.Weigh(g)
			}
			if err := r.Write(f.roster); err != nil {
				return err
			}
			_, err = fmt.Fprintf(cmd.OutOrStdout(), "%s: %d of %d members%s\n", f.roster, len(r.Members),
				r.Size, completeText(r))
			return err
		},
	}
	f.registerBoth(c)
	c.Flags().StringVar(&name, "name", "", "name of the member")
	c.Flags().StringVar(&id, "peer", "", "peer id that sotto keygen printed")
	c.Flags().StringVar(&address, "addr", "", "host:port where the other members reach it")
	return c
}

func completeText(r *node.Roster) string {
	if !r.Complete() {
		return ""
	}
	return fmt.Sprintf(", complete; digest %x: every member signs it now", r.Digest())
}

func newRosterSign() *cobra.Command {
	var f rosterFlags
	var key string
	c := &cobra.Command{
		Use:   "sign --key FILE",
		Short: "Sign the complete roster as the member that the key belongs to",
		Args:  noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			r, e, err := f.read()
			if err != nil {
				return err
			}
			k, err := node.ReadKey(key)
			if err != nil {
				return err
			}
			if _, _, err := checkGraph(r, e); err != nil {
				return fmt.Errorf("%s: %w", f.roster, err)
			}
			i, err := r.Sign(k)
			if err != nil {
				return err
			}
			if err := r.Write(f.roster); err != nil {
				return err
			}
			_, err = fmt.Fprintf(cmd.OutOrStdout(), "signed by %s: digest %x, %d signatures to come\n",
				r.Members[i].Name, r.Digest(), len(r.Unsigned()))
			return err
		},
	}
	f.registerBoth(c)
	c.Flags().StringVar(&key, "key", "", "the member's key file")
	return c
}

func newRosterVerify() *cobra.Command {
	var f rosterFlags
	c := &cobra.Command{
		Use:   "verify",
		Short: "Check run file, graph and all signatures; exit code 3 when one is missing",
		Args:  noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			r, e, err := f.read()
			if err != nil {
				return err
			}
			if _, _, err := checkGraph(r, e); err != nil {
				return fmt.Errorf("%s: %w", f.roster, err)
			}
			if err := r.Verify(); err != nil {
				return fmt.Errorf("%s: %w", f.roster, err)
			}
			_, err = fmt.Fprintf(cmd.OutOrStdout(), "signed by all %d members: digest %x\n", r.Size,
				r.Digest())
			return err
		},
	}
	f.registerBoth(c)
	return c
}
