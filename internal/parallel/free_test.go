package parallel

import (
	"runtime"
	"sync"
	"testing"
)

// What is put back is taken again, after garbage collections too, and nobody has what
// another has.
func TestFreeKeeps(t *testing.T) {
	made := 0
	f := Free[int]{New: func() *int { made++; return new(int) }}
	x := f.Get()
	f.Put(x)
	runtime.GC()
	runtime.GC()
	if y := f.Get(); y != x || made != 1 {
		t.Errorf("%d were made", made)
	}
	f.Put(x)
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			for range 1000 {
				p := f.Get()
				if *p++; *p != 1 {
					t.Error("two have the same")
				}
				*p--
				f.Put(p)
			}
		})
	}
	all.Wait()
	if made > 8 {
		t.Errorf("%d were made for 8 users", made)
	}
}
