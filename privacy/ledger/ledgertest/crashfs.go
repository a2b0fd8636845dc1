package ledgertest

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"path/filepath"
	"slices"
	"sync"

	"sotto/privacy/ledger"
)

// ErrCrashed is the error of every call after a CrashFS has crashed.
var ErrCrashed = errors.New("ledgertest: the machine has crashed")

// ErrDisk is the error that FailAt injects.
var ErrDisk = errors.New("ledgertest: injected disk error")

// bytes that are written together; smaller than on disks, so that small records tear as
// well
const sector = 64

// CrashFS is a file system in memory that keeps apart what was written and what is
// durable. It crashes at a chosen change, and Recover makes the file system that the next
// boot finds: of everything not synced an arbitrary part, in arbitrary order, is there.
// It is safe for concurrent use, but its fields are not.
type CrashFS struct {
	// CrashAt is the number, from 1, of the change that does not return; 0 = never.
	// Changes are writes, truncations, syncs, creations, renames and removals; Changes
	// counts them.
	CrashAt int
	Changes int
	// FailAt is the number of the change that fails with ErrDisk, half done; 0 = never.
	FailAt int
	// SyncsLie makes Sync and SyncDir do nothing, as on a disk with a broken cache: no
	// ledger survives that.
	SyncsLie bool

	mu      sync.Mutex
	crashed bool
	files   map[string]*inode // names as the running system sees them
	durable map[string]*inode // names as they are on the disk
	names   []nameChange      // since the last SyncDir of their directory
	dirs    map[string]bool
	locks   map[string]bool
}

// inode is a file: what is durable, what the running system sees, and the changes
// between.
type inode struct {
	synced, seen []byte
	pending      []change
}

// change is a write of data at an offset, or with data nil a truncation to it.
type change struct {
	offset int64
	data   []byte
}

// nameChange sets one name and removes another, at once.
type nameChange struct {
	dir, set, del string
	node          *inode
}

var _ ledger.FS = (*CrashFS)(nil)

// NewCrashFS returns an empty file system.
func NewCrashFS() *CrashFS {
	return &CrashFS{
		files:   map[string]*inode{},
		durable: map[string]*inode{},
		dirs:    map[string]bool{},
		locks:   map[string]bool{},
	}
}

// step counts one change. apply makes it visible; it runs also for the change at which
// the system crashes or fails, since nobody knows how far that one came.
func (c *CrashFS) step(apply func()) error {
	if c.crashed {
		return ErrCrashed
	}
	c.Changes++
	if apply != nil {
		apply()
	}
	switch c.Changes {
	case c.CrashAt:
		c.crashed = true
		return ErrCrashed
	case c.FailAt:
		return ErrDisk
	}
	return nil
}

func (ch change) apply(b []byte) []byte {
	if ch.data == nil {
		return grow(b, ch.offset)[:ch.offset]
	}
	b = grow(b, ch.offset+int64(len(ch.data)))
	copy(b[ch.offset:], ch.data)
	return b
}

func (n nameChange) apply(m map[string]*inode) {
	if n.del != "" {
		delete(m, n.del)
	}
	if n.set != "" {
		m[n.set] = n.node
	}
}

func (c *CrashFS) rename(n nameChange) error {
	return c.step(func() {
		n.apply(c.files)
		c.names = append(c.names, n)
	})
}

// Check implements ledger.FS.
func (c *CrashFS) Check(string) error { return nil }

// MkdirAll implements ledger.FS.
func (c *CrashFS) MkdirAll(dir string) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	for d := filepath.Clean(dir); d != "." && d != "/"; d = filepath.Dir(d) {
		c.dirs[d] = true
	}
	return nil
}

// List implements ledger.FS.
func (c *CrashFS) List(dir string) ([]string, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.crashed {
		return nil, ErrCrashed
	}
	dir = filepath.Clean(dir)
	if !c.dirs[dir] {
		return nil, fmt.Errorf("%s: %w", dir, fs.ErrNotExist)
	}
	var names []string
	for name := range c.files {
		if filepath.Dir(name) == dir {
			names = append(names, filepath.Base(name))
		}
	}
	for name := range c.dirs {
		if filepath.Dir(name) == dir {
			names = append(names, filepath.Base(name))
		}
	}
	slices.Sort(names)
	return names, nil
}

// Size implements ledger.FS.
func (c *CrashFS) Size(name string) (int64, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	n, err := c.node(name)
	if err != nil {
		return 0, err
	}
	return int64(len(n.seen)), nil
}

// Open implements ledger.FS.
func (c *CrashFS) Open(name string) (io.ReadCloser, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	n, err := c.node(name)
	if err != nil {
		return nil, err
	}
	return io.NopCloser(bytes.NewReader(bytes.Clone(n.seen))), nil
}

func (c *CrashFS) node(name string) (*inode, error) {
	if c.crashed {
		return nil, ErrCrashed
	}
	n := c.files[filepath.Clean(name)]
	if n == nil {
		return nil, fmt.Errorf("%s: %w", name, fs.ErrNotExist)
	}
	return n, nil
}

