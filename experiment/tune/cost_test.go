package tune

import (
	"bytes"
	"context"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"sotto/config"
	"sotto/experiment"
	"sotto/experiment/plan"
	"sotto/experiment/rundir"
	"sotto/privacy"
	"sotto/privacy/account"
	"sotto/privacy/account/gdp"
	"sotto/privacy/ledger"
	"sotto/rng"
)

// privateData writes a table of the user's own and returns a run file about it: logistic
// regression whose every release is a Gaussian one of all records.
func privateData(t *testing.T, rest string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "own.csv")
	var b bytes.Buffer
	w := csv.NewWriter(&b)
	w.Write([]string{"x", "y", "ill"})
	r := rng.Public(3, "own data")
	for range 400 {
		x, y := 2*unit(r)-1, 2*unit(r)-1
		ill := "no"
		if x+y/2 > .1 {
			ill = "yes"
		}
		w.Write([]string{rundir.Number(x), rundir.Number(y), ill})
	}
	w.Flush()
	if err := os.WriteFile(path, b.Bytes(), 0o644); err != nil {
		t.Fatal(err)
	}
	return fmt.Sprintf(`
rounds = 6
topology.agents = 3
[data]
dataset = "csv"
path = %q
label = "ill"
label_values = ["no", "yes"]
[model]
name = "logistic"
[privacy]
noise_multiplier = 5.0
max_grad_norm = 1.0
sample_rate = 1.0
target_delta = 1e-5
[tune]
validation = 0.2
%s
[tune.space]
algorithm.step_size = { log = [0.1, 10.0] }
`, path, rest)
}

func privateSearch(t *testing.T, rest string, set ...string) (*Search, error) {
	t.Helper()
	return Parse("own.toml", []byte(privateData(t, rest)), set, nil)
}

// gaussianSelection is epsilon of the best of a random number of runs with RDP rho a
// each, mean m: Theorems 2 and 6 of Papernot, Steinke 2022, with their conversion to
// (epsilon, delta), on a grid of orders.
func gaussianSelection(rho, m, delta float64, law string) float64 {
	best := math.Inf(1)
	for a := 1.01; a < 400; a *= 1.005 {
		var bound float64
		switch eta := laws[law]; {
		case math.IsNaN(eta):
			hat := math.Log1p(1 / (a - 1))
			d := math.Inf(1)
			for b := 1.01; b < 4000; b *= 1.01 {
				d = math.Min(d, math.Exp((b-1)*(rho*b-hat+math.Log1p(-1/b))-math.Log(b)))
			}
			bound = rho*a + m*math.Min(1, d) + math.Log(m)/(a-1)
		default:
			g := 1 / m // geometric
			if eta == 0 {
				lo, hi := 1e-9, 1.
				for range 200 {
					if g = (lo + hi) / 2; (1/g-1)/math.Log(1/g) > m {
						lo = g
					} else {
						hi = g
					}
				}
			}
			least := math.Inf(1)
			for b := 1.01; b < 4000; b *= 1.01 {
				least = math.Min(least, (1-1/b)*rho*b+math.Log(1/g)/b)
			}
			bound = rho*a + (1+eta)*least + math.Log(m)/(a-1)
		}
		best = math.Min(best, bound+math.Log1p(-1/a)-math.Log(delta*a)/(a-1))
	}
	return best
}

// On private data every trial's training and score are charged: the figure of private
// selection is that of the theorem for rho = 6/(2·5²) + 1/(2·10²), in the statement and
// in best.toml; the one against who sees all trials is that of as many Gaussian releases,
// exactly; and the ledger that both come from verifies.
func TestPrivateSelectionIsCharged(t *testing.T) {
	for _, law := range []string{"geometric", "logarithmic", "poisson"} {
		s, err := privateSearch(t, fmt.Sprintf("trials = 4\nseed = 2\nsimulated = true\nlaw = %q", law))
		if err != nil {
			t.Fatal(err)
		}
		res := search(t, s, Options{})
		runs, err := s.drawRuns()
		if err != nil || res.Cost != experiment.CostCharged || len(res.Spent) == 0 || res.Best == nil ||
			len(res.Rows) != runs {
			t.Fatalf("%s: cost %s, %d spent, %d of %d trials, %v", law, res.Cost, len(res.Spent),
				len(res.Rows), runs, err)
		}
		const rho = 6./50 + 1./200
		want := gaussianSelection(rho, 4, 1e-5, law)
		for _, c := range res.Spent {
			if got := float64(c.Chosen.Upper); got < want*(1-2e-3) || got > want*(1+2e-3) {
				t.Errorf("%s: agents %s: epsilon of the selection is %.5f, the theorem gives %.5f", law,
					c.Agents, got, want)
			}
			all := gdp.Epsilon(math.Sqrt(2*rho*float64(len(res.Rows))), 1e-5)
			// A thousandth is charged for the rounding of sums.
			if up := float64(c.All.Upper); up < all-1e-9 || up > all*1.0015 {
				t.Errorf("%s: agents %s: epsilon of %d trials is %.5f, Gaussian releases give %.5f", law,
					c.Agents, len(res.Rows), up, all)
			}
		}
		if _, err := ledger.VerifyRun(res.Dir); err != nil {
			t.Errorf("%s: %v", law, err)
		}
		stated, err := rundir.Statements(res.Dir)
		if err != nil || len(stated[0].Statement.PerAdversary) != 1 ||
			stated[0].Statement.Releases != 7*len(res.Rows) {
			t.Fatalf("%s: %v, %+v", law, err, stated)
		}
		if e := stated[0].Statement.PerAdversary[0].Epsilon.Upper; e != float64(res.Spent[0].Chosen.Upper) {
			t.Errorf("%s: the statement says %g, the result %g", law, e, res.Spent[0].Chosen.Upper)
		}
		if len(res.Ranking()) != 1 {
			t.Errorf("%s: the scores of trials that were not chosen are shown", law)
		}
		best := string(read(t, res.Dir, "best.toml"))
		if !strings.Contains(best, "cost = 'charged'") || strings.Contains(best, "cost not included") {
			t.Errorf("%s: best.toml does not say what the search cost:\n%s", law, best)
		}
		f, err := experiment.Read(filepath.Join(res.Dir, "best.toml"), nil)
		if err != nil {
			t.Fatal(err)
		}
		if e := f.Tuned.Epsilon; e < want*(1-2e-3) || e > want*(1+2e-3) {
			t.Errorf("%s: best.toml says epsilon %g, want %g", law, e, want)
		}
	}
}

