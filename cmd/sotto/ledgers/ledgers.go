// Package ledgers has the commands sotto ledger: privacy ledgers shown, verified, copied,
// and handed to another key.
package ledgers

import (
	"bufio"
	"crypto/ed25519"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"sotto/cmd/sotto/cli"
	"sotto/config"
	"sotto/experiment/owner"
	"sotto/experiment/rundir"
	"sotto/experiment/trained"
	"sotto/privacy/ledger"
)

// New is the command sotto ledger.
func New() *cobra.Command {
	return cli.Group("ledger",
		"Read and verify privacy ledgers: an owner's durable one, or those of a simulated run",
		show(), verify(), export(), rekey())
}

// flags say what a ledger must match.
type flags struct {
	publicKey  string
	knownSeq   uint64
	accountant string
	output     cli.Output
}

func (l *flags) register(c *cobra.Command) {
	c.Flags().StringVar(&l.publicKey, "public-key", "",
		"the owner's current Ed25519 public key in hexadecimal; default: the one in the ledger")
	c.Flags().Uint64Var(&l.knownSeq, "known-seq", 0,
		"number of a ledger record that is known to exist, from a checkpoint or a peer")
}

func (l *flags) options() (ledger.Options, error) {
	o := ledger.Options{KnownSeq: l.knownSeq, Accountant: l.accountant}
	if l.publicKey != "" {
		key, err := hex.DecodeString(l.publicKey)
		if err != nil || len(key) != ed25519.PublicKeySize {
			return o, cli.Usagef("--public-key: found %q, allowed: %d hexadecimal digits",
				l.publicKey, 2*ed25519.PublicKeySize)
		}
		o.PublicKey = key
	}
	return o, nil
}

// IsRun says whether dir is a simulated run's directory, not an owner's ledger.
func IsRun(dir string) bool {
	_, err := os.Stat(filepath.Join(dir, filepath.FromSlash(ledger.RunLedgerFile)))
	return err == nil
}

// ledgerOf is the folder of the ledger that path means.
func ledgerOf(path string) (string, error) {
	dir, err := rundir.LedgerOf(path)
	if err != nil || IsRun(dir) || rundir.Stands(filepath.Join(dir, ledger.GenesisFile)) {
		return dir, err
	}
	return "", &config.Error{File: path, Found: "no ledger",
		Allowed: "the folder of a run, the state folder of a node, or one ledger of the folder that a " +
			"policy names"}
}

func verify() *cobra.Command {
	var l flags
	var heads, released string
	c := &cobra.Command{
		Use:   "verify DIR|STATEMENT.json|BACKUP.tar",
		Short: "Recompute chain, signatures, counts and every epsilon; exit code 3 if one does not match",
		Long: cli.Unwrap(`\
Recompute chain, signatures, counts and every epsilon of a ledger. Exit code 3 means that one does
not match.

STATEMENT.json is another member's signed privacy statement. Its signature is checked and, with
--heads, that it knows of all records that the member's ledger had when its node finished. With
--model the command checks that the statement belongs to that model.

BACKUP.tar is an archive that sotto node backup made. Its digests are checked, and every ledger in
it is verified.`),
		Args: cli.Exactly(1, "one DIR, STATEMENT.json or BACKUP.tar"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := l.output.Check(); err != nil {
				return err
			}
			o, err := l.options()
			if err != nil {
				return err
			}
			if info, err := os.Stat(args[0]); err == nil && info.Mode().IsRegular() {
				if strings.HasSuffix(args[0], ".tar") {
					return verifyBackup(cmd.OutOrStdout(), args[0], o, &l)
				}
				return l.verifyStatement(cmd.OutOrStdout(), args[0], heads, released, o.PublicKey)
			}
			if released != "" {
				return cli.Usagef("--model: found %q, allowed: only with a statement", released)
			}
			dir, err := ledgerOf(args[0])
			if err != nil {
				return err
			}
			if IsRun(dir) && heads != "" {
				return cli.Usagef("--heads: found %q, allowed: only with a statement or an "+
					"owner's ledger", heads)
			}
			if IsRun(dir) {
				return l.verifyRun(cmd.OutOrStdout(), dir)
			}
			r, err := ledger.Verify(dir, o)
			if err != nil {
				return err
			}
			if heads != "" {
				if err := l.verifyLedger(cmd.OutOrStdout(), dir, r, heads); err != nil {
					return err
				}
			}
			if l.output.JSON() {
				return json.NewEncoder(cmd.OutOrStdout()).Encode(r)
			}
			return writeReport(cmd.OutOrStdout(), r)
		},
	}
	l.register(c)
	c.Flags().StringVar(&released, "model", "",
		"with a statement: the model file that it must belong to, model.safetensors")
	c.Flags().StringVar(&heads, "heads", "",
		"heads.json from a neighbor's state directory, to check a statement or ledger against")
	c.Flags().StringVar(&l.accountant, "accountant", "",
		"accountant for the current epsilon; default: pld, then rdp")
	l.output.Register(c)
	return c
}

