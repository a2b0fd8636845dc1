package data_test

import (
	"errors"
	"sync"
	"testing"

	"sotto/data"
)

// A data set is loaded once for each name, seed and parameters; whoever asks for it has
// its parameters decoded all the same, and parts that are equal are one.
func TestCacheLoadsOnce(t *testing.T) {
	const small = "train = 30\ntest = 10"
	cache := data.NewCache()
	load := func(seed uint64, text string) *data.Split {
		t.Helper()
		called := 0
		s, err := cache.Load("glyphs", data.Source{Seed: seed}, text, func(p any) error {
			called++
			return params(small)(p)
		})
		if err != nil {
			t.Fatal(err)
		}
		if called == 0 {
			t.Error("a data set from memory knows no keys")
		}
		return s
	}
	one := load(1, "small")
	if again := load(1, "small"); again != one {
		t.Error("loaded again")
	}
	if other := load(2, "small"); other.Train == one.Train || other.Train.Digest == one.Train.Digest {
		t.Error("another seed gave the same records")
	}
	if same := load(1, "small, but written differently"); same == one || same.Train != one.Train {
		t.Error("equal parts are in memory twice")
	}
	var none *data.Cache
	fresh, err := none.Load("glyphs", data.Source{Seed: 1}, "small", params(small))
	if err != nil || fresh.Train == one.Train || fresh.Train.Digest != one.Train.Digest {
		t.Errorf("no cache: %v", err)
	}
}

// Without decode the defaults are loaded, or refused.
func TestDefaults(t *testing.T) {
	src := data.Source{Seed: 1}
	_, err := data.Load("csv", "", 1, nil)
	wantBad(t, "Load", err, "path")
	_, err = data.NewCache().Load("csv", src, "", nil)
	wantBad(t, "Cache.Load", err, "path")
	_, err = data.LoadOwn("csv", data.OwnFile{Path: "csv_test.go"}, src, nil)
	wantBad(t, "LoadOwn", err, "label")
	_, err = data.FormatOf("csv", nil)
	wantBad(t, "FormatOf", err, "label")
}

// A failure is not kept: the next one tries again.
func TestCacheForgetsFailures(t *testing.T) {
	cache, no := data.NewCache(), errors.New("not now")
	_, err := cache.Load("glyphs", data.Source{Seed: 1}, "", func(any) error { return no })
	if !errors.Is(err, no) {
		t.Fatal(err)
	}
	const small = "train = 30\ntest = 10"
	var wg sync.WaitGroup
	splits := make([]*data.Split, 8)
	for i := range splits {
		wg.Go(func() {
			var err error
			splits[i], err = cache.Load("glyphs", data.Source{Seed: 1}, "", params(small))
			if err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	for _, s := range splits {
		if s != splits[0] {
			t.Error("loaded more than once")
		}
	}
}
