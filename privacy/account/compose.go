package account

import (
	"fmt"
	"math"

	"sotto/config"
)

var noOpKind = kind{
	typ: TypeNoOp,
	expand: func(_ *body, _ *tally, dst []addition, _, _ int) ([]addition, error) {
		return dst, nil
	},
}

var nonPrivateKind = kind{
	typ:    TypeNonPrivate,
	fields: func(b *body) []field { return []field{{"reason", &b.reason, rule{}}} },
	expand: func(b *body, t *tally, dst []addition, list, n int) ([]addition, error) {
		return t.keep(dst, list, b, n), nil
	},
}

var composeKind = kind{
	typ:       TypeCompose,
	traits:    holdsMany,
	normalise: normaliseCompose,
	expand: func(b *body, t *tally, dst []addition, list, n int) (_ []addition, err error) {
		for _, c := range b.events {
			if dst, err = t.expand(dst, list, c, n); err != nil {
				return nil, err
			}
		}
		return dst, nil
	},
	mu: func(b *body) (float64, bool) {
		var root rootSum
		for _, c := range b.events {
			m, ok := gaussianMu(c)
			if !ok {
				return 0, false
			}
			root.add(m, 1)
		}
		return root.value(), true
	},
}

var repeatKind = kind{
	typ:       TypeRepeat,
	traits:    holdsOne,
	fields:    func(b *body) []field { return []field{{"count", &b.count, integers(0)}} },
	normalise: normaliseRepeat,
	expand: func(b *body, t *tally, dst []addition, list, n int) ([]addition, error) {
		m, ok := mulCount(n, b.count)
		if !ok || m > maxCount {
			return nil, config.Bad("times", n, "a total below 2^53")
		}
		return t.expand(dst, list, b.event, m)
	},
	mu: func(b *body) (float64, bool) {
		mu, ok := gaussianMu(b.event)
		return mu * math.Sqrt(float64(b.count)), ok
	},
}

var parallelKind = kind{
	typ:       TypeParallel,
	traits:    holdsMany | bare,
	normalise: normaliseParallel,
	expand: func(b *body, t *tally, dst []addition, list, n int) (_ []addition, err error) {
		if list != 0 || len(t.lists) > 1 && len(t.lists) != 1+len(b.events) {
			return nil, config.Bad("events", len(b.events),
				fmt.Sprintf("%d branches, as in the parallel events before", len(t.lists)-1))
		}
		for i, c := range b.events {
			if dst, err = t.expand(dst, 1+i, c, n); err != nil {
				return nil, err
			}
		}
		return dst, nil
	},
}

// noOp is what disappears leaves behind.
var noOp = &body{kind: &noOpKind}

// NoOp is an answer that does not depend on the data.
func NoOp() Event { return Event{body: noOp} }

// NonPrivate is an answer without a guarantee: epsilon is infinite under every
// accountant. reason is public.
func NonPrivate(reason string) Event {
	return Event{body: &body{kind: &nonPrivateKind, reason: reason}}
}

// Repeat is count adaptive copies of ev, at least 0; accountants refuse 2^53 and more.
func Repeat(count int, ev Event) (Event, error) {
	return ev.wrap(&body{kind: &repeatKind, count: count})
}

// Compose is the adaptive sequence of events; without any it is NoOp. Their adjacencies
// and units must agree.
func Compose(events ...Event) (Event, error) { return join(&composeKind, events) }

// Parallel is one event on each of disjoint owners or partitions; epsilon is the maximum
// over the children, taken at the final delta. Child i of every Parallel in one
// accountant concerns the same owner i.
func Parallel(events ...Event) (Event, error) { return join(&parallelKind, events) }

func join(k *kind, events []Event) (Event, error) {
	root := Event{}
	b := &body{kind: k}
	for _, e := range events {
		if e.Adjacency != 0 {
			if root.Adjacency != 0 && root.Adjacency != e.Adjacency {
				return Event{}, config.Bad("adjacency", e.Adjacency,
					fmt.Sprintf("%v as in the events before", root.Adjacency))
			}
			root.Adjacency = e.Adjacency
		}
		if e.Unit != (Unit{}) {
			if root.Unit != (Unit{}) && root.Unit != e.Unit {
				return Event{}, config.Bad("unit", e.Unit,
					fmt.Sprintf("%v as in the events before", root.Unit))
			}
			root.Unit = e.Unit
		}
		b.events = append(b.events, e.body)
	}
	n, err := normalise(b)
	root.body = n
	return root, err
}

// normaliseCompose flattens sequences and drops what releases nothing.
func normaliseCompose(b *body) (*body, error) {
	var flat []*body
	for _, e := range b.events {
		switch {
		case e.kind.typ == TypeNoOp:
		case e.kind == b.kind:
			flat = append(flat, e.events...)
		default:
			flat = append(flat, e)
		}
	}
	return listOf(b.kind, flat), nil
}

func normaliseParallel(b *body) (*body, error) {
	for _, e := range b.events {
		if e.contains(TypeParallel) {
			return nil, config.Bad("events", "parallel inside parallel", "children without parallel events")
		}
	}
	return listOf(b.kind, b.events), nil
}

// listOf is a list that has at least two events, or what is left of it.
func listOf(k *kind, events []*body) *body {
	switch len(events) {
	case 0:
		return noOp
	case 1:
		return events[0]
	}
	return &body{kind: k, events: events}
}

// normaliseRepeat multiplies nested counts.
func normaliseRepeat(b *body) (*body, error) {
	e, n := b.event, b.count
	if e.kind == b.kind {
		m, ok := mulCount(n, e.count)
		if !ok {
			return nil, config.Bad("count", n, "a total below 2^53")
		}
		e, n = e.event, m
	}
	if n == 0 || e.kind.typ == TypeNoOp {
		return noOp, nil
	}
	if n == 1 {
		return e, nil
	}
	return &body{kind: b.kind, count: n, event: e}, nil
}

// maxCount bounds every count so that it is exact in a float64.
const maxCount = 1 << 53

func mulCount(a, b int) (int, bool) {
	if a == 0 || b == 0 {
		return 0, true
	}
	return a * b, a <= maxCount/b
}