func writeReport(w io.Writer, r ledger.Report) error {
	row, flush := cli.Output("text").Rows(w)
	row("ledger", "%s, owner key %s", r.Genesis.ID, r.Keys[len(r.Keys)-1].PublicKey)
	sayKeys(row, r.Keys)
	if name := r.Genesis.Population; name != "" {
		row("population", "%s", name)
	}
	row("records", "%d in %s, last number %d, head %s", r.Records, config.Count(r.Segments, "segment"),
		r.LastSeq, r.Head)
	row("charges", "%d", r.Charges)
	row("budget", "epsilon %g at delta %g (%v, %v, at least %s)", r.Genesis.Budget.Epsilon,
		r.Genesis.Budget.Delta, r.Genesis.Adjacency, r.Genesis.Unit,
		config.Count(r.Genesis.MinRecords, "record"))
	row("spent", "epsilon %s upper, %s lower, accountant %s", rundir.FormatFine(r.Spent.Epsilon.Upper),
		rundir.FormatBound(r.Spent.Epsilon.Lower, 6, false), r.Spent.Accountant)
	row("checked", "%s, %s", config.Count(r.Signatures, "signature"),
		config.Count(r.Claims, "recorded epsilon"))
	if r.Torn > 0 {
		row("torn", "%s of a charge that was interrupted; the next opening cuts them",
			config.Count(r.Torn, "byte"))
	}
	for _, o := range r.Overrides {
		row("override", "%s", o)
	}
	for _, n := range r.Notes {
		row("note", "%s", n)
	}
	if r.Overspent {
		row("WARNING", "more is spent than the budget allows")
	}
	return flush()
}

// sayKeys says how a ledger came to its present key.
func sayKeys(row func(string, string, ...any), keys []ledger.HeldKey) {
	for i, k := range keys[1:] {
		how := "both keys have signed"
		if k.Note != "" {
			how = k.Note
		}
		row("rotated", "at record %d from key %s to %s: %s", k.Seq, keys[i].PublicKey, k.PublicKey, how)
	}
}

// verifyBackup checks a backup and every ledger in it.
func verifyBackup(w io.Writer, path string, o ledger.Options, l *flags) error {
	_, err := owner.VerifyBackup(path, func(r ledger.Report) error {
		if l.output.JSON() {
			return json.NewEncoder(w).Encode(r)
		}
		return writeReport(w, r)
	}, o)
	return err
}

// verifyLedger holds a ledger against what a neighbor has heard of it.
func (l *flags) verifyLedger(w io.Writer, dir string, r ledger.Report, heads string) error {
	head, err := owner.VerifyLedger(dir, &r, heads)
	if err != nil {
		return err
	}
	row, flush := l.output.Rows(w)
	sayHead(row, head, "the ledger")
	return flush()
}

// sayHead says what a neighbor holds of a ledger that has been found to fit.
func sayHead(row func(string, string, ...any), head *owner.Head, knows string) {
	row("head", "of %s: record %d, which %s knows of", head.Name, head.Seq(), knows)
	if c := head.Claim; c != nil {
		row("then", "epsilon %s at delta %g, %s", rundir.FormatFine(c.Epsilon), c.Delta, owner.Claimed)
	}
}

// verifyRun recomputes what a simulated run says of its ledgers.
func (l *flags) verifyRun(w io.Writer, dir string) error {
	r, err := rundir.VerifyRun(dir)
	if err != nil {
		return err
	}
	if l.output.JSON() {
		return json.NewEncoder(w).Encode(r)
	}
	_, err = fmt.Fprintf(w, "simulated run: %s, %s, epsilon %s upper: statements follow from ledgers\n",
		config.Count(r.Ledgers, "distinct ledger"), config.Count(r.Charges, "charge"),
		rundir.FormatFine(r.Epsilon.Upper))
	for _, note := range r.Notes {
		fmt.Fprintf(w, "note: %s\n", note)
	}
	return err
}

