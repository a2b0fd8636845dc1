package reproduce

import (
	"fmt"
	"path/filepath"
	"sync"

	"sotto/internal/atomicfile"
	"sotto/internal/rowfile"
)

// beside is a table that a shard of a study keeps beside cells.csv, as times.csv. The
// file is made with its first rows. Several goroutines may add to it.
type beside[T any] struct {
	path  string
	codec rowfile.Codec[T]
	mu    sync.Mutex
	table *rowfile.Table[T]
}

func newBeside[T any](name string, opt *Options, codec rowfile.Codec[T]) *beside[T] {
	if n := opt.Sweep.Shards; n > 1 {
		name = fmt.Sprintf("%s-%d-of-%d", name, opt.Sweep.Shard, n)
	}
	return &beside[T]{path: filepath.Join(opt.Dir, name+".csv"), codec: codec}
}

func (b *beside[T]) add(rows ...T) (err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.table == nil {
		if b.table, err = rowfile.Open(b.path, b.codec); err != nil {
			return err
		}
	}
	return b.table.Add(rows...)
}

func (b *beside[T]) close() error {
	if b.table == nil {
		return nil
	}
	return b.table.Stop()
}

// readBeside reads the tables of all shards of a study. Two divisions into shards may
// have made one run: the last of equal rows counts.
func readBeside[T any](dir, name string, codec rowfile.Codec[T]) ([]T, error) {
	paths, err := atomicfile.Glob(dir, name+"*.csv")
	if err != nil {
		return nil, err
	}
	var all []T
	at := map[string]int{}
	for _, path := range paths {
		rows, err := rowfile.Read(path, codec)
		if err != nil {
			return nil, err
		}
		for _, r := range rows {
			key := codec.Key(r)
			if i, ok := at[key]; ok {
				all[i] = r
				continue
			}
			at[key], all = len(all), append(all, r)
		}
	}
	return all, nil
}
