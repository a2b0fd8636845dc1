package owner_test

import (
	"crypto/ed25519"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"sotto/agent"
	"sotto/config"
	"sotto/data"
	"sotto/experiment"
	"sotto/experiment/owner"
	"sotto/privacy"
	"sotto/privacy/account"
	"sotto/privacy/ledger"
	"sotto/tensor"
	"sotto/topology"
)

const ownerRun = `name = "owner"
rounds = 6
[topology]
graph = "ring"
agents = 3
[data]
dataset = "csv"
partition = "natural"
path = "somebody.csv"
label = "class"
label_values = ["no", "yes"]
bounds = {x = [0, 100], y = [0, 100]}
[model]
name = "logistic"
[algorithm]
name = "dsgd"
step_size = 2.0
[privacy]
batch_size = 20
target_epsilon = 2.0
target_delta = 1e-3
accountant = "rdp"
`

// ownTable writes 120 records whose class follows from x > y.
func ownTable(t *testing.T) string {
	t.Helper()
	r := rand.New(rand.NewPCG(1, 2))
	var b strings.Builder
	b.WriteString("x,y,class\n")
	for range 120 {
		x, y := r.IntN(100), r.IntN(100)
		class := "no"
		if x > y {
			class = "yes"
		}
		fmt.Fprintf(&b, "%d,%d,%s\n", x, y, class)
	}
	path := filepath.Join(t.TempDir(), "own.csv")
	if err := os.WriteFile(path, []byte(b.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func ownerOf(t *testing.T, run, path string) (*owner.Owner, error) {
	t.Helper()
	f, err := experiment.Parse("run.toml", []byte(run), nil)
	if err != nil {
		t.Fatal(err)
	}
	g, err := f.ScheduleFor(5)
	if err != nil {
		t.Fatal(err)
	}
	return owner.New(f,
		owner.Options{Member: experiment.Member{Self: 1, Data: own(path), Graphs: g, Seed: 9}})
}

func own(path string) data.OwnFile { return data.OwnFile{Path: path} }

// An owner's run has secret noise, charges its durable ledger for every answer, and stops
// at its target however often the process starts again.
func TestOwner(t *testing.T) {
	path := ownTable(t)
	o, err := ownerOf(t, ownerRun, path)
	if err != nil {
		t.Fatal(err)
	}
	x, err := o.Terms()
	if err != nil {
		t.Fatal(err)
	}
	if x.Records != 90 || x.Charges != 6 || x.NoiseKind != "exact" || x.Rate != 20./90 ||
		x.Provenance != privacy.Proved || x.Dim != 2 || x.Uncharged != nil {
		t.Errorf("terms %+v", x)
	}
	look, err := o.Outlook()
	if eps := look.Total.Upper; err != nil || eps > 2 || eps < 1.9 || look.Charges != 6 || look.Agent != 1 ||
		!(look.First.Upper < eps) {
		t.Errorf("outlook %+v, %v; want an epsilon just below 2", look, err)
	}
	if want := x.Noise * math.Sqrt2 / 20; math.Abs(float64(look.NoiseToSignal)-want) > 1e-12 {
		t.Errorf("noise to signal %v, want z sqrt(d)/L = %v", look.NoiseToSignal, want)
	}
	lifetime := account.Budget{Epsilon: 7, Delta: 1e-4}
	filter, err := account.NewRDPFilter(x.Adjacency, x.Unit, lifetime)
	if err != nil {
		t.Fatal(err)
	}
	counted := 0 // one by one, as a ledger asks
	for filter.Admit(x.Costs[0].Event, 1) == nil {
		counted++
	}
	if n, err := o.Admits(lifetime); err != nil || n != counted || n < 6 {
		t.Errorf("a ledger admits %d charges, %v; want %d", n, err, counted)
	}
	if s := o.Schema(); s != "2 features, 2 classes (no, yes)" {
		t.Errorf("schema %q", s)
	}
	if n := len(slices.Collect(o.Records())); n != 120 {
		t.Errorf("%d records for the fingerprint, want 120", n)
	}
	if alone, err := o.LocalBaseline(t.Context()); err != nil || alone < .8 {
		t.Errorf("alone %g, %v; want most of 30 separable test records", alone, err)
	}
}

// The owner's gate answers as often as its run may, with noise that never comes twice, be
// it in one process or in two.
func TestOwnersGate(t *testing.T) {
	path := ownTable(t)
	o, err := ownerOf(t, ownerRun, path)
	if err != nil {
		t.Fatal(err)
	}
	x, err := o.Terms()
	if err != nil {
		t.Fatal(err)
	}
	_, key, _ := ed25519.GenerateKey(nil)
	dir := filepath.Join(t.TempDir(), "ledger")
	opt := ledger.Options{Key: key, FS: ledger.OS{AllowVolatile: true}, Run: "this run", Accountant: "rdp"}
	l, err := ledger.Create(dir, ledger.Genesis{
		Adjacency:  x.Adjacency,
		Unit:       x.Unit,
		Budget:     account.Budget{Epsilon: 50, Delta: 1e-3},
		MinRecords: 100,
	}, opt)
	if err != nil {
		t.Fatal(err)
	}
	answers := func(o *owner.Owner, l *ledger.File, want int) (all []tensor.Vec) {
		t.Helper()
		gate, err := o.Gate(l, "this run")
		if err != nil {
			t.Fatal(err)
		}
		if gate.Simulated() {
			t.Error("a daemon's gate is seeded")
		}
		for {
			v := make(tensor.Vec, 2)
			err := gate.Answer(&agent.Query{Oracle: "grad", At: make(tensor.Vec, 2)}, v)
			if errors.Is(err, privacy.ErrExhausted) {
				break
			}
			if err != nil {
				t.Fatal(err)
			}
			if all = append(all, v); len(all) == want {
				return all
			}
		}
		if len(all) != want {
			t.Errorf("%d answers, want %d", len(all), want)
		}
		return all
	}
	first := answers(o, l, 4)
	if slices.Equal(first[0], first[1]) {
		t.Error("two answers at one point are the same")
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	if l, err = ledger.Open(dir, opt); err != nil {
		t.Fatal(err)
	}
	again, err := ownerOf(t, ownerRun, path)
	if err != nil {
		t.Fatal(err)
	}
	if second := answers(again, l, 3-1); slices.Equal(first[0], second[0]) {
		t.Error("noise came twice")
	}
	if _, err := again.Gate(l, "this run"); err != nil {
		t.Fatal(err)
	}
	gate, _ := again.Gate(l, "this run")
	if err := gate.Answer(&agent.Query{Oracle: "grad", At: make(tensor.Vec, 2)},
		make(tensor.Vec, 2)); !errors.Is(err, privacy.ErrExhausted) {
		t.Errorf("the seventh answer: %v, want ErrExhausted", err)
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
}

// All members begin with the same parameters, which follow from the public seed and not
// from the run file's.
func TestOwnersShareTheInitialModel(t *testing.T) {
	path := ownTable(t)
	params := func(run string) tensor.Vec {
		o, err := ownerOf(t, run, path)
		if err != nil {
			t.Fatal(err)
		}
		a, err := o.Algorithm()
		if err != nil {
			t.Fatal(err)
		}
		return slices.Clone(a.Params())
	}
	mlp := strings.Replace(ownerRun, `"logistic"`, "\"mlp\"\nhidden = [4]", 1)
	a, b := params(mlp), params("seed = 77\n"+mlp)
	if !slices.Equal(a, b) || a.Norm() == 0 {
		t.Errorf("initial models %v and %v", a, b)
	}
}

func TestOwnersRefuseWhatADaemonMayNotDo(t *testing.T) {
	path := ownTable(t)
	for name, tc := range map[string]struct {
		old, new, want string
		refused        bool // as a matter of privacy
	}{
		"no noise":    {"target_epsilon = 2.0", "mechanism = \"none\"", "mechanism", true},
		"replication": {"[privacy]", "[replication]\nmicrobatches = 2\n[privacy]", "replication", true},
		"override":    {"target_delta", "i_understand = [\"delta\"]\ntarget_delta", "i_understand", true},
		"big delta":   {"target_delta = 1e-3", "target_delta = 0.02", "target_delta", true},
		"partition":   {`"natural"`, `"iid"`, "partition", false},
		"algorithm":   {`"dsgd"`, `"model-propagation"`, "", false},
		"data":        {`"csv"`, `"mnist"`, "dataset", false},
		"unknown key": {"step_size", "stepsize", "stepsize", false},
		"faults":      {"[privacy]", "[faults]\ndrop = 0.5\n[privacy]", "faults", false},
		"dropout":     {"[topology]", "[topology]\ndropout = 1.0", "dropout", false},
		"arrival":     {`"natural"`, "\"natural\"\narrival = \"uniform\"", "arrival", false},
		"score":       {"[privacy]", "[evaluate]\nvalidation = 0.2\n[privacy]", "validation", false},
		"metrics": {"[privacy]", "[evaluate]\nmetrics = [\"parameter_norm\"]\n[privacy]",
			"metrics", false},
	} {
		run := strings.Replace(ownerRun, tc.old, tc.new, 1)
		f, err := experiment.Parse("run.toml", []byte(run), nil)
		if err == nil {
			var g topology.Schedule
			if g, err = f.ScheduleFor(1); err == nil {
				_, err = owner.New(f,
					owner.Options{Member: experiment.Member{Self: 0, Data: own(path), Graphs: g, Seed: 1}})
			}
		}
		var bad *config.Error
		if !errors.As(err, &bad) || !strings.Contains(err.Error(), tc.want) ||
			errors.Is(err, privacy.ErrRefused) != tc.refused {
			t.Errorf("%s: got %v", name, err)
		}
	}
}

// A member that the run file names as an adversary attacks, and every owner is told;
// other faults are the simulator's alone.
func TestOwnersRehearseWithAdversaries(t *testing.T) {
	path := ownTable(t)
	run := strings.Replace(ownerRun, "dsgd\"\n", "dsgd\"\nmixing = \"clipped\"\nmixing_clip = 0.5\n", 1) +
		"[faults]\nadversaries = [%d]\nattack = \"large-norm\"\n"
	for _, self := range []int{1, 2} { // ownerOf builds agent 1
		o, err := ownerOf(t, fmt.Sprintf(run, self), path)
		if err != nil {
			t.Fatal(err)
		}
		x, err := o.Terms()
		if err != nil {
			t.Fatal(err)
		}
		if !slices.ContainsFunc(x.Warnings, func(w string) bool {
			return strings.Contains(w, fmt.Sprintf("agents %d: large-norm", self))
		}) {
			t.Errorf("nobody is told of the adversary: %q", x.Warnings)
		}
		a, err := o.Algorithm()
		if err != nil {
			t.Fatal(err)
		}
		var out agent.Output
		if err := a.Step(&agent.Input{Kind: agent.Start, View: &agent.View{SelfWeight: 1}}, &out); err !=
			nil {
			t.Fatal(err)
		}
		if v := math.Abs(float64(out.Outbox[0].Body[0])); (v == 1000) != (self == 1) {
			t.Errorf("agent 1 sends %v where agent %d attacks with values of 1000", v, self)
		}
	}
	var e *config.Error
	if _, err := ownerOf(t, fmt.Sprintf(run, 1)+"drop = 0.1\n", path); !errors.As(err, &e) ||
		e.Key != "faults" {
		t.Errorf("a drop: %v", err)
	}
}

const personalOwner = `name = "owner"
[topology]
graph = "ring"
agents = 3
[data]
dataset = "csv"
partition = "natural"
path = "somebody.csv"
label = "class"
label_values = ["no", "yes"]
bounds = {x = [0, 100], y = [0, 100]}
[model]
name = "logistic"
[algorithm]
name = "bcd"
mu = 1.0
lambda = 0.1
confidence = 0.5
updates = 3
[privacy]
target_epsilon = 2.0
target_delta = 1e-3
accountant = "gdp"
[clock]
wakes = 50
interval = 0.25
`

// An owner of a personal model is told its own number of wakes and costs, and its gate
// admits what was planned, over restarts, and no more.
func TestOwnerOfAPersonalModel(t *testing.T) {
	path := ownTable(t)
	for name, tc := range map[string]struct {
		old, new string
		oracles  []string // that may be asked, in order
	}{
		"gradients": {"", "", []string{"grad-full", "grad-full", "grad-full"}},
		"fit first": {"updates = 3", "updates = 2\nstart = \"fit\"\nfit_lambda = 0.1",
			[]string{"fit", "grad-full", "grad-full"}},
		"laplace": {"target_epsilon", "mechanism = \"laplace\"\ntarget_epsilon",
			[]string{"grad-full-l1", "grad-full-l1", "grad-full-l1"}},
		"own share": {"target_epsilon = 2.0", "agent_epsilon = [9.0, 2.0]",
			[]string{"grad-full", "grad-full", "grad-full"}},
		"unlimited": {"target_epsilon = 2.0", "noise_multiplier = 20.0",
			[]string{"grad-full", "grad-full", "grad-full"}},
	} {
		run := strings.Replace(personalOwner, tc.old, tc.new, 1)
		if name == "laplace" {
			run = strings.Replace(strings.Replace(run, "updates", "norm = \"l1\"\nupdates", 1), "gdp", "pld",
				1)
		}
		o, err := ownerOf(t, run, path)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		x, err := o.Terms()
		if err != nil || x.Rounds != 17 || x.Interval != 250*time.Millisecond || x.Charges != 3 ||
			x.Batch != 90 || x.Provenance != privacy.Proved {
			t.Fatalf("%s: terms %+v, %v", name, x, err)
		}
		look, err := o.Outlook()
		if eps := float64(look.Total.Upper); err != nil || look.Charges != 3 ||
			name != "unlimited" && !(eps <= 2 && eps > 1.9) || !(float64(look.First.Upper) < eps) {
			t.Errorf("%s: outlook %+v, %v; want three charges just below 2", name, look, err)
		}
		if n, err := o.Admits(account.Budget{Epsilon: 50, Delta: 1e-3}); err != nil || n < 3 {
			t.Errorf("%s: a budget of 50 admits %d charges, %v; want a run or more", name, n, err)
		}
		if a, err := o.Algorithm(); err != nil || len(a.Params()) != 2 {
			t.Errorf("%s: %v", name, err)
		}
		_, key, _ := ed25519.GenerateKey(nil)
		dir := filepath.Join(t.TempDir(), "ledger")
		opt := ledger.Options{
			Key:        key,
			FS:         ledger.OS{AllowVolatile: true},
			Run:        "this run",
			Accountant: "rdp",
		}
		l, err := ledger.Create(dir, ledger.Genesis{
			Adjacency:  x.Adjacency,
			Unit:       x.Unit,
			Budget:     account.Budget{Epsilon: 50, Delta: 1e-3},
			MinRecords: 100,
		}, opt)
		if err != nil {
			t.Fatal(err)
		}
		for k, oracle := range append(tc.oracles, tc.oracles[2]) {
			gate, err := o.Gate(l, "this run") // as after a restart
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			err = gate.Answer(&agent.Query{Oracle: oracle, At: make(tensor.Vec, 2)}, make(tensor.Vec, 2))
			if errors.Is(err, privacy.ErrExhausted) != (k == 3) || (err == nil) != (k < 3) {
				t.Errorf("%s: answer %d: %v", name, k, err)
			}
		}
		if err := l.Close(); err != nil {
			t.Fatal(err)
		}
		if alone, err := o.LocalBaseline(t.Context()); err != nil || alone < .7 {
			t.Errorf("%s: alone %g, %v; want most of 30 separable test records", name, alone, err)
		}
	}
}

// In pairs an owner plans for the wakes at which neighbors draw it, too: on a ring of
// three, each of the two others draws it every second time. Every one asks as often as
// the algorithm steps.
func TestOwnerPlansForMeetings(t *testing.T) {
	run := strings.Replace(strings.Replace(personalOwner, "\"bcd\"", "\"gossip-admm\"", 1), "updates = 3",
		"local_steps = 2", 1)
	o, err := ownerOf(t, run, ownTable(t))
	if err != nil {
		t.Fatal(err)
	}
	x, err := o.Terms()
	if err != nil || !x.Pairs || x.Rounds != 17 || x.Charges != (17+17)*2 {
		t.Errorf("terms %+v, %v", x, err)
	}
	if look, err := o.Outlook(); err != nil || !(look.Total.Upper <= 2 && look.Total.Upper > 1.9) {
		t.Errorf("outlook %+v, %v; want an epsilon just below 2", look, err)
	}
}

func TestOwnersOfPersonalModelsRefuse(t *testing.T) {
	path := ownTable(t)
	for name, tc := range map[string]struct {
		old, new, want string
		refused        bool
	}{
		"no noise":       {"target_epsilon = 2.0", "mechanism = \"none\"", "mechanism", true},
		"recorded wakes": {"wakes = 50", "wakes = 50\nreplay = \"wakes.csv\"", "clock.replay", false},
		"others' counts": {"lambda = 0.1\nconfidence = 0.5\n", "", "lambda", false},
		"known wakes":    {"updates = 3", "updates = 3\nalloc = \"late\"\ncontraction = 0.9", "alloc", false},
		"interval":       {"interval = 0.25", "interval = 1e6", "clock.interval", false},
	} {
		run := strings.Replace(personalOwner, tc.old, tc.new, 1)
		f, err := experiment.Parse("run.toml", []byte(run), nil)
		if err == nil {
			g, gerr := f.ScheduleFor(1)
			if gerr != nil {
				t.Fatal(gerr)
			}
			_, err = owner.New(f,
				owner.Options{Member: experiment.Member{Self: 0, Data: own(path), Graphs: g, Seed: 1}})
		}
		var bad *config.Error
		if !errors.As(err, &bad) || !strings.Contains(err.Error(), tc.want) ||
			errors.Is(err, privacy.ErrRefused) != tc.refused {
			t.Errorf("%s: got %v", name, err)
		}
	}
}

// A daemon runs algorithm km with noise that is not made of integers, and charges each
// answer.
func TestOwnerKM(t *testing.T) {
	run := strings.NewReplacer("name = \"dsgd\"\nstep_size = 2.0",
		"name = \"km\"\noperator = \"backward\"\ngamma = 2.0", "batch_size = 20",
		"sample_rate = 1.0").Replace(ownerRun)
	path := ownTable(t)
	o, err := ownerOf(t, run, path)
	if err != nil {
		t.Fatal(err)
	}
	x, err := o.Terms()
	if err != nil {
		t.Fatal(err)
	}
	if x.Records != 90 || x.Charges != 6 || x.NoiseKind != "exact" || x.Rate != 1 ||
		x.Provenance != privacy.Proved {
		t.Errorf("terms %+v", x)
	}
	if look, err := o.Outlook(); err != nil || !(look.Total.Upper <= 2 && look.Total.Upper > 1.9) {
		t.Errorf("outlook %+v, %v; want an epsilon just below 2", look, err)
	}
	gate := gateOf(t, o, &x)
	v := make(tensor.Vec, 2)
	for k := range 7 {
		err := gate.Answer(&agent.Query{Oracle: "km", At: tensor.Vec{0, 0}}, v)
		if (k < 6) != (err == nil) || k == 6 && !errors.Is(err, account.ErrExhausted) {
			t.Errorf("answer %d: %v", k, err)
		}
	}
}

// gateOf is the owner's gate over a ledger with a large budget, which ends with the test.
func gateOf(t *testing.T, o *owner.Owner, x *owner.Terms) *privacy.Gate {
	t.Helper()
	gate, err := o.Gate(ledgerOf(t, x, 50), "this run")
	if err != nil {
		t.Fatal(err)
	}
	return gate
}

// ledgerOf is a fresh durable ledger with a budget.
func ledgerOf(t *testing.T, x *owner.Terms, epsilon float64) *ledger.File {
	t.Helper()
	_, key, _ := ed25519.GenerateKey(nil)
	l, err := ledger.Create(filepath.Join(t.TempDir(), "ledger"), ledger.Genesis{
		Adjacency:  x.Adjacency,
		Unit:       x.Unit,
		Budget:     account.Budget{Epsilon: epsilon, Delta: 1e-3},
		MinRecords: 100,
	},
		ledger.Options{Key: key, FS: ledger.OS{AllowVolatile: true}, Run: "this run", Accountant: "rdp"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	return l
}
