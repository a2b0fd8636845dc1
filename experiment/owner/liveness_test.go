package owner

import (
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"sotto/node"
	"sotto/privacy/ledger"
)

// A node that was killed long ago, or that hung, was as well as any.
func TestLiveness(t *testing.T) {
	now := time.Now()
	ready := node.Readiness{Ready: true}
	for _, tc := range []struct {
		name    string
		status  node.Status
		age     time.Duration
		held    bool // a process holds the state directory
		running bool
		why     string // its beginning; "": nothing is wrong
	}{
		{"at work", node.Status{Readiness: ready}, time.Second, true, true, ""},
		{"waits", node.Status{Readiness: node.Readiness{Reason: "cannot reach b"}}, time.Second, true,
			true, "cannot reach b"},
		{"was killed", node.Status{Readiness: ready}, time.Hour, false, false,
			"no process takes part; the last one ended without a word, 1h0m0s ago"},
		{"was killed before the clock was set back", node.Status{Readiness: ready}, -time.Hour, false, false,
			"no process takes part; the last one ended without a word, at a time that is 1h0m0s ahead"},
		{"hangs since the clock was set back", node.Status{Readiness: ready}, -time.Hour, true, true,
			"a process holds the state, and wrote its last status at a time that is 1h0m0s ahead"},
		{"at work, by a clock that is not the file system's", node.Status{Readiness: ready}, -time.Second,
			true, true, ""},
		{"hangs", node.Status{Readiness: ready}, time.Hour, true, true, "a process holds the state"},
		{"was stopped a moment ago", node.Status{Readiness: ready, Process: node.Process{Ended: now}},
			0, false, false, "no process takes part; it was stopped"},
		{"failed", node.Status{Process: node.Process{Failure: "no room", Ended: now}}, time.Hour, false,
			false, "stopped: no room"},
		{"has finished", node.Status{Readiness: ready, Advance: node.Advance{Finished: true},
			Process: node.Process{Ended: now}}, time.Hour, false, false, ""},
		{"starts again", node.Status{Readiness: ready, Process: node.Process{Ended: now}}, time.Hour, true,
			true, "a process holds the state"},
	} {
		dir := t.TempDir()
		b, err := json.Marshal(tc.status)
		path := filepath.Join(dir, StatusFile)
		err = errors.Join(err, os.WriteFile(path, b, 0o600), os.Chtimes(path, now, now.Add(-tc.age)))
		if err != nil {
			t.Fatal(err)
		}
		lock, err := ledger.OS{}.Lock(filepath.Join(dir, "lock"))
		if err != nil {
			t.Fatal(err)
		}
		if !tc.held {
			lock.Close()
		}
		l, _, err := ReadLiveness(dir, now)
		lock.Close()
		if err != nil || l.Running != tc.running || !strings.HasPrefix(l.Why(), tc.why) ||
			tc.why == "" && l.Why() != "" {
			t.Errorf("%s: %+v, %q, %v", tc.name, l, l.Why(), err)
		}
	}
	if _, _, err := ReadLiveness(t.TempDir(), now); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("no status: %v", err)
	}
}
