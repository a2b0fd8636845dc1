package lists

import (
	"context"
	"encoding/csv"
	"fmt"
	"go/ast"
	"go/token"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/pelletier/go-toml/v2"

	"sotto/algo"
	"sotto/data"
	"sotto/experiment"
	"sotto/experiment/run"
	"sotto/model"
	"sotto/oracle"
	"sotto/privacy"
	"sotto/privacy/account"
	"sotto/reproduce/papers"
	"sotto/topology"
)

// Run files, rosters and policies name keys; programs that read a run's files do too.
// None may get lost or become of another type. The list has every key of every struct
// that is decoded or encoded, with its options, whichever package it is in: more of them
// are no fault.
func TestKeys(t *testing.T) {
	var now []string
	for _, f := range module(t).All {
		if f.Test || strings.HasSuffix(f.Dir, "test") || strings.HasPrefix(f.Dir, "internal/") {
			continue
		}
		ast.Inspect(f.Syntax, func(n ast.Node) bool {
			if s, ok := n.(*ast.StructType); ok {
				now = append(now, tags(s)...)
			}
			return true
		})
	}
	checkKept(t, "keys.txt", "keys of files", set(now))
}

// tags are the keys of a struct: format, key, options and type.
func tags(s *ast.StructType) (all []string) {
	for _, f := range s.Fields.List {
		if f.Tag == nil {
			continue
		}
		text, err := strconv.Unquote(f.Tag.Value)
		if err != nil {
			continue
		}
		for _, format := range []string{"toml", "json"} {
			if v, ok := reflect.StructTag(text).Lookup(format); ok && v != "-" {
				all = append(all, fmt.Sprintf("%s %s %s", format, v, kind(f.Type)))
			}
		}
	}
	return all
}

// kind is a type without the names that a move changes: only built-in ones are kept.
func kind(x ast.Expr) string {
	switch x := x.(type) {
	case *ast.Ident:
		if token.IsExported(x.Name) || !builtin[x.Name] {
			return "value"
		}
		return x.Name
	case *ast.StarExpr:
		return kind(x.X)
	case *ast.ArrayType:
		return "list of " + kind(x.Elt)
	case *ast.MapType:
		return "map of " + kind(x.Value)
	}
	return "value"
}

var builtin = map[string]bool{
	"any": true, "bool": true, "byte": true, "string": true, "float32": true, "float64": true,
	"int": true, "int32": true, "int64": true,
	"uint": true, "uint8": true, "uint16": true, "uint32": true, "uint64": true,
}

// registries are the names that a run file or a command may give, by what they name. It
// is one of two places here that know the Go names of the module, see runs.
func registries() map[string][]string {
	graphs := slices.Concat(sorted(topology.Graphs), sorted(topology.Digraphs), sorted(topology.Similarities))
	return map[string][]string{
		"algorithm":  sorted(algo.Algorithms),
		"data set":   sorted(data.Datasets),
		"partition":  sorted(data.Partitions),
		"model":      sorted(model.Models),
		"graph":      graphs,
		"weights":    sorted(topology.Weights),
		"mechanism":  sorted(privacy.Mechanisms),
		"accountant": sorted(account.Accountants),
		"operator":   sorted(oracle.Operators),
		"study":      papers.All.Names(),
		"adjacency":  {account.AddRemove.String(), account.ReplaceOne.String(), account.ZeroOut.String()},
		"unit":       {account.Record().String(), account.Owner().String()},
	}
}

func sorted[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }

// Names that run files and commands give may not get lost.
func TestNames(t *testing.T) {
	var now []string
	for what, names := range registries() {
		for _, n := range names {
			now = append(now, what+" "+n)
		}
	}
	checkKept(t, "names.txt", "names", set(now))
}

// fileName is what the files of runs, sweeps, searches, studies, ledgers and nodes are
// called.
var fileName = regexp.MustCompile(`^[a-z][a-z0-9/-]*\.` +
	`(bin|csv|html|jsonl?|md|npz|onnx|png|safetensors|svg|tex|toml)$`)

// choice is a word that a key or a flag may have for a value, or a metric in metrics.csv.
var choice = regexp.MustCompile(`^[a-z][a-z0-9_.-]*$`)

// Texts in the code name files, metrics, and what else a key may be: attacks of
// adversaries, modes of audits, mechanisms, formats. words.txt is written by hand, so
// that a word is in it for a reason; the files' names are collected, and one may be put
// together from its parts.
func TestWords(t *testing.T) {
	var files, words []string
	for _, f := range module(t).All {
		if f.Test || strings.HasPrefix(f.Dir, "internal/") {
			continue
		}
		ast.Inspect(f.Syntax, func(n ast.Node) bool {
			if l, ok := n.(*ast.BasicLit); ok && l.Kind == token.STRING {
				s, _ := strconv.Unquote(l.Value)
				if fileName.MatchString(s) {
					files = append(files, s)
				} else if choice.MatchString(s) {
					words = append(words, s)
				}
			}
			return true
		})
	}
	for _, name := range golden(t, "files.txt", set(files)) {
		stem := strings.TrimSuffix(name, filepath.Ext(name))
		if !slices.Contains(files, name) && !slices.Contains(words, stem) {
			t.Errorf("names of files: lost: %s", name)
		}
	}
	b, err := os.ReadFile(filepath.Join("testdata", "words.txt"))
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(b)) {
		line, _, _ = strings.Cut(strings.TrimSpace(line), " #")
		for _, w := range strings.Fields(line) {
			if !slices.Contains(words, w) {
				t.Errorf("words: lost: %s", w)
			}
		}
	}
}

