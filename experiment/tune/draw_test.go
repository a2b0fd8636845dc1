package tune

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"sotto/config"
)

// batches is a search some values of which no trial can have: an agent has 35 records.
func batches(t *testing.T, method, values string) *Search {
	t.Helper()
	keys := "[tune.space.privacy]\nbatch_size = { choice = " + values + " }\n"
	s, err := Parse("tiny.toml", []byte(strings.Replace(fmt.Sprintf(tinyTuning, method),
		"[tune.space]", keys+"[tune.space]", 1)), nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// Values that cannot be run are no trials: others are drawn in their place, and the
// result says so. The same search ends with the same trials.
func TestValuesThatCannotBeRun(t *testing.T) {
	for _, method := range []string{"trials = 6", "method = \"pbt\"\npopulation = 6\ninterval = 1"} {
		s := batches(t, method, "[10, 5000]")
		res := search(t, s, Options{Workers: 2})
		if len(res.Rows) < 6 {
			t.Errorf("%s: %d rows", method, len(res.Rows))
		}
		at := slices.Index(res.Keys, "privacy.batch_size")
		for _, r := range res.Rows {
			if r.Values[at] != "10" {
				t.Errorf("%s: trial %d has %s", method, r.Trial, r.Values)
			}
		}
		if n := res.Notes[len(res.Notes)-1]; !strings.Contains(n, "drawn again, the first for trial ") ||
			!strings.Contains(n, "privacy.batch_size=5000") {
			t.Errorf("%s: %q", method, res.Notes)
		}
		again := search(t, s, Options{Workers: 1})
		if !slices.EqualFunc(res.Rows, again.Rows, func(a, b Trial) bool { return a.RunHash == b.RunHash }) {
			t.Errorf("%s: other trials with one worker", method)
		}
	}
}

// A search without a single trial says why, and leaves nothing.
func TestNothingToRun(t *testing.T) {
	dir := t.TempDir()
	_, err := batches(t, "trials = 6", "[5000, 6000]").Run(t.Context(), Options{Out: dir})
	var bad *config.Error
	if !errors.As(err, &bad) || bad.Key != "privacy.batch_size" ||
		!strings.Contains(err.Error(), "none of 100 draws can be run") {
		t.Error(err)
	}
	if left, _ := os.ReadDir(dir); len(left) > 0 {
		t.Errorf("%v is left", left)
	}
}
