package attack

import (
	"context"
	"errors"
	"strings"
	"testing"

	"sotto/config"
	"sotto/experiment"
	"sotto/experiment/experimenttest"
	"sotto/privacy/audit"
)

// An auditor of pairs brings values of its own, of which a query asks nothing.
func TestPairsOfAQuery(t *testing.T) {
	var bad *config.Error
	e := built(t, experimenttest.Questions)
	if _, err := averagingOf(e); !errors.As(err, &bad) || bad.Key != "algorithm.name" {
		t.Error(err)
	}
}

// Agents whose clips differ scale what they share each by its own, which the auditor does
// not: it found next to nothing, and claimed less than was true.
func TestPairsOfUnequalNoise(t *testing.T) {
	text := strings.NewReplacer("agents = 12\ndim = 3\n", "train = 101\ntest = 20\n", "values", "glyphs",
		"natural", "iid").Replace(experimenttest.Average)
	shared := []string{"privacy.adjacency=zero-out", "privacy.mechanism=decor", "privacy.pair_noise_ratio=3",
		"privacy.curious=one", "evaluate.estimation=false", "topology.agents=4"}
	o := audit.PairwiseOptions{Target: 2, Everywhere: true, Delta: 1e-3,
		Options: audit.Options{Observations: 100, Beta: .05}}
	for unit, refused := range map[string]bool{"record": true, "owner": false} {
		e := built(t, text, append(shared, "privacy.unit="+unit)...)
		_, err := Pairwise(context.Background(), e, "0", ExactClaim, o)
		bad := new(config.Error)
		if errors.As(err, &bad) != refused || refused && bad.Key != "privacy.mechanism" {
			t.Errorf("%s: %v", unit, err)
		}
	}
}

func built(t *testing.T, text string, set ...string) *experiment.Experiment {
	t.Helper()
	f, err := experiment.Parse("run.toml", []byte(text), set)
	if err != nil {
		t.Fatal(err)
	}
	e, err := f.Build("")
	if err != nil {
		t.Fatal(err)
	}
	return e
}
