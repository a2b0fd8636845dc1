package tune

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"sotto/config"
	"sotto/experiment"
	"sotto/experiment/runfile"
	"sotto/rng"
)

// Papernot and Steinke's theorem asks for runs of one law. Values from a public seed tell
// which trial was chosen; a search that is charged draws them from a secret of its own.
func TestCandidatesOfAPrivateSearchAreSecret(t *testing.T) {
	file := privateData(t, "trials = 2\nseed = 7")
	var first []string
	seen, again := map[string]bool{}, 0
	for range 2 {
		s, err := Parse("own.toml", []byte(file), nil, nil)
		if err != nil {
			t.Fatal(err)
		}
		res := search(t, s, Options{})
		info, err := os.Stat(filepath.Join(res.Dir, secretFile))
		if err != nil || info.Mode().Perm() != 0o600 {
			t.Fatalf("the secret: %v, %v; want mode 0600", info, err)
		}
		if info, err = os.Stat(res.Dir); err != nil || info.Mode().Perm() != 0o700 {
			t.Errorf("the folder has mode %v, want 0700 (%v)", info.Mode(), err)
		}
		key := strings.TrimSpace(string(read(t, res.Dir, secretFile)))
		for _, name := range []string{"best.toml", "tune.json", "privacy.json", trialsFile} {
			if strings.Contains(string(read(t, res.Dir, name)), key) {
				t.Errorf("%s holds the secret", name)
			}
		}
		for _, r := range res.Rows {
			if seen[r.Values[0]] {
				again++
			}
			seen[r.Values[0]] = true
		}
		first = append(first, res.Rows[0].Values[0])
	}
	// values have four digits, so that two trials have one by chance with a probability
	// near 1e-4; trials of a secret that is not one would all be there again
	if again > 1 {
		t.Errorf("%d trials have the step size of another", again)
	}
	if public := "0.1986"; slices.Contains(first, public) {
		t.Errorf("step size %s is that of the public seed", public)
	}
}

// Each value of a candidate has the law of the space, whatever the number of its trial,
// and the number of trials has the mean of its law. False-reject rate below 1e-6 each:
// the Kolmogorov-Smirnov distance of 2,000 values exceeds 2.7/√2000 with probability
// 2 exp(-2·2.7²), the mean of 2,000 geometric numbers (mean 4, variance 12) lies five
// standard errors off with 6e-7.
func TestSecretTrialsAreIndependentAndIdentical(t *testing.T) {
	const draws = 2000
	s, err := privateSearch(t, "trials = 4")
	if err != nil {
		t.Fatal(err)
	}
	s.draws.secret = new(rng.Key)
	x := make([][]float64, 2)
	sum, square := 0., 0.
	for k := range draws {
		s.draws.secret[0], s.draws.secret[1] = byte(k), byte(k>>8)
		for n := range x {
			v := s.candidate(uint64(n + 1))[0]
			var step float64
			if _, err := fmt.Sscan(v, &step); err != nil {
				t.Fatal(err)
			}
			x[n] = append(x[n], math.Log10(step)/2+.5) // log-uniform on [0.1, 10]
		}
		sum += (x[0][k] - .5) * (x[1][k] - .5)
		runs, err := s.drawRuns()
		if err != nil || runs < 1 {
			t.Fatal(runs, err)
		}
		square += float64(runs)
	}
	for n, u := range x {
		slices.Sort(u)
		d := 0.
		for i, v := range u {
			d = max(d, math.Abs(v-float64(i)/draws), math.Abs(v-float64(i+1)/draws))
		}
		if d > 2.7/math.Sqrt(draws) {
			t.Errorf("trial %d: distance %g to the law of the space", n+1, d)
		}
	}
	if c := 12 * sum / draws; math.Abs(c) > 5/math.Sqrt(draws) {
		t.Errorf("two trials of one search: correlation %g", c)
	}
	if mean := square / draws; math.Abs(mean-4) > 5*math.Sqrt(12./draws) {
		t.Errorf("mean number of trials %g, want 4", mean)
	}
}