// The selection's figure agrees with the vectors rdp_repeat_select, which were computed
// elsewhere.
func TestSelectionVectors(t *testing.T) {
	f, err := os.Open("../../privacy/account/testdata/accounting_vectors.csv")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	lines, err := csv.NewReader(f).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	column := map[string]int{}
	for i, name := range lines[0] {
		column[name] = i
	}
	tested := 0
	for _, l := range lines[1:] {
		if l[column["accountant"]] != "rdp_repeat_select" {
			continue
		}
		at := func(name string) float64 {
			x, err := strconv.ParseFloat(l[column[name]], 64)
			if err != nil {
				t.Fatal(err)
			}
			return x
		}
		var params struct {
			Mean  int `json:"mean_runs"`
			Shape any
		}
		if err := json.Unmarshal([]byte(l[column["params"]]), &params); err != nil {
			t.Fatal(err)
		}
		law := map[any]string{1.: "geometric", 0.: "logarithmic", "poisson": "poisson"}[params.Shape]
		one, err := account.Gaussian(at("noise_multiplier"), at("sensitivity"))
		if err != nil {
			t.Fatal(err)
		}
		s := &Search{p: tuneParams{Trials: params.Mean, chargeParams: chargeParams{Law: law}}}
		a, err := s.selection(one, &plan.Target{Adjacency: account.ZeroOut, Delta: at("delta")})
		if got := a.Epsilon.Upper; err != nil || got < at("accept_lo") || got > at("accept_hi") {
			t.Errorf("%s: %s law, mean %d: %g, %v; want %g to %g", l[0], law, params.Mean, got, err,
				at("accept_lo"), at("accept_hi"))
		}
		if z := at("noise_multiplier"); true {
			if own := gaussianSelection(1/(2*z*z), float64(params.Mean), at("delta"),
				law); math.Abs(own/a.Epsilon.Upper-1) > 2e-3 {
				t.Errorf("%s: the formula in this test gives %g, the accountant %g", l[0], own,
					a.Epsilon.Upper)
			}
		}
		tested++
	}
	if tested != 3 {
		t.Errorf("%d vectors, want 3", tested)
	}
}

// What no theorem accounts for is refused on private data, with the way out; not on data
// that are nobody's.
// A search on the records of the run has a cost under whatever name, and so has one on
// files that nothing was compared with. Its run file is none for the records it was on.
func TestPublicIsWhatTheRunDoesNotTrainOn(t *testing.T) {
	for _, tc := range []struct {
		run, trials string
		public      bool
	}{
		{"houses", `"california-housing"`, false},
		{"california-housing", `"houses"`, false},
		{"adult-a9a", `"houses"`, true},
		{"adult-a9a", `"houses"; data.allow_altered=true`, false},
		{"adult-a9a", `"movielens"`, false},
		{"adult-a9a", `"glyphs"`, true},
		{"glyphs", `"glyphs"`, true},
	} {
		name, altered, _ := strings.Cut(tc.trials, "; ")
		set := []string{"data.dataset=" + name, altered}
		if altered == "" {
			set = set[:1]
		}
		f, err := experiment.Parse("run.toml",
			[]byte("privacy.mechanism = \"none\"\nprivacy.batch_size = 8\n"), set)
		if err != nil {
			t.Fatal(err)
		}
		if got := experiment.PublicFor(f, tc.run); got != tc.public {
			t.Errorf("trials on %s, run on %s: public is %v", tc.trials, tc.run, got)
		}
		_, err = experiment.Parse("best.toml", fmt.Appendf(nil, "privacy.mechanism = \"none\"\n"+
			"privacy.batch_size = 8\n"+
			"data.dataset = %q\n[tuned]\nmethod = \"random\"\n"+
			"data = %s\nmetric = \"loss\"\ncost = \"none\"\n", tc.run, name), nil)
		var bad *config.Error
		if refused := errors.As(err, &bad) && bad.Key == "tuned.cost"; refused == tc.public && altered == "" {
			t.Errorf("tuned on %s, run on %s: %v", tc.trials, tc.run, err)
		}
	}
}

