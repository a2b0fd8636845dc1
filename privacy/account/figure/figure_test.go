package figure_test

import (
	"errors"
	"fmt"
	"math"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"sotto/privacy/account/figure"
)

func TestOfComputesOnce(t *testing.T) {
	var m figure.Memo
	want := figure.Figure{Lower: 1, Upper: 2}
	broken := errors.New("broken")
	if _, err := m.Of("k", func() (figure.Figure, error) { return want, broken }); err != broken {
		t.Errorf("error: %v", err)
	}
	synctest.Test(t, func(t *testing.T) {
		var calls atomic.Int64
		var all sync.WaitGroup
		gate := make(chan bool)
		for range 8 {
			all.Go(func() {
				f, err := m.Of("k", func() (figure.Figure, error) {
					<-gate
					calls.Add(1)
					return want, nil
				})
				if f != want || err != nil {
					t.Errorf("%v, %v", f, err)
				}
			})
		}
		synctest.Wait() // all have asked
		close(gate)
		all.Wait()
		if n := calls.Load(); n != 1 {
			t.Errorf("computed %d times", n)
		}
	})
	if f, err := m.Of("k", nil); f != want || err != nil {
		t.Errorf("not remembered: %v, %v", f, err)
	}
	other := func() (figure.Figure, error) { return figure.Figure{}, nil }
	if f, err := m.Of("l", other); f == want || err != nil {
		t.Errorf("another key: %v, %v", f, err)
	}
	m.Forget()
	if lately, before := m.All(); len(lately)+len(before) != 0 {
		t.Errorf("left after Forget: %v %v", lately, before)
	}
}

// What is used stays, what is not goes, and there is a bound.
func TestMemoIsBounded(t *testing.T) {
	var m figure.Memo
	of := func(key string, upper float64) float64 {
		f, err := m.Of(key, func() (figure.Figure, error) { return figure.Figure{Upper: upper}, nil })
		if err != nil {
			t.Fatal(err)
		}
		return f.Upper
	}
	of("used", 1)
	of("unused", 1)
	for i := range 5 * figure.MaxEntries {
		of(fmt.Sprint(i), 0)
		if i%1000 == 0 && of("used", 2) != 1 {
			t.Fatalf("forgotten after %d, though used", i)
		}
	}
	lately, before := m.All()
	if n := len(lately) + len(before); n > 2*figure.MaxEntries {
		t.Errorf("%d entries", n)
	}
	if of("unused", 2) != 2 {
		t.Error("what nobody asks for stays")
	}
}

// Figures that come from elsewhere are checked for what any figure is.
func TestLearn(t *testing.T) {
	var m figure.Memo
	nan, inf := math.NaN(), math.Inf(1)
	for _, f := range []figure.Figure{{nan, 1}, {0, nan}, {2, 1}, {-1, 1}, {inf, 1}} {
		m.Learn(map[string]figure.Figure{"k": f})
		compute := func() (figure.Figure, error) { return f, nil }
		if _, err := m.Of("k", compute); err != nil {
			t.Error(err)
		}
	}
	m.Learn(map[string]figure.Figure{strings.Repeat("k", figure.MaxKey+1): {Upper: 1}})
	if lately, before := m.All(); len(lately)+len(before) != 0 {
		t.Errorf("taken: %v %v", lately, before)
	}
	m.Learn(map[string]figure.Figure{"k": {inf, inf}, "l": {1, 2}})
	if f, err := m.Of("k", nil); !math.IsInf(f.Lower, 1) || err != nil {
		t.Errorf("%v, %v", f, err)
	}
	lately, before := m.All()
	if len(lately) != 1 || lately["k"].Upper != inf || len(before) != 1 || before["l"].Upper != 2 {
		t.Errorf("asked for: %v, not: %v", lately, before)
	}
}
