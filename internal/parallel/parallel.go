// Package parallel is the one bounded parallel loop: n calls on a number of goroutines,
// each with scratch memory of its own. [For] and [With] are for few long calls, a [Crew]
// is for many short ones.
package parallel

import (
	"context"
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"

	"golang.org/x/sync/errgroup"

	"sotto/config"
)

// MostWorkers is what Check allows: each goroutine has scratch memory of its own.
const MostWorkers = 1024

// Check refuses a number of workers with a *config.Error.
func Check(workers int) error {
	if workers < 0 || workers > MostWorkers {
		return config.Bad("workers", workers, fmt.Sprintf("0 (one for each processor) to %d", MostWorkers))
	}
	return nil
}

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

// Until is For with calls that take long: the first error, or the end of ctx, ends the
// context of the calls that run and begins no other.
func Until(ctx context.Context, n, workers int, f func(ctx context.Context, i int) error) error {
	if workers <= 0 {
		workers = runtime.GOMAXPROCS(0)
	}
	var next atomic.Int64
	g, ctx := errgroup.WithContext(ctx)
	for range min(workers, n) {
		g.Go(func() error {
			for i := int(next.Add(1) - 1); i < n && ctx.Err() == nil; i = int(next.Add(1) - 1) {
				if err := f(ctx, i); err != nil {
					return err
				}
			}
			return ctx.Err()
		})
	}
	return g.Wait()
}

// Crew is for loops that run often and whose calls may be short: a goroutine takes
// several calls at a time, few calls get few goroutines, and scratch memory is kept from
// loop to loop. What For asks of f, and says of errors, holds here too.
type Crew[S any] struct {
	Workers int       // goroutines at most; 0: one for each processor
	Least   int       // calls that are worth a goroutine, at least 1
	Batch   int       // calls that a goroutine takes at a time, at most
	Scratch func() *S // makes scratch memory

	mu   sync.Mutex
	idle []*S // kept for the life of the Crew: no garbage collection takes it away
}

// Do calls f for 0 .. n-1.
func (c *Crew[S]) Do(n int, f func(i int, scratch *S) error) error {
	workers := c.Workers
	if workers <= 0 {
		workers = runtime.GOMAXPROCS(0)
	}
	if workers = min(workers, (n+c.Least-1)/c.Least); workers <= 1 {
		s := c.scratch()
		defer c.put(s)
		for i := range n {
			if err := f(i, s); err != nil {
				return err
			}
		}
		return nil
	}
	var (
		next   atomic.Int64
		wg     sync.WaitGroup
		mu     sync.Mutex
		first  error
		failed = n
	)
	take := max(1, min(c.Batch, n/(8*workers)))
	work := func() {
		s := c.scratch()
		defer c.put(s)
		for {
			low := int(next.Add(int64(take))) - take
			if low >= n {
				return
			}
			for i := low; i < min(low+take, n); i++ {
				if err := f(i, s); err != nil {
					mu.Lock()
					if i < failed {
						failed, first = i, err
					}
					mu.Unlock()
				}
			}
		}
	}
	for range workers - 1 {
		wg.Go(work)
	}
	work()
	wg.Wait()
	return first
}

func (c *Crew[S]) scratch() *S {
	c.mu.Lock()
	defer c.mu.Unlock()
	k := len(c.idle) - 1
	if k < 0 {
		return c.Scratch()
	}
	s := c.idle[k]
	c.idle = c.idle[:k]
	return s
}

func (c *Crew[S]) put(s *S) {
	c.mu.Lock()
	c.idle = append(c.idle, s)
	c.mu.Unlock()
}
