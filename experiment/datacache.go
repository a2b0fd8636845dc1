package experiment

import (
	"fmt"
	"reflect"
	"sync"

	"sotto/data"
	"sotto/experiment/runfile"
)

// dataCache keeps the data sets that the cells of a sweep have loaded. Equal parts are
// kept once. Data sets are never changed by who reads them. A nil cache keeps nothing.
type dataCache struct {
	mu     sync.Mutex
	loaded map[string]*cachedData
	parts  map[string]*data.Dataset // by digest
}

// cachedData is a loaded data set with the parameters that were decoded for it.
type cachedData struct {
	once   sync.Once
	split  *data.Split
	params []any
	err    error
}

func newDataCache() *dataCache {
	return &dataCache{loaded: map[string]*cachedData{}, parts: map[string]*data.Dataset{}}
}

// load is data.Load, once for each data set, folder, seed and content of the section.
func (c *dataCache) load(name, dir string, seed uint64, section *runfile.Section) (*data.Split, error) {
	if c == nil {
		return data.Load(name, dir, seed, section.Decode)
	}
	raw, err := section.Encode()
	if err != nil {
		return nil, err
	}
	key := fmt.Sprintf("%q %q %d\n%s", name, dir, seed, raw)
	c.mu.Lock()
	d, ok := c.loaded[key]
	if !ok {
		d = &cachedData{}
		c.loaded[key] = d
	}
	c.mu.Unlock()
	d.once.Do(func() {
		d.split, d.err = data.Load(name, dir, seed, func(params any) error {
			err := section.Decode(params)
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
	for _, p := range d.params { // this section has to know the same keys
		v := reflect.New(reflect.TypeOf(p))
		v.Elem().Set(reflect.ValueOf(p))
		if err := section.Decode(v.Interface()); err != nil {
			return nil, err
		}
	}
	return d.split, nil
}

// shared replaces a part by an equal one that is in memory already.
func (c *dataCache) shared(s *data.Split) *data.Split {
	c.mu.Lock()
	defer c.mu.Unlock()
	keep := func(d *data.Dataset) *data.Dataset {
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

// load is the data set that the run file names.
func (f *File) load(dataDir string, cache *dataCache) (*data.Split, error) {
	section, err := f.doc.Section("data")
	if err != nil {
		return nil, err
	}
	return cache.load(f.data.Dataset, dataDir, f.root.Seed, section)
}
