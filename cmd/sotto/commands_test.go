package main

import (
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

var updateCommands = flag.Bool("update", false, "write testdata/commands.golden")

// Scripts that people have written call commands and flags by name and rely on defaults:
// none may get lost or become another. New ones are no fault. After a change that is
// meant, make the list again:
//
//	go test ./cmd/sotto -run TestCommands -update
func TestCommands(t *testing.T) {
	const path = "testdata/commands.golden"
	t.Setenv("SOTTO_DATA", "")
	now := describeCommands(newRoot())
	if *updateCommands {
		if err := os.WriteFile(path, []byte(strings.Join(now, "\n")+"\n"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	was := strings.Split(strings.TrimSuffix(string(b), "\n"), "\n")
	if len(was) < 100 {
		t.Errorf("%s has %d lines", path, len(was))
	}
	for _, line := range was {
		if !slices.Contains(now, line) {
			t.Errorf("lost or changed: %s", line)
		}
	}
}

func TestFlagAliases(t *testing.T) {
	c, _, err := newRoot().Find([]string{"node"})
	if err != nil {
		t.Fatal(err)
	}
	if err := c.ParseFlags([]string{"--local-baseline", "--min-answer-time=3s"}); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{"alone": "true", "pad": "3s"} {
		if f := c.Flags().Lookup(name); f == nil || f.Value.String() != want {
			t.Errorf("--%s is %v, want %s", name, f, want)
		}
	}
	if help := c.UsageString(); strings.Contains(help, "local-baseline") ||
		!strings.Contains(help, "--alone") {
		t.Error("help lists a second spelling, or not the first")
	}
}

// Every command that prints a result prints it as JSON too. Those below print files of
// another form, or nothing.
func TestResultsAreJSON(t *testing.T) {
	without := strings.Fields(`account audit data ledger key roster topology campaign schema
		relay card passwd draft prints slurm kubernetes run-campaign merge completion help export
		demo live open
		bash fish powershell zsh`)
	var look func(c *cobra.Command)
	look = func(c *cobra.Command) {
		for _, sub := range c.Commands() {
			look(sub)
		}
		name := c.Name()
		if c.Name() == "run" && c.Parent().Name() == "campaign" {
			name = "run-campaign"
		}
		if c.HasParent() && !slices.Contains(without, name) && c.Flags().Lookup("json") == nil {
			t.Errorf("%s has no --json", c.CommandPath())
		}
		f := c.Flags().Lookup("json")
		if f != nil && c.Flags().Lookup("output") == nil {
			t.Errorf("%s has --json and no --output", c.CommandPath())
		}
		if f != nil && c.PreRunE == nil {
			t.Errorf("%s takes any --output", c.CommandPath())
		}
	}
	look(newRoot())
}

// describeCommands has a line for each command below c, each other name of one, and each
// flag.
func describeCommands(c *cobra.Command) []string {
	line := func(of, format string, args ...any) string { return of + ": " + fmt.Sprintf(format, args...) }
	hidden := map[bool]string{true: ", hidden"}
	all := []string{line("command", "%s%s", c.CommandPath(), hidden[c.Hidden])}
	for _, a := range c.Aliases {
		all = append(all, line("alias", "%s of %s", a, c.CommandPath()))
	}
	c.LocalFlags().VisitAll(func(f *pflag.Flag) {
		name := "--" + f.Name
		if f.Shorthand != "" {
			name += " -" + f.Shorthand
		}
		value := fmt.Sprintf("%s = %q%s", f.Value.Type(), f.DefValue, hidden[f.Hidden])
		all = append(all, line("flag", "%s %s %s", c.CommandPath(), name, value))
	})
	for _, sub := range c.Commands() {
		all = append(all, describeCommands(sub)...)
	}
	return all
}