func TestUnaccountedSearchesAreRefused(t *testing.T) {
	for name, tc := range map[string]struct {
		rest string
		set  []string
		want string
	}{
		"population": {"method = \"pbt\"", nil, "tune.method"},
		"no noise":   {"", []string{"privacy.mechanism=none", "privacy.noise_multiplier=0"}, "tune.method"},
	} {
		_, err := privateSearch(t, tc.rest, tc.set...)
		var bad *config.Error
		if !errors.Is(err, privacy.ErrRefused) || !errors.As(err, &bad) || bad.Key != tc.want ||
			!strings.Contains(err.Error(), "--not-private") {
			t.Errorf("%s: %v", name, err)
		}
		if s, err := privateSearch(t, tc.rest,
			append(tc.set,
				"tune.accept_cost_not_included=true")...); err != nil ||
			s.cost != experiment.CostNotIncluded {
			t.Errorf("%s, accepted: %v", name, err)
		}
	}
	for key, set := range map[string][]string{
		"tune.trials":                   {"tune.trials=1"},
		"tune.score_clip":               {"tune.metric=loss"},
		"tune.space.rounds":             {"tune.space.rounds={choice=[3, 4]}"},
		"tune.space.privacy.batch_size": {"tune.space.privacy={batch_size={choice=[10, 20]}}"},
	} {
		_, err := privateSearch(t, "", set...)
		var bad *config.Error
		if !errors.As(err, &bad) || bad.Key != key {
			t.Errorf("%v: %v, want an error for %s", set, err, key)
		}
	}
	// records that are perturbed before training have no plan of charges
	s, err := privateSearch(t, "", "privacy.mechanism=local-dp", "privacy.noise_multiplier=0",
		"privacy.target_epsilon=4.0", "privacy.adjacency=replace-one", "privacy.sample_rate=0",
		"algorithm.name=model-propagation", "topology.weights=objective",
		"tune.space.algorithm={mu={choice=[1.0, 2.0]}}")
	if err != nil {
		t.Fatal(err)
	}
	var bad *config.Error
	if _, err = s.Run(context.Background(), Options{Out: t.TempDir()}); !errors.Is(err, privacy.ErrRefused) ||
		!errors.As(err, &bad) || bad.Key != "privacy.mechanism" {
		t.Errorf("perturbed records: %v", err)
	}
	// RDP knows no Poisson sampling there
	s, err = privateSearch(t, "", "privacy.adjacency=replace-one", "privacy.sample_rate=0.5")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	if _, err = s.Run(context.Background(), Options{Out: dir}); !errors.Is(err, account.ErrUnsupported) {
		t.Errorf("replace-one: %v", err)
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
		t.Errorf("replace-one: %d files are left, %v", len(left), err)
	}
	s, err = privateSearch(t, "", "algorithm.name=dinno",
		"tune.space.algorithm={primal_steps={choice=[1, 2]}}")
	if err != nil {
		t.Fatal(err)
	}
	if _, err = s.Run(context.Background(), Options{Out: dir}); !errors.Is(err, privacy.ErrRefused) ||
		!errors.As(err, &bad) || bad.Found != "algorithm.primal_steps=2" {
		t.Errorf("candidates that ask twice as often: %v", err)
	}
}

// An interrupted charged search spends no more than one with the same secret that was not
// interrupted.
func TestChargedSearchResumes(t *testing.T) {
	file := privateData(t, "trials = 4\nseed = 4")
	parse := func() *Search {
		s, err := Parse("own.toml", []byte(file), nil, nil)
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	files := []string{trialsFile, "best.toml", rundir.PrivacyFile, rundir.LedgerFile}
	var whole *Result // one that can be interrupted: of a mean of 4, soon
	for whole == nil || len(whole.Rows) < 2 {
		whole = search(t, parse(), Options{Workers: 2})
	}
	want, dir := found(t, whole.Dir, files...), t.TempDir()
	key := read(t, whole.Dir, secretFile)
	if err := os.WriteFile(filepath.Join(dir, secretFile), key, 0o600); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	_, err := parse().Run(ctx, Options{Dir: dir, Workers: 1, Progress: func(p Progress) {
		if p.Done != 0 || p.Of != 0 || p.Trial != "" || p.Row.Trial != 0 || !math.IsNaN(p.Row.Score) {
			t.Errorf("progress tells of trials: %+v", p)
		}
		cancel()
	}})
	if !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	search(t, parse(), Options{Dir: dir})
	if got := found(t, dir, files...); !bytes.Equal(got, want) {
		t.Error("its files differ from those of an uninterrupted search")
	}
	if _, err := os.Stat(filepath.Join(dir, "runs")); errors.Is(err, fs.ErrNotExist) {
		t.Error("no runs are left")
	}
}
