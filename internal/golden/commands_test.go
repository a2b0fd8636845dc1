package golden

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// A commandCase is one command line, and the patterns of files that it leaves.
type commandCase struct {
	name, args, files string
}

// commands are command lines beside "sotto run". NAME.toml is testdata/NAME.toml,
// runs/NAME.toml the run file of a case of runs.txt, RUN the folder of a finished run.
// They run in the folder that holds these, plan-owner and what else begins with "node: "
// in that of testdata/node.
var commands = []commandCase{
	{"sweep", "sweep sweep.toml --output json", "sweeps/*/cells.csv sweeps/*/runs/*/report.html"},
	{"sweep-shard", "sweep sweep.toml --output json --shard 1/2 --discard-runs", "sweeps/*/cells-*.csv"},
	{"tune", "tune tune.toml --output json", "tunes/*/trials.csv tunes/*/best.toml"},
	{"tune-pbt", "tune tune-pbt.toml --output json", "tunes/*/trials.csv tunes/*/best.toml"},
	{"tune-charged", "tune tune-own.toml --output json", "tunes/*/best.toml"},
	{"reproduce-allocation", "reproduce seed001-allocation --scale smoke --dir study",
		"study/cells.csv study/curves.csv study/seed*.csv study/*.md study/*.tex"},
	{"reproduce-theorems", "reproduce seed003-theorems --scale smoke --dir study", "study/*.csv study/*.md"},
	{"reproduce-leaks", "reproduce seed004-figa --scale smoke --dir study",
		"study/*.csv study/*.md study/*.svg"},
	{"audit-step", "audit step audit.toml --observations 200 --output json", ""},
	{"audit-sampled", "audit step audit.toml --observations 100 --output json --sampled --agent 2", ""},
	{"audit-onerun", "audit onerun audit.toml --observations 40 --output json", ""},
	{"audit-runs", "audit runs audit.toml --observations 10 --output json --canary blank", ""},
	{"audit-all", "audit all audit.toml --scale smoke --output json", ""},
	{"audit-ledger", "audit ledger RUN --output json", ""},
	{"plan-owner", "node: plan --data a.csv --policy a.toml --state a", ""},
	{"export-onnx", "export RUN --format onnx --out model.onnx", "model.onnx"},
	{"export-npz", "export RUN --format flat-npz --out model.npz", "model.npz"},
	{"report", "report RUN --out page.html", "page.html page-plots/*.csv page-plots/*.svg"},
	{"statement", "account statement RUN", ""},
	{"ledger", "ledger verify RUN", ""},
	{"partition", "data partition runs/csv.toml --out parts", "parts/*/records.csv"},
	{"network", "account network --topology ring --agents 8 --rounds 3 --adversary all --epsilon 2", ""},
	{"topology", "topology show ring --agents 12 --output json", ""},
}

// searches are run files beside those of runs.txt.
var searches = words("sweep.toml tune.toml tune-pbt.toml tune-own.toml audit.toml")

// planned are the cases whose plans are compared, refusals among them, and audited those
// that are attacked.
var (
	planned = words("dsgd dsgt target-rdp exhausted clip-quantile score-accuracy decor-one claim " +
		"km-own-state average bcd walk walk-record sgp dinno gossip-sgd central understood")
	audited = words("dsgd dsgt dinno sgp km km-own-state walk walk-record bcd bcd-laplace " +
		"gossip-admm clip-quantile exact decor-one central")
)

func words(s string) []string { return strings.Fields(s) }

