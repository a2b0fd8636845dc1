package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"log/slog"
	"strings"
	"testing"

	"github.com/libp2p/go-libp2p/gologshim"
)

// libp2p's lines had another format, with paths of the machine that built the program,
// and ids that stand in no file of the owner's.
func TestOneLogFormat(t *testing.T) {
	var out bytes.Buffer
	f := logFlags{format: "json", text: "warn", rename: strings.NewReplacer("12D3KooWxyz", "va")}
	log, err := f.open(&out)
	if err != nil {
		t.Fatal(err)
	}
	foreign := gologshim.Logger("swarm2")
	log.Info("too fine")
	log.Warn("own", "error", errors.New("failed to dial 12D3KooWxyz:\n  * all of them"))
	foreign.Warn("not asked for")
	foreign.Error("theirs", "peer", "12D3KooWxyz")
	f.Level.Set(slog.LevelDebug)
	foreign.Debug("asked for now")
	want := []map[string]any{
		{"level": "WARN", "msg": "own", "error": "failed to dial va:; * all of them"},
		{"level": "ERROR", "msg": "theirs", "logger": "swarm2", "peer": "va"},
		{"level": "DEBUG", "msg": "asked for now", "logger": "swarm2"},
	}
	lines := strings.Split(strings.TrimSpace(out.String()), "\n")
	if len(lines) != len(want) {
		t.Fatalf("%d lines, want %d:\n%s", len(lines), len(want), out.String())
	}
	for i, line := range lines {
		var got map[string]any
		if err := json.Unmarshal([]byte(line), &got); err != nil {
			t.Fatalf("%q: %v", line, err)
		}
		if _, ok := got["time"]; !ok || len(got) != len(want[i])+1 {
			t.Errorf("line %q, want time and %v alone", line, want[i])
		}
		for key, value := range want[i] {
			if got[key] != value {
				t.Errorf("%s is %v in %q, want %v", key, got[key], line, value)
			}
		}
	}
}
