// Command sotto trains one model among many data owners without a server, and says what
// it cost each of them in privacy.
package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"sotto/config"
	"sotto/data"
	"sotto/experiment"
	"sotto/node"
	"sotto/privacy"
	"sotto/privacy/account"
	"sotto/privacy/audit"
	"sotto/privacy/ledger"
)

// Exit codes.
const (
	exitDone    = 0
	exitFailed  = 1
	exitUsage   = 2 // a command line or file that cannot be used
	exitPrivacy = 3 // refused because a guarantee would be exceeded, hollow or unproved
	exitData    = 4 // data missing or altered
)

func main() { os.Exit(execute(os.Args[1:], os.Stdout, os.Stderr)) }

// execute is main without the process: one command line to its exit code.
func execute(args []string, stdout, stderr io.Writer) int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	root := newRoot()
	root.SetArgs(args)
	root.SetOut(stdout)
	root.SetErr(stderr)
	err := root.ExecuteContext(ctx)
	if err != nil {
		fmt.Fprintf(stderr, "sotto: %v\n", err)
	}
	return exitCode(err)
}

// usageError marks errors in the command line itself.
type usageError struct{ error }

func (e usageError) Unwrap() error { return e.error }

// exitCode maps errors to exit codes; it is the only place that does.
func exitCode(err error) int {
	var (
		usage usageError
		bad   *config.Error
		path  *fs.PathError
	)
	switch {
	case err == nil:
		return exitDone
	case isAny(err, privacy.ErrRefused, audit.ErrViolated, account.ErrUnsupported, account.ErrInfeasible,
		account.ErrDeltaTooSmall, account.ErrExhausted):
		return exitPrivacy
	case isAny(err, ledger.ErrCorrupt, ledger.ErrVersion, ledger.ErrDataset, ledger.ErrRollback,
		ledger.ErrKey, ledger.ErrClaim, ledger.ErrPoisoned, ledger.ErrDurability, node.ErrUnsigned):
		return exitPrivacy
	case isAny(err, data.ErrMissing, data.ErrAltered):
		return exitData
	case errors.As(err, &usage), errors.As(err, &bad), errors.As(err, &path) &&
		errors.Is(err, fs.ErrNotExist):
		return exitUsage
	}
	return exitFailed
}

// ofFlag puts flags in place of the settings that an error in one is about.
func ofFlag(err error, flags map[string]string) error {
	var bad *config.Error
	if errors.As(err, &bad) {
		bad.Key = cmp.Or(flags[bad.Key], bad.Key)
	}
	return err
}

func isAny(err error, targets ...error) bool {
	for _, t := range targets {
		if errors.Is(err, t) {
			return true
		}
	}
	return false
}

// flagAliases are second spellings of flags, which no help lists.
var flagAliases = map[string]string{"local-baseline": "alone", "min-answer-time": "pad"}

func newRoot() *cobra.Command {
	root := &cobra.Command{
		Use:           "sotto",
		Short:         "Private decentralized machine learning: many owners, one model, no server",
		SilenceErrors: true,
		SilenceUsage:  true,
		Args:          noArgs,
		RunE:          func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	root.SetGlobalNormalizationFunc(func(_ *pflag.FlagSet, name string) pflag.NormalizedName {
		return pflag.NormalizedName(cmp.Or(flagAliases[name], name))
	})
	root.SetFlagErrorFunc(func(_ *cobra.Command, err error) error { return usageError{err} })
	root.AddCommand(newRun(), newPlan(), newSweep(), newTune(), newReport(), newReproduce(), newExport(),
		newData(), newTopology(), newAccount(), newLedger(), newAudit(), newKeygen(), newRoster(), newNode(),
		newStatus(), newBench(), newDoctor(), newVersion())
	return root
}

// unwrap joins lines that end in a backslash with the next: help texts have wider lines
// than source files.
func unwrap(s string) string { return strings.ReplaceAll(s, "\\\n", "") }

// group makes a command that only holds others.
func group(use, short string, subs ...*cobra.Command) *cobra.Command {
	c := &cobra.Command{
		Use:   use,
		Short: short,
		Args:  noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return cmd.Help()
		},
	}
	c.AddCommand(subs...)
	return c
}

func noArgs(cmd *cobra.Command, args []string) error {
	if len(args) > 0 {
		return usageError{fmt.Errorf("unknown command or argument %q for %q; see %s --help", args[0],
			cmd.CommandPath(), cmd.CommandPath())}
	}
	return nil
}

func exactly(n int, what string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) != n {
			return usageError{fmt.Errorf("%s takes %s, found %d arguments; see %s --help", cmd.CommandPath(),
				what, len(args), cmd.CommandPath())}
		}
		return nil
	}
}

func atMostOne(what string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) > 1 {
			return usageError{fmt.Errorf("%s takes at most one %s, found %d", cmd.CommandPath(), what,
				len(args))}
		}
		return nil
	}
}

// build makes the experiment of the run file that args name, or of the built-in one.
func build(args, set []string, dataDir string) (*experiment.Experiment, error) {
	path := ""
	if len(args) == 1 {
		path = args[0]
	}
	f, err := experiment.Read(path, set)
	if err != nil {
		return nil, err
	}
	return f.Build(dataDir)
}

// dataDirFlag adds --data-dir, whose default is the environment's SOTTO_DATA.
func dataDirFlag(cmd *cobra.Command, dir *string) {
	def := os.Getenv("SOTTO_DATA")
	if def == "" {
		def = "data"
	}
	cmd.Flags().StringVar(dir, "data-dir", def, "folder of data sets (environment: SOTTO_DATA)")
}

// writeTo writes to the file of an --out flag, or to standard output.
func writeTo(cmd *cobra.Command, path string, b []byte) error {
	if path == "" {
		_, err := cmd.OutOrStdout().Write(b)
		return err
	}
	return os.WriteFile(path, b, 0o644)
}

// outputFlag adds --output.
func outputFlag(cmd *cobra.Command, output *string) {
	cmd.Flags().StringVar(output, "output", "text", "text or json")
}

func checkOutput(output string) error {
	if output != "text" && output != "json" {
		return usageError{fmt.Errorf("--output: found %q, allowed: text, json", output)}
	}
	return nil
}
