package parallel

import "sync"

// Free keeps what is in use by nobody. Unlike a sync.Pool it does not let go of it at
// garbage collections, so that large scratch memory is made and cleared once: it holds as
// much as was ever in use at a time.
type Free[T any] struct {
	New  func() *T
	lock sync.Mutex
	free []*T
}

// Get takes what was put back last, or makes a new one.
func (f *Free[T]) Get() *T {
	f.lock.Lock()
	defer f.lock.Unlock()
	n := len(f.free)
	if n == 0 {
		return f.New()
	}
	x := f.free[n-1]
	f.free[n-1] = nil
	f.free = f.free[:n-1]
	return x
}

// Put gives x back. Nobody may use it afterwards.
func (f *Free[T]) Put(x *T) {
	f.lock.Lock()
	f.free = append(f.free, x)
	f.lock.Unlock()
}
