package cli

import (
	"crypto/sha256"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// Manners adds --quiet and --verbose to all commands: quiet leaves results and errors
// alone, verbose adds what the program has, on standard error.
func Manners(root *cobra.Command) {
	fl := root.PersistentFlags()
	fl.BoolP("quiet", "q", false,
		"print results and errors only, no progress or notes; a node logs warnings and errors")
	fl.BoolP("verbose", "v", false, "also print paths, digests and times; a node logs everything")
}

// Quiet reports whether --quiet is given.
func Quiet(c *cobra.Command) bool { return given(c, "quiet") }

// Verbose reports whether --verbose is given.
func Verbose(c *cobra.Command) bool { return given(c, "verbose") }

func given(c *cobra.Command, name string) bool {
	f := c.Flag(name)
	return f != nil && f.Value.String() == "true"
}

// Notes is where a command says what is no result: its progress, and notes.
func Notes(c *cobra.Command) io.Writer {
	if Quiet(c) {
		return io.Discard
	}
	return c.ErrOrStderr()
}

// Say says something more, where --verbose asks for it.
func Say(c *cobra.Command, format string, args ...any) {
	if Verbose(c) {
		fmt.Fprintf(c.ErrOrStderr(), "verbose: "+format+"\n", args...)
	}
}

// Begin is what every command does first: it refuses --quiet with --verbose, notes flags
// that are spelled as they were, and says which files are read.
func Begin(c *cobra.Command, args []string) error {
	if Quiet(c) && Verbose(c) {
		return Usagef("--quiet and --verbose: found both, allowed: one of them")
	}
	c.Flags().Visit(func(f *pflag.Flag) {
		if v, ok := f.Value.(former); ok {
			fmt.Fprintf(Notes(c), "sotto: --%s is now --%s\n", f.Name, v.name)
		}
	})
	if !Verbose(c) {
		return nil
	}
	for _, a := range args {
		if filepath.Ext(a) != ".toml" { // an owner's records have a digest that is theirs
			continue
		}
		if b, err := os.ReadFile(a); err == nil {
			Say(c, "%s: %d bytes, SHA-256 %x", absolute(a), len(b), sha256.Sum256(b))
		}
	}
	c.Flags().VisitAll(func(f *pflag.Flag) {
		if v := f.Value.String(); (f.Name == "data-dir" || f.Name == "out") && v != "" {
			Say(c, "--%s: %s", f.Name, absolute(v))
		}
	})
	return nil
}

func absolute(path string) string {
	if a, err := filepath.Abs(path); err == nil {
		return a
	}
	return path
}

// Formerly gives a flag of c the spelling that it had before, which no help lists.
func Formerly(c *cobra.Command, old, name string) {
	fl := c.Flags()
	f := fl.VarPF(former{c, name, fl.Lookup(name).Value}, old, "", "now --"+name)
	f.Hidden, f.NoOptDefVal = true, fl.Lookup(name).NoOptDefVal
}

// former is a flag's former spelling.
type former struct {
	c    *cobra.Command
	name string
	of   pflag.Value
}

func (f former) String() string {
	if f.of == nil {
		return ""
	}
	return f.of.String()
}

func (f former) Type() string { return f.of.Type() }

func (f former) Set(s string) error { return f.c.Flags().Set(f.name, s) }
