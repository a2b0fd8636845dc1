//go:build unix && !operator

package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// started runs the program with its output in a buffer that is read after Wait.
func started(t *testing.T, dir string, args ...string) (*exec.Cmd, *bytes.Buffer) {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	c := exec.Command(self)
	c.Args, c.Dir = append([]string{"sotto"}, args...), dir
	c.Stdout, c.Stderr = &out, &out
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Process.Kill() })
	return c, &out
}

// What a signal has ended is interrupted, in the program's words, not in those of Go.
func TestStoppedInWords(t *testing.T) {
	err := stoppedError{fmt.Errorf("%w: 1 of 2 cells are done", context.Canceled), syscall.SIGINT}
	const want = "interrupted: 1 of 2 cells are done"
	if err.Error() != want || !errors.Is(err, context.Canceled) {
		t.Errorf("%q, want %q of context.Canceled", err, want)
	}
}

// Every command ends at a signal while it reads what never comes: a pipe has the name of
// its first file, and the test knows by opening it that the command is at work. Report
// went on until its page was written, or memory was gone.
func TestCommandsEndBySignals(t *testing.T) {
	for _, tc := range []struct {
		file string // that the command reads first
		args string
	}{
		{"f.toml", "run f.toml"},
		{"f.toml", "plan f.toml"},
		{"f.toml", "sweep f.toml --sweep rounds=1,2"},
		{"f.toml", "tune f.toml"},
		{"run/summary.json", "report run"},
		{"run/config.toml", "export run"},
		{"run/ledger/simulated.jsonl", "account statement run"},
		{"l/genesis.json", "ledger show l"},
		{"l/genesis.json", "ledger verify l"},
		{"k", "key show k"},
		{"f.csv", "data inspect csv --set path=f.csv --set target=a"},
	} {
		for s, want := range map[syscall.Signal]int{syscall.SIGTERM: 143, syscall.SIGINT: 130} {
			t.Run(fmt.Sprint(tc.args, " ", s), func(t *testing.T) {
				t.Parallel()
				dir := t.TempDir()
				pipe := filepath.Join(dir, tc.file)
				if err := os.MkdirAll(filepath.Dir(pipe), 0o755); err != nil {
					t.Fatal(err)
				}
				if err := syscall.Mkfifo(pipe, 0o600); err != nil {
					t.Skip(err)
				}
				c, out := started(t, dir, strings.Fields(tc.args)...)
				ended := make(chan error, 1)
				go func() { ended <- c.Wait() }()
				opened := make(chan *os.File, 1)
				go func() {
					f, _ := os.OpenFile(pipe, os.O_WRONLY, 0) // waits for the reader
					opened <- f
				}()
				select {
				case f := <-opened:
					defer f.Close()
				case <-ended:
					f, _ := os.OpenFile(pipe, os.O_RDWR, 0) // lets the writer go
					f.Close()
					t.Fatalf("ended before it read %s: %s", tc.file, out)
				}
				c.Process.Signal(s)
				<-ended
				if got := c.ProcessState.ExitCode(); got != want {
					t.Errorf("exit code %d, want %d: %s", got, want, out)
				}
			})
		}
	}
}

// A run that is trained ends by its context, with a directory that can be resumed.
func TestRunEndsBySignal(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	c, out := started(t, dir, "run", "--set", "rounds=1000000", "--set", "privacy.accountant=rdp",
		"--set", "privacy.mechanism=none", "--set", "privacy.target_epsilon=0")
	ended := make(chan error, 1)
	go func() { ended <- c.Wait() }()
	for { // until there is a directory
		if there, _ := filepath.Glob(filepath.Join(dir, "runs", "*.partial", "*")); len(there) > 0 {
			break
		}
		select {
		case <-ended:
			t.Fatalf("ended at once: %s", out)
		case <-time.After(5 * time.Millisecond):
		}
	}
	c.Process.Signal(syscall.SIGINT)
	<-ended
	if got := c.ProcessState.ExitCode(); got != 130 {
		t.Errorf("exit code %d, want 130: %s", got, out)
	}
}
