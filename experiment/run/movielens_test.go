package run

import (
	"context"
	"errors"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"sotto/config"
	"sotto/data/datatest"
	"sotto/experiment"
	"sotto/experiment/rundir"
	"sotto/privacy"
	"sotto/privacy/ledger"
)

// ratingsFile is a small movielens run: 30 users of a made file, of whom ten gave their
// ratings openly.
const ratingsFile = `name = "ratings"
seed = 3

[topology]
graph = "regular"
degree = 4
agents = 20

[data]
dataset = "movielens"
partition = "natural"
public_users = 10
dim = 4

[model]
name = "least-squares"
intercept = true

[algorithm]
name = "bcd"
smoothness = 4
mu = 1
updates = 3

[privacy]
mechanism = "gaussian"
adjacency = "replace-one"
target_epsilon = 1
target_delta = 1e-3
max_grad_norm = 2

[clock]
wakes = 300

[evaluate]
on = "own"
rmse = true
`

// published is ratingsFile as the publication does it: features and centers from
// everybody's ratings, a graph of similar ones.
var published = strings.NewReplacer("graph = \"regular\"\ndegree = 4\nagents = 20",
	"graph = \"knn\"\nneighbors = 5\nvectors = \"data\"\nagents = 30",
	"public_users = 10", "public_users = 0\nfeatures = \"all-users\"\nuser_mean = true", "intercept = true",
	"intercept = false").Replace(ratingsFile)

// open are the settings of a run without noise.
var open = []string{"privacy.mechanism=none", "privacy.target_epsilon=0", "privacy.max_grad_norm=0",
	"clock.wakes=900"}

var thirtyUsers = datatest.Ratings(30, 60, 3, 2, 25, 45, 7)

// ratingsDir is a data folder with a made u.data.
func ratingsDir(t *testing.T, ratings []byte) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "data")
	if err := errors.Join(os.MkdirAll(filepath.Join(dir, "ml-100k"), 0o755),
		os.WriteFile(filepath.Join(dir, "ml-100k", "u.data"), ratings, 0o644)); err != nil {
		t.Fatal(err)
	}
	return dir
}

func buildRatings(dir, text string, set ...string) (*experiment.Experiment, error) {
	f, err := experiment.Parse("ratings.toml", []byte(text), set)
	if err != nil {
		return nil, err
	}
	return f.Build(dir)
}

