package tune

import (
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"sotto/experiment"
	"sotto/model"
	"sotto/tensor"
)

// reference is what experiment/run/testdata/reference has computed of searches, apart
// from any code of sotto.
type reference struct {
	Files    map[string]string
	Init     map[string]tensor.Vec
	Text     string `json:"search_text"`
	Searches []referenceSearch
}

type referenceSearch struct {
	Name, Secret string
	Set, Space   []string
	Rows         []struct {
		Generation, Trial, From int
		Values                  []string
		Score                   float64
	}
	Best    int // 0: the law gives no trial
	Charged bool
	Epsilon float64 // of private selection
}

// Searches draw the candidates, so many of them, and give them the scores that an
// implementation in Python draws and computes by docs/draws.md and the papers: charged
// ones by a seed and by a secret, of all laws and both metrics, with held-out records
// whose noisy scores are compared; uncounted ones; and a population. Values are drawn
// again where they cannot be run. The tolerance is that of TestReference of
// experiment/run. The epsilon of private selection is that of its theorems on a fine grid
// of orders, or little more: the accountant's grid is coarser.
func TestReference(t *testing.T) {
	var ref reference
	b, err := os.ReadFile("../run/testdata/reference.json")
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(b, &ref); err != nil {
		t.Fatal(err)
	}
	if len(ref.Searches) < 9 {
		t.Fatalf("%d searches in the file", len(ref.Searches))
	}
	dir := t.TempDir()
	start, err := model.EncodeSafetensors(nil, []model.NamedVec{{Name: "start",
		Vec: ref.Init["init.safetensors"]}})
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{"init.safetensors": string(start),
		"train.csv": ref.Files["train.csv"], "test.csv": ref.Files["test.csv"]} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range ref.Searches {
		t.Run(c.Name, func(t *testing.T) { c.hold(t, ref.Text, dir) })
	}
}

func (c *referenceSearch) hold(t *testing.T, text, dir string) {
	put := strings.NewReplacer("DIR/", filepath.ToSlash(dir)+"/")
	var set []string
	for _, s := range c.Set {
		set = append(set, put.Replace(s))
	}
	s, err := Parse("reference.toml", []byte(put.Replace(text)), set, c.Space)
	if err != nil {
		t.Fatal(err)
	}
	out := t.TempDir()
	if c.Secret != "" {
		if err := os.WriteFile(filepath.Join(out, secretFile), []byte(c.Secret+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	res := search(t, s, Options{Dir: out, DataDir: dir, Workers: 1})
	if len(res.Rows) != len(c.Rows) {
		t.Fatalf("%d trials, want %d", len(res.Rows), len(c.Rows))
	}
	for i, want := range c.Rows {
		got := res.Rows[i]
		if got.Generation != want.Generation || got.Trial != want.Trial || got.From != want.From ||
			!slices.Equal(got.Values, want.Values) ||
			!(math.Abs(got.Score-want.Score) <= 1e-5*max(1, math.Abs(want.Score))) {
			t.Errorf("%+v, want %+v", got, want)
		}
	}
	best := 0
	if res.Best != nil {
		best = res.Best.Trial
	}
	if best != c.Best {
		t.Errorf("trial %d is reported, want %d", best, c.Best)
	}
	if charged := res.Cost == experiment.CostCharged; charged != c.Charged ||
		charged && len(res.Spent) == 0 {
		t.Errorf("cost %s of %d, want a charge: %v", res.Cost, len(res.Spent), c.Charged)
	}
	for _, s := range res.Spent {
		if best == 0 {
			if s.Chosen != nil || s.All.Upper != 0 {
				t.Errorf("%+v, want no cost", s)
			}
			continue
		}
		if got := float64(s.Chosen.Upper); !(got >= c.Epsilon*(1-1e-6) && got <= 1.03*c.Epsilon) {
			t.Errorf("epsilon %g of %s, want %g or little more", got, s.Agents, c.Epsilon)
		}
	}
}
