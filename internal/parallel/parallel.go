// Package parallel is the one bounded parallel loop: n calls on a number of goroutines,
// each with scratch memory of its own.
package parallel

import (
	"runtime"
	"sync/atomic"

	"golang.org/x/sync/errgroup"
)

// For calls f for 0 .. n-1 on at most workers goroutines; 0 workers means one for each
// processor. f writes only to places that belong to its i, so that nothing depends on the
// number of workers; of several errors the one of the lowest i is returned, so that a
// failure does not depend on it either.
func For(n, workers int, f func(i int) error) error {
	return With(n, workers, func(i int, _ *struct{}) error { return f(i) })
}

// With is For with scratch memory that the calls of one goroutine share.
func With[S any](n, workers int, f func(i int, scratch *S) error) error {
	if workers <= 0 {
		workers = runtime.GOMAXPROCS(0)
	}
	var next atomic.Int64
	errs := make([]error, n)
	var g errgroup.Group
	for range min(workers, n) {
		g.Go(func() error {
			scratch := new(S)
			for i := int(next.Add(1) - 1); i < n; i = int(next.Add(1) - 1) {
				errs[i] = f(i, scratch)
			}
			return nil
		})
	}
	g.Wait() // no call returns an error: all of them are in errs
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}
