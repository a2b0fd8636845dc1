package main

import (
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"

	"sotto/cmd/sotto/cli"
)

// talk adds the flags of all commands that say how much is said beside results. Daemons
// have a --quiet of their own, which leaves warnings in the log.
func talk(root *cobra.Command) {
	var quiet, verbose bool
	f := root.PersistentFlags()
	f.BoolVarP(&quiet, "quiet", "q", false, "results and errors only: no progress, no notes")
	f.BoolVarP(&verbose, "verbose", "v", false, "also say version and time, and the digests of a run")
	var began time.Time
	root.PersistentPreRunE = func(cmd *cobra.Command, _ []string) error {
		began = time.Now()
		if quiet && verbose {
			return cli.Usagef("--quiet and --verbose: found both, allowed: one")
		}
		if quiet {
			cmd.SetErr(io.Discard)
		}
		return nil
	}
	root.PersistentPostRun = func(cmd *cobra.Command, _ []string) {
		if verbose {
			fmt.Fprintf(cmd.ErrOrStderr(), "%s; %.1f s\n", versionLine(versions()),
				time.Since(began).Seconds())
		}
	}
}

// says reports whether a command was asked for more than results.
func says(cmd *cobra.Command) bool {
	v, err := cmd.Flags().GetBool("verbose")
	return err == nil && v
}
