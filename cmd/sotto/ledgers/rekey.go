package ledgers

import (
	"crypto/ed25519"
	"slices"

	"github.com/spf13/cobra"

	"sotto/cmd/sotto/cli"
	"sotto/cmd/sotto/keys"
	"sotto/node/keyfile"
	"sotto/privacy/ledger"
)

// overrideLost is what --i-understand overrides: nothing of the old key ties a ledger to
// its new one.
const overrideLost = "lost-key"

// rekeyFlags say which key is replaced by which.
type rekeyFlags struct {
	key, next               string // files
	passphrase, newPassword string // files
	reason                  string
	iUnderstand             []string
	output                  cli.Output
}

func rekey() *cobra.Command {
	var f rekeyFlags
	c := &cobra.Command{
		Use:   "rekey DIR --key OLD --new NEW",
		Short: "Replace the key of a ledger, or of all ledgers in a folder",
		Long: `Replace the key of a ledger, or of all ledgers in a policy's folder, by another one.

A record that both keys sign hands the ledger over. From there on the new key signs; budget and
charges stay. Anyone who holds statements or heads signed by the old key can follow the change. A
ledger that already has the new key is left as it is, so after a crash the same command completes
the change. No node may have the ledgers open.

If the old key is lost or stolen, give --i-understand lost-key in place of --key. Every later
statement says so, and nobody who trusts the old key can follow the change to the new one.`,
		Example: cli.Unwrap(`  sotto keygen --out new.key
  sotto ledger rekey ledger --key hospital-a.key --new new.key
  sotto ledger rekey ledger --new new.key --i-understand lost-key --reason stolen`),
		Args: cli.Exactly(1, "one DIR"),
		RunE: func(cmd *cobra.Command, args []string) error {
			r, err := f.replacement()
			if err != nil {
				return err
			}
			row, flush := f.output.Rows(cmd.OutOrStdout())
			volatile := slices.Contains(f.iUnderstand, cli.OverrideVolatile)
			o := ledger.Options{FS: ledger.OS{AllowVolatile: volatile}}
			err = ledger.RotateAll(args[0], *r, o, func(d ledger.RotatedKey) {
				switch {
				case d.Changed:
					row(d.Dir, "key replaced at record %d by %s", d.Key.Seq, d.Key.PublicKey)
				default:
					row(d.Dir, "has the key %s already, since record %d", d.Key.PublicKey, d.Key.Seq)
				}
			})
			if err := flush(); err != nil {
				return err
			}
			return cli.OfFlag(err, map[string]string{"old key": "--key", "new key": "--new",
				"reason": "--reason"})
		},
	}
	f.output.Register(c)
	fl := c.Flags()
	fl.StringVar(&f.key, "key", "", "key file that the ledgers have now")
	fl.StringVar(&f.next, "new", "", "key file that they get, made by sotto keygen")
	keys.PassphraseFlag(c, &f.passphrase)
	fl.StringVar(&f.newPassword, "new-passphrase-file", "",
		"file or pipe whose first line is the passphrase of the new key; default: the terminal")
	fl.StringVar(&f.reason, "reason", "",
		"with lost-key: the reason, at most 200 bytes, which every later statement shows; default: lost")
	fl.StringSliceVar(&f.iUnderstand, "i-understand", nil,
		"override a refusal: lost-key (there is no old key to sign with), volatile (a file system that may "+
			"lose synced data)")
	return c
}

// replacement reads the keys.
func (f *rekeyFlags) replacement() (*ledger.Replacement, error) {
	for _, o := range f.iUnderstand {
		if o != overrideLost && o != cli.OverrideVolatile {
			return nil, cli.Usagef("--i-understand: found %q, allowed: %s, %s", o, overrideLost,
				cli.OverrideVolatile)
		}
	}
	r := ledger.Replacement{Lost: slices.Contains(f.iUnderstand, overrideLost), Reason: f.reason}
	switch {
	case f.next == "":
		return nil, cli.Usagef("--new: found nothing, allowed: a key file")
	case f.key == "" && !r.Lost:
		return nil, cli.Usagef("--key: found nothing, allowed: a key file, or --i-understand %s",
			overrideLost)
	case f.key != "" && r.Lost:
		return nil, cli.Usagef("--key: found with --i-understand %s, allowed: one of them",
			overrideLost)
	}
	var err error
	if !r.Lost {
		if r.Old, err = keyfile.ReadWith(f.key, keys.Passphrase(f.passphrase)); err != nil {
			return nil, err
		}
	}
	r.New, err = readNewKey(f.next, f.newPassword)
	return &r, err
}

// readNewKey reads a key whose passphrase is another one than that of --passphrase-file.
func readNewKey(path, passphraseFile string) (ed25519.PrivateKey, error) {
	return keyfile.ReadWith(path, func() ([]byte, error) {
		if passphraseFile != "" {
			return keyfile.ReadPassphrase(passphraseFile)
		}
		return keys.Prompt("passphrase of the new key: ", "no --new-passphrase-file")
	})
}
