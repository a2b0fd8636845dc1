package main

import (
	"errors"
	"fmt"
	"io/fs"

	"github.com/spf13/cobra"

	"sotto/cmd/sotto/cli"
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
		Short: "Keep policy, ledgers and state in one archive, while the node runs or not",
		Long: cli.Unwrap(`Keep policy, ledgers and state in one archive, while the node runs or not.

The archive is a tar file with the digest of every file in it, and is read back before the command ends. It \
holds what is for the
owner alone. sotto ledger verify reads it, sotto node restore puts it back. With --key the key goes into it, \
encrypted: one that is in
the open is encrypted with the passphrase of --passphrase-file, or of the terminal.`),
		Example: "  sotto node backup --policy policy.toml --state state --out /backup/sotto-$(date +%F).tar",
		Args:    cli.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if b.Policy == "" || to == "" {
				return cli.Usage(errors.New("--policy, --out: found nothing, allowed: paths"))
			}
			b.Passphrase = passphrase(file)
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
	c.Flags().StringVar(&b.Policy, "policy", "",
		"the owner's policy, whose folder of ledgers goes with it")
	c.Flags().StringVar(&b.State, "state", "",
		"state directory of the run; default: none goes into the backup")
	c.Flags().StringVar(&b.Key, "key", "", "key file to add, encrypted; default: none")
	c.Flags().StringVar(&to, "out", "", "file to write, which must not exist")
	passphraseFlag(c, &file)
	return c
}

func newNodeRestore() *cobra.Command {
	var r owner.Restore
	var iUnderstand []string
	var output cli.Output
	c := &cobra.Command{
		Use:   "restore --policy FILE --state DIR BACKUP",
		Short: "Put a backup back where no node runs; it never goes back behind what is there",
		Long: cli.Unwrap(
			`Put a backup back where no node runs; it never goes back behind what is there: exit code 3 \
when a ledger there has records that
the backup lacks, or the state there is newer. A policy that is there stays.

The state directory gets the file "restored", by which the node knows that it may be behind what it has \
sent, and the ledger a
note that charges after the backup may be missing.`,
		),
		Args: cli.Exactly(1, "one BACKUP"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if r.Policy == "" {
				return cli.Usage(errors.New("--policy: found nothing, allowed: a path"))
			}
			for _, o := range iUnderstand {
				if o != overrideVolatile {
					return cli.Usagef("--i-understand: found %q, allowed: %s", o, overrideVolatile)
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
		"where the policy goes; its ledger folder is found from there")
	c.Flags().StringVar(&r.State, "state", "", "where the state goes; default: it is left out")
	c.Flags().StringVar(&r.Key, "key", "", "where the key goes, a new file; default: it is left out")
	c.Flags().StringSliceVar(&iUnderstand, "i-understand", nil,
		"override a refusal: volatile (a file system that may lose what was synced)")
	return c
}
