package main

import (
	"errors"
	"fmt"
	"io/fs"

	"github.com/spf13/cobra"

	"sotto/cmd/sotto/cli"
	"sotto/cmd/sotto/keys"
	"sotto/config"
	"sotto/experiment/owner"
	"sotto/privacy/ledger"
)

func newNodeBackup() *cobra.Command {
	var b owner.Backup
	var to, file string
	var output cli.Output
	c := &cobra.Command{
		Use:   "backup --policy FILE --state DIR --out FILE",
		Short: "Save policy, ledgers and state in one archive; the node may be running",
		Long: `Save policy, ledgers and state in one archive; the node may be running.

The archive is a tar file with the digest of every file in it, and is read back before the command
ends. It is for the owner alone. sotto ledger verify checks it, and sotto node restore restores it.
With --key the archive also holds the key, encrypted; if the key file is not encrypted, the
passphrase comes from --passphrase-file or the terminal.`,
		Example: "  sotto node backup --policy policy.toml --state state --out /backup/sotto-$(date +%F).tar",
		Args:    cli.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if b.Policy == "" || to == "" {
				return cli.Usage(errors.New("--policy, --out: found nothing, allowed: paths"))
			}
			b.Passphrase = keys.Passphrase(file)
			m, err := b.Write(to)
			if errors.Is(err, fs.ErrExist) {
				return cli.Usagef("--out: %s exists; choose a new file", to)
			}
			if err != nil {
				return cli.OfFlag(err, map[string]string{"state": "--state"})
			}
			return output.Print(cmd.OutOrStdout(), m, "%s: %s, round %d, ledger record %d\n", to,
				config.Count(len(m.Files), "file"), m.Round, m.HeadSeq)
		},
	}
	output.Register(c)
	c.Flags().StringVar(&b.Policy, "policy", "", "the owner's policy; its folder of ledgers is saved with it")
	c.Flags().StringVar(&b.State, "state", "", "state directory of the run; default: the backup has none")
	c.Flags().StringVar(&b.Key, "key", "", "key file to add, encrypted; default: none")
	c.Flags().StringVar(&to, "out", "", "file to write, which must not exist")
	keys.PassphraseFlag(c, &file)
	return c
}

func newNodeRestore() *cobra.Command {
	var r owner.Restore
	var iUnderstand []string
	var output cli.Output
	c := &cobra.Command{
		Use:   "restore --policy FILE --state DIR BACKUP",
		Short: "Restore a backup where no node runs; newer ledgers and states are never replaced",
		Long: cli.Unwrap(`\
Restore a backup where no node runs. Newer ledgers and states are never replaced: exit code 3 means
that a ledger there has records that the backup lacks, or that the state there is newer. A policy
that is already there stays.

The state directory gets the file "restored", which tells the node that it may be behind what it has
sent. The ledger gets a note that charges made after the backup may be missing.`),
		Args: cli.Exactly(1, "one BACKUP"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if r.Policy == "" {
				return cli.Usage(errors.New("--policy: found nothing, allowed: a path"))
			}
			for _, o := range iUnderstand {
				if o != cli.OverrideVolatile {
					return cli.Usagef("--i-understand: found %q, allowed: %s", o, cli.OverrideVolatile)
				}
			}
			r.FS = ledger.OS{AllowVolatile: len(iUnderstand) > 0}
			m, err := r.Read(args[0])
			if err != nil {
				return cli.OfFlag(err, map[string]string{"key": "--key"})
			}
			if m.PolicyKept {
				fmt.Fprintf(cli.Notes(cmd), "sotto: %s differs from the backup's and stays\n", r.Policy)
			}
			return output.Print(cmd.OutOrStdout(), m, "%s, round %d, ledger record %d\n",
				config.Count(len(m.Files), "file"), m.Round, m.HeadSeq)
		},
	}
	output.Register(c)
	c.Flags().StringVar(&r.Policy, "policy", "",
		"where to put the policy; its ledger folder is found from there")
	c.Flags().StringVar(&r.State, "state", "", "where to put the state; default: it is not restored")
	c.Flags().StringVar(&r.Key, "key", "", "where to put the key, a new file; default: it is not restored")
	c.Flags().StringSliceVar(&iUnderstand, "i-understand", nil,
		"override a refusal: volatile (a file system that may lose synced data)")
	return c
}