// verifyStatement checks a member's signed statement by itself and, with a file of heads,
// against the head that its node sent; with a model's file, that it is of that model.
func (l *flags) verifyStatement(w io.Writer, path, heads, released string,
	key ed25519.PublicKey) error {
	s, head, err := owner.VerifyStatement(path, heads, key)
	if err != nil {
		return err
	}
	if released != "" {
		if err := trained.Signed(released, path, s); err != nil {
			return err
		}
	}
	row, flush := l.output.Rows(w)
	if head != nil {
		sayHead(row, head, "the statement")
	}
	row("statement", "signed by %s, of ledger %s to record %d", s.PublicKey, s.LedgerID,
		s.Statement.Ledger.LastSeq)
	sayKeys(row, s.Keys())
	if s.Model != "" {
		row("model", "SHA-256 %s", s.Model)
	}
	if e := s.Statement.Epsilon; e != nil {
		row("epsilon", "%s upper at delta %g: the member's, which its ledger alone can prove",
			rundir.FormatFine(float64(e.Upper)), s.Statement.Delta)
	}
	return flush()
}

func show() *cobra.Command {
	var l flags
	var last int
	c := &cobra.Command{
		Use:   "show DIR",
		Short: "The records of a ledger, one line each",
		Args:  cli.Exactly(1, "one DIR"),
		RunE: func(cmd *cobra.Command, args []string) error {
			o, err := l.options()
			if err != nil {
				return err
			}
			if last < 0 {
				return cli.Usagef("--last: found %d, allowed: 0 (all) or more", last)
			}
			dir, err := ledgerOf(args[0])
			if err != nil {
				return err
			}
			if IsRun(dir) {
				return copyRunLedger(cmd.OutOrStdout(), dir)
			}
			return l.showRecords(cmd.OutOrStdout(), dir, o, last)
		},
	}
	l.register(c)
	l.output.Register(c)
	c.Flags().IntVar(&last, "last", 0, "only the last N records; 0: all")
	return c
}

func (l *flags) showRecords(w io.Writer, dir string, o ledger.Options, last int) error {
	out := bufio.NewWriter(w)
	var kept []string
	for r, err := range ledger.History(dir, o) {
		if err != nil {
			return errors.Join(out.Flush(), err)
		}
		line := fmt.Sprintf("%d\t%s\tround %d", r.Seq, r.Kind, r.Round)
		switch {
		case l.output.JSON():
			b, err := json.Marshal(r)
			if err != nil {
				return err
			}
			line, r.Note = string(b), ""
		case r.Event != nil:
			line += fmt.Sprintf("\t%s\t(charged %s so far)", r.Event.Key(), config.Count(r.Total, "time"))
		case r.Claim != nil:
			line += fmt.Sprintf("\tepsilon %s at delta %g, accountant %s",
				rundir.FormatFine(r.Claim.Epsilon.Upper),
				r.Claim.Delta, r.Claim.Accountant)
		case r.Rotation != nil:
			line += fmt.Sprintf("\tkey %s to %s", r.Rotation.OldKey, r.Rotation.NewKey)
		}
		if r.Note != "" {
			line += "\t" + r.Note
		}
		if last == 0 {
			fmt.Fprintln(out, line)
			continue
		}
		if kept = append(kept, line); len(kept) > 2*last {
			kept = append(kept[:0], kept[len(kept)-last:]...)
		}
	}
	for _, line := range kept[max(0, len(kept)-last):] {
		fmt.Fprintln(out, line)
	}
	return out.Flush()
}

// copyRunLedger writes a run's ledger file, which is JSON lines already.
func copyRunLedger(w io.Writer, dir string) error {
	f, err := os.Open(filepath.Join(dir, filepath.FromSlash(ledger.RunLedgerFile)))
	if err != nil {
		return err
	}
	defer f.Close()
	_, err = io.Copy(w, f)
	return err
}

func export() *cobra.Command {
	var l flags
	var to string
	c := &cobra.Command{
		Use:   "export DIR",
		Short: "Write a ledger as JSON lines, for archives and log systems",
		Args:  cli.Exactly(1, "one DIR"),
		RunE: func(cmd *cobra.Command, args []string) error {
			o, err := l.options()
			if err != nil {
				return err
			}
			dir, err := rundir.LedgerOf(args[0])
			if err != nil {
				return err
			}
			write := func(w io.Writer) error {
				if IsRun(dir) {
					return copyRunLedger(w, dir)
				}
				return ledger.Export(w, dir, o)
			}
			if to == "" {
				return write(cmd.OutOrStdout())
			}
			f, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
			if errors.Is(err, fs.ErrExist) {
				return cli.Usagef("--out: %s exists; choose a new file", to)
			}
			if err != nil {
				return err
			}
			return errors.Join(write(f), f.Close())
		},
	}
	l.register(c)
	c.Flags().StringVar(&to, "out", "", "file to write, which must not exist; default: standard output")
	cli.Formerly(c, "to", "out")
	return c
}
