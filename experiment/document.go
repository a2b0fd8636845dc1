package experiment

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/pelletier/go-toml/v2"
	"github.com/pelletier/go-toml/v2/unstable"

	"sotto/config"
)

// document is a parsed run file: its values, and the line each key stands on.
type document struct {
	file string
	raw  map[string]any
	line map[string]int    // by dotted key
	from map[string]string // keys that did not come from the file: "--set", "sweep"
	used map[string]*section
}

func parseDocument(file string, b []byte) (*document, error) {
	d := &document{
		file: file,
		raw:  map[string]any{},
		line: map[string]int{},
		from: map[string]string{},
		used: map[string]*section{},
	}
	if err := toml.Unmarshal(b, &d.raw); err != nil {
		var e *toml.DecodeError
		if errors.As(err, &e) {
			row, _ := e.Position()
			return nil, fmt.Errorf("%s:%d: not valid TOML: %s", file, row,
				strings.TrimPrefix(e.Error(), "toml: "))
		}
		return nil, fmt.Errorf("%s: not valid TOML: %w", file, err)
	}
	d.index(b)
	return d, nil
}

// index records the line of every table and key.
func (d *document) index(b []byte) {
	var p unstable.Parser
	p.Reset(b)
	table := ""
	for p.NextExpression() {
		e := p.Expression()
		if e.Kind != unstable.Table && e.Kind != unstable.KeyValue {
			continue
		}
		var parts []string
		row := 0
		for it := e.Key(); it.Next(); {
			parts = append(parts, string(it.Node().Data))
			row = p.Shape(it.Node().Raw).Start.Line
		}
		key := strings.Join(parts, ".")
		if e.Kind == unstable.Table {
			table = key
		} else {
			key = dotted(table, key)
		}
		d.line[key] = row
	}
}

func dotted(section, key string) string {
	if section == "" || key == "" {
		return section + key
	}
	return section + "." + key
}

// set applies one "a.b=value" that came from elsewhere than the file. The value is TOML;
// what is not is taken as a string.
func (d *document) set(from, assignment string) error {
	key, text, ok := strings.Cut(assignment, "=")
	key = strings.TrimSpace(key)
	if !ok || key == "" || strings.HasPrefix(key, ".") || strings.HasSuffix(key, ".") {
		return &config.Error{File: from, Found: fmt.Sprintf("%q", assignment),
			Allowed: "key=value or section.key=value"}
	}
	var v struct {
		V any `toml:"v"`
	}
	if err := toml.Unmarshal([]byte("v = "+text), &v); err != nil {
		v.V = strings.TrimSpace(text)
	}
	at := d.raw
	parts := strings.Split(key, ".")
	for i, part := range parts[:len(parts)-1] {
		sub, ok := at[part]
		if !ok {
			sub = map[string]any{}
			at[part] = sub
		}
		if at, ok = sub.(map[string]any); !ok {
			return &config.Error{
				File:    from,
				Key:     strings.Join(parts[:i+1], "."),
				Found:   "a value",
				Allowed: "a section",
			}
		}
	}
	at[parts[len(parts)-1]] = v.V
	d.from[key] = from
	return nil
}

// locate completes a *config.Error in err's chain with the place of its key; other errors
// pass.
func (d *document) locate(section string, err error) error {
	var e *config.Error
	if err == nil || !errors.As(err, &e) || e.File != "" {
		return err
	}
	c := *e
	c.Key = dotted(section, e.Key)
	if d.from[c.Key] != "" {
		c.File = d.from[c.Key]
	} else if row, ok := d.line[c.Key]; ok {
		c.File, c.Line = d.file, row
	} else {
		c.File, c.Line = d.file, d.line[section]
	}
	return &c
}

// section is one table of a run file. Several packages decode their own parameters from
// it; what nobody decoded is refused at the end.
type section struct {
	doc     *document
	name    string
	raw     map[string]any
	known   map[string]bool
	decoded []any
}

