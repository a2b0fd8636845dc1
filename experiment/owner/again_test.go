package owner_test

import (
	"errors"
	"log/slog"
	"os"
	"strings"
	"testing"

	"sotto/experiment/owner"
	"sotto/privacy"
)

// A policy whose log_level was taken out left the log at the former level, and one
// without the data's population any more ended the node as a file that cannot be used,
// exit code 2, in place of a refusal.
func TestPolicyReadAgain(t *testing.T) {
	files := team(t)[0]
	b, err := os.ReadFile(files.Policy)
	if err != nil {
		t.Fatal(err)
	}
	text := string(b)
	m, err := owner.Join(files, chosen())
	if err != nil {
		t.Fatal(err)
	}
	l, _ := ownBooks(t, m.Owner)
	var level slog.LevelVar
	how := owner.Reload{Level: &level, Usual: slog.LevelWarn}
	for _, tc := range []struct {
		policy string
		level  slog.Level
	}{{"log_level = \"debug\"\n" + text, slog.LevelDebug}, {text, slog.LevelWarn}} {
		if err := os.WriteFile(files.Policy, []byte(tc.policy), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := owner.ReadAgainAs(m, l, how); err != nil || level.Level() != tc.level {
			t.Errorf("level %v, want %v; %v", level.Level(), tc.level, err)
		}
	}
	renamed := strings.Replace(text, "[[dataset]]", "[[dataset]]\npopulation = \"others\"", 1)
	if err := os.WriteFile(files.Policy, []byte(renamed), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := owner.ReadAgain(m, l); !errors.Is(err, privacy.ErrRefused) ||
		!strings.Contains(err.Error(), "population:") {
		t.Errorf("without the population: %v", err)
	}
}