// What may be published of a charged search holds neither the number of the chosen trial
// nor how many there were: not best.toml, not tune.json, not the table, and neither does
// the chosen run's own page or folder.
func TestPublishedFilesHoldNoTrialNumber(t *testing.T) {
	var res *Result
	for res == nil || len(res.Rows) < 3 { // of a mean of 4: soon
		s, err := privateSearch(t, "trials = 4", "rounds=2")
		if err != nil {
			t.Fatal(err)
		}
		res = search(t, s, Options{Workers: 1})
	}
	doc, err := runfile.Parse("best.toml", read(t, res.Dir, "best.toml"))
	if err != nil {
		t.Fatal(err)
	}
	for key := range doc.Values() {
		if strings.Contains(key, "trial") || strings.Contains(key, "hash") ||
			strings.HasPrefix(key, "tune.") {
			t.Errorf("best.toml holds %s", key)
		}
	}
	if !regexp.MustCompile(`(?m)^secret = true$`).Match(read(t, res.Dir, "best.toml")) {
		t.Error("best.toml does not say that its candidates were secret")
	}
	var page map[string]any
	if err := json.Unmarshal(read(t, res.Dir, "tune.json"), &page); err != nil {
		t.Fatal(err)
	}
	for key := range page {
		if !slices.Contains([]string{"directory", "method", "data", "metric", "values", "score", "cost",
			"spent", "notes"}, key) {
			t.Errorf("tune.json holds %s", key)
		}
	}
	for _, c := range page["spent"].([]any) {
		// epsilon of all trials tells their number
		for key := range c.(map[string]any) {
			if key != "agents" && key != "epsilon_chosen_trial" && key != "delta" {
				t.Errorf("tune.json holds spent.%s", key)
			}
		}
	}
	shown := res.Ranking()
	if len(shown) != 1 || shown[0].Trial != 0 || shown[0].Run != "" ||
		shown[0].Values[0] != res.Best.Values[0] {
		t.Errorf("shown of the search: %+v", shown)
	}
	chosen := filepath.Join(res.Dir, res.Best.Run)
	if doc, err = runfile.Parse("config.toml", read(t, chosen, "config.toml")); err != nil {
		t.Fatal(err)
	}
	trial := doc.Values()["trial"]
	if len(trial) < 10 || !strings.Contains(string(read(t, chosen, "report.html")), trial) {
		t.Errorf("the chosen run has trial %s in its configuration, which is no secret number", trial)
	}
}

// Without its secret a search cannot go on, and draws no other in silence: what the first
// part has spent would not be in the figure.
func TestSecretIsKept(t *testing.T) {
	file := privateData(t, "trials = 2")
	run := func(dir string) (*Result, error) {
		s, err := Parse("own.toml", []byte(file), nil, nil)
		if err != nil {
			t.Fatal(err)
		}
		return s.Run(t.Context(), Options{Dir: dir})
	}
	dir := t.TempDir()
	if _, err := run(dir); err != nil {
		t.Fatal(err)
	}
	best := read(t, dir, "best.toml")
	if _, err := run(dir); err != nil || string(read(t, dir, "best.toml")) != string(best) {
		t.Errorf("a finished search ends otherwise the second time: %v", err)
	}
	path := filepath.Join(dir, secretFile)
	if err := os.WriteFile(path, []byte("short\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := run(dir); err == nil || !strings.Contains(err.Error(), secretFile) {
		t.Errorf("half a secret: %v", err)
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	if _, err := run(dir); err == nil || !strings.Contains(err.Error(), secretFile) {
		t.Errorf("without its secret: %v", err)
	}
	if _, err := os.Stat(path); err == nil {
		t.Error("another secret was drawn")
	}
}

// A secret serves one search: another law or score in the same directory
// would choose from the same trials again, and the costs of both would not add up.
func TestASecretServesOneSearch(t *testing.T) {
	file := privateData(t, "trials = 2")
	run := func(dir string, keys ...string) error {
		text := strings.Replace(file, "trials = 2", strings.Join(append(keys, "trials = 2"), "\n"), 1)
		s, err := Parse("own.toml", []byte(text), nil, nil)
		if err != nil {
			t.Fatal(err)
		}
		_, err = s.Run(t.Context(), Options{Dir: dir})
		return err
	}
	dir := t.TempDir()
	if err := run(dir); err != nil {
		t.Fatal(err)
	}
	for _, key := range []string{"law = \"poisson\"", "score_noise_multiplier = 20.0"} {
		bad := new(config.Error)
		if err := run(dir, key); !errors.As(err, &bad) || filepath.Base(bad.File) != searchFile {
			t.Errorf("%s: %v", key, err)
		}
	}
	if err := run(dir); err != nil {
		t.Errorf("the same search: %v", err)
	}
	if err := os.Remove(filepath.Join(dir, searchFile)); err != nil { // as programs of before left it
		t.Fatal(err)
	}
	if err := run(dir); err != nil {
		t.Errorf("a search of before: %v", err)
	}
}

// A charged search for research follows its seed and says so.
func TestSimulatedSearchIsStamped(t *testing.T) {
	file := privateData(t, "trials = 2\nsimulated = true")
	var best []string
	for range 2 {
		s, err := Parse("own.toml", []byte(file), nil, nil)
		if err != nil {
			t.Fatal(err)
		}
		dir := search(t, s, Options{}).Dir
		best = append(best, string(read(t, dir, "best.toml")))
		if _, err := os.Stat(filepath.Join(dir, secretFile)); err == nil {
			t.Error("a simulated search keeps a secret")
		}
		f, err := experiment.Read(filepath.Join(dir, "best.toml"), nil)
		if err != nil || f.Tuned.Secret || !strings.Contains(f.Tuned.Text(), "protects nobody") {
			t.Errorf("%v, %q", err, f.Tuned.Text())
		}
	}
	if best[0] != best[1] {
		t.Error("the same seed finds something else")
	}
}
