// Command sotto trains one model among many data owners without a server, and says what
// it cost each of them in privacy.
package main

import (
	"cmp"
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"sotto/cmd/sotto/cli"
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

// flagAliases are second spellings of flags, which no help lists.
var flagAliases = map[string]string{"local-baseline": "alone", "min-answer-time": "pad"}

func newRoot() *cobra.Command {
	root := &cobra.Command{
		Use:           "sotto",
		Short:         "Private decentralized machine learning: many owners, one model, no server",
		SilenceErrors: true,
		SilenceUsage:  true,
		Args:          cli.NoArgs,
		RunE:          func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	root.SetGlobalNormalizationFunc(func(_ *pflag.FlagSet, name string) pflag.NormalizedName {
		return pflag.NormalizedName(cmp.Or(flagAliases[name], name))
	})
	root.SetFlagErrorFunc(cli.BadFlag)
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
		newExport(),
		newNew(),
		newPredict(),
		newQuery(),
		newEvaluate(),
		newCard(),
	)
	root.AddCommand(studies()...)
	talk(root)
	complete(root, "")
	return root
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
