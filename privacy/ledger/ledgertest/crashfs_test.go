package ledgertest_test

import (
	"crypto/ed25519"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"testing"

	"sotto/privacy/account"
	"sotto/privacy/ledger"
	"sotto/privacy/ledger/ledgertest"
)

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// write makes a file with synced and unsynced content.
func write(t *testing.T, c *ledgertest.CrashFS, name, synced, unsynced string) {
	t.Helper()
	must(t, c.MkdirAll("d"))
	f, err := c.Create(name)
	must(t, err)
	_, err = f.Write([]byte(synced))
	must(t, err)
	must(t, f.Sync())
	must(t, c.SyncDir("d"))
	_, err = f.Write([]byte(unsynced))
	must(t, err)
}

// none draws so that nothing unsynced survives a crash.
func none(n int) int { return min(1, n-1) }

// What was synced is always there; of what was not, over many crashes, everything,
// nothing and parts are.
func TestCrashFSKeepsWhatWasSynced(t *testing.T) {
	c := ledgertest.NewCrashFS()
	tail := make([]byte, 1000)
	for i := range tail {
		tail[i] = 'u'
	}
	write(t, c, "d/f", "synced", string(tail))
	r := rand.New(rand.NewPCG(1, 1))
	seen := map[string]int{}
	for range 200 {
		got := string(c.Recover(r.IntN).Content("d/f"))
		if len(got) < 6 || got[:6] != "synced" {
			t.Fatalf("synced content became %q", got)
		}
		switch kept := got[6:]; {
		case kept == "":
			seen["nothing"]++
		case kept == string(tail):
			seen["everything"]++
		default:
			seen["a part"]++
		}
	}
	if len(seen) != 3 {
		t.Errorf("survival of an unsynced write: %v", seen)
	}
}

// A name is durable with its directory only, and a rename is there or not as a whole.
func TestCrashFSNames(t *testing.T) {
	c := ledgertest.NewCrashFS()
	write(t, c, "d/old", "content", "")
	must(t, c.Rename("d/old", "d/new"))
	for _, keep := range []bool{true, false} {
		draw := none
		if keep {
			draw = func(int) int { return 0 } // all of it survives
		}
		after := c.Recover(draw)
		if (string(after.Content("d/new")) == "content") != keep ||
			(string(after.Content("d/old")) == "content") == keep {
			t.Errorf("kept %v: old %q, new %q", keep, after.Content("d/old"), after.Content("d/new"))
		}
	}
	must(t, c.SyncDir("d"))
	if after := c.Recover(none); string(after.Content("d/new")) != "content" {
		t.Error("a synced rename was lost")
	}
	if _, err := c.Open("d/old"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("open of the old name: %v", err)
	}
	if _, err := c.Create("d/new"); !errors.Is(err, fs.ErrExist) {
		t.Errorf("create over a file: %v", err)
	}
}

func ExampleCrashFS() {
	disk := ledgertest.NewCrashFS()
	o := ledger.Options{Key: ed25519.NewKeyFromSeed(make([]byte, 32)), FS: disk}
	g := ledger.Genesis{
		Adjacency:  account.AddRemove,
		Unit:       account.Record(),
		MinRecords: 100,
		Budget:     account.Budget{Epsilon: 1, Delta: 1e-5},
	}
	l, err := ledger.Create("ledger", g, o)
	fmt.Println(err)
	ev, _ := account.Gaussian(100, 1)
	seq, err := l.Charge(ev)
	fmt.Println(seq, err)

	disk.CrashAt = disk.Changes + 2 // the sync of the next charge
	_, err = l.Charge(ev)
	fmt.Println(errors.Is(err, ledgertest.ErrCrashed))

	o.FS, o.KnownSeq = disk.Recover(none), seq
	l, err = ledger.Open("ledger", o)
	fmt.Println(l.Head().Seq, err)
	// Output:
	// <nil>
	// 2 <nil>
	// true
	// 3 <nil>
}
