// Package figurecache keeps the figures of simulations and plans in a file between
// processes.
//
// Whoever can write the file can change what a simulation says that it would cost. That
// is enough for what protects nobody: daemons, ledgers and audits do not use this package
// and compute each figure anew, and the import rules keep it from them.
package figurecache

import (
	"encoding/binary"
	"maps"
	"math"
	"path/filepath"
	"slices"

	"sotto/internal/keep"
	"sotto/privacy/account"
	"sotto/privacy/account/figure"
	"sotto/tensor"
)

const (
	name       = "figures"
	maxFigures = 1 << 13
	maxBytes   = 4 << 20
)

// Cache is the file of figures, and what it held when it was opened.
type Cache struct {
	path, version string
	held          map[string]figure.Figure
}

// Open teaches the memory of this process's accountants what the file holds. Without a
// folder for caches, or where this program has no name, it does nothing; nil is returned.
func Open() *Cache {
	dir, ok := keep.Dir()
	build, named := keep.Build()
	if !ok || !named {
		return nil
	}
	c := &Cache{path: filepath.Join(dir, name),
		version: account.Version + "\n" + build + "\n" + tensor.Kernels()}
	c.held = c.read()
	account.Figures().Learn(c.held)
	return c
}

// Save writes what was computed, in front of what other processes have written, as far as
// there is room. A file that cannot be written is an error that no result depends on.
func (c *Cache) Save() error {
	if c == nil {
		return nil
	}
	lately, before := account.Figures().All()
	news := false
	for key := range lately {
		_, old := c.held[key]
		news = news || !old
	}
	if !news {
		return nil
	}
	others := c.read()
	for key := range lately {
		delete(others, key)
	}
	for key := range others {
		delete(before, key)
	}
	var b []byte
	count := 0
	for _, part := range []map[string]figure.Figure{lately, others, before} {
		for _, key := range slices.Sorted(maps.Keys(part)) {
			if count++; count > maxFigures || len(b)+len(key)+2*binary.MaxVarintLen64+16 > maxBytes {
				break
			}
			b = binary.AppendUvarint(b, uint64(len(key)))
			b = append(b, key...)
			b = binary.LittleEndian.AppendUint64(b, math.Float64bits(part[key].Lower))
			b = binary.LittleEndian.AppendUint64(b, math.Float64bits(part[key].Upper))
		}
	}
	return keep.Write(c.path, c.version, b)
}

// read returns what the file holds, nothing where it is not one of this program.
func (c *Cache) read() map[string]figure.Figure {
	b, ok := keep.Read(c.path, c.version, maxBytes)
	held := map[string]figure.Figure{}
	for ok && len(b) > 0 {
		n, size := binary.Uvarint(b)
		if size <= 0 || n > figure.MaxKey || uint64(len(b)-size) < n+16 {
			return nil
		}
		b = b[size:]
		key, rest := string(b[:n]), b[n:]
		held[key] = figure.Figure{
			Lower: math.Float64frombits(binary.LittleEndian.Uint64(rest)),
			Upper: math.Float64frombits(binary.LittleEndian.Uint64(rest[8:])),
		}
		b = rest[16:]
	}
	return held
}
