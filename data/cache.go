package data

import (
	"fmt"
	"reflect"
	"sync"
)

// Cache keeps data sets that many runs of one process load. Equal parts are kept once.
// Data sets are never changed by who reads them. [NewCache] makes one; nil keeps nothing.
type Cache struct {
	mu     sync.Mutex
	loaded map[string]*cached
	parts  map[string]*Dataset // by digest
}

// cached is a loaded data set with the parameters that were decoded for it.
type cached struct {
	once   sync.Once
	split  *Split
	params []any
	err    error
}

// NewCache returns an empty cache.
func NewCache() *Cache {
	return &Cache{loaded: map[string]*cached{}, parts: map[string]*Dataset{}}
}

// Load is [LoadFrom], once for each data set, source and params, which is a text that
// is equal for equal parameters. decode is called even where the data set is there
// already: whoever it belongs to has to know the same keys.
func (c *Cache) Load(name string, src Source, params string, decode func(any) error) (*Split, error) {
	if c == nil || decode == nil {
		return LoadFrom(name, src, decode)
	}
	key := fmt.Sprintf("%q %+v\n%s", name, src, params)
	c.mu.Lock()
	d, ok := c.loaded[key]
	if !ok {
		d = &cached{}
		c.loaded[key] = d
	}
	c.mu.Unlock()
	d.once.Do(func() {
		d.split, d.err = LoadFrom(name, src, func(params any) error {
			err := decode(params)
			d.params = append(d.params, reflect.ValueOf(params).Elem().Interface())
			return err
		})
		if d.err == nil {
			d.split = c.shared(d.split)
		}
	})
	if d.err != nil {
		c.mu.Lock()
		delete(c.loaded, key) // the files may be there the next time
		c.mu.Unlock()
		return nil, d.err
	}
	for _, p := range d.params {
		v := reflect.New(reflect.TypeOf(p))
		v.Elem().Set(reflect.ValueOf(p))
		if err := decode(v.Interface()); err != nil {
			return nil, err
		}
	}
	return d.split, nil
}

// shared replaces a part by an equal one that is in memory already.
func (c *Cache) shared(s *Split) *Split {
	c.mu.Lock()
	defer c.mu.Unlock()
	keep := func(d *Dataset) *Dataset {
		if d == nil {
			return nil
		}
		if old, ok := c.parts[d.Digest]; ok {
			return old
		}
		c.parts[d.Digest] = d
		return d
	}
	own := *s
	own.Train, own.Test = keep(s.Train), keep(s.Test)
	return &own
}
