// Package keys has the commands sotto keygen and sotto key, and asks for the passphrases
// of encrypted keys.
package keys

import (
	"bytes"
	"crypto/ed25519"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"sotto/cmd/sotto/cli"
	"sotto/node/keyfile"
	"sotto/node/roster"
)

// credential is the name of the systemd credential that holds the passphrase of a key.
const credential = "sotto-passphrase"

// PassphraseFlag adds the flag that names where an encrypted key's passphrase comes from.
func PassphraseFlag(c *cobra.Command, file *string) {
	c.Flags().StringVar(file, "passphrase-file", "",
		"file or pipe whose first line is the passphrase of an encrypted key; default: the systemd "+
			"credential "+credential+", then the terminal")
}

// Passphrase is how an encrypted key's passphrase is found, once: a pipe gives it once.
func Passphrase(file string) keyfile.Passphrase {
	return sync.OnceValues(func() ([]byte, error) {
		if file != "" {
			return keyfile.ReadPassphrase(file)
		}
		if dir := os.Getenv("CREDENTIALS_DIRECTORY"); dir != "" {
			b, err := keyfile.ReadPassphrase(filepath.Join(dir, credential))
			if !errors.Is(err, fs.ErrNotExist) {
				return b, err
			}
		}
		b, err := Prompt("passphrase of the key: ", "no --passphrase-file, no credential "+credential)
		if err == nil && len(b) == 0 {
			err = fmt.Errorf("nothing was typed")
		}
		return b, err
	})
}

// Prompt asks on the terminal, without an echo, for what was found in none of other
// places.
func Prompt(text, nowhere string) ([]byte, error) {
	if !term.IsTerminal(int(os.Stdin.Fd())) {
		return nil, errors.New(nowhere + ", and no terminal to ask on")
	}
	fmt.Fprint(os.Stderr, text)
	b, err := term.ReadPassword(int(os.Stdin.Fd()))
	fmt.Fprintln(os.Stderr)
	return b, err
}

// newPassphrase is the passphrase of a key that is to be written, from the file of a
// flag; nil: none.
func newPassphrase(flag, file string, ask bool) ([]byte, error) {
	if file != "" {
		return keyfile.ReadPassphrase(file)
	}
	if !ask {
		return nil, nil
	}
	first, err := Prompt("new passphrase: ", "no "+flag)
	if err != nil {
		return nil, cli.Usage(err)
	}
	second, err := Prompt("the same again: ", "no "+flag)
	if err != nil {
		return nil, err
	}
	if len(first) == 0 || !bytes.Equal(first, second) {
		return nil, cli.Usage(
			errors.New("new passphrase: found two that differ, or nothing; allowed: the same twice, " +
				"or " + flag),
		)
	}
	return first, nil
}

// Keygen is the command sotto keygen.
func Keygen() *cobra.Command {
	var out, file string
	var ask bool
	var output cli.Output
	c := &cobra.Command{
		Use:   "keygen --out FILE",
		Short: "Make an owner's Ed25519 key, in a file that only its owner can read, and print the peer id",
		Example: cli.Unwrap(`  sotto keygen --out hospital-a.key
  sotto keygen --out hospital-a.key --passphrase`),
		Args: cli.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if out == "" {
				return cli.Usagef("--out: found nothing, allowed: a file that does not exist yet")
			}
			if _, err := os.Lstat(out); err == nil { // before anybody is asked for a passphrase
				return cli.Usagef("--out: %s exists; a key is never replaced", out)
			}
			phrase, err := newPassphrase("--passphrase-file", file, ask)
			if err != nil {
				return err
			}
			key, err := keyfile.NewEncrypted(out, phrase)
			if errors.Is(err, fs.ErrExist) {
				return cli.Usagef("--out: %s exists; a key is never replaced", out)
			}
			if err != nil {
				return err
			}
			peer := roster.PeerID(key.Public().(ed25519.PublicKey))
			return output.Print(cmd.OutOrStdout(), map[string]string{"peer": peer}, "%s\n", peer)
		},
	}
	output.Register(c)
	c.Flags().StringVar(&out, "out", "", "file to write, which must not exist")
	c.Flags().StringVar(&file, "passphrase-file", "",
		"encrypt the key with the first line of this file or pipe")
	c.Flags().BoolVar(&ask, "passphrase", false,
		"encrypt the key with a passphrase that the terminal asks for")
	return c
}

// New is the command sotto key.
func New() *cobra.Command {
	return cli.Group("key", "Show an owner's key, and change its passphrase", show(), passwd())
}

func show() *cobra.Command {
	var file string
	var output cli.Output
	c := &cobra.Command{
		Use:   "show FILE",
		Short: "The peer id of a key file, and whether the file is encrypted",
		Args:  cli.Exactly(1, "one FILE"),
		RunE: func(cmd *cobra.Command, args []string) error {
			encrypted, err := keyfile.Encrypted(args[0])
			if err != nil {
				return err
			}
			key, err := keyfile.ReadWith(args[0], Passphrase(file))
			if err != nil {
				return err
			}
			row, flush := output.Rows(cmd.OutOrStdout())
			row("peer", "%s", roster.PeerID(key.Public().(ed25519.PublicKey)))
			row("encrypted", "%t", encrypted)
			return flush()
		},
	}
	PassphraseFlag(c, &file)
	output.Register(c)
	return c
}

func passwd() *cobra.Command {
	var file, next string
	var open bool
	c := &cobra.Command{
		Use:   "passwd FILE",
		Short: "Encrypt a key file, change its passphrase, or with --none store the key unencrypted",
		Long: `Encrypt a key file, change its passphrase, or with --none store the key unencrypted.

The key stays the same. Copies of the old file, such as those in backups, keep the old passphrase.`,
		Args: cli.Exactly(1, "one FILE"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if open && next != "" {
				return cli.Usage(
					errors.New("--none: found with --new-passphrase-file, allowed: one of them"),
				)
			}
			old := Passphrase(file)
			if _, err := keyfile.ReadWith(args[0], old); err != nil {
				return err // before anybody is asked for a new passphrase
			}
			phrase, err := newPassphrase("--new-passphrase-file", next, !open)
			if err != nil {
				return err
			}
			return keyfile.Encrypt(args[0], old, phrase)
		},
	}
	PassphraseFlag(c, &file)
	c.Flags().StringVar(&next, "new-passphrase-file", "",
		"file or pipe whose first line is the new passphrase; default: the terminal")
	c.Flags().BoolVar(&open, "none", false, "remove the passphrase and store the key unencrypted")
	return c
}
