package cli

import (
	"bytes"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"time"

	"sotto/privacy/ledger"
)

// Fault begins a line about what would stop a command.
const Fault = "FAULT"

// Okay is yes, or no as a fault.
func Okay(ok bool, yes, no string) string {
	if ok {
		return yes
	}
	return "FAULT: " + no
}

// nearest is dir, or the nearest folder above that exists.
func nearest(dir string) string {
	at := filepath.Clean(dir)
	for {
		if info, err := os.Stat(at); err == nil && info.IsDir() || at == filepath.Dir(at) {
			return at
		}
		at = filepath.Dir(at)
	}
}

// Trial is how many bytes Writable writes.
const Trial = 16 << 10

// Writable writes a file below dir, or below the nearest folder that exists: on a full
// disk an empty one can still be made.
func Writable(dir string) string {
	f, err := os.CreateTemp(nearest(dir), ".sotto-doctor-*")
	if err != nil {
		return fmt.Sprintf("FAULT: %s: %v", dir, err)
	}
	_, err = f.Write(bytes.Repeat([]byte("sotto"), Trial/5))
	if err == nil {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close(), os.Remove(f.Name())); err != nil {
		return fmt.Sprintf("FAULT: %s: %v", dir, err)
	}
	return dir + ", writable"
}

// Port tries to listen for a moment; nothing is sent.
func Port(address string) string {
	if address == "none" {
		return "none: the node connects to the others, by --relay, --proxy or --folder"
	}
	l, err := net.Listen("tcp", address)
	if err != nil {
		return fmt.Sprintf("FAULT: %s: %v; --listen names another address where the roster's is that of a "+
			"router", address, err)
	}
	return Okay(l.Close() == nil, address+", free", address+" cannot be closed")
}

// Clock only finds a clock that was never set.
func Clock(now time.Time) string {
	return Okay(now.Year() >= 2025, now.UTC().Format(time.RFC3339)+
		"; members whose clocks differ by an hour or more cannot connect",
		now.UTC().Format(time.RFC3339)+" has passed long ago: times in the log will be wrong")
}

// Disk looks at the file system of dir, or of the nearest folder above that exists,
// for need bytes. volatile: what it finds is one that may lose what was synced, which
// --i-understand overrides.
func Disk(dir string, need uint64) (text string, volatile bool) {
	at := nearest(dir)
	text = Writable(dir)
	if strings.HasPrefix(text, Fault) {
		return text, false
	}
	free, err := (ledger.OS{}).Free(at)
	switch {
	case err != nil:
		return fmt.Sprintf("FAULT: %s: %v", dir, err), false
	case free < need:
		return fmt.Sprintf("FAULT: %s: %d kB free, %d kB needed", dir, free/1000, need/1000), false
	}
	if err := (ledger.OS{}).Check(at); err != nil {
		return fmt.Sprintf("FAULT: %s: %v", dir, err), errors.Is(err, ledger.ErrDurability)
	}
	return fmt.Sprintf("%s, %d MB free", text, free>>20), false
}
