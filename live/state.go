// Package live shows what runs, or ran, on one page: it follows streams of events, keeps
// what they come to, and serves that on this machine alone. It knows events and files. It
// sees no record, no model and no run.
package live

import (
	"cmp"
	"encoding/json"
	"maps"
	"slices"
	"time"

	"sotto/live/event"
)

// state is what a stream has come to. The same events give the same state, whether they
// are heard as they come or read from a file: a page that plays back shows what the page
// beside the run has shown.
type state struct {
	head    head
	shards  map[string]*head // of each file of a sweep in shards, whose sum head then is
	series  map[string]*series
	grid    *event.Grid
	cells   map[int]*event.Cell
	members map[string]*event.Member
	order   []string // of members, as they were first heard of; nil: of none yet
	bounds  []*event.Bound
	rest    map[string]event.Body // the last one of each other kind
	news
}

// news are which event has changed what last.
type news struct {
	version uint64            // grows with each event
	changed map[string]uint64 // the version of each part
	cellAt  map[int]uint64    // and of each cell
	life    int               // grows where all that was heard is void
	gap     time.Duration     // the longest between two events since it began
	watched *watched          // nil: there are no files
}

// watched is what is known of the files that a stream is read from.
type watched struct {
	Faults []string `json:"faults,omitempty"` // files that cannot be read
	// Silent is when the last sign of life was, where one should have come since.
	Silent   time.Time `json:"silent,omitzero"`
	Gone     bool      `json:"gone,omitempty"`
	Replaced time.Time `json:"replaced,omitzero"` // when another run's files were found
}

// head is what a page says first.
type head struct {
	Begin *event.Begin `json:"begin"`
	Setup *event.Setup `json:"setup,omitempty"`
	State string       `json:"state"` // event.Running and so on
	event.Progress
	Began time.Time  `json:"began"`
	Last  time.Time  `json:"last"` // the last event
	Notes []string   `json:"notes,omitempty"`
	End   *event.End `json:"end,omitempty"`
}

const mostNotes = 20

func newState() *state {
	return &state{head: head{State: event.Running}, shards: map[string]*head{}, series: map[string]*series{},
		cells: map[int]*event.Cell{}, members: map[string]*event.Member{},
		rest: map[string]event.Body{},
		news: news{changed: map[string]uint64{}, cellAt: map[int]uint64{}}}
}

// heard is an event, and the shard that said it; "": there are none.
type heard struct {
	*event.Event
	shard string
}

// hear adds an event.
func (s *state) hear(e heard) {
	if e.shard == "" {
		s.add(e.Event)
		return
	}
	own := s.shards[e.shard]
	if own == nil {
		own = &head{State: event.Running}
		s.shards[e.shard] = own
	}
	s.head = *own
	s.add(e.Event)
	*own = s.head
	s.head = together(s.shards)
}

// together is what shards have come to: it has ended once all have.
func together(shards map[string]*head) head {
	all := head{State: event.Done}
	ended, worst := 0, []string{event.Done, event.Interrupted, event.Failed}
	var end *event.End
	for _, name := range slices.Sorted(maps.Keys(shards)) {
		h := shards[name]
		all.Begin, all.Setup = cmp.Or(all.Begin, h.Begin), cmp.Or(all.Setup, h.Setup)
		all.Done, all.Of, all.Left = all.Done+h.Done, all.Of+h.Of, max(all.Left, h.Left)
		all.Notes = append(all.Notes, h.Notes...)
		if all.Began.IsZero() || h.Began.Before(all.Began) {
			all.Began = h.Began
		}
		if h.Last.After(all.Last) {
			all.Last = h.Last
		}
		if h.End == nil {
			all.State = h.State
		} else if ended++; end == nil || slices.Index(worst, h.End.State) > slices.Index(worst, end.State) {
			end = h.End
		}
	}
	if ended == len(shards) {
		all.End, all.State, all.Left = end, end.State, 0
	}
	all.Notes = all.Notes[max(0, len(all.Notes)-mostNotes):]
	return all
}

