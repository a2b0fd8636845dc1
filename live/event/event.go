// Package event is what everything that takes time says while it runs: one stream of
// typed events, a line of JSON each, that a progress bar, the live page and outside
// programs read. docs/events.md lists them.
//
// Every kind of event has a scope, which says on what it may depend. A public event
// depends on no record, or on what was released and charged. A simulated one may depend
// on all records of a simulation, which protects nobody. A local one depends on an
// owner's own records, and stays on the owner's machine. A stream has a scope too, and
// takes no event of another: a node's has public events alone, by its type.
package event

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"sotto/config"
)

// Version is that of the schema. A reader of version 1 reads what any program of version
// 1 writes: kinds and keys are added, never changed.
const Version = 1

// File is the name of a stream in the directory of a run, a sweep, a search, a study or a
// node; LocalFile is that of a node's local one.
const (
	File      = "events.jsonl"
	LocalFile = "events.local.jsonl"
)

// Scope says on what an event, or the events of a stream, may depend.
type Scope string

const (
	Public    Scope = "public"     // no record, but by what was released and charged
	Simulated Scope = "simulation" // all records of a simulation
	Local     Scope = "local"      // the owner's own records; for the owner's machine alone
)

// admits lists the scopes of the events that a stream of a scope takes.
var admits = map[Scope][]Scope{
	Public:    {Public},
	Simulated: {Public, Simulated},
	Local:     {Public, Local},
}

// Body is what an event says.
type Body interface {
	Kind() string
	Scope() Scope
}

// Releasable is a body of scope public. No other type can be one.
type Releasable interface {
	Body
	releasable()
}

// Event is one line of a stream.
type Event struct {
	Version int       `json:"v"`
	Seq     uint64    `json:"seq"` // from 1, without a gap, also across interruptions
	Time    time.Time `json:"time"`
	Kind    string    `json:"kind"`
	Scope   Scope     `json:"scope"`
	Body    Body      `json:"body"` // nil: of a kind that this program does not know
}

// envelope is an event whose body is not decoded yet.
type envelope struct {
	Version int             `json:"v"`
	Seq     uint64          `json:"seq"`
	Time    time.Time       `json:"time"`
	Kind    string          `json:"kind"`
	Scope   Scope           `json:"scope"`
	Body    json.RawMessage `json:"body"`
}

// kinds makes an empty body of each kind.
var kinds = map[string]func() Body{
	"begin":      func() Body { return new(Begin) },
	"setup":      func() Body { return new(Setup) },
	"progress":   func() Body { return new(Progress) },
	"spent":      func() Body { return new(Spent) },
	"state":      func() Body { return new(State) },
	"note":       func() Body { return new(Note) },
	"end":        func() Body { return new(End) },
	"standing":   func() Body { return new(Standing) },
	"member":     func() Body { return new(Member) },
	"machine":    func() Body { return new(Machine) },
	"evaluation": func() Body { return new(Evaluation) },
	"knows":      func() Body { return new(Knows) },
	"traffic":    func() Body { return new(Traffic) },
	"time":       func() Body { return new(Time) },
	"grid":       func() Body { return new(Grid) },
	"cell":       func() Body { return new(Cell) },
	"bound":      func() Body { return new(Bound) },
	"own":        func() Body { return new(Own) },
}

// Kinds are the names of all kinds, sorted.
func Kinds() []string {
	var names []string
	for k := range kinds {
		names = append(names, k)
	}
	slices.Sort(names)
	return names
}

// New is an empty body of a kind, nil where there is none of that name.
func New(kind string) Body {
	if make := kinds[kind]; make != nil {
		return make()
	}
	return nil
}

// MaxLine is the length of the longest line that is read: a graph of 2,000 links and the
// names of 1,000 agents take a tenth of it.
const MaxLine = 1 << 20

// Encode is the event's line, without its end.
func (e *Event) Encode() ([]byte, error) { return json.Marshal(e) }

var errLine = errors.New("event: a line that is none")

// Decode reads one line. Events of a kind that this program does not know have no body;
// keys that it does not know are skipped.
func Decode(line []byte) (*Event, error) {
	bad := func(key string, found any, allowed string) error {
		return fmt.Errorf("%w: %w", errLine, config.Bad(key, found, allowed))
	}
	if len(line) > MaxLine {
		return nil, bad("", fmt.Sprintf("%d bytes", len(line)), fmt.Sprintf("at most %d", MaxLine))
	}
	var in envelope
	if err := json.Unmarshal(line, &in); err != nil {
		return nil, fmt.Errorf("%w: %w", errLine, err)
	}
	switch {
	case in.Version != Version:
		return nil, bad("v", in.Version, fmt.Sprintf("%d, the version of this program", Version))
	case in.Seq == 0:
		return nil, bad("seq", in.Seq, "at least 1")
	case admits[in.Scope] == nil:
		return nil, bad("scope", string(in.Scope), "public, simulation, local")
	case in.Kind == "":
		return nil, bad("kind", "nothing", strings.Join(Kinds(), ", "))
	}
	e := &Event{Version: in.Version, Seq: in.Seq, Time: in.Time, Kind: in.Kind, Scope: in.Scope}
	body := New(in.Kind)
	if body == nil {
		return e, nil
	}
	if body.Scope() != in.Scope {
		return nil, bad("scope", string(in.Scope), string(body.Scope())+" for kind "+in.Kind)
	}
	if err := json.Unmarshal(in.Body, body); err != nil {
		return nil, fmt.Errorf("%w: %s: %w", errLine, in.Kind, err)
	}
	e.Body = body
	return e, nil
}

// DecodeAll reads a whole stream. A last line that was cut is left out; n is the length
// of what was read.
func DecodeAll(b []byte) (all []*Event, n int, err error) { return DecodeFrom(b, 1) }

// DecodeFrom is DecodeAll of a stream from the line of that number on.
func DecodeFrom(b []byte, line int) (all []*Event, n int, err error) {
	for len(b) > n {
		end := bytes.IndexByte(b[n:], '\n')
		if end < 0 {
			return all, n, nil
		}
		e, err := Decode(b[n : n+end])
		if err != nil {
			return all, n, fmt.Errorf("line %d: %w", line+len(all), err)
		}
		all, n = append(all, e), n+end+1
	}
	return all, n, nil
}
