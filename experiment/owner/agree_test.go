package owner_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"sotto/config"
	"sotto/experiment/owner"
	"sotto/node"
	"sotto/node/roster"
)

// A roster with missing = "proceed" of a run that cannot go on without a member was made
// and signed by all, and then every node refused it.
func TestNewRosterRefusesToProceedWhereNodesDo(t *testing.T) {
	walk := strings.NewReplacer(`"dsgd"`, `"walk"`, "[privacy]", "[token]\ncount = 1\n[privacy]",
		"batch_size = 20\n", "")
	for name, text := range map[string]string{
		"dsgd":    "",
		"sgp":     strings.Replace(ownerRun, `"dsgd"`, `"sgp"`, 1),
		"dropout": strings.Replace(ownerRun, `"ring"`, "\"ring\"\ndropout = 0.2", 1),
		"walk":    walk.Replace(ownerRun),
	} {
		if text == "" {
			text = ownerRun
		}
		path := filepath.Join(t.TempDir(), "run.toml")
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		for _, missing := range []string{node.Wait, node.Proceed} {
			_, err := owner.NewRoster(path, &roster.Terms{Missing: missing, Deadline: "1m", Patience: "1h"})
			var bad *config.Error
			if want := missing == node.Proceed && name != "dsgd"; (err != nil) != want ||
				want && (!errors.As(err, &bad) || bad.Key != "missing") {
				t.Errorf("%s with %s: %v", name, missing, err)
			}
		}
	}
}
