// Package complete says what may come next on a command line: names of graphs, data
// sets, algorithms, studies and formats, run directories, and keys of run files with
// their values. It reads names of files, and run files; no data.
package complete

import (
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"sotto/experiment/keys"
	"sotto/experiment/runfile"
	"sotto/experiment/trained"
	"sotto/privacy/account"
)

// Names are lists that not every program has.
type Names struct {
	Studies []string // of sotto reproduce
	Benches []string // models of sotto bench
}

// words are what may stand at a place.
type words func(c *cobra.Command, args []string, word string) []string

// Wire gives all commands below root their completions.
func Wire(root *cobra.Command, names Names) {
	places := arguments(names)
	var walk func(c *cobra.Command)
	walk = func(c *cobra.Command) {
		for _, sub := range c.Commands() {
			walk(sub)
		}
		path := strings.TrimPrefix(c.CommandPath(), root.Name()+" ")
		if w := places[path]; w != nil && c.ValidArgsFunction == nil {
			c.ValidArgsFunction = complete(w)
		}
		c.LocalFlags().VisitAll(func(f *pflag.Flag) {
			w := ofFlag(path, f, names)
			if w != nil && !f.Hidden {
				_ = c.RegisterFlagCompletionFunc(f.Name, complete(w)) // it was registered: as well
			}
		})
	}
	walk(root)
}

// complete keeps the words that begin as what is typed. After a key and its equals sign
// no blank follows. Where there are none, the shell offers files.
func complete(w words) cobra.CompletionFunc {
	return func(c *cobra.Command, args []string, word string) ([]string, cobra.ShellCompDirective) {
		var fit []string
		directive := cobra.ShellCompDirectiveNoFileComp
		for _, s := range w(c, args, word) {
			if !strings.HasPrefix(s, word) {
				continue
			}
			fit = append(fit, s)
			if strings.HasSuffix(s, "=") || strings.HasSuffix(s, "/") {
				directive |= cobra.ShellCompDirectiveNoSpace
			}
		}
		if fit == nil {
			return nil, cobra.ShellCompDirectiveDefault
		}
		return fit, directive
	}
}

// list is words that are the same everywhere.
func list(names ...string) words {
	return func(*cobra.Command, []string, string) []string { return names }
}

// first is words for the first argument alone.
func first(w words) words {
	return func(c *cobra.Command, args []string, word string) []string {
		if len(args) > 0 {
			return nil
		}
		return w(c, args, word)
	}
}

// arguments are what commands take, by their paths.
func arguments(names Names) map[string]words {
	graph, run, file := first(list(keys.Graphs()...)), first(runs), first(tomlFiles)
	a := map[string]words{"topology show": graph, "topology draw": graph,
		"data inspect": first(list(keys.Datasets()...)), "data fetch": first(list(keys.Datasets()...)),
		"data verify": list(keys.Datasets()...), "reproduce": first(list(names.Studies...)), "report": runs,
		"audit ledger": first(func(c *cobra.Command, args []string, word string) []string {
			return append(runs(c, args, word), tomlFiles(c, args, word)...)
		})}
	for _, c := range []string{"export", "predict", "evaluate", "card", "ledger show", "ledger verify",
		"ledger export", "account statement", "status", "live", "open"} {
		a[c] = run
	}
	for _, c := range []string{"run", "plan", "sweep", "tune", "roster new", "data partition", "audit all",
		"audit pairwise", "audit reconstruct", "audit step", "audit onerun", "audit runs", "audit noise",
		"audit sampler", "audit keys", "data schema show", "data schema check"} {
		a[c] = file
	}
	return a
}