func runRatings(t *testing.T, dir, text string, set ...string) *Result {
	t.Helper()
	e, err := buildRatings(dir, text, set...)
	if err != nil {
		t.Fatal(err)
	}
	res, err := Run(context.Background(), e, Options{Out: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	return res
}

// What is made from training records is refused with noise, and admitted as a replication
// whose ledgers hold the release: the true epsilon is infinite, the budget is what is
// claimed (claim C20).
func TestUncharged(t *testing.T) {
	dir := ratingsDir(t, thirtyUsers)
	knn := strings.Replace(ratingsFile, "graph = \"regular\"\ndegree = 4",
		"graph = \"knn\"\nvectors = \"data\"", 1)
	for _, c := range []struct {
		key, text string
		refused   bool
		set       []string
	}{
		{"data.dataset", ratingsFile, true, []string{"data.features=all-users"}},
		{"data.dataset", ratingsFile, true, []string{"data.user_mean=true"}},
		{"data.dataset", published, true, nil},
		{"topology.vectors", knn, true, nil},
		{"replication.uncharged", ratingsFile, false, []string{"replication.uncharged=true"}},
		{"replication.uncharged", published, false, append([]string{"replication.uncharged=true"}, open...)},
		{"replication.uncharged", published, false,
			[]string{"replication.uncharged=true", "privacy.mechanism=local-dp"}},
		{"replication.claim", ratingsFile, false, []string{"replication.claim=true"}},
		{"topology.agents", published, false,
			[]string{"topology.agents=29", "data.merge_groups=true", "replication.uncharged=true"}},
		{"evaluate.rmse", ratingsFile, false, []string{"model.name=huber"}},
	} {
		_, err := buildRatings(dir, c.text, c.set...)
		var bad *config.Error
		if !errors.As(err, &bad) || bad.Key != c.key || errors.Is(err, privacy.ErrRefused) != c.refused {
			t.Errorf("%s %v: %v", c.key, c.set, err)
		}
	}

	res := runRatings(t, dir, published, "replication.uncharged=true")
	if _, err := ledger.VerifyRun(res.Dir); err != nil {
		t.Error(err)
	}
	s := res.Summary
	if float64(s.ClaimedEpsilon) != 1 || len(s.Privacy) != 30 || s.Replication == "" {
		t.Errorf("claimed %v, %d agents, %q", s.ClaimedEpsilon, len(s.Privacy), s.Replication)
	}
	for _, p := range s.Privacy {
		if !math.IsInf(float64(p.Epsilon.Upper), 1) || p.Charges != 4 {
			t.Errorf("agent %d: epsilon %v after %d charges, want infinite after 1 + 3", p.Agent, p.Epsilon,
				p.Charges)
		}
	}
}

// Who trains alone sends nothing, but on features and means that all have from its
// ratings: epsilon is infinite. With features of public users it is 0.
func TestAloneOnFeaturesOfAll(t *testing.T) {
	dir := ratingsDir(t, thirtyUsers)
	alone := strings.NewReplacer("name = \"bcd\"\nsmoothness = 4\nmu = 1\nupdates = 3",
		"name = \"local-fit\"")
	for text, want := range map[string]float64{published: math.Inf(1), ratingsFile: 0} {
		res := runRatings(t, dir, alone.Replace(text), open...)
		if _, err := ledger.VerifyRun(res.Dir); err != nil {
			t.Error(err)
		}
		for _, p := range res.Summary.Privacy {
			if float64(p.Epsilon.Upper) != want {
				t.Fatalf("agent %d: epsilon %v, want %v", p.Agent, p.Epsilon, want)
			}
		}
		notes := strings.Join(res.Summary.Notes, " ")
		if strings.Contains(notes, "nothing is charged") != (want == 0) {
			t.Errorf("epsilon %v: %q", want, notes)
		}
	}
}

// A resumed replication has the charge once.
func TestUnchargedResume(t *testing.T) {
	dir := ratingsDir(t, thirtyUsers)
	e, err := buildRatings(dir, published, "replication.uncharged=true", "evaluate.every=30")
	if err != nil {
		t.Fatal(err)
	}
	want, got := interrupted(t, e, dir, 60)
	if want.Summary.RunHash != got.Summary.RunHash {
		t.Errorf("run hash %s, resumed %s", want.Summary.RunHash, got.Summary.RunHash)
	}
	if n := got.Summary.Privacy[0].Charges; n != 4 {
		t.Errorf("%d charges", n)
	}
}

// interrupted runs e through, and again with a stop after the given wakes or rounds and a
// resumption from the checkpoint.
func interrupted(t *testing.T, e *experiment.Experiment, dataDir string, at uint64) (through,
	resumed *Result) {
	t.Helper()
	through, err := Run(context.Background(), e, Options{Out: t.TempDir(), Workers: 1})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	_, err = Run(ctx, e, Options{Out: t.TempDir(), Workers: 1, Progress: func(round, _ uint64, _ string) {
		if round >= at {
			cancel()
		}
	}})
	var stopped *Interrupted
	if !errors.As(err, &stopped) || stopped.Round < at {
		t.Fatalf("not interrupted: %v", err)
	}
	resumed, err = Resume(context.Background(), stopped.Dir, dataDir, Options{Workers: 1})
	if err != nil {
		t.Fatal(err)
	}
	return through, resumed
}

// Sound: epsilon within the budget, the RMSE of every agent the root of its loss, the
// mean over agents in the summary. Without noise the users' models on the published
// pipeline's graph predict better than each user's own minimiser.
func TestMovieLensRun(t *testing.T) {
	dir := ratingsDir(t, thirtyUsers)
	res := runRatings(t, dir, ratingsFile)
	for _, p := range res.Summary.Privacy {
		if up := float64(p.Epsilon.Upper); !(up <= 1 && up > .9) {
			t.Errorf("agent %d: epsilon %g of a budget of 1", p.Agent, up)
		}
	}
	b, err := os.ReadFile(filepath.Join(res.Dir, rundir.MetricsFile))
	if err != nil {
		t.Fatal(err)
	}
	rows, err := rundir.DecodeMetrics("metrics.csv", b)
	if err != nil {
		t.Fatal(err)
	}
	loss, root, last, mean := map[string]float64{}, map[string]float64{}, rows[len(rows)-1].Round, 0.
	for _, r := range rows {
		if _, err := strconv.Atoi(r.Agent); err == nil && r.Round == last {
			switch r.Metric {
			case "loss":
				loss[r.Agent] = r.Value
			case "rmse":
				root[r.Agent] = r.Value
				mean += r.Value / 20
			}
		}
	}
	if len(loss) != 20 || len(root) != 20 {
		t.Fatalf("%d losses, %d roots of 20 agents", len(loss), len(root))
	}
	for a, x := range root {
		if math.Abs(x*x-loss[a]) > 1e-9 {
			t.Errorf("agent %s: rmse %g, loss %g", a, x, loss[a])
		}
	}
	if got := float64(res.Summary.RMSE.Mean); math.Abs(got-mean) > 1e-9 || res.Summary.Accuracy != nil {
		t.Errorf("summary has rmse %g, want %g", got, mean)
	}

	dir = ratingsDir(t, datatest.Ratings(60, 60, 3, 2, 6, 12, 7))
	open := append(open, "topology.agents=60", "algorithm.mu=0.04", "data.feature_norm=5",
		"data.als_lambda=1", "algorithm.smoothness=50", "clock.wakes=3000")
	bare := strings.Replace(published, "updates = 3\n", "", 1)
	together := float64(runRatings(t, dir, bare, open...).Summary.RMSE.Mean)
	own := float64(runRatings(t, dir, bare, append(open, "algorithm.name=local-fit")...).Summary.RMSE.Mean)
	if !(together < .95*own) {
		t.Errorf("rmse %g together, %g alone", together, own)
	}
}
