package main

import (
	"cmp"
	"encoding/json"
	"fmt"
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"

	"sotto/cmd/sotto/cli"
	"sotto/experiment"
	"sotto/privacy/account"
)

func newVersion() *cobra.Command {
	var output cli.Output
	c := &cobra.Command{
		Use:   "version",
		Short: "Print the versions of program, engine and accountant",
		Args:  cli.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := output.Check(); err != nil {
				return err
			}
			v := versions()
			if output.JSON() {
				return json.NewEncoder(cmd.OutOrStdout()).Encode(v)
			}
			_, err := fmt.Fprintln(cmd.OutOrStdout(), versionLine(v))
			return err
		},
	}
	output.Register(c)
	return c
}

// Set when a release is linked: make release has the values. Where the Go tool knows
// them, as with go install, they are empty.
var (
	releaseVersion string // such as v1.2.0
	releaseCommit  string // the full hash, with "-dirty" if files were changed
)

// versions are what the program says of itself.
func versions() map[string]string {
	v, commit := buildVersion()
	return map[string]string{"version": v, "commit": commit, "engine": experiment.EngineVersion,
		"accountant": account.Version, "go": runtime.Version(),
		"platform": runtime.GOOS + "/" + runtime.GOARCH}
}

// versionLine says them in words.
func versionLine(v map[string]string) string {
	return fmt.Sprintf("sotto %s, engine %s, %s, %s %s, commit %s", v["version"], v["engine"],
		v["accountant"], v["go"], v["platform"], v["commit"])
}

// buildVersion is the version and the commit that the linker or the Go tool has put in;
// "devel" and "unknown" where neither has.
func buildVersion() (version, commit string) {
	version, commit = releaseVersion, releaseCommit
	if info, ok := debug.ReadBuildInfo(); ok {
		if v := info.Main.Version; version == "" && v != "(devel)" {
			version = v
		}
		settings := map[string]string{}
		for _, s := range info.Settings {
			settings[s.Key] = s.Value
		}
		if commit == "" {
			if commit = settings["vcs.revision"]; commit != "" && settings["vcs.modified"] == "true" {
				commit += "-dirty"
			}
		}
	}
	return cmp.Or(version, "devel"), cmp.Or(commit, "unknown")
}
