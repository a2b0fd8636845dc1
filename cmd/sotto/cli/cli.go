// Package cli is what the commands of sotto have in common: how arguments and flags are
// checked, where output goes, and errors in a command line.
package cli

import (
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"sotto/config"
)

// UsageError marks errors in the command line itself.
type UsageError struct{ error }

func (e UsageError) Unwrap() error { return e.error }

// Usage makes one.
func Usage(err error) error { return UsageError{err} }

// Usagef makes one from a format.
func Usagef(format string, args ...any) error { return UsageError{fmt.Errorf(format, args...)} }

// BadFlag names the flag that an unknown one was most likely meant to be.
func BadFlag(cmd *cobra.Command, err error) error {
	var unknown *pflag.NotExistError
	if errors.As(err, &unknown) {
		var names []string
		cmd.Flags().VisitAll(func(f *pflag.Flag) { names = append(names, f.Name) })
		if name := config.Nearest(unknown.GetSpecifiedName(), names); name != "" {
			err = fmt.Errorf("%w; did you mean --%s?", err, name)
		}
	}
	return UsageError{err}
}

// Unwrap joins lines that end in a backslash with the next: help texts have wider lines
// than source files.
func Unwrap(s string) string { return strings.ReplaceAll(s, "\\\n", "") }

// Group makes a command that only holds others.
func Group(use, short string, subs ...*cobra.Command) *cobra.Command {
	c := &cobra.Command{
		Use:   use,
		Short: short,
		Args:  NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return cmd.Help()
		},
	}
	c.AddCommand(subs...)
	return c
}

// NoArgs refuses arguments, and names the command that one was most likely meant to be.
func NoArgs(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
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
	return Usagef("unknown command or argument %q for %q%s; see %s --help", args[0],
		cmd.CommandPath(), meant, cmd.CommandPath())
}

// Exactly takes n arguments; what says which.
func Exactly(n int, what string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) != n {
			return Usagef("%s takes %s, found %d arguments; see %s --help", cmd.CommandPath(),
				what, len(args), cmd.CommandPath())
		}
		return nil
	}
}

// AtMostOne takes an argument or none.
func AtMostOne(what string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) > 1 {
			return Usagef("%s takes at most one %s, found %d", cmd.CommandPath(), what, len(args))
		}
		return nil
	}
}

// WriteTo writes to the file of an --out flag, or to standard output.
func WriteTo(cmd *cobra.Command, path string, b []byte) error {
	if path == "" {
		_, err := cmd.OutOrStdout().Write(b)
		return err
	}
	return os.WriteFile(path, b, 0o644)
}