// section returns the named table (the root for ""), empty when the file does not have
// it.
func (d *document) section(name string) (*section, error) {
	if s, ok := d.used[name]; ok {
		return s, nil
	}
	s := &section{doc: d, name: name, raw: d.raw, known: map[string]bool{}}
	if name != "" {
		s.raw = map[string]any{}
		if v, ok := d.raw[name]; ok {
			if s.raw, ok = v.(map[string]any); !ok {
				return nil, d.locate("", config.Bad(name, v, "a section ["+name+"]"))
			}
		}
	}
	d.used[name] = s
	return s, nil
}

// decode fills the fields of the struct that params points to from the keys that its toml
// tags name, and leaves the others as they are: the caller's defaults.
func (s *section) decode(params any) error {
	v := reflect.ValueOf(params)
	if v.Kind() != reflect.Pointer || v.Elem().Kind() != reflect.Struct {
		return fmt.Errorf("parameters of section [%s] are a %T, not a pointer to a struct", s.name, params)
	}
	for _, key := range tomlKeys(v.Elem().Type()) {
		s.known[key] = true
		value, ok := s.raw[key]
		if !ok {
			continue
		}
		b, err := toml.Marshal(map[string]any{key: value})
		if err != nil {
			return s.doc.locate(s.name, config.Bad(key, value, "a TOML value"))
		}
		if err := toml.Unmarshal(b, params); err != nil {
			return s.doc.locate(s.name, config.Bad(key, value, kindOf(v.Elem(), key)))
		}
	}
	if !slices.ContainsFunc(s.decoded, func(p any) bool {
		return reflect.TypeOf(p) == reflect.TypeOf(params)
	}) {
		s.decoded = append(s.decoded, params)
	}
	return nil
}

func tomlKeys(t reflect.Type) []string {
	var keys []string
	for i := range t.NumField() {
		f := t.Field(i)
		name, _, _ := strings.Cut(f.Tag.Get("toml"), ",")
		switch {
		case f.Anonymous && name == "":
			keys = append(keys, tomlKeys(f.Type)...)
		case name != "" && name != "-":
			keys = append(keys, name)
		}
	}
	return keys
}

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
			switch f.Type.Kind() {
			case reflect.Float64, reflect.Float32:
				return "a number"
			case reflect.Int, reflect.Int32, reflect.Int64:
				return "a whole number"
			case reflect.Uint, reflect.Uint32, reflect.Uint64:
				return "a whole number, at least 0"
			case reflect.String:
				return "a string"
			case reflect.Bool:
				return "true or false"
			case reflect.Slice:
				return "a list"
			}
			return "a " + f.Type.String()
		}
	}
	return ""
}

// finish refuses every key and section that nothing has decoded.
func (d *document) finish() error {
	var bad []string
	for name, s := range d.used {
		for key := range s.raw {
			if !s.known[key] && (name != "" || d.used[key] == nil) {
				bad = append(bad, dotted(name, key))
			}
		}
	}
	if len(bad) == 0 {
		return nil
	}
	slices.SortFunc(bad, func(a, b string) int { return d.line[a] - d.line[b] })
	key := bad[0]
	name, rest, ok := strings.Cut(key, ".")
	if !ok {
		name, rest = "", key
	}
	allowed := slices.Collect(maps.Keys(d.used[name].known))
	if name == "" {
		for s := range d.used {
			if s != "" {
				allowed = append(allowed, "["+s+"]")
			}
		}
	}
	slices.Sort(allowed)
	err := config.Bad(rest, rest, strings.Join(allowed, ", "))
	err.(*config.Error).Found = "an unknown key"
	return d.locate(name, err)
}

// effective returns the complete configuration: every decoded struct with the values in
// force.
func (d *document) effective() ([]byte, error) {
	root := map[string]any{}
	for name, s := range d.used {
		at := root
		if name != "" {
			at = map[string]any{}
			root[name] = at
		}
		for _, p := range s.decoded {
			b, err := toml.Marshal(p)
			if err != nil {
				return nil, fmt.Errorf("section [%s]: %w", name, err)
			}
			m := map[string]any{}
			if err := toml.Unmarshal(b, &m); err != nil {
				return nil, fmt.Errorf("section [%s]: %w", name, err)
			}
			maps.Copy(at, m)
		}
	}
	var b bytes.Buffer
	err := toml.NewEncoder(&b).Encode(root) // keys in sorted order
	return b.Bytes(), err
}
