package ledger_test

import (
	"bufio"
	"crypto/ed25519"
	"crypto/sha256"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"sotto/internal/scratch"
	"sotto/privacy/account"
	"sotto/privacy/ledger"
	"sotto/privacy/ledger/ledgertest"
)

const killVariable = "SOTTO_TEST_LEDGER_TO_KILL"

// TestMain is the victim of TestKill if the variable says so: it charges, and rotates the
// key now and then, until it is killed, and prints the number of each charge once it has
// returned, as a process that sends its answers.
func TestMain(m *testing.M) {
	dir := os.Getenv(killVariable)
	if dir == "" {
		os.Exit(scratch.InMemory(m).Run())
	}
	if err := victim(dir); err != nil {
		fmt.Println("error", err)
		os.Exit(1)
	}
}

func victim(dir string) error {
	o, err := present(dir)
	if err != nil {
		return err
	}
	o.SegmentSize = 20_000
	f, err := ledger.Open(dir, o)
	if err != nil {
		return err
	}
	ev, err := account.Gaussian(1e6, 1)
	if err != nil {
		return err
	}
	for n := 1; ; n++ {
		if n%8 == 0 {
			if err := f.Rotate(numbered(len(f.Keys()) + 1)); err != nil {
				return err
			}
		}
		seq, err := f.Charge(ev)
		if err != nil {
			return err
		}
		fmt.Println(seq)
	}
}

// numbered is the key that a ledger to kill gets as its n-th one.
func numbered(n int) ed25519.PrivateKey {
	if n == 1 {
		return key(1)
	}
	seed := sha256.Sum256(fmt.Append(nil, n))
	return ed25519.NewKeyFromSeed(seed[:])
}

// present are options with the key that the ledger has.
func present(dir string) (ledger.Options, error) {
	o := options()
	b, err := ledger.Read(dir, ledger.Options{FS: local})
	if err == nil {
		o.Key = numbered(len(b.Keys()))
	}
	return o, err
}

// A process is killed (kill -9) again and again while it charges: every number that it
// told is in the ledger, none was told twice, and its lock is free at once.
func TestKill(t *testing.T) {
	kills := 20
	if testing.Short() {
		kills = 3
	}
	dir := filepath.Join(t.TempDir(), "ledger")
	o := options()
	closed(t, create(t, dir, o))
	r := rand.New(rand.NewPCG(5, 5))
	told := map[uint64]bool{}
	for range kills {
		for _, seq := range killed(t, dir, 1+r.IntN(60)) {
			if told[seq] || seq <= o.KnownSeq {
				t.Fatalf("number %d was told twice", seq)
			}
			told[seq], o.KnownSeq = true, seq
		}
		verified(t, dir, o)
	}
	last, err := present(dir)
	if err != nil {
		t.Fatal(err)
	}
	last.KnownSeq = o.KnownSeq
	f := reopen(t, dir, last)
	if kills > 3 && len(f.Keys()) == 1 {
		t.Error("no key was ever rotated")
	}
	defer closed(t, f)
	charges := ledgertest.Charges(t, f)
	for seq := range told {
		if _, ok := charges[seq]; !ok {
			t.Fatalf("charge %d is lost", seq)
		}
	}
	if len(told) < kills || len(charges) < len(told) {
		t.Errorf("%d charges, %d told", len(charges), len(told))
	}
	t.Logf("%d kills, %d charges, %d of them told", kills, len(charges), len(told))
}

// killed starts a victim, kills it after it told some numbers, and returns all that it
// told.
func killed(t *testing.T, dir string, after int) (told []uint64) {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), killVariable+"="+dir)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	for in := bufio.NewScanner(out); in.Scan(); {
		seq, err := strconv.ParseUint(in.Text(), 10, 64)
		if err != nil {
			if len(told) >= after && !strings.HasPrefix(in.Text(), "error") {
				break // the line that was cut by the kill
			}
			t.Fatal(in.Text())
		}
		if told = append(told, seq); len(told) == after {
			if err := cmd.Process.Kill(); err != nil {
				t.Fatal(err)
			}
		}
	}
	cmd.Wait() // killed
	return told
}
