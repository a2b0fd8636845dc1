// Package cli is what the commands of sotto have in common: how arguments and flags are
// checked, where output goes, and errors in a command line.
package cli

import (
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"syscall"

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
		// of what no command knows the flag is not the fault
		if before := cmd.Flags().Args(); cmd.HasSubCommands() && len(before) > 0 {
			if bad := cmd.ValidateArgs(before); bad != nil {
				return UsageError{bad}
			}
		}
		var names []string
		cmd.Flags().VisitAll(func(f *pflag.Flag) { names = append(names, f.Name) })
		if name := config.Nearest(unknown.GetSpecifiedName(), names); name != "" {
			err = fmt.Errorf("%w; did you mean --%s?", err, name)
		}
	}
	var invalid *pflag.InvalidValueError
	if errors.As(err, &invalid) {
		var bad *config.Error
		if kind := kinds[invalid.GetFlag().Value.Type()]; errors.As(invalid.Unwrap(), &bad) {
			err = bad
		} else if kind != "" {
			err = config.Bad("--"+invalid.GetFlag().Name, invalid.GetValue(), kind)
		}
	}
	return UsageError{err}
}

// kinds are the types of flags in words.
var kinds = map[string]string{"int": "a whole number", "uint64": "a whole number, at least 0",
	"float64": "a number", "bool": "true or false", "duration": "a time such as 90s, 5m or 24h",
	"float64Slice": "numbers, separated by commas"}

// InWords says of a folder in place of a file, of a file in place of a folder, of what is
// not there and of a folder that cannot be made what they are. Other errors stay as they
// are.
func InWords(err error) error {
	path, ok := err.(*fs.PathError)
	switch {
	case ok && errors.Is(err, syscall.EISDIR):
		return &config.Error{File: path.Path, Found: "a folder", Allowed: "a file"}
	case ok && errors.Is(err, syscall.ENOTDIR):
		return &config.Error{File: path.Path, Found: "a file in place of a folder", Allowed: "folders"}
	case ok && errors.Is(err, fs.ErrNotExist) && (path.Op == "open" || strings.HasSuffix(path.Op, "stat")):
		return &config.Error{File: path.Path, Found: "no such file or directory",
			Allowed: "one that is there"}
	case ok && path.Op == "mkdir" && (errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrPermission) ||
		errors.Is(err, syscall.EROFS)):
		return &config.Error{File: path.Path, Found: "no folder, and none can be made: " + path.Err.Error(),
			Allowed: "a folder that is there, or a place where one may be made"}
	}
	return err
}

// Strict has the commands that come with cobra refuse what they do not know, as others
// do.
func Strict(root *cobra.Command) {
	root.InitDefaultHelpCmd()
	root.InitDefaultCompletionCmd()
	for _, c := range root.Commands() {
		switch c.Name() {
		case "completion":
			c.Args, c.RunE = NoArgs, func(c *cobra.Command, _ []string) error { return c.Help() }
		case "help":
			c.Run, c.RunE = nil, func(c *cobra.Command, args []string) error {
				about, rest, err := root.Find(args)
				if err == nil {
					err = NoArgs(about, rest)
				}
				if err != nil {
					return Usage(err)
				}
				about.InitDefaultHelpFlag()
				return about.Help()
			}
		}
	}
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
	return Between(n, n, what)
}

// Between takes from least to most arguments; what says which.
func Between(least, most int, what string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) < least || len(args) > most {
			return Usagef("%s takes %s, found %d arguments; see %s --help", cmd.CommandPath(),
				what, len(args), cmd.CommandPath())
		}
		return noEmpty(cmd, what, args)
	}
}

// noEmpty refuses an argument that is there and empty, as one of a variable that is not
// set.
func noEmpty(cmd *cobra.Command, what string, args []string) error {
	if slices.Contains(args, "") {
		return Usagef("%s takes %s, found an empty name; see %s --help", cmd.CommandPath(), what,
			cmd.CommandPath())
	}
	return nil
}

// AtMostOne takes an argument or none.
func AtMostOne(what string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) > 1 {
			return Usagef("%s takes at most one %s, found %d", cmd.CommandPath(), what, len(args))
		}
		return noEmpty(cmd, "at most one "+what, args)
	}
}
