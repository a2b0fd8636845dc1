package main

import (
	"encoding/json"
	"fmt"
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"

	"sotto/experiment"
	"sotto/privacy/account"
)

func newVersion() *cobra.Command {
	var output string
	c := &cobra.Command{
		Use:   "version",
		Short: "Versions of program, engine and accountant",
		Args:  noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := checkOutput(output); err != nil {
				return err
			}
			v := map[string]string{"version": version(), "engine": experiment.EngineVersion,
				"accountant": account.Version,
				"go":         runtime.Version(), "platform": runtime.GOOS + "/" + runtime.GOARCH}
			if output == "json" {
				return json.NewEncoder(cmd.OutOrStdout()).Encode(v)
			}
			_, err := fmt.Fprintf(cmd.OutOrStdout(), "sotto %s, engine %s, %s, %s %s\n", v["version"],
				v["engine"], v["accountant"], v["go"], v["platform"])
			return err
		},
	}
	outputFlag(c, &output)
	return c
}

// version is the module version that the Go tool built in, or "devel" with the revision
// where it is known.
func version() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "devel"
	}
	if v := info.Main.Version; v != "" && v != "(devel)" {
		return v
	}
	for _, s := range info.Settings {
		if s.Key == "vcs.revision" {
			return "devel-" + s.Value[:min(12, len(s.Value))]
		}
	}
	return "devel"
}
