package folder

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"sotto/agent"
)

// disk is the folder of a membership.
type disk struct {
	root   *os.Root
	log    *slog.Logger
	active atomic.Int64 // when something was last read or written, in ns
}

// touch notes that something has happened.
func (d *disk) touch() { d.active.Store(time.Now().UnixNano()) }

// read reads a file of at most max bytes, and nothing but a file.
func (d *disk) read(name string, max int) ([]byte, error) {
	info, err := d.root.Lstat(name)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, fmt.Errorf("no file but %s", info.Mode().Type())
	}
	if info.Size() > int64(max) {
		return nil, fmt.Errorf("%d bytes, allowed: at most %d", info.Size(), max)
	}
	// what has become a pipe meanwhile keeps nobody waiting
	f, err := d.root.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, int64(max)+1))
	if err == nil && len(b) > max {
		err = fmt.Errorf("more than %d bytes", max)
	}
	return b, err
}

// write makes a file that is there as a whole or not at all.
func (d *disk) write(name string, b []byte) error {
	temp := name + ".partial"
	// whoever writes to the folder may have put a pipe there, which would keep it waiting
	if err := d.root.Remove(temp); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	f, err := d.root.OpenFile(temp, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		return err
	}
	_, err = f.Write(b)
	if err = errors.Join(err, f.Close()); err == nil {
		err = d.root.Rename(temp, name)
	}
	if err != nil {
		d.root.Remove(temp)
	}
	d.touch()
	return err
}

// remove removes a file of this member's.
func (d *disk) remove(name string) {
	if err := d.root.Remove(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
		d.log.Warn("a file stays in the folder", "file", name, "error", err)
	}
}

// list returns the labels of the files that writer has written for reader, in the order
// of their names.
func (d *disk) list(writer, reader agent.ID) []label {
	dir, err := d.root.Open(way(writer, reader))
	if err != nil {
		return nil
	}
	defer dir.Close()
	entries, err := dir.Readdirnames(maxEntries)
	if err != nil {
		return nil
	}
	slices.SortFunc(entries, strings.Compare)
	var all []label
	for _, name := range entries {
		if l, ok := readLabel(name, writer, reader); ok {
			all = append(all, l)
		}
	}
	return all
}

// folder is where a member writes, way where to another, and path where a file lies.
func folder(i agent.ID) string { return fmt.Sprint(i) }

func way(from, to agent.ID) string { return fmt.Sprintf("%d/%d", from, to) }

func path(l label) string { return way(l.writer, l.reader) + "/" + l.file() }
