package oracletest

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"sotto/data"
	"sotto/privacy/account"
	"sotto/tensor"
)

// records are those of an owner, in order.
type records struct{ rows []record }

type record struct {
	x      []float32
	from   int // row with the label
	target float32
	person int32
}

// most is how many records an owner has at most, and persons how many persons.
const most, persons = 8, 3

// pair draws two data sets that differ in one unit.
func (s *suite) pair() (one, other *records) {
	one = &records{}
	for range s.r.Below(most + 1) {
		one.rows = append(one.rows, s.record(int32(s.r.Below(persons))))
	}
	replaces := s.public.Adjacency == account.ReplaceOne
	switch s.release.Unit.Kind {
	case account.UnitOwner:
		other = &records{}
		if replaces {
			for range s.r.Below(most + 1) {
				other.rows = append(other.rows, s.record(0))
			}
		}
	case account.UnitPerson:
		who := int32(s.r.Below(persons))
		if s.sampled() {
			who = one.lastPerson()
		}
		other = &records{}
		for _, r := range one.rows {
			if r.person != who {
				other.rows = append(other.rows, r)
			}
		}
		if replaces {
			for range 1 + s.r.Below(3) {
				other.rows = append(other.rows, s.record(who))
			}
		}
	default:
		if len(one.rows) == 0 {
			one.rows = append(one.rows, s.record(0))
		}
		other = one.clone()
		at := len(one.rows) - 1
		if !s.sampled() {
			at = int(s.r.Below(uint64(len(one.rows))))
		}
		if replaces {
			other.rows[at] = s.record(one.rows[at].person)
		} else {
			other.rows = append(other.rows[:at], other.rows[at+1:]...)
		}
	}
	return one, other
}

// lastPerson is who comes last in the order of their first records; 0 of none.
func (d *records) lastPerson() (who int32) {
	var seen []int32
	for _, r := range d.rows {
		if !slices.Contains(seen, r.person) {
			seen, who = append(seen, r.person), r.person
		}
	}
	return who
}

// sizes are factors of a record's values: records may be anything that a file may hold.
var sizes = []float32{1, 1, 1, -1, 0, 1e-30, 1e-3, 30, 1e10, -1e20, 3e38}

// record draws one of a person.
func (s *suite) record(person int32) record {
	d := s.Data
	r := record{from: int(s.r.Below(uint64(d.Len()))), person: person}
	size := sizes[s.r.Below(uint64(len(sizes)))]
	for _, x := range d.X.Row(r.from) {
		r.x = append(r.x, size*x)
	}
	odd := []float32{float32(math.NaN()), float32(math.Inf(1)), float32(math.Inf(-1)), math.MaxFloat32}
	if s.r.Below(6) == 0 {
		r.x[s.r.Below(uint64(len(r.x)))] = odd[s.r.Below(uint64(len(odd)))]
	}
	if d.Targets != nil {
		r.target = d.Targets[r.from] * sizes[s.r.Below(uint64(len(sizes)))]
		if s.r.Below(8) == 0 {
			r.target = odd[s.r.Below(uint64(len(odd)))]
		}
	}
	return r
}

// set is a data set of the records, which were drawn from another one.
func (d *records) set(of *data.Dataset) *data.Dataset {
	set := &data.Dataset{X: tensor.NewMat(len(d.rows), of.X.Cols), Shape: of.Shape, Classes: of.Classes,
		Units: []int32{}}
	for i, r := range d.rows {
		copy(set.X.Row(i), r.x)
		if of.Labels != nil {
			set.Labels = append(set.Labels, of.Labels[r.from])
		}
		if of.Targets != nil {
			set.Targets = append(set.Targets, r.target)
		}
		set.Units = append(set.Units, r.person)
	}
	return set
}

func (d *records) index() []int32 {
	index := make([]int32, len(d.rows))
	for i := range index {
		index[i] = int32(i)
	}
	return index
}

// String writes records so that a pair can be made again.
func (d *records) String() string {
	var b strings.Builder
	for _, r := range d.rows {
		fmt.Fprintf(&b, "{row %d, person %d, target %g, x %g} ", r.from, r.person, r.target, r.x)
	}
	return fmt.Sprintf("%d %s", len(d.rows), b.String())
}

// clone is a copy of records that may be changed.
func (d *records) clone() *records { return &records{slices.Clone(d.rows)} }