// runs are what the tests below need of a run file with settings: the configuration in
// force after its packages have decoded all they decode before they refuse an unknown
// key, and with a folder the names of the files and metrics that the run leaves in it.
func runs(out string, settings ...string) (config map[string]any, written []string, err error) {
	if out == "" {
		settings = append(settings, "model.no_such_key=1")
	}
	f, err := experiment.Parse("test", nil, settings)
	if err != nil {
		return nil, nil, err
	}
	e, stop := f.Build("no such folder")
	if stop != nil && out != "" {
		return nil, nil, stop
	}
	b, err := f.Effective()
	if err != nil || toml.Unmarshal(b, &config) != nil || out == "" {
		return config, nil, err
	}
	if _, err := run.Run(context.Background(), e, run.Options{Out: out, Workers: 1}); err != nil {
		return nil, nil, err
	}
	written, err = contents(out)
	return config, written, err
}

// contents are the files of one run and the metrics in its table.
func contents(out string) (all []string, err error) {
	return all, filepath.WalkDir(out, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		below, _ := filepath.Rel(out, path)
		_, name, _ := strings.Cut(filepath.ToSlash(below), "/") // without the run's own folder
		all = append(all, "file "+name)
		if name != "metrics.csv" {
			return nil
		}
		f, err := os.Open(path)
		if err != nil {
			return err
		}
		defer f.Close()
		rows, err := csv.NewReader(f).ReadAll()
		for _, r := range rows[min(1, len(rows)):] {
			all = append(all, "metric "+r[slices.Index(rows[0], "metric")])
		}
		return err
	})
}

// small is a run that takes no time.
var small = []string{"rounds=3", "topology.agents=4", "data.train=60", "data.test=20", `data.partition="iid"`,
	"model.hidden=[4]", "privacy.batch_size=4"}

// A run leaves the same files, whose table has the same metrics.
func TestFilesOfRuns(t *testing.T) {
	noise, none := "privacy.noise_multiplier=4.0", `privacy.mechanism="none"`
	var now []string
	for _, more := range [][]string{
		{none, "evaluate.gradients=8"},
		{noise, "evaluate.validation=0.3", `evaluate.score="accuracy"`, `privacy.clipping="released"`},
	} {
		_, written, err := runs(t.TempDir(), slices.Concat(small, more)...)
		if err != nil {
			t.Fatal(err)
		}
		now = append(now, written...)
	}
	checkKept(t, "written.txt", "what runs leave", set(now))
}

// Sections have the same keys with the same defaults, for every name of an algorithm, a
// data set, a graph, a model and a partition. Names that need settings of others are
// tried with some.
func TestDefaults(t *testing.T) {
	none := `privacy.mechanism="none"`
	base := []string{none, "rounds=3", "topology.agents=4", "privacy.batch_size=4"}
	natural := `data.partition="natural"`
	tasks := []string{`data.dataset="linear-tasks"`, natural, `model.name="logistic"`, "topology.agents=100"}
	values := []string{`data.dataset="values"`, natural, `model.name="mean"`, "topology.agents=10"}
	variants := [][]string{
		base,
		slices.Concat(base, tasks),
		slices.Concat(base[:2], tasks),
		slices.Concat(base[:2], values, []string{`privacy.unit="owner"`}),
		{none, `privacy.unit="owner"`},
		{none, "topology.agents=1", "privacy.batch_size=4"},
	}
	now := inForce("", "", base)
	for what, key := range map[string]string{
		"algorithm": "algorithm.name", "data set": "data.dataset", "graph": "topology.graph",
		"model": "model.name", "partition": "data.partition",
	} {
		for _, name := range registries()[what] {
			for _, v := range variants {
				lines := inForce(key, name, v)
				now = append(now, lines...)
				if len(lines) > 0 {
					break
				}
			}
		}
	}
	checkKept(t, "defaults.txt", "keys in force by default", set(now))
}

// inForce has a line for each key of a section where one of its keys is as given; of all
// sections where none is. A run file that is refused before its packages decode it has
// none.
func inForce(key, value string, settings []string) (all []string) {
	of, _, _ := strings.Cut(key, ".")
	title := strings.TrimSpace(key + " " + value)
	if key != "" {
		settings = append(slices.Clone(settings), fmt.Sprintf("%s=%q", key, value))
	}
	if key != "" && key != "data.dataset" { // fewer records than by default take less time
		settings = append(settings, "data.train=60", "data.test=20")
	}
	config, _, err := runs("", settings...)
	if err != nil {
		return nil
	}
	for section, keys := range config {
		m, ok := keys.(map[string]any)
		if !ok {
			m = map[string]any{"": keys}
		}
		for k, v := range m {
			if key == "" || section == of {
				all = append(all, fmt.Sprintf("%s: [%s] %s = %v", title, section, k, v))
			}
		}
	}
	return all
}
