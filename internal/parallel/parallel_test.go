package parallel

import (
	"errors"
	"fmt"
	"testing"
)

func TestEveryCallIsMadeOnce(t *testing.T) {
	for _, workers := range []int{0, 1, 3, 100} {
		counts := make([]int, 57)
		if err := For(len(counts), workers, func(i int) error { counts[i]++; return nil }); err != nil {
			t.Fatal(err)
		}
		for i, n := range counts {
			if n != 1 {
				t.Errorf("%d workers: call %d was made %d times", workers, i, n)
			}
		}
	}
}

func TestTheLowestErrorIsReturned(t *testing.T) {
	for range 20 {
		err := For(40, 4, func(i int) error {
			if i%7 == 3 {
				return fmt.Errorf("call %d", i)
			}
			return nil
		})
		if err == nil || err.Error() != "call 3" {
			t.Fatalf("found %v, want the error of call 3", err)
		}
	}
	if err := For(0, 2, func(int) error { return errors.New("no call") }); err != nil {
		t.Errorf("an empty loop returned %v", err)
	}
}

func TestScratchIsNotSharedAtOnce(t *testing.T) {
	type busy struct{ in bool }
	err := With(200, 4, func(i int, s *busy) error {
		if s.in {
			return errors.New("two calls have the same scratch memory")
		}
		s.in = true
		defer func() { s.in = false }()
		return nil
	})
	if err != nil {
		t.Error(err)
	}
}

func TestACrewMakesEveryCallOnceWithScratchOfItsOwn(t *testing.T) {
	type scratch struct{ in bool }
	for _, workers := range []int{0, 1, 3} {
		c := Crew[scratch]{Workers: workers, Least: 2, Batch: 4, Scratch: func() *scratch {
			return new(scratch)
		}}
		counts := make([]int, 203)
		for range 3 {
			if err := c.Do(len(counts), func(i int, s *scratch) error {
				if s.in {
					return errors.New("two calls have the same scratch memory")
				}
				s.in = true
				counts[i]++
				s.in = false
				return nil
			}); err != nil {
				t.Fatal(err)
			}
		}
		for i, n := range counts {
			if n != 3 {
				t.Errorf("%d workers: call %d was made %d times in 3 loops", workers, i, n)
			}
		}
		err := c.Do(40, func(i int, _ *scratch) error {
			if i%7 == 3 {
				return fmt.Errorf("call %d", i)
			}
			return nil
		})
		if err == nil || err.Error() != "call 3" {
			t.Errorf("%d workers: found %v, want the error of call 3", workers, err)
		}
		if err := c.Do(0, func(int, *scratch) error { return errors.New("no call") }); err != nil {
			t.Errorf("an empty loop returned %v", err)
		}
	}
}

func TestCheckBoundsWorkers(t *testing.T) {
	for n, ok := range map[int]bool{-1: false, 0: true, MostWorkers: true, MostWorkers + 1: false} {
		if err := Check(n); (err == nil) != ok {
			t.Errorf("%d workers: %v", n, err)
		}
	}
}
