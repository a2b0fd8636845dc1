package account

import (
	"errors"
	"math"
	"testing"

	"pgregory.net/rapid"
)

// drawComposed makes an event of up to three mechanisms: in a sequence, in parallel, the
// best of several runs, or under a way of sampling; some of them cannot be made.
func drawComposed(t *rapid.T) (Event, error) {
	ev := drawEvent(t)
	rate := math.Exp(rapid.Float64Range(-7, 0).Draw(t, "log rate"))
	switch rapid.IntRange(0, 9).Draw(t, "form") {
	case 0:
		return PoissonSampled(rate, ev)
	case 1:
		return FixedSizeSampled(1000, rapid.IntRange(1, 1000).Draw(t, "batch"), ev)
	case 2:
		return CyclicSampled(rapid.IntRange(1, 8).Draw(t, "period"), ev)
	case 3:
		return TruncatedPoissonSampled(rate, 1000, rapid.IntRange(1, 1000).Draw(t, "most"), ev)
	case 4:
		return Compose(ev, drawEvent(t))
	case 5:
		return Parallel(ev, drawEvent(t))
	case 6:
		both, err := Compose(ev, drawEvent(t))
		if err != nil {
			return both, err
		}
		return PoissonSampled(rate, both)
	case 7:
		return RepeatSelect(1+10*rate, rapid.Float64Range(0, 3).Draw(t, "eta"), ev)
	case 8:
		return Tree(math.Exp(rapid.Float64Range(-2, 3).Draw(t, "tree")),
			rapid.IntRange(1, 40).Draw(t, "steps"), 1)
	}
	return ev, nil
}

// charged is an accountant with events, each so many times; nil where it refuses one.
func charged(t *rapid.T, name string, adj Adjacency, unit Unit, events []Event, counts []int) Accountant {
	a, err := New(name, adj, unit)
	if errors.Is(err, ErrUnsupported) {
		return nil
	} else if err != nil {
		t.Fatal(err)
	}
	for k, ev := range events {
		if err := a.Compose(ev, counts[k]); errors.Is(err, ErrUnsupported) {
			return nil
		} else if err != nil {
			t.Fatalf("%s: %s: %v", name, ev.Key(), err)
		}
	}
	return a
}

// figureOf is an accountant's interval of epsilon; ok is false where it has none.
func figureOf(t *rapid.T, a Accountant, name string, delta float64) (i Interval, ok bool) {
	i, err := a.Epsilon(delta)
	if errors.Is(err, ErrDeltaTooSmall) {
		return i, false
	}
	if err != nil || math.IsNaN(i.Lower) || math.IsNaN(i.Upper) || i.Lower < 0 || i.Lower > i.Upper {
		t.Fatalf("%s: %v, %v", name, i, err)
	}
	return i, true
}

// TestComposedAccountantsAgree is TestAccountantsAgree for sequences of up to three
// different events, sampled, in parallel, selected or in a tree, and for groups. Their
// order changes no interval beyond its width, and one event more lowers none.
func TestComposedAccountantsAgree(t *testing.T) {
	fewer(t, 4)
	rapid.Check(t, func(t *rapid.T) {
		adj := rapid.SampledFrom([]Adjacency{AddRemove, ReplaceOne, ZeroOut}).Draw(t, "adjacency")
		unit := Group(rapid.SampledFrom([]int{1, 1, 1, 2, 3}).Draw(t, "group"))
		var events []Event
		var counts []int
		for range rapid.IntRange(1, 3).Draw(t, "events") {
			ev, err := drawComposed(t)
			if err != nil {
				t.Skip(err) // one in ten; rapid fails where most are
			}
			events = append(events, ev)
			counts = append(counts, rapid.SampledFrom([]int{1, 2, 7}).Draw(t, "count"))
		}
		delta := rapid.SampledFrom([]float64{0, 1e-12, 1e-5, 1e-2, 0.5}).Draw(t, "delta")
		lower, least, by, than := 0.0, math.Inf(1), "", ""
		for _, name := range Names() {
			a := charged(t, name, adj, unit, events, counts)
			if a == nil {
				continue
			}
			i, ok := figureOf(t, a, name, delta)
			if !ok {
				continue
			}
			if i.Lower > lower {
				lower, by = i.Lower, name
			}
			if i.Upper < least {
				least, than = i.Upper, name
			}
			last := len(events) - 1
			if fewer := charged(t, name, adj, unit, events[:last], counts[:last]); fewer != nil {
				if j, ok := figureOf(t, fewer, name, delta); ok && j.Lower > i.Upper*(1+1e-9)+1e-9 {
					t.Fatalf("%s: %v, and %v without %s", name, i, j, events[last].Key())
				}
			}
			swapped, times := append(events[1:len(events):len(events)], events[0]),
				append(counts[1:len(counts):len(counts)], counts[0])
			if j, ok := figureOf(t, charged(t, name, adj, unit, swapped, times), name, delta); !ok ||
				j.Lower > i.Upper*(1+1e-9)+1e-9 || i.Lower > j.Upper*(1+1e-9)+1e-9 {
				t.Fatalf("%s: %v, in another order %v", name, i, j)
			}
		}
		if lower > least*(1+1e-9)+1e-9 {
			t.Fatalf("a lower bound of %v (%s) against an upper bound of %v (%s)", lower, by, least, than)
		}
	})
}
