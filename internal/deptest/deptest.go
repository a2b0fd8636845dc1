// Package deptest checks which package may import which. The rules are sotto's layers,
// and prohibitions that keep private data, chance and the outside world where they
// belong.
package deptest

import (
	"fmt"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// layers lists packages from the lowest; imports go down. Packages of one line may import
// each other only where edges says so.
var layers = [][]string{
	{"config", "tensor", "rng", "model/onnx", "privacy/account/loss",
		"privacy/account/figure", "privacy/account/gdp"},
	{"agent", "privacy/account", "node/keyfile", "model", "model/score", "data/scattering", "data/als",
		"data/libsvm", "data/idx", "data/schema", "data/csv", "data/glyph",
		"experiment/runfile", "live/event"},
	{"node/pieces", "node/clock", "node/courier", "node/mailbox", "node/meter", "live", "data/ratings"},
	{"topology", "data", "privacy/ledger", "privacy", "privacy/account/network"},
	{"node/mark", "node/roster", "data/catalog", "data/summary", "data/memory", "query"},
	{"data/fetch"},
	{"node/checkpoint", "node/frame"},
	{"oracle", "algo", "sim", "node"},
	{"experiment/plan", "experiment/finishing", "node/p2p", "node/folder", "node/wire", "node/pad",
		"node/endpoint",
		"privacy/audit",
		"report/plot", "experiment/rundir",
		"experiment/figurecache"},
	{"experiment/replication", "experiment/exposure", "experiment/metric", "report"},
	{"experiment", "bench"},
	{"experiment/shapes"},
	{"experiment/forecast", "experiment/trained"},
	{"experiment/owner", "experiment/run"},
	{"experiment/sweep", "experiment/tune", "experiment/attack", "experiment/worth"},
	{"experiment/keys"},
	{"reproduce"},
	// one publication each: what two of them share belongs to reproduce
	{"reproduce/dpdl2023", "reproduce/bellet2018", "reproduce/adad2p", "reproduce/dkm",
		"reproduce/muffliato2022", "reproduce/joining", "reproduce/suggest"},
	{"reproduce/papers", "reproduce/campaign"},
	{"cmd/sotto/cli"},
	{"cmd/sotto/keys"},
	{"cmd/sotto/ledgers", "cmd/sotto/calculator", "cmd/sotto/scaffold", "cmd/sotto/complete",
		"cmd/sotto/manual", "cmd/sotto/schemas", "cmd/sotto/watch", "cmd/sotto/explain"},
	{"cmd/sotto"},
}

var edges = map[string][]string{
	"privacy": {"privacy/ledger"},
	"data":    {"model"},
	"rng":     {"tensor"},
	// a Fourier transform and the normal law's tails
	"privacy/account/loss": {"tensor"},
	"privacy/account/gdp":  {"tensor"},
}

// commands are the packages of the command line.
var commands = []string{"cmd/sotto", "cmd/sotto/cli", "cmd/sotto/keys", "cmd/sotto/ledgers",
	"cmd/sotto/calculator", "cmd/sotto/scaffold", "cmd/sotto/complete", "cmd/sotto/manual",
	"cmd/sotto/schemas", "cmd/sotto/watch", "cmd/sotto/explain"}

// A rule forbids direct imports.
type rule struct {
	in     []string // packages it binds, with their test suites' packages; "*" is all
	except []string
	path   string // import path, or a prefix that ends in "/..."
	why    string
}

// sealed are the packages that only see public vectors.
var sealed = []string{"algo", "sim", "node", "node/p2p", "node/folder", "node/wire", "node/mark",
	"node/pad", "node/pieces", "node/roster", "node/checkpoint", "node/endpoint", "node/keyfile",
	"node/clock", "node/courier", "node/frame", "node/mailbox", "node/meter", "agent"}

var rules = []rule{
	{in: sealed, path: "sotto/data",
		why: "only oracles see data: an algorithm or runtime that imports data could leak it past the gate"},
	{in: sealed, path: "sotto/model", why: "gradients are private answers: they come through the gate"},
	{in: sealed, path: "sotto/oracle",
		why: "an oracle's value is not noised yet: only the gate may call one"},
	{in: []string{"privacy", "privacy/account", "privacy/account/network", "privacy/ledger"},
		path: "sotto/data", why: "the gate holds oracles as an interface and never sees records"},
	{in: []string{"privacy", "privacy/account", "privacy/account/network", "privacy/ledger"},
		path: "sotto/model", why: "the gate holds oracles as an interface and never sees models"},
	{in: []string{"algo", "agent", "privacy/account", "privacy/account/loss", "privacy/account/network",
		"privacy/account/gdp",
		"topology", "tensor", "rng", "model/score",
		"config"}, path: "net/...", why: "no I/O in what must be deterministic"},
	{in: []string{"algo", "agent", "privacy/account", "privacy/account/loss", "privacy/account/network",
		"privacy/account/gdp",
		"tensor", "rng", "config", "model/score",
		"oracle", "sim"}, path: "os", why: "no I/O in what must be deterministic"},
	{in: []string{"algo", "agent", "privacy/account", "privacy/account/loss", "privacy/account/network",
		"privacy/account/gdp",
		"privacy", "tensor", "rng",
		"config", "oracle", "sim", "model", "model/score",
		"topology"}, path: "time", why: "rounds are numbers: no clock in what must be deterministic, and " +
		"no timing of private data"},
	{in: []string{"*"}, except: []string{"rng", "topology", "data", "data/als",
		"data/glyph", "data/ratings"}, path: "math/rand",
		why: "its generator is predictable and its normals are porous: noise and sampling come from rng"},
	{in: []string{"*"}, except: []string{"rng", "topology", "data", "data/als",
		"data/glyph", "data/ratings"}, path: "math/rand/v2",
		why: "its generator is predictable and its normals are porous: noise and sampling come from rng"},
	{in: sealed, path: "sotto/data/csv",
		why: "it reads an owner's records: only who binds an oracle to them may"},
	{in: sealed, path: "sotto/data/schema",
		why: "it reads an owner's records: only who binds an oracle to them may"},
	{in: []string{"experiment/plan", "experiment/replication"}, path: "sotto/data",
		why: "a plan is public: it may not see a data set"},
	{in: []string{"experiment/exposure"}, path: "sotto/data",
		why: "who learns what follows from public facts alone"},
	{in: []string{"experiment/rundir"}, path: "sotto/experiment",
		why: "the files of a run are read without the program that trains"},
	{in: []string{"node", "node/p2p", "node/folder", "experiment/owner"}, path: "sotto/experiment/metric",
		why: "an observer sees all records: nobody in a real run does"},
	{in: []string{"node", "node/p2p", "node/folder", "experiment/owner", "experiment/forecast",
		"experiment/run", "experiment/attack", "privacy/audit"},
		path: "sotto/experiment/figurecache",
		why: "a figure that is a guarantee is computed by whoever states it: only commands that " +
			"simulate read figures from a file"},
	{in: []string{"experiment/trained"}, path: "sotto/node",
		why: "a finished model is a folder, whoever has left it"},
	{in: []string{"experiment"}, path: "sotto/report",
		why: "pages are made by whoever has finished a run"},
	{in: []string{"reproduce"}, path: "sotto/reproduce/...",
		why: "how a study is run knows no paper: a paper is added beside the others, and to the list in " +
			"papers"},
	{in: []string{"experiment/owner", "node"}, path: "sotto/report",
		why: "pages are of runs of all agents: an owner sees its own"},
	{in: commands, path: "sotto/tensor",
		why: "a command reads flags and prints: what computes on vectors stands below it"},
	{in: commands, path: "sotto/rng",
		why: "a command reads flags and prints: what draws stands below it"},
	{in: commands,
		path: "sotto/privacy/account/network",
		why:  "who learns what is computed by experiment/exposure, whoever asks"},
	{in: []string{"experiment"}, path: "sotto/node", why: "who embeds the library must not link the network"},
	{in: []string{"*"}, except: []string{"node/p2p"}, path: "github.com/libp2p/...",
		why: "one package speaks libp2p"},
	{in: []string{"*"}, except: []string{"node/p2p"}, path: "github.com/hashicorp/mdns",
		why: "one package speaks to the network"},
	{in: []string{"*"}, except: []string{"node/folder"}, path: "filippo.io/age/...",
		why: "one package writes into a folder that others see"},
	{in: []string{"*"}, path: "unsafe", except: []string{"tensor"},
		why: "only kernels look below the type system"},
}

// A door lists all of this module that some packages may import directly; helpers in
// internal are open to all.
type door struct {
	in  []string
	may []string
	why string
}

var doors = []door{
	{in: []string{"data/scattering"}, may: []string{"config", "rng", "tensor"},
		why: "features are made of one image at a time and of public constants"},
	{in: []string{"data/schema"}, may: []string{"config"},
		why: "what a record is, is public text, whatever trains on records"},
	{in: []string{"experiment/runfile"}, may: []string{"config"},
		why: "a run file is text with places, whatever it configures"},
	{in: []string{"live/event"}, may: []string{"config"},
		why: "an event is plain words and numbers, whatever tells it"},
	{in: []string{"live"}, may: []string{"config", "live/event"},
		why: "the live page knows events and files: it sees no record, no model and no run"},
	{in: []string{"model/score"}, may: []string{"config", "rng"},
		why: "figures are of predictions and labels, whatever made them"},
	{in: []string{"privacy/account/loss"}, may: []string{"tensor"},
		why: "losses are numbers, whatever has them"},
	{in: []string{"privacy/account/gdp"}, may: []string{"tensor"},
		why: "epsilon, delta and mu are numbers, whatever has them"},
	{in: []string{"privacy/account/figure"},
		why: "figures are numbers, whatever they are of"},
	{in: []string{"internal/rowfile"}, may: []string{"config"},
		why: "a table is rows of text, whatever they are of"},
	{in: []string{"report"},
		may: []string{"config", "experiment/rundir", "experiment/runfile", "report/plot"},
		why: "a page is made from files alone"},
}

// Check returns one line for each forbidden import in the module below root, whose path
// is module. Test files are not bound; packages whose name ends in "test" are harness and
// bound by nothing but the chance rules, those in internal only where they have a door.
func Check(root, module string) ([]string, error) {
	var bad []string
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name := d.Name()
		if d.IsDir() {
			if path != root && (strings.HasPrefix(name, ".") || name == "testdata" || name == "examples" ||
				isModule(path)) {
				return filepath.SkipDir
			}
			return nil
		}
		if !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go") {
			return nil
		}
		rel, err := filepath.Rel(root, filepath.Dir(path))
		if err != nil {
			return err
		}
		pkg := filepath.ToSlash(rel)
		if strings.HasPrefix(pkg, "internal/") && !hasDoor(pkg) || strings.HasSuffix(pkg, "test") {
			return nil
		}
		f, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.ImportsOnly)
		if err != nil {
			return err
		}
		for _, spec := range f.Imports {
			imp, err := strconv.Unquote(spec.Path.Value)
			if err != nil {
				return err
			}
			if why := forbidden(pkg, imp, module); why != "" {
				bad = append(bad, fmt.Sprintf("%s/%s imports %q: %s", pkg, name, imp, why))
			}
		}
		return nil
	})
	slices.Sort(bad)
	return bad, err
}

