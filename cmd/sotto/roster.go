package main

import (
	"fmt"
	"os"
	"time"

	"github.com/spf13/cobra"

	"sotto/cmd/sotto/cli"
	"sotto/cmd/sotto/keys"
	"sotto/config"
	"sotto/experiment"
	"sotto/experiment/owner"
	"sotto/node"
	"sotto/node/keyfile"
	"sotto/node/roster"
)

func newRoster() *cobra.Command {
	return cli.Group("roster", "Agree on who takes part in an experiment: every member signs one roster",
		newRosterNew(), newRosterAdd(), newRosterAmend(), newRosterSign(), newRosterVerify())
}

// registerRoster adds the flags that name the files of a roster.
func registerRoster(c *cobra.Command, f *owner.Files) {
	registerRosterFile(c, f)
	c.Flags().StringVar(&f.RunFile, "experiment", "",
		"run file; default: the one that the roster names, in the roster's folder")
}

func registerRosterFile(c *cobra.Command, f *owner.Files) {
	c.Flags().StringVar(&f.Roster, "roster", "roster.toml", "roster file")
}

// rosterState is what the commands of a roster print.
type rosterState struct {
	Roster     string   `json:"roster"`
	Experiment string   `json:"experiment"` // digest of the run file
	Digest     string   `json:"digest,omitempty"`
	Size       int      `json:"size"`
	Members    []string `json:"members"`
	Unsigned   []string `json:"unsigned"`
}

func rosterNow(path string, r *roster.Roster) rosterState {
	s := rosterState{Roster: path, Experiment: r.Experiment, Size: r.Size, Members: []string{},
		Unsigned: append([]string{}, r.Unsigned()...)}
	if r.Complete() {
		s.Digest = fmt.Sprintf("%x", r.Digest())
	}
	for _, m := range r.Members {
		s.Members = append(s.Members, m.Name)
	}
	return s
}

func newRosterNew() *cobra.Command {
	var f owner.Files
	var output cli.Output
	var missing string
	var deadline, patience time.Duration
	c := &cobra.Command{
		Use:   "new EXPERIMENT.toml",
		Short: "Begin a roster for an experiment",
		Args:  cli.Exactly(1, "one EXPERIMENT.toml"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if _, err := os.Stat(f.Roster); err == nil {
				return cli.Usagef("--roster: %s exists; choose a new file", f.Roster)
			}
			r, err := owner.NewRoster(args[0], &roster.Terms{
				Missing: missing, Deadline: deadline.String(), Patience: patience.String()})
			if err != nil {
				return cli.OfFlag(err, map[string]string{"missing": "--missing",
					"terms.missing": "--missing", "terms.deadline": "--deadline",
					"terms.patience": "--patience"})
			}
			if err := r.Write(f.Roster); err != nil {
				return err
			}
			return output.Print(cmd.OutOrStdout(), rosterNow(f.Roster, r),
				"%s: experiment %s of %s, none yet\n", f.Roster, r.Experiment,
				config.Count(r.Size, "member"))
		},
	}
	registerRosterFile(c, &f)
	output.Register(c)
	c.Flags().StringVar(&missing, "missing", node.Wait,
		"what to do about peers that miss a round's deadline: wait for them, or proceed and give their "+
			"weight to the node's own model")
	c.Flags().DurationVar(&deadline, "deadline", time.Minute, "deadline of a round")
	c.Flags().DurationVar(&patience, "patience", 24*time.Hour,
		"how long a node goes without progress before it ends and names the members that it waits for")
	return c
}

func newRosterAdd() *cobra.Command {
	var f owner.Files
	var output cli.Output
	var name, id, address string
	c := &cobra.Command{
		Use:     "add --name NAME --peer ID --addr HOST:PORT",
		Short:   "Add a member; adding the last one fills in the graph and its weights",
		Example: "  sotto roster add --name hospital-a --peer 3f5c... --addr hospital-a.example:4001",
		Args:    cli.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			r, e, err := owner.ReadRoster(f.Roster, f.RunFile)
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
				if err := experiment.CheckMixing(e, g); err != nil {
					return err
				}
				r.Weigh(g)
			}
			if err := r.Write(f.Roster); err != nil {
				return err
			}
			return output.Print(cmd.OutOrStdout(), rosterNow(f.Roster, r),
				"%s: %d of %s%s\n", f.Roster, len(r.Members), config.Count(r.Size, "member"),
				completeText(r))
		},
	}
	registerRoster(c, &f)
	output.Register(c)
	c.Flags().StringVar(&name, "name", "", "name of the member")
	c.Flags().StringVar(&id, "peer", "", "peer id that sotto keygen printed")
	c.Flags().StringVar(&address, "addr", "", "host:port where the other members reach it")
	return c
}

func completeText(r *roster.Roster) string {
	if !r.Complete() {
		return ""
	}
	return fmt.Sprintf(", complete; digest %x: every member signs it now", r.Digest())
}

func newRosterSign() *cobra.Command {
	var f owner.Files
	var output cli.Output
	var key, file string
	c := &cobra.Command{
		Use:   "sign --key FILE",
		Short: "Sign the complete roster as the member that the key belongs to",
		Args:  cli.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			r, e, err := owner.ReadRoster(f.Roster, f.RunFile)
			if err != nil {
				return err
			}
			k, err := keyfile.ReadWith(key, keys.Passphrase(file))
			if err != nil {
				return err
			}
			if _, _, err := owner.AgreedGraph(r, e); err != nil {
				return fmt.Errorf("%s: %w", f.Roster, err)
			}
			i, err := r.Sign(k)
			if err != nil {
				return err
			}
			if err := r.Write(f.Roster); err != nil {
				return err
			}
			return output.Print(cmd.OutOrStdout(), rosterNow(f.Roster, r),
				"signed by %s: digest %x, %s to come\n", r.Members[i].Name, r.Digest(),
				config.Count(len(r.Unsigned()), "signature"))
		},
	}
	registerRoster(c, &f)
	output.Register(c)
	c.Flags().StringVar(&key, "key", "", "the member's key file")
	keys.PassphraseFlag(c, &file)
	return c
}

func newRosterVerify() *cobra.Command {
	var f owner.Files
	var output cli.Output
	var previous string
	c := &cobra.Command{
		Use:   "verify",
		Short: "Check run file, graph and all signatures; exit code 3 when one is missing",
		Args:  cli.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			r, e, err := owner.ReadRoster(f.Roster, f.RunFile)
			if err != nil {
				return err
			}
			if _, _, err := owner.AgreedGraph(r, e); err != nil {
				return fmt.Errorf("%s: %w", f.Roster, err)
			}
			if err := r.Verify(); err != nil {
				return fmt.Errorf("%s: %w", f.Roster, err)
			}
			if previous != "" {
				p, err := roster.Read(previous)
				if err == nil {
					err = r.Follows(p)
				}
				if err != nil {
					return fmt.Errorf("%s: %w", f.Roster, err)
				}
			}
			return output.Print(cmd.OutOrStdout(), rosterNow(f.Roster, r),
				"signed by all %s: digest %x\n", config.Count(r.Size, "member"), r.Digest())
		},
	}
	registerRoster(c, &f)
	output.Register(c)
	c.Flags().StringVar(&previous, "previous", "",
		"the roster that this one amends; default: none is compared")
	return c
}
