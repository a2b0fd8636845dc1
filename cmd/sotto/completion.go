package main

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"sotto/data"
	"sotto/experiment/rundir"
	"sotto/experiment/runfile"
	"sotto/topology"
)

// completer lists what a word may be.
type completer func() []string

// completions are what the arguments of commands may be, by the path of the command below
// the root. Arguments of others are files.
var completions = map[string]completer{
	"topology show":     func() []string { return slices.Collect(maps.Keys(topology.Graphs)) },
	"topology draw":     func() []string { return slices.Collect(maps.Keys(topology.Graphs)) },
	"data inspect":      func() []string { return slices.Collect(maps.Keys(data.Datasets)) },
	"data verify":       func() []string { return slices.Collect(maps.Keys(data.Datasets)) },
	"data fetch":        func() []string { return slices.Collect(maps.Keys(data.Datasets)) },
	"report":            runFolders,
	"export":            runFolders,
	"predict":           runFolders,
	"evaluate":          runFolders,
	"card":              runFolders,
	"query":             runFolders,
	"account statement": runFolders,
}

// complete gives a command and those below it their completions.
func complete(c *cobra.Command, path string) {
	if list, ok := completions[path]; ok && c.ValidArgsFunction == nil {
		c.ValidArgsFunction = func(_ *cobra.Command, _ []string, prefix string) ([]string,
			cobra.ShellCompDirective) {
			return beginning(list(), prefix), cobra.ShellCompDirectiveDefault
		}
	}
	if c.Flags().Lookup("set") != nil && path != "data inspect" {
		c.RegisterFlagCompletionFunc("set", func(_ *cobra.Command, args []string, prefix string) ([]string,
			cobra.ShellCompDirective) {
			return beginning(settingKeys(args), prefix), cobra.ShellCompDirectiveNoSpace
		})
	}
	for _, sub := range c.Commands() {
		complete(sub, strings.TrimSpace(path+" "+sub.Name()))
	}
}

// beginning are the words with a prefix, sorted.
func beginning(words []string, prefix string) []string {
	words = slices.DeleteFunc(words, func(w string) bool { return !strings.HasPrefix(w, prefix) })
	slices.Sort(words)
	return words
}

// runFolders are the folders of finished runs and nodes in the working directory and one
// and two levels below it.
func runFolders() []string {
	var all []string
	for _, pattern := range []string{"*", "*/*"} {
		found, _ := filepath.Glob(filepath.Join(pattern, rundir.ConfigFile))
		for _, path := range found {
			all = append(all, filepath.Dir(path))
		}
	}
	return all
}

// settingKeys are those of the run file that the command line names, and those in force
// in the built-in one, with = behind.
func settingKeys(args []string) []string {
	var texts [][]byte
	if e, err := build(nil, nil, ""); err == nil {
		texts = append(texts, e.Effective)
	}
	for _, path := range args {
		if b, err := os.ReadFile(path); err == nil {
			texts = append(texts, b)
		}
	}
	var all []string
	for _, b := range texts {
		if doc, err := runfile.Parse("completion", b); err == nil {
			all = slices.AppendSeq(all, maps.Keys(doc.Values()))
		}
	}
	slices.Sort(all)
	all = slices.Compact(all)
	for i := range all {
		all[i] += "="
	}
	return all
}
