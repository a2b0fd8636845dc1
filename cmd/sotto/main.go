// Command sotto trains one model among many data owners without a server, and says what
// it cost each of them in privacy.
package main

import (
	"cmp"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"sotto/cmd/sotto/cli"
	"sotto/cmd/sotto/complete"
	"sotto/cmd/sotto/explain"
	"sotto/cmd/sotto/keys"
	"sotto/cmd/sotto/ledgers"
	"sotto/cmd/sotto/manual"
	"sotto/cmd/sotto/watch"
	"sotto/experiment"
)

func main() { os.Exit(execute(os.Args[1:], os.Stdout, os.Stderr)) }

// execute is main without the process: one command line to its exit code.
func execute(args []string, stdout, stderr io.Writer) int {
	root := newRoot()
	root.SetArgs(args)
	root.SetOut(stdout)
	root.SetErr(stderr)
	began := time.Now()
	err := underSignals(stderr, root.ExecuteContext)
	cli.Say(root, "took %.2f s", time.Since(began).Seconds())
	if err = cli.InWords(err); err != nil {
		fmt.Fprintf(stderr, "sotto: %v\n", err)
	}
	return exitCode(err)
}

// flagAliases are second spellings of flags, which no help lists.
var flagAliases = map[string]string{"local-baseline": "alone", "min-answer-time": "pad"}

func newRoot() *cobra.Command {
	root := &cobra.Command{
		Use:   "sotto",
		Short: "Private decentralized machine learning: many owners, one model, no server",
		Long: `Private decentralized machine learning: many owners, one model, no server. Each owner gets a
proven differential-privacy bound: it limits what everything that the owner sends can reveal about
any one of its records.

Start with "sotto demo" (a first look in the browser), "sotto run" (a built-in simulation) or
"sotto new DIR" (a commented example of your own). docs/ explains the rest.`,
		SilenceErrors: true,
		SilenceUsage:  true,
		Args:          cli.NoArgs,
		RunE:          func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
		PersistentPreRunE: func(cmd *cobra.Command, args []string) error {
			cli.Say(cmd, "%s", versionLine(versions()))
			return cli.Begin(cmd, args)
		},
	}
	root.SetGlobalNormalizationFunc(func(_ *pflag.FlagSet, name string) pflag.NormalizedName {
		return pflag.NormalizedName(cmp.Or(flagAliases[name], name))
	})
	root.SetFlagErrorFunc(cli.BadFlag)
	cli.Manners(root)
	root.Version = versionLine(versions())
	root.SetVersionTemplate("{{.Version}}\n")
	program, _ := buildVersion()
	root.AddCommand(
		newNew(),
		newPlan(),
		explain.New(searchParams()),
		newData(),
		ledgers.New(),
		keys.Keygen(),
		keys.New(),
		newRoster(),
		newNode(),
		newRelay(),
		newStatus(),
		watch.Live(),
		watch.Open(),
		newVersion(),
		manual.Command("sotto "+program, exitPages()),
		newExport(),
		newPredict(),
		newQuery(),
		newEvaluate(),
		newCard(),
	)
	root.AddCommand(studies()...)
	cli.Strict(root)
	complete.Wire(root, namesOfStudies())
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