// Create implements ledger.FS.
func (c *CrashFS) Create(name string) (ledger.Appender, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	name = filepath.Clean(name)
	if c.files[name] != nil {
		return nil, fmt.Errorf("%s: %w", name, fs.ErrExist)
	}
	if !c.dirs[filepath.Dir(name)] {
		return nil, fmt.Errorf("%s: %w", name, fs.ErrNotExist)
	}
	n := &inode{}
	if err := c.rename(nameChange{dir: filepath.Dir(name), set: name, node: n}); err != nil {
		return nil, err
	}
	return &handle{c, n, -1}, nil
}

// Append implements ledger.FS.
func (c *CrashFS) Append(name string) (ledger.Appender, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	n, err := c.node(name)
	if err != nil {
		return nil, err
	}
	return &handle{c, n, -1}, nil
}

// Rewrite implements ledger.FS.
func (c *CrashFS) Rewrite(name string) (ledger.Appender, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	n, err := c.node(name)
	if err != nil {
		return nil, err
	}
	return &handle{c, n, 0}, nil
}

// Rename implements ledger.FS.
func (c *CrashFS) Rename(from, to string) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	n, err := c.node(from)
	if err != nil {
		return err
	}
	to = filepath.Clean(to)
	return c.rename(nameChange{dir: filepath.Dir(to), set: to, del: filepath.Clean(from), node: n})
}

// Remove implements ledger.FS.
func (c *CrashFS) Remove(name string) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if _, err := c.node(name); err != nil {
		return err
	}
	name = filepath.Clean(name)
	return c.rename(nameChange{dir: filepath.Dir(name), del: name})
}

// SyncDir implements ledger.FS.
func (c *CrashFS) SyncDir(dir string) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if err := c.step(nil); err != nil || c.SyncsLie {
		return err
	}
	dir = filepath.Clean(dir)
	var rest []nameChange
	for _, n := range c.names {
		if n.dir == dir {
			n.apply(c.durable)
		} else {
			rest = append(rest, n)
		}
	}
	c.names = rest
	return nil
}

// Lock implements ledger.FS.
func (c *CrashFS) Lock(name string) (io.Closer, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.crashed {
		return nil, ErrCrashed
	}
	if c.locks[name] {
		return nil, fmt.Errorf("%w: %s", ledger.ErrLocked, name)
	}
	c.locks[name] = true
	return unlock(func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		delete(c.locks, name)
	}), nil
}

type unlock func()

func (u unlock) Close() error { u(); return nil }

// Content returns what the running system sees of a file, for a test to inspect; nil if
// there is none.
func (c *CrashFS) Content(name string) []byte {
	c.mu.Lock()
	defer c.mu.Unlock()
	if n := c.files[filepath.Clean(name)]; n != nil {
		return bytes.Clone(n.seen)
	}
	return nil
}

// Put writes a file at once and durably, as an edit by hand. nil removes it.
func (c *CrashFS) Put(name string, content []byte) {
	name = filepath.Clean(name)
	if content == nil {
		delete(c.files, name)
		delete(c.durable, name)
		return
	}
	n := &inode{synced: bytes.Clone(content), seen: bytes.Clone(content)}
	c.files[name], c.durable[name] = n, n
}

// Clone returns an independent file system with the present content, all of it durable
// and without locks.
func (c *CrashFS) Clone() *CrashFS {
	r := NewCrashFS()
	r.dirs = maps.Clone(c.dirs)
	for name, n := range c.files {
		r.Put(name, n.seen)
	}
	return r
}

// handle is an open file.
type handle struct {
	fs   *CrashFS
	node *inode
	at   int64 // of the next write; -1: the end
}

func (h *handle) change(ch change) error {
	return h.fs.step(func() {
		h.node.seen = ch.apply(h.node.seen)
		h.node.pending = append(h.node.pending, ch)
	})
}

// Write writes b where the handle is; the write that FailAt hits gets half of it done.
func (h *handle) Write(b []byte) (int, error) {
	h.fs.mu.Lock()
	defer h.fs.mu.Unlock()
	if h.fs.FailAt == h.fs.Changes+1 {
		b = b[:len(b)/2]
	}
	at := h.at
	if at < 0 {
		at = int64(len(h.node.seen))
	} else {
		h.at += int64(len(b))
	}
	if err := h.change(change{at, append([]byte{}, b...)}); err != nil {
		return 0, err
	}
	return len(b), nil
}

func (h *handle) Truncate(size int64) error {
	h.fs.mu.Lock()
	defer h.fs.mu.Unlock()
	return h.change(change{offset: size})
}

func (h *handle) Sync() error {
	h.fs.mu.Lock()
	defer h.fs.mu.Unlock()
	if err := h.fs.step(nil); err != nil || h.fs.SyncsLie {
		return err
	}
	h.node.synced, h.node.pending = bytes.Clone(h.node.seen), nil
	return nil
}

func (h *handle) Close() error { return nil }
