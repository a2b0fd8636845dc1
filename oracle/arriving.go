package oracle

import (
	"fmt"
	"slices"

	"sotto/config"
	"sotto/privacy"
)

// Arrive binds o to records that come during a run: row r of the data set is there from
// round arrival[r] on, which has one for every row. Whatever the oracle divides by is
// fixed for all of them, so that one record, its time of arrival included, moves a sum by
// no more than the release states. What the oracle sees is a function of the round alone,
// which the gate tells it, so that a resumed run needs nothing of it. arrival nil: all
// are there from the start.
func Arrive(o Oracle, r Records, arrival []uint32, pool *Pool) (privacy.Oracle, error) {
	if err := r.Check(); err != nil {
		return nil, err
	}
	if arrival == nil {
		return o, o.Bind(r, pool)
	}
	for _, row := range r.Index {
		if int(row) >= len(arrival) {
			return nil, config.Bad("arrival", fmt.Sprintf("rounds of %d rows", len(arrival)),
				"one for every row of the data set")
		}
	}
	if p, ok := o.(interface{ inPlaces() bool }); ok && p.inPlaces() {
		return nil, config.Bad("arrival", "records that arrive",
			"with sums whose bins are drawn (Sums.Moving): who arrives moves the places of others")
	}
	a := &arriving{Oracle: o, all: r, arrival: arrival, pool: pool}
	if err := a.show(0); err != nil {
		return nil, err
	}
	if g, ok := o.(privacy.GridOracle); ok {
		return arrivingGrid{a, g}, nil
	}
	return a, nil
}

// arriving is an oracle that sees the records which have come.
type arriving struct {
	Oracle
	all     Records // rows ascending
	arrival []uint32
	pool    *Pool
	present []int32
	shown   uint64 // present is that of rounds shown .. next-1
	next    uint64
}

// Begin lets in what comes before the round.
func (a *arriving) Begin(round uint64) {
	if round < a.shown || round >= a.next {
		if err := a.show(round); err != nil { // other rows of the data set were bound before
			panic(err)
		}
	}
}

// show binds the oracle to what is there in a round: rows stay ascending.
func (a *arriving) show(round uint64) error {
	a.shown, a.next = round, ^uint64(0)
	a.present = slices.Grow(a.present[:0], len(a.all.Index))
	for _, r := range a.all.Index {
		if at := uint64(a.arrival[r]); at <= round {
			a.present = append(a.present, r)
		} else {
			a.next = min(a.next, at)
		}
	}
	return a.Bind(Records{Data: a.all.Data, Index: a.present}, a.pool)
}

// arrivingGrid is arriving with exact integers.
type arrivingGrid struct {
	*arriving
	privacy.GridOracle
}
