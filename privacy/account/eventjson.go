package account

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"sotto/config"
	"sotto/internal/jsontext"
)

// maxDepth bounds the nesting of what is read.
const maxDepth = 64

// field is one JSON member of a body; ptr points to where it lives.
type field struct {
	name string
	ptr  any
	rule
}

// rule is what a number must be; what has none is checked with its kind.
type rule struct {
	holds   func(x float64) bool
	allowed string
	def     any // value that is left out of the canonical form; nil: always written and required
}

var (
	aboveZero   = rule{usual, "1e-100 to 1e100", nil} // whose squares are numbers too
	nonNegative = rule{func(x float64) bool { return x == 0 || usual(x) }, "0, or 1e-100 to 1e100", nil}
	probability = rule{inUnit, "0 to 1", nil}
)

func usual(x float64) bool { return x >= 1e-100 && x <= 1e100 }

// integers are those of at least n.
func integers(n int) rule {
	return rule{func(x float64) bool { return x >= float64(n) && x <= maxCount },
		fmt.Sprintf("an integer from %d to 2^53", n), nil}
}

// or gives a rule a default.
func (r rule) or(def float64) rule { return rule{r.holds, r.allowed, def} }

func (f *field) check() error {
	switch p := f.ptr.(type) {
	case *float64:
		return bad(f.holds == nil || f.holds(*p), f.name, *p, f.allowed)
	case *int:
		return bad(f.holds == nil || f.holds(float64(*p)), f.name, *p, f.allowed)
	}
	return nil
}

// fields are the members of b's JSON form, apart from children.
func (b *body) fields() []field {
	if b.kind.fields == nil {
		return nil
	}
	return b.kind.fields(b)
}

// tree returns b as a map that encoding/json writes with sorted keys and shortest floats.
func (b *body) tree() map[string]any {
	m := map[string]any{"type": b.kind.typ}
	for _, f := range b.fields() {
		switch p := f.ptr.(type) {
		case *float64:
			if f.def == nil || *p != f.def {
				m[f.name] = *p
			}
		default:
			m[f.name] = p
		}
	}
	if b.kind.is(holdsOne) {
		m["event"] = b.event.tree()
	}
	if b.kind.is(holdsMany) {
		children := make([]any, len(b.events))
		for i, c := range b.events {
			children[i] = c.tree()
		}
		m["events"] = children
	}
	return m
}

// key is the canonical JSON of b without root fields.
func (b *body) key() string {
	s, err := json.Marshal(b.tree())
	if err != nil {
		return "!" + err.Error() // unreachable: normalise admits finite numbers only
	}
	return string(s)
}

// MarshalJSON writes the canonical form: sorted keys, shortest floats, defaults left out.
func (e Event) MarshalJSON() ([]byte, error) {
	if e.body == nil {
		return nil, errInvalidEvent
	}
	m := e.body.tree()
	m["v"] = 1
	if e.Adjacency != 0 {
		if !e.Adjacency.valid() {
			return nil, config.Bad("adjacency", e.Adjacency, adjacencyAllowed)
		}
		m["adjacency"] = jsonAdjacency(e.Adjacency)
	}
	if e.Unit != (Unit{}) {
		m["unit"] = e.Unit
	}
	if e.Clip != 0 {
		m["clip"] = e.Clip
	}
	if e.Oracle != "" {
		m["oracle"] = e.Oracle
	}
	if e.Sampler != "" {
		m["sampler"] = e.Sampler
	}
	return json.Marshal(m)
}

// Key returns the canonical JSON as a string, "" for the zero Event.
func (e Event) Key() string {
	b, err := e.MarshalJSON()
	if err != nil {
		return ""
	}
	return string(b)
}

func jsonAdjacency(a Adjacency) string {
	return string(bytes.ReplaceAll([]byte(a.String()), []byte("-"), []byte("_")))
}