// TestCommands compares what the other commands print and leave.
func TestCommands(t *testing.T) {
	cases, err := readCases("testdata/runs.txt")
	if err != nil {
		t.Fatal(err)
	}
	all := slices.Clone(commands)
	for _, name := range planned {
		all = append(all, commandCase{"plan-" + name, "plan runs/" + name + ".toml --output json", ""})
	}
	for _, name := range audited {
		args := "audit step runs/" + name + ".toml --observations 20 --output json"
		all = append(all, commandCase{"audit-of-" + name, args, ""})
	}
	golden, err := openGolden("commands.txt")
	if err != nil {
		t.Fatal(err)
	}
	var known []string
	for _, c := range all {
		known = append(known, c.name)
	}
	first := slices.IndexFunc(cases, func(c runCase) bool { return c.name == "dsgd" })
	run := driver{dir: prepare(t, &cases[first]), workers: "1"}
	finished, err := run.run("run.toml", "runs")
	if err != nil {
		t.Fatal(err)
	}
	l, err := readRun(filepath.Join(run.dir, finished))
	if err != nil {
		t.Fatal(err)
	}
	if a := l.summary.Arithmetic; a != "fma" {
		t.Skipf("this machine's arithmetic is %s, not fma", a)
	}
	t.Run("all", func(t *testing.T) {
		for _, c := range all {
			t.Run(c.name, func(t *testing.T) {
				t.Parallel()
				d := driver{dir: t.TempDir()}
				if strings.HasPrefix(c.args, "node: ") {
					copyTree(t, filepath.Join(d.dir, "node"), "testdata/node")
				}
				if strings.Contains(c.args, "RUN") {
					copyTree(t, filepath.Join(d.dir, finished), filepath.Join(run.dir, finished))
				}
				for _, r := range cases {
					if file := "runs/" + r.name + ".toml"; slices.Contains(words(c.args), file) {
						write(t, filepath.Join(d.dir, file), []byte(r.text))
					}
				}
				for _, name := range slices.Concat(inputs, searches) {
					b, err := os.ReadFile(filepath.Join("testdata", name))
					if err != nil {
						t.Fatal(err)
					}
					write(t, filepath.Join(d.dir, name), b)
				}
				got := c.columns(t, d, finished)
				switch {
				case *update:
					golden.set(c.name, got)
				case *updateWords:
					golden.setWords(t, c.name, got)
				default:
					for _, bad := range golden.compare(c.name, got) {
						t.Error(bad)
					}
				}
			})
		}
	})
	if (*update || *updateWords) && !t.Failed() {
		if err := golden.write(commandsHead, known); err != nil {
			t.Fatal(err)
		}
	}
}

const commandsHead = "What other commands print and leave, with arithmetic fma: the first 64 bits of\n" +
	"SHA-256. prints is JSON without sentences, words all that is printed and files for people to read.\n"

// setWords replaces the columns named words of a case, and refuses others that differ.
func (f *goldenFile) setWords(t *testing.T, row string, got []column) {
	t.Helper()
	figures := func(all []column) []column {
		return slices.DeleteFunc(slices.Clone(all), func(c column) bool { return c.name == "words" })
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if !slices.Equal(figures(f.rows[row]), figures(got)) {
		t.Errorf("%s: more than words has changed", row)
	}
	f.rows[row] = got
}

func write(t *testing.T, path string, b []byte) {
	t.Helper()
	err := os.MkdirAll(filepath.Dir(path), 0o700)
	if err == nil {
		err = os.WriteFile(path, b, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// passing is what a command prints of the moment and the machine, and remarks are
// comments of a TOML file.
var (
	passing = regexp.MustCompile(`(?m)[0-9.]+ (s|ms|minutes|seconds)\b|^(port|clock|disk) .*$`)
	remarks = regexp.MustCompile(`(?m)^#.*$`)
)

// columns runs the command and reads what it leaves. A command that fails says so in a
// column.
func (c *commandCase) columns(t *testing.T, d driver, finished string) []column {
	t.Helper()
	line := strings.ReplaceAll(c.args, "RUN", finished)
	if rest, ok := strings.CutPrefix(line, "node: "); ok {
		line, d.dir = rest, filepath.Join(d.dir, "node")
	}
	out, err := d.sotto(words(line)...)
	if err != nil {
		_, said, _ := strings.Cut(err.Error(), "\n")
		var status *exec.ExitError
		if !errors.As(err, &status) {
			t.Fatal(err)
		}
		return []column{{"fails", status.Error()}, {"words", strings.ReplaceAll(said, "\n", " ")}}
	}
	out = bytes.ReplaceAll(out, []byte(d.dir), []byte("DIR"))
	var got []column
	if len(out) > 0 && (out[0] == '{' || out[0] == '[') {
		got = append(got, column{"prints", short(wordless(out))})
	}
	got = append(got, column{"words", short(passing.ReplaceAll(timeless(out), nil))})
	for _, pattern := range words(c.files) {
		found, err := filepath.Glob(filepath.Join(d.dir, pattern))
		if err != nil || len(found) == 0 {
			t.Fatalf("%s: no such file: %v", pattern, err)
		}
		for _, path := range found {
			b, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			rel, err := filepath.Rel(d.dir, path)
			if err != nil {
				t.Fatal(err)
			}
			kind := "file"
			switch filepath.Ext(path) {
			case ".html", ".md", ".tex", ".svg":
				kind, b = "words", timeless(b)
			case ".toml":
				b = remarks.ReplaceAll(b, nil)
			}
			got = append(got, column{kind, fmt.Sprint(short(b), " ", filepath.ToSlash(rel))})
		}
	}
	return got
}
