package owner

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"sotto/internal/jsontext"
	"sotto/node"
	"sotto/privacy/ledger"
)

// staleStatus is how old a status file may be of which a process still writes a new one
// every second.
const staleStatus = 15 * time.Second

// aheadStatus is how far a status file may lie in the future: a clock that was set back
// further says nothing of its age.
const aheadStatus = 3 * time.Second

// Liveness is what the state directory says about the process that runs from it.
type Liveness struct {
	Status node.Status
	Age    time.Duration // of the status; below 0: it is from the future
	// Running: a process takes part. It may be a process that hangs, or that has just
	// started and reads its files.
	Running bool
	Stale   bool // the status is older than one of a process at work, or from the future
}

// Why says why nothing goes on, in words; "" if the node goes on, or has finished.
func (l *Liveness) Why() string {
	age := l.Age.Round(time.Second).String() + " ago"
	if l.Age < 0 {
		age = fmt.Sprintf("at a time that is %v ahead: the clock was set back",
			-l.Age.Round(time.Second))
	}
	switch {
	case l.Status.Failure != "":
		return "stopped: " + l.Status.Failure
	case l.Status.Finished && !l.Running:
		return ""
	case !l.Running && !l.Status.Ended.IsZero():
		return fmt.Sprintf("no process takes part; it was stopped %s", age)
	case !l.Running:
		return fmt.Sprintf("no process takes part; the last one ended without a word, %s", age)
	case l.Stale && l.Age < 0:
		return "a process holds the state, and wrote its last status " + age
	case l.Stale:
		return fmt.Sprintf(
			"a process holds the state and has written no status for %v: it starts, or hangs",
			l.Age.Round(time.Second))
	}
	return l.Status.Reason
}

// ReadLiveness reads the status of a state directory, and looks for a process if it is
// old. It also returns the status file as it is. fs.ErrNotExist: there is no status.
func ReadLiveness(dir string, now time.Time) (*Liveness, []byte, error) {
	path := filepath.Join(dir, StatusFile)
	b, err := os.ReadFile(path)
	if err != nil {
		return nil, nil, err
	}
	info, err := os.Stat(path)
	if err != nil {
		return nil, nil, err
	}
	l := &Liveness{Age: now.Sub(info.ModTime())}
	if l.Age < 0 && l.Age >= -aheadStatus {
		l.Age = 0
	}
	if err := json.Unmarshal(b, &l.Status); err != nil {
		return nil, nil, jsontext.Error(path, b, err, "what sotto node has written")
	}
	l.Stale = l.Age > staleStatus || l.Age < 0
	if l.Running = l.Status.Ended.IsZero() && !l.Stale; !l.Running {
		l.Running, err = locked(dir)
		l.Stale = true
	}
	return l, bytes.TrimSpace(b), err
}

// locked reports whether a process holds the state directory. It takes the lock for a
// moment where none does, so that it is asked only when the status is old.
func locked(dir string) (bool, error) {
	path := filepath.Join(dir, "lock")
	if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	c, err := ledger.OS{}.Lock(path)
	if err != nil { // a lock that cannot be tried holds nobody that could write a status
		return errors.Is(err, ledger.ErrLocked), nil
	}
	return false, c.Close()
}