// flagValues are what flags take, by their names, whichever command they are of.
var flagValues = map[string][]string{
	"accountant": account.Names(), "adjacency": {"add-remove", "replace-one", "zero-out"},
	"canary": {"blank", "gradient", "mislabelled"}, "claim": {"exact", "laplacian", "local", "printed"},
	"dataset": {"fashion-mnist", "glyphs", "mnist"}, "delimiter": {"comma", "pipe", "semicolon", "tab"},
	"encoding": {"latin-1", "utf-16", "utf-8", "windows-1252"}, "agent": {"mean"},
	"kind": {"federation", "simulation", "table"}, "log-format": {"json", "text"},
	"log-level": {"debug", "error", "info", "warn"}, "mechanism": {"discrete-gaussian", "discrete-laplace",
		"eps-delta", "gaussian", "laplace", "randomized-response", "truncated-gaussian", "truncated-laplace"},
	"missing": {"proceed", "wait"}, "model": {"convnet", "mlp"}, "probe": {"live", "ready"},
	"sampler": {"cyclic", "fixed-size", "none", "poisson", "shuffled", "truncated-poisson"},
	"scale":   {"full", "short", "smoke"}, "unit": {"group", "owner", "record"},
	"topology": keys.Graphs(), "weights": keys.Weights(), "format": trained.ExportFormats(),
}

// ofFlag are the words of a flag of the command at path; nil: files, or nothing.
func ofFlag(path string, f *pflag.Flag, names Names) words {
	switch f.Name {
	case "set", "sweep", "tune":
		return set
	case "run", "resume":
		return runs
	case "models":
		return list(names.Benches...)
	case "studies":
		return list(names.Studies...)
	case "experiment", "roster", "policy":
		return tomlFiles
	case "output":
		return list(strings.Split(strings.ReplaceAll(f.Usage, " or ", ", "), ", ")...)
	case "claim":
		if path != "audit pairwise" { // a volume's, elsewhere
			return nil
		}
	}
	if f.Value.Type() != "string" {
		return nil
	}
	if values := flagValues[f.Name]; values != nil {
		return list(values...)
	}
	return nil
}

// set completes --set: parameters of the graph or data set that the command names, or
// keys of its run file.
func set(c *cobra.Command, args []string, word string) []string {
	var params any
	switch {
	case c.Name() == "inspect" && len(args) > 0:
		params = keys.Dataset(args[0])
	case c.Parent().Name() == "topology" && len(args) > 0:
		params = keys.Graph(args[0])
	case c.Parent().Name() == "account":
		params = keys.Graph(c.Flag("topology").Value.String())
	case c.Name() != "inspect" && c.Parent().Name() != "topology":
		path := ""
		if len(args) > 0 {
			path = args[0]
		}
		before, _ := c.Flags().GetStringArray("set")
		return settings(path, before, word)
	}
	if params == nil {
		return nil
	}
	var words []string
	for _, k := range runfile.Keys(params) {
		words = append(words, k+"=")
	}
	return tidy(words)
}

// tomlFiles are files that end in .toml, and folders on the way to them.
func tomlFiles(_ *cobra.Command, _ []string, word string) []string {
	return paths(word, func(path string, d os.DirEntry) bool { return filepath.Ext(path) == ".toml" })
}

// runs are folders of finished runs, of nodes and of sweeps, and folders on the way to
// them.
func runs(_ *cobra.Command, _ []string, word string) []string {
	return paths(word, func(path string, d os.DirEntry) bool { return d.IsDir() && isRun(path) })
}

func isRun(path string) bool {
	return slices.ContainsFunc([]string{"config.toml", "cells.csv", "genesis.json"}, func(name string) bool {
		_, err := os.Stat(filepath.Join(path, name))
		return err == nil
	})
}

// paths are the entries of the folder of word that fit, and below its other folders those
// of one more floor; a folder without one is offered as a way to go on.
func paths(word string, fits func(string, os.DirEntry) bool) []string {
	dir, base := filepath.Split(word)
	entries, err := os.ReadDir(filepath.Clean("./" + dir))
	if filepath.IsAbs(dir) {
		entries, err = os.ReadDir(dir)
	}
	if err != nil {
		return nil
	}
	var found []string
	for _, e := range entries {
		path := dir + e.Name()
		switch {
		case !strings.HasPrefix(e.Name(), base) || strings.HasPrefix(e.Name(), ".") && base == "":
		case fits(path, e):
			found = append(found, path)
		case e.IsDir():
			inside := 0
			below, _ := os.ReadDir(path)
			for _, b := range below {
				if in := path + "/" + b.Name(); fits(in, b) {
					found = append(found, in)
					inside++
				}
			}
			if inside == 0 && len(below) > 0 {
				found = append(found, path+"/")
			}
		}
	}
	return found
}
