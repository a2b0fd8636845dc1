package attack

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"io"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"sotto/internal/scratch"
	"sotto/privacy/audit"
	"sotto/rng"
)

// keySources stand for the operating system's generator in processes that TestPlantedKeys
// starts: a key is what the source says at that moment.
var keySources = map[string]func() uint64{
	"the operating system":     nil,
	"the clock in seconds":     func() uint64 { return uint64(time.Now().Unix()) },
	"a fixed seed":             counter(1),
	"the process's number":     func() uint64 { return uint64(os.Getpid()) },
	"the clock in nanoseconds": func() uint64 { return uint64(time.Now().UnixNano()) },
	"six random bits": func() uint64 { // the processes draw more than 64 keys
		return rng.Public(uint64(time.Now().UnixNano()), "bits").Below(64)
	},
}

// counter is a generator that begins alike in every process.
func counter(seed uint64) func() uint64 {
	return func() uint64 {
		seed++
		return seed
	}
}

// source is a reader of which every read is a function of what says.
type source struct{ says func() uint64 }

func (s source) Read(b []byte) (int, error) {
	sum := sha256.Sum256(binary.LittleEndian.AppendUint64(nil, s.says()))
	return copy(b, sum[:]), nil
}

// TestMain is also the processes that tests start: "keys SOURCE" audits keys, with other
// processes "prints SOURCE".
func TestMain(m *testing.M) {
	if len(os.Args) == 3 {
		if says := keySources[os.Args[2]]; says != nil {
			rand.Reader = source{says}
		}
		switch os.Args[1] {
		case "keys":
			os.Exit(auditKeys(os.Stdout))
		case "prints":
			if WritePrints(os.Stdout) != nil {
				os.Exit(1)
			}
			os.Exit(0)
		}
	}
	os.Exit(scratch.InMemory(m).Run())
}

// auditKeys ends with 3 where keys are equal.
func auditKeys(w io.Writer) int {
	t := &audit.Target{Keyring: Keyring([]string{os.Args[0], "prints", os.Args[2]})}
	r, err := t.Keys(context.Background(), audit.Options{Observations: 16, Beta: 1e-6})
	if err != nil || r.WriteText(w) != nil || len(r.Checks) != 2 {
		return 1
	}
	if r.Violated {
		return 3
	}
	return 0
}

// Keys of a clock in seconds, of a fixed seed, of a process's number and of few bits are
// found, by the generator that stands for the operating system's below all of this
// program. The operating system's are not, nor are those that differ and can be guessed.
func TestPlantedKeys(t *testing.T) {
	for name := range keySources {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			began := time.Now()
			out, err := exec.Command(os.Args[0], "keys", name).CombinedOutput()
			var exit *exec.ExitError
			found := errors.As(err, &exit) && exit.ExitCode() == 3
			if err != nil && !found {
				t.Fatalf("%v: %s", err, out)
			}
			want := name != "the operating system" && name != "the clock in nanoseconds" // which differ
			if found != want {
				t.Errorf("found %v, want %v: %s", found, want, out)
			}
			var says []string
			for line := range strings.Lines(string(out)) {
				if strings.HasPrefix(line, "finding") {
					says = append(says, strings.TrimSpace(line[len("finding"):]))
				}
			}
			t.Logf("| keys from %s | keys: %s | %.1f |", name, strings.Join(says, "; "),
				time.Since(began).Seconds())
		})
	}
}

// A process that writes something else, or nothing, is an error that the report names;
// keys of this process are compared all the same.
func TestKeysWithoutProcesses(t *testing.T) {
	for _, self := range [][]string{{"/nonexistent"}, {"/bin/echo", "no print"}, {"/bin/true"}} {
		target := &audit.Target{Keyring: Keyring(self)}
		r, err := target.Keys(context.Background(), audit.Options{Observations: 10})
		if err != nil || r.Violated || len(r.Checks) != 1 || len(r.Valid) != 2 {
			t.Errorf("%v: %+v, %v", self, r, err)
		}
	}
}
