package account_test

import (
	"errors"
	"testing"

	"sotto/privacy/account"
)

// Equal events become one, others do not, and what is shared is equal to what was given.
func TestShared(t *testing.T) {
	make := func(noise float64, a account.Adjacency) account.Event {
		ev, err := account.Gaussian(noise, 2)
		if err != nil {
			t.Fatal(err)
		}
		ev.Adjacency, ev.Unit, ev.Clip, ev.Oracle = a, account.Record(), 1.5, "grad-full"
		return ev
	}
	one := account.Shared(make(3.25, account.ReplaceOne))
	if again := account.Shared(make(3.25, account.ReplaceOne)); again != one {
		t.Error("an equal event is another one")
	}
	if make(3.25, account.ReplaceOne) == one || !one.Equal(make(3.25, account.ReplaceOne)) {
		t.Error("the shared event is not an equal one")
	}
	for _, other := range []account.Event{make(3.5, account.ReplaceOne), make(3.25, account.ZeroOut)} {
		if got := account.Shared(other); got == one || !got.Equal(other) {
			t.Errorf("%v became %v", other, got)
		}
	}
	if account.Shared(account.Event{}) != (account.Event{}) {
		t.Error("the zero event changed")
	}
}

// A filter of several events admits each as often as it was allowed, and no other.
func TestCountFilterAllows(t *testing.T) {
	var f account.CountFilter
	a, errA := account.Gaussian(1, 1)
	b, errB := account.Gaussian(2, 1)
	c, errC := account.Gaussian(3, 1)
	if err := errors.Join(errA, errB, errC, f.Allow(a, 1), f.Allow(b, 2), f.Allow(a, 1)); err != nil {
		t.Fatal(err)
	}
	for k, step := range []struct {
		ev   account.Event
		want error
	}{{a, nil}, {b, nil}, {a, nil}, {a, account.ErrExhausted}, {c, account.ErrUnsupported}, {b, nil},
		{b, account.ErrExhausted}} {
		if err := f.Admit(step.ev, 1); !errors.Is(err, step.want) {
			t.Errorf("admission %d: %v, want %v", k, err, step.want)
		}
	}
	if f.Allow(account.Event{}, 1) == nil || f.Allow(a, -1) == nil {
		t.Error("no event, or a negative number of them, was allowed")
	}
}
