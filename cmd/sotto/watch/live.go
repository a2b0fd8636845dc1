package watch

import (
	"math"

	"github.com/spf13/cobra"

	"sotto/cmd/sotto/cli"
	"sotto/live"
)

// Live is the command that shows what is in files.
func Live() *cobra.Command {
	f := cli.Live{}
	c := &cobra.Command{
		Use:   "live DIR...",
		Short: "Show a live page of runs, sweeps, searches, studies, audits or nodes, running or finished",
		Long: cli.Unwrap(`\
Show a live page of what is running or has finished, from the events.jsonl in its directory: that of
a run, a sweep, a search, a study or an audit, or the state directory of a node. Several directories
are shown side by side. What has ended can be played back.

The page is served on this machine alone, at an address with a token, and changes nothing. Ctrl-C
ends it.`),
		Example: `  sotto live runs/glyphs-7da8d481
  sotto live sweeps/graphs-sweep-1a2b3c4d --live=127.0.0.1:7080
  sotto live state`,
		Args: cli.Between(1, math.MaxInt, "one DIR or more"),
		RunE: func(cmd *cobra.Command, args []string) error {
			var sources []*live.Source
			for _, dir := range args {
				s, err := live.Read(dir)
				if err != nil {
					return err
				}
				sources = append(sources, s)
			}
			return f.ShowAll(cmd, sources)
		},
	}
	f.Register(c)
	return c
}