func (s *state) add(e *event.Event) {
	s.version++
	if e.Kind == "begin" {
		s.gap = 0
	} else if s.head.State != event.Paused && !s.head.Last.IsZero() {
		s.gap = max(s.gap, e.Time.Sub(s.head.Last))
	}
	s.head.Last = e.Time
	if s.head.Began.IsZero() {
		s.head.Began = e.Time
	}
	part := e.Kind
	switch b := e.Body.(type) {
	case nil: // of a kind of tomorrow
		return
	case *event.Begin:
		s.begin(b)
		part = "head"
	case *event.Setup:
		s.setup(b)
		part = "head"
	case *event.Progress:
		s.head.Done, s.head.Left, part = b.Done, b.Left, "head"
		if b.Of > 0 {
			s.head.Of = b.Of
		}
	case *event.State:
		s.head.State, part = b.State, "head"
	case *event.Note:
		if s.head.Notes = append(s.head.Notes, b.Text); len(s.head.Notes) > mostNotes {
			s.head.Notes = s.head.Notes[1:]
		}
		part = "head"
	case *event.End:
		s.head.End, s.head.State, s.head.Left, part = b, b.State, 0, "head"
	case *event.Spent:
		up := float64(b.Upper) // its lower end is computed at the end alone
		s.curve("epsilon").add(point{float64(b.Done), up, up, up})
		s.rest["spent"] = b
		s.changed["series"] = s.version
	case *event.Evaluation:
		for name, x := range b.Metrics {
			s.curve(name).add(point{float64(b.Done), float64(x.Mean), float64(x.Min), float64(x.Max)})
		}
		s.rest[part] = b
		s.changed["series"] = s.version
	case *event.Time:
		s.curve("samples_per_second").add(point{float64(b.Done), b.Rate, b.Rate, b.Rate})
		s.rest[part] = b
		s.changed["series"] = s.version
	case *event.Grid:
		s.grid = b
	case *event.Cell:
		s.cells[b.Cell], s.cellAt[b.Cell] = b, s.version
		part = "cells"
	case *event.Member:
		if s.members[b.Name] == nil {
			s.order = append(s.order, b.Name)
		}
		s.members[b.Name] = b
		part = "members"
	case *event.Bound:
		s.bound(b)
		part = "bounds"
	default:
		s.rest[part] = b
	}
	s.changed[part] = s.version
}

// begin opens a stream, or goes on after an interruption: what was said of later rounds
// is void.
func (s *state) begin(b *event.Begin) {
	s.head.Begin, s.head.Of, s.head.End, s.head.State = b, b.Of, nil, event.Running
	s.head.Done = b.From
	for _, c := range s.series {
		c.cut(float64(b.From))
	}
	s.changed["series"] = s.version
}

// setup says who takes part: who is not named has left.
func (s *state) setup(b *event.Setup) {
	s.head.Setup = b
	if b.Agents.Names == nil {
		return
	}
	for name := range s.members {
		if !slices.Contains(b.Agents.Names, name) {
			delete(s.members, name)
			s.order = slices.DeleteFunc(s.order, func(x string) bool { return x == name })
			s.changed["members"] = s.version
		}
	}
}

// bound replaces that of the same mode and name.
func (s *state) bound(b *event.Bound) {
	at := slices.IndexFunc(s.bounds, func(x *event.Bound) bool {
		return x.Mode == b.Mode && (x.Name == b.Name || x.Name == "")
	})
	if at < 0 {
		s.bounds = append(s.bounds, b)
	} else {
		s.bounds[at] = b
	}
	if share := float64(b.Lower) / float64(b.Claimed); b.Observations > 0 && share >= 0 && share < 1e6 {
		s.curve("bound " + b.Mode).add(point{float64(b.Observations), share, share, share})
		s.changed["series"] = s.version
	}
}

func (s *state) curve(name string) *series {
	if s.series[name] == nil {
		s.series[name] = new(series)
	}
	return s.series[name]
}

// seen is how much of a state a viewer has.
type seen struct {
	version uint64
	life    int
	curves  map[string][2]int // epoch and number of points
}

// patch is what a viewer lacks, part by part; nil: nothing. The first patch has all.
func (s *state) patch(v *seen) map[string]any {
	if v.version == s.version && v.curves != nil {
		return nil
	}
	out := map[string]any{}
	if v.life != s.life {
		*v = seen{life: s.life}
		out["again"] = true // the page forgets what it has
	}
	isNew := func(part string) bool { return v.curves == nil || s.changed[part] > v.version }
	out["head"] = s.head // a copy: it is written after the next event has come
	for name, b := range s.rest {
		if isNew(name) {
			out[name] = b
		}
	}
	if isNew("watched") && s.watched != nil {
		out["watched"] = s.watched
	}
	if isNew("grid") && s.grid != nil {
		out["grid"] = s.grid
	}
	if isNew("cells") {
		var cells []*event.Cell
		for k, c := range s.cells {
			if s.cellAt[k] > v.version || v.curves == nil {
				cells = append(cells, c)
			}
		}
		if cells != nil {
			slices.SortFunc(cells, func(a, b *event.Cell) int { return a.Cell - b.Cell })
			out["cells"] = cells
		}
	}
	if isNew("members") && s.order != nil {
		all := []*event.Member{}
		for _, name := range s.order {
			all = append(all, s.members[name])
		}
		out["members"] = all
	}
	if isNew("bounds") && s.bounds != nil {
		out["bounds"] = slices.Clone(s.bounds)
	}
	if curves := s.newPoints(v); len(curves) > 0 {
		out["series"] = curves
	}
	v.version = s.version
	return out
}

// newPoints are those of each curve that a viewer lacks, or that have changed: the last
// one that it has may have.
func (s *state) newPoints(v *seen) map[string]json.RawMessage {
	if v.curves == nil {
		v.curves = map[string][2]int{}
	} else if s.changed["series"] <= v.version {
		return nil
	}
	out := map[string]json.RawMessage{}
	for name, c := range s.series {
		from, had := 0, v.curves[name]
		if had[0] == c.epoch {
			from = max(0, had[1]-1)
		}
		out[name], v.curves[name] = c.tail(from), [2]int{c.epoch, len(c.points)}
	}
	return out
}
