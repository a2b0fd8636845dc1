package rowfile

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"sync"

	"sotto/internal/atomicfile"
	"sotto/internal/flock"
)

// Table is a file of rows that is appended to. Its methods may be called from several
// goroutines.
type Table[R any] struct {
	path  string
	codec Codec[R]
	lock  *flock.Lock

	mu   sync.Mutex
	rows []R
	at   map[string]int // index in rows by key
	file *os.File       // nil when it is closed
	size int64          // of the whole lines in it
	err  error          // half a line is in the file and cannot be taken back
}

// Open reads what earlier processes have finished, drops half a last line, and opens the
// file for more. A table with an order is written in it. One process at a time may have
// it open: for others it is *flock.Busy.
func Open[R any](path string, c Codec[R]) (*Table[R], error) {
	t := &Table[R]{path: path, codec: c, at: map[string]int{}}
	var err error
	if t.lock, err = flock.Take(path); err != nil {
		return nil, err
	}
	if err := t.open(); err != nil {
		return nil, errors.Join(err, t.lock.Release())
	}
	return t, nil
}

// open reads the file and leaves it at its end.
func (t *Table[R]) open() error {
	c, path := &t.codec, t.path
	b, err := os.ReadFile(path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	rows, err := c.decode(path, b)
	if err != nil {
		return err
	}
	t.put(rows)
	t.size = int64(len(whole(b)))
	if c.Compare != nil || t.size == 0 {
		b = c.encode(true, t.sorted())
		if err := atomicfile.Write(path, b); err != nil {
			return err
		}
		t.size = int64(len(b))
	}
	if t.file, err = os.OpenFile(path, os.O_APPEND|os.O_WRONLY, 0o644); err != nil {
		return err
	}
	if err := t.file.Truncate(t.size); err != nil {
		return errors.Join(err, t.file.Close())
	}
	return nil
}

// put enters rows, each in place of an earlier one with its key.
func (t *Table[R]) put(rows []R) {
	for _, r := range rows {
		key := t.codec.Key(r)
		if i, ok := t.at[key]; ok {
			t.rows[i] = r
			continue
		}
		t.at[key] = len(t.rows)
		t.rows = append(t.rows, r)
	}
}

// sorted returns the rows in the table's order.
func (t *Table[R]) sorted() []R {
	rows := slices.Clone(t.rows)
	if t.codec.Compare != nil {
		slices.SortStableFunc(rows, t.codec.Compare)
	}
	return rows
}

// Find returns the row with this key.
func (t *Table[R]) Find(key string) (R, bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	i, ok := t.at[key]
	if !ok {
		var none R
		return none, false
	}
	return t.rows[i], true
}

// Rows returns the rows so far in the table's order.
func (t *Table[R]) Rows() []R {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.sorted()
}

// Add appends rows and waits until they are on disk. After an error the file holds none
// of them, or nothing more is written to it: half a line is only ever the last one.
func (t *Table[R]) Add(rows ...R) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	switch {
	case t.err != nil:
		return t.err
	case t.file == nil:
		return fmt.Errorf("%s: %w", t.path, os.ErrClosed)
	}
	b := t.codec.encode(false, rows)
	_, err := t.file.Write(b)
	if err == nil {
		err = t.file.Sync()
	}
	if err != nil {
		if back := t.file.Truncate(t.size); back != nil {
			t.err = err
		}
		return err
	}
	t.size += int64(len(b))
	t.put(rows)
	return nil
}

// Close closes the file and returns the rows in order, in which a table that has one is
// then written.
func (t *Table[R]) Close() ([]R, error) {
	defer t.lock.Release()
	if err := t.shut(); err != nil {
		return nil, err
	}
	rows := t.Rows()
	if t.codec.Compare == nil {
		return rows, nil
	}
	return rows, atomicfile.Write(t.path, t.codec.encode(true, rows))
}

// Stop closes the file and leaves it as it is, for a later process to go on with. After
// Close it does nothing.
func (t *Table[R]) Stop() error { return errors.Join(t.shut(), t.lock.Release()) }

func (t *Table[R]) shut() error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.file == nil {
		return nil
	}
	f := t.file
	t.file = nil
	return f.Close()
}
