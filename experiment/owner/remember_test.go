package owner

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"sotto/config"
	"sotto/node/mark"
	"sotto/privacy/ledger"
)

// What a node has seen of a member's ledgers outlives runs: a ledger that was rolled back
// or made anew between two runs is named.
func TestLedgersAreRememberedOverRuns(t *testing.T) {
	dir := t.TempDir()
	at := func(id byte, seq uint64) *mark.Mark {
		return &mark.Mark{Book: mark.Book{Ledger: [16]byte{id}, Head: ledger.Head{Seq: seq}}}
	}
	for i, tc := range []struct {
		mark *mark.Mark
		run  string
		old  bool // of a process that was known before anybody has spoken
		want string
	}{
		{at(1, 10), "a", false, ""},
		{at(1, 12), "a", false, ""},
		{at(1, 11), "a", false, ""}, // stored before what was seen last: no news of another run
		{at(1, 11), "b", true, ""},  // likewise, in a run that goes on
		{at(1, 11), "b", false, "rolled back"},
		{at(2, 3), "c", false, "made anew"},
		{at(2, 4), "c", false, ""},
		{at(1, 12), "d", false, ""}, // back to the former data
		{at(1, 15), "d", true, ""},
		{at(1, 14), "e", false, "rolled back"},
		{at(3, 1), "f", true, ""},
		{at(2, 3), "g", false, "rolled back"},
	} {
		m, err := readMemory(dir) // of another process each time
		if err != nil {
			t.Fatal(err)
		}
		got, _ := m.see("key", tc.run, tc.mark, tc.old)
		if (tc.want == "") != (got == "") || !strings.Contains(got, tc.want) {
			t.Errorf("%d: %q, want %q", i, got, tc.want)
		}
		if err := m.write(dir); err != nil {
			t.Fatal(err)
		}
	}
	for _, text := range []string{"[", "[null]"} {
		if err := os.WriteFile(filepath.Join(dir, membersFile), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		var bad *config.Error
		if _, err := readMemory(dir); !errors.As(err, &bad) {
			t.Errorf("a damaged file %s: %v", text, err)
		}
	}
}
