package main

import (
	"bytes"
	"crypto/ed25519"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"slices"
	"syscall"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"sotto/cmd/sotto/cli"
	"sotto/config"
	"sotto/data"
	"sotto/internal/keep"
	"sotto/internal/long"
	"sotto/internal/porttest"
	"sotto/internal/scratch"
	"sotto/node"
	"sotto/node/checkpoint"
	"sotto/node/keyfile"
	"sotto/node/roster"
	"sotto/privacy"
	"sotto/privacy/account"
	"sotto/privacy/ledger"
)

func TestMain(m *testing.M) {
	if slices.Equal(os.Args[1:], []string{"audit", "prints"}) { // started by an audit of keys of a test
		main()
	}
	if os.Getenv(keep.Variable) == "" {
		os.Setenv(keep.Variable, "off") // a test leaves nothing in the user's folder
	}
	testscript.Main(scratch.InMemory(m), map[string]func(){"sotto": main, "make-ledger": makeLedger,
		"halve-figures": halveFigures})
}

// makeLedger makes a durable ledger with three charges in the directory that its argument
// names, with the key in the file that a second one names, or a fresh key.
func makeLedger() {
	check := func(err error) {
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
	}
	_, key, err := ed25519.GenerateKey(nil)
	if check(err); len(os.Args) > 2 {
		key, err = keyfile.Read(os.Args[2])
		check(err)
	}
	l, err := ledger.Create(os.Args[1], ledger.Genesis{Adjacency: account.ZeroOut, Unit: account.Record(),
		Budget: account.Budget{Epsilon: 8, Delta: 1e-5}, MinRecords: 1000},
		ledger.Options{Key: key, FS: ledger.OS{AllowVolatile: true}})
	check(err)
	ev, err := account.Gaussian(4, 1)
	check(err)
	for range 3 {
		_, err := l.Charge(ev)
		check(err)
	}
	check(l.Close())
}

// halveFigures changes every figure in the file of figures that its argument names, and
// the file's sum.
func halveFigures() {
	path := os.Args[1]
	b, err := os.ReadFile(path)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	whole, magic := b[:len(b)-sha256.Size], bytes.IndexByte(b, '\n')+1
	rest := whole[magic+4+int(binary.LittleEndian.Uint32(b[magic:])):]
	for len(rest) > 0 {
		n, size := binary.Uvarint(rest)
		figures := rest[size+int(n):]
		for k := range 2 {
			f := math.Float64frombits(binary.LittleEndian.Uint64(figures[8*k:]))
			binary.LittleEndian.PutUint64(figures[8*k:], math.Float64bits(f/2))
		}
		rest = figures[16:]
	}
	sum := sha256.Sum256(whole)
	if err := os.WriteFile(path, append(whole, sum[:]...), 0o600); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// TestScripts runs the command lines in testdata as a user would.
func TestScripts(t *testing.T) { scripts(t, "testdata") }

// TestLongScripts runs those of several nodes that take longer, with the tag long.
func TestLongScripts(t *testing.T) {
	if !long.Tests {
		t.Skip("go test -tags long")
	}
	scripts(t, "testdata/long")
}

func scripts(t *testing.T, dir string) {
	testscript.Run(t, testscript.Params{
		Dir: dir,
		Setup: func(env *testscript.Env) error {
			env.Setenv("SOTTO_REAL_DATA", os.Getenv("SOTTO_DATA"))
			env.Setenv(keep.Variable, filepath.Join(env.WorkDir, "cache"))
			for i := range 6 { // addresses for nodes
				port, err := porttest.Free()
				if err != nil {
					return err
				}
				env.Setenv(fmt.Sprint("PORT", i), fmt.Sprint(port))
			}
			return nil
		},
		Condition: func(cond string) (bool, error) {
			if cond == "data" {
				return os.Getenv("SOTTO_DATA") != "", nil
			}
			return false, fmt.Errorf("unknown condition %q", cond)
		},
	})
}

func TestExitCodes(t *testing.T) {
	wrap := func(err error) error { return fmt.Errorf("outer: %w", err) }
	for _, tc := range []struct {
		err  error
		want int
	}{
		{nil, 0},
		{errors.New("broken"), 1},
		{cli.Usage(errors.New("flag")), 2},
		{wrap(config.Bad("k", 1, "2")), 2},
		{&fs.PathError{Op: "open", Path: "x.toml", Err: fs.ErrNotExist}, 2},
		{&fs.PathError{Op: "read", Path: ".", Err: syscall.EISDIR}, 2},
		{&fs.PathError{Op: "mkdir", Path: "file/runs", Err: syscall.ENOTDIR}, 2},
		// was 1: systemd started a node for ever whose files it may not read or write
		{wrap(&fs.PathError{Op: "open", Path: "a.csv", Err: syscall.EACCES}), 2},
		{wrap(&os.LinkError{Op: "rename", Old: "x", New: "y", Err: syscall.EROFS}), 2},
		{errors.Join(ledger.ErrPoisoned, &fs.PathError{Op: "write", Path: "x", Err: syscall.EROFS}), 5},
		{wrap(privacy.ErrRefused), 3},
		{fmt.Errorf("%w: %w", privacy.ErrRefused, config.Bad("k", 1, "2")), 3},
		{wrap(account.ErrUnsupported), 3},
		{wrap(account.ErrInfeasible), 3},
		{wrap(privacy.ErrExhausted), 3},
		{wrap(ledger.ErrCorrupt), 3},
		{wrap(ledger.ErrRollback), 3},
		{wrap(roster.ErrUnsigned), 3},
		{wrap(ledger.ErrLocked), 1},
		{wrap(ledger.ErrPoisoned), 5}, // was 3, which no supervisor starts again
		{fmt.Errorf("storing the state: %w", &fs.PathError{Op: "write", Path: "x", Err: syscall.ENOSPC}), 5},
		{wrap(checkpoint.ErrState), 3}, // was 1, which every supervisor starts again for good
		{wrap(node.ErrDiverged), 3},    // was 1: each start charged for the same again
		{wrap(keyfile.ErrPassphrase), 2},
		{wrap(data.ErrMissing), 4},
		{stoppedError{errors.New("interrupted"), syscall.SIGINT}, 130},
		{stoppedError{errors.New("interrupted"), syscall.SIGTERM}, 143},
		{stoppedError{wrap(ledger.ErrCorrupt), syscall.SIGTERM}, 3}, // what a person must see
		{wrap(data.ErrAltered), 4},
	} {
		if got := exitCode(tc.err); got != tc.want {
			t.Errorf("%v: exit code %d, want %d", tc.err, got, tc.want)
		}
	}
}

func Example() {
	execute([]string{"topology", "show", "star", "--agents", "10"}, os.Stdout, os.Stderr)
	// Output:
	// graph              star, 10 agents, 9 links
	// degree             1 min, 1.8 mean, 9 max
	// doubly stochastic  true
	// Fiedler value      1 (divided by agents: 0.1000)
	// lambda_2(W)        0.9000
	// lambda_n(W)        0.0000
	// spectral gap       0.1000 (1 - max(|lambda_2|, |lambda_n|): 0.1000)
	// mixing time        10 rounds until disagreement has shrunk by 1/e
}