func hasDoor(pkg string) bool {
	return slices.ContainsFunc(doors, func(d door) bool { return slices.Contains(d.in, pkg) })
}

func isModule(dir string) bool {
	_, err := os.Stat(filepath.Join(dir, "go.mod"))
	return err == nil
}

// forbidden says why pkg may not import imp, or "".
func forbidden(pkg, imp, module string) string {
	if rest, ok := strings.CutPrefix(imp, module+"/"); ok {
		imp = "sotto/" + rest
	}
	for _, r := range rules {
		binds := slices.Contains(r.in, pkg) || slices.Contains(r.in, "*")
		if binds && !slices.Contains(r.except, pkg) && matches(r.path, imp) {
			return r.why
		}
	}
	to, ok := strings.CutPrefix(imp, "sotto/")
	if !ok || strings.HasPrefix(to, "internal/") {
		return ""
	}
	for _, d := range doors {
		if slices.Contains(d.in, pkg) && !slices.Contains(d.may, to) {
			return d.why
		}
	}
	if strings.HasPrefix(pkg, "internal/") {
		return ""
	}
	from, into := layerOf(pkg), layerOf(to)
	switch {
	case from < 0:
		return fmt.Sprintf("package %s stands in no layer: add it to the list", pkg)
	case into < 0:
		return fmt.Sprintf("package %s stands in no layer: add it to the list", to)
	case into > from:
		return "imports go down the layers, this one goes up"
	case into == from && pkg != to && !slices.Contains(edges[pkg], to):
		return "packages of one layer do not import each other, but where the list of edges says so"
	}
	return ""
}

func matches(pattern, imp string) bool {
	if prefix, ok := strings.CutSuffix(pattern, "/..."); ok {
		return imp == prefix || strings.HasPrefix(imp, prefix+"/")
	}
	return imp == pattern
}

func layerOf(pkg string) int {
	return slices.IndexFunc(layers, func(l []string) bool { return slices.Contains(l, pkg) })
}

// Layers are the packages from the lowest layer to the highest.
func Layers() [][]string { return layers }

// Sealed are the packages that see public vectors alone.
func Sealed() []string { return sealed }
