package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"sotto/config"
	"sotto/data"
	"sotto/privacy"
	"sotto/privacy/account"
)

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){"sotto": main})
}

// TestScripts runs the command lines in testdata as a user would.
func TestScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir: "testdata",
		Setup: func(env *testscript.Env) error {
			env.Setenv("SOTTO_REAL_DATA", os.Getenv("SOTTO_DATA"))
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
		{usageError{errors.New("flag")}, 2},
		{wrap(config.Bad("k", 1, "2")), 2},
		{&fs.PathError{Op: "open", Path: "x.toml", Err: fs.ErrNotExist}, 2},
		{wrap(privacy.ErrRefused), 3},
		{fmt.Errorf("%w: %w", privacy.ErrRefused, config.Bad("k", 1, "2")), 3},
		{wrap(account.ErrUnsupported), 3},
		{wrap(account.ErrInfeasible), 3},
		{wrap(privacy.ErrExhausted), 3},
		{wrap(data.ErrMissing), 4},
		{wrap(data.ErrAltered), 4},
	} {
		if got := exitCode(tc.err); got != tc.want {
			t.Errorf("%v: exit code %d, want %d", tc.err, got, tc.want)
		}
	}
}

func Example() {
	run([]string{"topology", "show", "star", "--agents", "10"}, os.Stdout, os.Stderr)
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
