// Command sotto trains one model among many data owners without a server, and says what
// it cost each of them in privacy.
package main

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"sotto/config"
	"sotto/experiment"
)

func main() { os.Exit(execute(os.Args[1:], os.Stdout, os.Stderr)) }

// execute is main without the process: one command line to its exit code.
func execute(args []string, stdout, stderr io.Writer) int {
	root := newRoot()
	root.SetArgs(args)
	root.SetOut(stdout)
	root.SetErr(stderr)
	err := underSignals(stderr, root.ExecuteContext)
	if err != nil {
		fmt.Fprintf(stderr, "sotto: %v\n", err)
	}
	return exitCode(err)
}

// ofFlag puts flags in place of the settings that an error in one is about.
func ofFlag(err error, flags map[string]string) error {
	var bad *config.Error
	if errors.As(err, &bad) {
		bad.Key = cmp.Or(flags[bad.Key], bad.Key)
	}
	return err
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
	root.SetFlagErrorFunc(badFlag)
	root.Version = versionLine(versions())
	root.SetVersionTemplate("{{.Version}}\n")
	root.AddCommand(
		newPlan(),
		newData(),
		newLedger(),
		newKeygen(),
		newKey(),
		newRoster(),
		newNode(),
		newRelay(),
		newStatus(),
		newVersion(),
	)
	root.AddCommand(studies()...)
	return root
}

// badFlag names the flag that an unknown one was most likely meant to be.
func badFlag(cmd *cobra.Command, err error) error {
	var unknown *pflag.NotExistError
	if errors.As(err, &unknown) {
		var names []string
		cmd.Flags().VisitAll(func(f *pflag.Flag) { names = append(names, f.Name) })
		if name := config.Nearest(unknown.GetSpecifiedName(), names); name != "" {
			err = fmt.Errorf("%w; did you mean --%s?", err, name)
		}
	}
	return usageError{err}
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
		var names []string
		for _, c := range cmd.Commands() {
			if c.IsAvailableCommand() {
				names = append(names, c.Name())
			}
		}
		meant := ""
		if name := config.Nearest(args[0], names); name != "" {
			meant = "; did you mean " + cmd.CommandPath() + " " + name + "?"
		}
		return usageError{fmt.Errorf("unknown command or argument %q for %q%s; see %s --help", args[0],
			cmd.CommandPath(), meant, cmd.CommandPath())}
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
