package runfile

import (
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/pelletier/go-toml/v2"

	"sotto/config"
)

// Section is one table of a run file. Several packages decode their own parameters from
// it; what nobody decoded is refused at the end.
type Section struct {
	doc     *Document
	name    string
	raw     map[string]any
	known   map[string]bool
	decoded []any
}

// Section returns the named table (the root for ""), empty when the file does not have
// it.
func (d *Document) Section(name string) (*Section, error) {
	if s, ok := d.used[name]; ok {
		return s, nil
	}
	s := &Section{doc: d, name: name, raw: d.raw, known: map[string]bool{}}
	if name != "" {
		s.raw = map[string]any{}
		if v, ok := d.raw[name]; ok {
			if s.raw, ok = v.(map[string]any); !ok {
				return nil, d.Locate("", config.Bad(name, v, "a section ["+name+"]"))
			}
		}
	}
	d.used[name] = s
	return s, nil
}

// Read decodes the named section into params, as [Section.Decode] does.
func (d *Document) Read(name string, params any) error {
	s, err := d.Section(name)
	if err != nil {
		return err
	}
	return s.Decode(params)
}

// Decoder is Read for one section: what a package fills its own parameters with.
func (d *Document) Decoder(name string) func(params any) error {
	return func(params any) error { return d.Read(name, params) }
}

// Raw holds the section's values as they were read.
func (s *Section) Raw() map[string]any { return s.raw }

// Encode returns the section's values as TOML, keys in sorted order.
func (s *Section) Encode() ([]byte, error) {
	b, err := toml.Marshal(s.raw)
	if err != nil {
		return nil, fmt.Errorf("section [%s]: %w", s.name, err)
	}
	return b, nil
}

// Know says that key is read by other means than Decode.
func (s *Section) Know(key string) { s.known[key] = true }

// Decode fills the fields of the struct that params points to from the keys that its toml
// tags name, and leaves the others as they are: the caller's defaults.
func (s *Section) Decode(params any) error {
	v := reflect.ValueOf(params)
	if v.Kind() != reflect.Pointer || v.Elem().Kind() != reflect.Struct {
		return fmt.Errorf("parameters of section [%s] are a %T, not a pointer to a struct", s.name, params)
	}
	for _, key := range keysOf(v.Elem().Type()) {
		s.known[key] = true
		value, ok := s.raw[key]
		if !ok {
			continue
		}
		b, err := toml.Marshal(map[string]any{key: value})
		if err != nil {
			return s.doc.Locate(s.name, config.Bad(key, shown(value), "a TOML value"))
		}
		if err := toml.Unmarshal(b, params); err != nil {
			bad := &config.Error{Key: key, Found: shown(value), Allowed: kindOf(v.Elem(), key)}
			return s.doc.Locate(s.name, bad)
		}
	}
	if !slices.ContainsFunc(s.decoded, func(p any) bool {
		return reflect.TypeOf(p) == reflect.TypeOf(params)
	}) {
		s.decoded = append(s.decoded, params)
	}
	return nil
}

// Keys are those that the toml tags of a struct name; params points to it.
func Keys(params any) []string { return keysOf(reflect.TypeOf(params).Elem()) }

func keysOf(t reflect.Type) []string {
	var keys []string
	for i := range t.NumField() {
		f := t.Field(i)
		name, _, _ := strings.Cut(f.Tag.Get("toml"), ",")
		switch {
		case f.Anonymous && name == "":
			keys = append(keys, keysOf(f.Type)...)
		case name != "" && name != "-":
			keys = append(keys, name)
		}
	}
	return keys
}

// allowedTag is the tag of a field that says which whole numbers its key takes, where
// these are others than its type has: `allowed:"1 to 1000"`.
const allowedTag = "allowed"

// Kind says in words which values a key of a struct takes, as errors do; params points to
// it. "": it has no such key.
func Kind(params any, key string) string { return kindOf(reflect.ValueOf(params).Elem(), key) }

// kindOf names the type of key's field in words.
func kindOf(v reflect.Value, key string) string {
	for i := range v.NumField() {
		f := v.Type().Field(i)
		name, _, _ := strings.Cut(f.Tag.Get("toml"), ",")
		if f.Anonymous && name == "" {
			if k := kindOf(v.Field(i), key); k != "" {
				return k
			}
		} else if name == key {
			if only := f.Tag.Get(allowedTag); only != "" {
				return "a whole number, " + only
			}
			return kindIn(f.Type, 0)
		}
	}
	return ""
}

// kinds name what a value of a type is, and values of it.
var kinds = map[reflect.Kind][2]string{
	reflect.Float32: {"a number", "numbers"},
	reflect.Float64: {"a number", "numbers"},
	reflect.Int:     {"a whole number", "whole numbers"},
	reflect.Int32:   {"a whole number", "whole numbers"},
	reflect.Int64:   {"a whole number", "whole numbers"},
	reflect.Uint:    {"a whole number, at least 0", "whole numbers, at least 0"},
	reflect.Uint32:  {"a whole number, at least 0", "whole numbers, at least 0"},
	reflect.Uint64: {"a whole number, 0 to 9223372036854775807",
		"whole numbers, 0 to 9223372036854775807"}, // TOML has no larger ones
	reflect.String: {"a string", "strings"},
	reflect.Bool:   {"true or false", "true and false"},
}

// kindIn names a value (0) or values (1) of a type in words.
func kindIn(t reflect.Type, several int) string {
	switch t.Kind() {
	case reflect.Pointer:
		return kindIn(t.Elem(), several)
	case reflect.Slice:
		return [2]string{"a list of ", "lists of "}[several] + kindIn(t.Elem(), 1)
	case reflect.Map:
		if t.Elem().Kind() == reflect.Interface {
			return [2]string{"a table", "tables"}[several]
		}
		return [2]string{"a table of ", "tables of "}[several] + kindIn(t.Elem(), 1)
	}
	if k, ok := kinds[t.Kind()]; ok {
		return k[several]
	}
	return "a " + t.String()
}
