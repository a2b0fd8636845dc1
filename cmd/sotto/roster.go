package main

import (
	"crypto/ed25519"
	"fmt"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"sotto/experiment"
	"sotto/experiment/owner"
	"sotto/node"
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

// registerRoster adds the flags that name the files of a roster.
func registerRoster(c *cobra.Command, f *owner.Files) {
	registerRosterFile(c, f)
	c.Flags().StringVar(&f.RunFile, "experiment", "",
		"run file; default: the one that the roster names, beside the roster")
}

func registerRosterFile(c *cobra.Command, f *owner.Files) {
	c.Flags().StringVar(&f.Roster, "roster", "roster.toml", "roster file")
}

func newRosterNew() *cobra.Command {
	var f owner.Files
	c := &cobra.Command{
		Use:   "new EXPERIMENT.toml",
		Short: "Begin a roster for an experiment",
		Args:  exactly(1, "one EXPERIMENT.toml"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if _, err := os.Stat(f.Roster); err == nil {
				return usageError{fmt.Errorf("--roster: %s exists; choose a new file", f.Roster)}
			}
			e, b, err := experiment.ReadBytes(args[0])
			if err != nil {
				return err
			}
			r, err := node.NewRoster(filepath.Base(args[0]), b, e.Topology.Agents)
			if err != nil {
				return err
			}
			if _, err := e.GraphFor(0); err != nil {
				return err
			}
			if err := r.Write(f.Roster); err != nil {
				return err
			}
			_, err = fmt.Fprintf(cmd.OutOrStdout(), "%s: experiment %s of %d members, none yet\n", f.Roster,
				r.Experiment, r.Size)
			return err
		},
	}
	registerRosterFile(c, &f)
	return c
}

func newRosterAdd() *cobra.Command {
	var f owner.Files
	var name, id, address string
	c := &cobra.Command{
		Use:     "add --name NAME --peer ID --addr HOST:PORT",
		Short:   "Add a member; the last one completes the roster with the graph and its weights",
		Example: "  sotto roster add --name hospital-a --peer 3f5c... --addr hospital-a.example:4001",
		Args:    noArgs,
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
				r.Weigh(g)
			}
			if err := r.Write(f.Roster); err != nil {
				return err
			}
			_, err = fmt.Fprintf(cmd.OutOrStdout(), "%s: %d of %d members%s\n", f.Roster, len(r.Members),
				r.Size, completeText(r))
			return err
		},
	}
	registerRoster(c, &f)
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
	var f owner.Files
	var key string
	c := &cobra.Command{
		Use:   "sign --key FILE",
		Short: "Sign the complete roster as the member that the key belongs to",
		Args:  noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			r, e, err := owner.ReadRoster(f.Roster, f.RunFile)
			if err != nil {
				return err
			}
			k, err := node.ReadKey(key)
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
			_, err = fmt.Fprintf(cmd.OutOrStdout(), "signed by %s: digest %x, %d signatures to come\n",
				r.Members[i].Name, r.Digest(), len(r.Unsigned()))
			return err
		},
	}
	registerRoster(c, &f)
	c.Flags().StringVar(&key, "key", "", "the member's key file")
	return c
}

func newRosterVerify() *cobra.Command {
	var f owner.Files
	c := &cobra.Command{
		Use:   "verify",
		Short: "Check run file, graph and all signatures; exit code 3 when one is missing",
		Args:  noArgs,
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
			_, err = fmt.Fprintf(cmd.OutOrStdout(), "signed by all %d members: digest %x\n", r.Size,
				r.Digest())
			return err
		},
	}
	registerRoster(c, &f)
	return c
}