// UnmarshalJSON reads an event strictly: unknown keys, types and versions are errors, and
// the values are checked as the constructors check them. The result is canonical.
func (e *Event) UnmarshalJSON(data []byte) error {
	raw := map[string]json.RawMessage{}
	if err := strictJSON(data, &raw); err != nil {
		return err
	}
	var v int
	if err := take(raw, "v", &v); err != nil {
		return err
	}
	if v != 1 {
		return config.Bad("v", v, "1")
	}
	var out Event
	for _, f := range []field{{name: "adjacency", ptr: &out.Adjacency}, {name: "unit", ptr: &out.Unit},
		{name: "clip", ptr: &out.Clip}, {name: "oracle", ptr: &out.Oracle},
		{name: "sampler", ptr: &out.Sampler}} {
		if _, there := raw[f.name]; !there {
			continue
		}
		if err := take(raw, f.name, f.ptr); err != nil {
			return err
		}
	}
	if !atLeast0(out.Clip) {
		return config.Bad("clip", out.Clip, "a finite number >= 0")
	}
	b, err := readBody(raw, 0)
	if err != nil {
		return err
	}
	if out.Adjacency == AddRemove && b.contains(TypeFixedSize) {
		return config.Bad("population", "fixed_size",
			"none under add-remove: the number of records is private")
	}
	if out.Adjacency == AddRemove && b.contains(TypePoissonTruncated) {
		return config.Bad("population", "poisson_truncated", ofAllRecords)
	}
	if out.Adjacency == AddRemove && b.contains(TypeCyclic) {
		return config.Bad("period", "cyclic", "none under add-remove; allowed: "+movesOthers)
	}
	out.body = b
	*e = out
	return nil
}

func readBody(raw map[string]json.RawMessage, depth int) (*body, error) {
	if depth > maxDepth {
		return nil, config.Bad("event", "nested too deeply", "at most 64 levels")
	}
	var typ Type
	if err := take(raw, "type", &typ); err != nil {
		return nil, err
	}
	b := &body{kind: kinds[typ]}
	if b.kind == nil {
		return nil, config.Bad("type", string(typ), "a known event type")
	}
	for _, f := range b.fields() {
		if _, there := raw[f.name]; !there && f.def != nil {
			*f.ptr.(*float64) = f.def.(float64)
			continue
		}
		if err := take(raw, f.name, f.ptr); err != nil {
			return nil, err
		}
	}
	if err := b.readChildren(raw, depth); err != nil {
		return nil, err
	}
	for k := range raw {
		return nil, config.Bad(k, "unknown key", "the keys of a "+string(typ)+" event")
	}
	return normalise(b)
}

func (b *body) readChildren(raw map[string]json.RawMessage, depth int) error {
	var children []map[string]json.RawMessage
	if b.kind.is(holdsOne) {
		var c map[string]json.RawMessage
		if err := take(raw, "event", &c); err != nil {
			return err
		}
		children = append(children, c)
	}
	if b.kind.is(holdsMany) {
		if err := take(raw, "events", &children); err != nil {
			return err
		}
	}
	for _, c := range children {
		n, err := readBody(c, depth+1)
		if err != nil {
			return err
		}
		b.events = append(b.events, n)
	}
	if b.kind.is(holdsOne) {
		b.event, b.events = b.events[0], nil
	}
	return nil
}

// take decodes raw[name] into ptr and removes it.
func take(raw map[string]json.RawMessage, name string, ptr any) error {
	m, there := raw[name]
	if !there || string(m) == "null" {
		return config.Bad(name, "nothing", "a value")
	}
	if err := json.Unmarshal(m, ptr); err != nil {
		var bad *config.Error
		if errors.As(err, &bad) {
			return bad
		}
		return config.Bad(name, string(m[:min(len(m), 60)]), jsontext.Kind(ptr))
	}
	delete(raw, name)
	return nil
}

// strictJSON decodes exactly one value and refuses unknown keys of structs.
func strictJSON(data []byte, into any) error {
	d := json.NewDecoder(bytes.NewReader(data))
	d.DisallowUnknownFields()
	if err := d.Decode(into); err != nil {
		return jsontext.Error("", data, err, "a JSON object of the documented keys")
	}
	if _, err := d.Token(); err != io.EOF {
		return config.Bad("event", "text after the value", "one JSON value")
	}
	return nil
}
