package account

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"sotto/config"
)

// field is one JSON member of a body; ptr points to where it lives.
type field struct {
	name string
	ptr  any
	def  any // value that is left out of the canonical form; nil: always written and required
}

// schema lists the members that belong to b.typ, apart from children; ok is false for an
// unknown type.
func (b *body) schema() (fields []field, ok bool) {
	f := func(name string, ptr any) field { return field{name, ptr, nil} }
	switch b.typ {
	case TypeNoOp, TypeCompose, TypeParallel:
		return nil, true
	case TypeNonPrivate:
		return []field{f("reason", &b.reason)}, true
	case TypeGaussian:
		return []field{f("noise_multiplier", &b.noise), {"shift", &b.shift, 1.0}}, true
	case TypeDiscreteGaussian:
		return []field{f("sigma_grid", &b.sigmaGrid), f("l2_grid", &b.l2Grid), f("linf_grid", &b.linfGrid),
			f("dim", &b.dim)}, true
	case TypeLaplace:
		return []field{f("scale", &b.scale)}, true
	case TypeDiscreteLaplace:
		return []field{f("a", &b.a), f("l1_grid", &b.l1Grid)}, true
	case TypeBoundedNoise:
		return []field{f("family", &b.family), f("scale", &b.scale), f("truncation", &b.truncation),
			{"beta", &b.beta, 0.0}, f("dim", &b.dim), f("norm", &b.norm)}, true
	case TypeRandomizedResponse:
		return []field{f("p", &b.p), f("k", &b.k)}, true
	case TypeEpsDelta:
		return []field{f("epsilon", &b.epsilon), f("delta", &b.delta)}, true
	case TypeZCDP:
		return []field{f("rho", &b.rho), f("xi", &b.xi)}, true
	case TypeGDP:
		return []field{f("mu", &b.mu)}, true
	case TypeRDP:
		return []field{f("orders", &b.orders), f("values", &b.values)}, true
	case TypePoisson:
		return []field{f("rate", &b.rate)}, true
	case TypePoissonTruncated:
		return []field{f("rate", &b.rate), f("max_batch", &b.maxBatch), f("population", &b.population)}, true
	case TypeFixedSize:
		return []field{f("population", &b.population), f("batch", &b.batch)}, true
	case TypeCyclic:
		return []field{f("period", &b.period)}, true
	case TypeMixtureGaussian:
		return []field{f("noise_multiplier", &b.noise), f("shifts", &b.shifts), f("probs", &b.probs)}, true
	case TypeTree:
		return []field{f("noise_multiplier", &b.noise), f("steps", &b.steps), f("restarts", &b.restarts)},
			true
	case TypeRepeatSelect:
		return []field{f("mean", &b.mean), f("shape", &b.shape)}, true
	case TypeRepeat:
		return []field{f("count", &b.count)}, true
	}
	return nil, false
}

func (b *body) hasChild() bool {
	switch b.typ {
	case TypePoisson, TypePoissonTruncated, TypeFixedSize, TypeCyclic, TypeRepeatSelect, TypeRepeat:
		return true
	}
	return false
}

func (b *body) hasChildren() bool { return b.typ == TypeCompose || b.typ == TypeParallel }

// MarshalJSON writes a number, or "poisson".
func (s shape) MarshalJSON() ([]byte, error) {
	if s.poisson {
		return []byte(`"poisson"`), nil
	}
	return json.Marshal(s.eta)
}

// UnmarshalJSON reads what MarshalJSON writes.
func (s *shape) UnmarshalJSON(b []byte) error {
	if string(b) == `"poisson"` {
		*s = shape{poisson: true}
		return nil
	}
	*s = shape{}
	return json.Unmarshal(b, &s.eta)
}

// tree returns b as a map that encoding/json writes with sorted keys and shortest floats.
func (b *body) tree() map[string]any {
	m := map[string]any{"type": b.typ}
	fields, _ := b.schema()
	for _, f := range fields {
		switch p := f.ptr.(type) {
		case *float64:
			if f.def == nil || *p != f.def {
				m[f.name] = *p
			}
		default:
			m[f.name] = p
		}
	}
	if b.hasChild() {
		m["event"] = b.event.tree()
	}
	if b.hasChildren() {
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
	for _, f := range []field{{"adjacency", &out.Adjacency, 0}, {"unit", &out.Unit, 0},
		{"clip", &out.Clip, 0}, {"oracle", &out.Oracle, 0}, {"sampler", &out.Sampler, 0}} {
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
	out.body = b
	*e = out
	return nil
}

func readBody(raw map[string]json.RawMessage, depth int) (*body, error) {
	if depth > maxDepth {
		return nil, config.Bad("event", "nested too deeply", "at most 64 levels")
	}
	b := &body{}
	if err := take(raw, "type", &b.typ); err != nil {
		return nil, err
	}
	fields, ok := b.schema()
	if !ok {
		return nil, config.Bad("type", string(b.typ), "a known event type")
	}
	for _, f := range fields {
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
		return nil, config.Bad(k, "unknown key", "the keys of a "+string(b.typ)+" event")
	}
	return normalise(b, depth)
}

func (b *body) readChildren(raw map[string]json.RawMessage, depth int) error {
	var children []map[string]json.RawMessage
	if b.hasChild() {
		var c map[string]json.RawMessage
		if err := take(raw, "event", &c); err != nil {
			return err
		}
		children = append(children, c)
	}
	if b.hasChildren() {
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
	if b.hasChild() {
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
		return config.Bad(name, string(clip(m, 60)), fmt.Sprintf("a value of type %T", ptr)[1:])
	}
	delete(raw, name)
	return nil
}

func clip(b []byte, n int) []byte { return b[:min(len(b), n)] }

// strictJSON decodes exactly one value and refuses unknown keys of structs.
func strictJSON(data []byte, into any) error {
	d := json.NewDecoder(bytes.NewReader(data))
	d.DisallowUnknownFields()
	if err := d.Decode(into); err != nil {
		return config.Bad("event", string(clip(data, 60)), "JSON: "+err.Error())
	}
	if _, err := d.Token(); err != io.EOF {
		return config.Bad("event", "text after the value", "one JSON value")
	}
	return nil
}
