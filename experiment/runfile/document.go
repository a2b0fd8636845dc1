// Package runfile reads a run file: a TOML document that knows the line of each of its
// keys, so that whoever refuses a value can say where it stands. Several packages decode
// their own parameters from one section; keys that nobody has asked for are refused, and
// what is in force at the end, defaults included, is written as one complete file.
package runfile

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/pelletier/go-toml/v2"
	"github.com/pelletier/go-toml/v2/unstable"

	"sotto/config"
	"sotto/internal/tomltext"
)

// Document is a parsed run file: its values, and the line each key stands on.
type Document struct {
	file string
	raw  map[string]any
	line map[string]int    // by dotted key
	also map[string]int    // the line of a key that has its second spelling, under that spelling
	from map[string]string // keys that did not come from the file: "--set", "sweep"
	used map[string]*Section
	// keys whose 0 has a meaning of its own
	meant map[string]bool
}

// Parse reads TOML; file names it in errors.
func Parse(file string, b []byte) (*Document, error) {
	b, err := tomltext.Of(file, b)
	if err != nil {
		return nil, err
	}
	d := &Document{
		file: file,
		raw:  map[string]any{},
		line: map[string]int{},
		also: map[string]int{},
		from: map[string]string{},
		used: map[string]*Section{},

		meant: map[string]bool{},
	}
	if err := toml.Unmarshal(b, &d.raw); err != nil {
		var e *toml.DecodeError
		if errors.As(err, &e) {
			row, _ := e.Position()
			return nil, &config.Error{File: file, Line: row, Found: "no valid TOML: " +
				strings.TrimPrefix(e.Error(), "toml: ")}
		}
		return nil, &config.Error{File: file, Found: "no valid TOML: " + err.Error()}
	}
	d.index(b)
	if err := d.respell(); err != nil {
		return nil, err
	}
	return d, nil
}

// index records the line of every table and key.
func (d *Document) index(b []byte) {
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
			key = Dotted(table, key)
		}
		if first := FirstSpelling(key); first != key {
			d.also[key], key = row, first
		}
		d.line[key] = row
	}
}

// Dotted joins the name of a section and a key of it.
func Dotted(section, key string) string {
	if section == "" || key == "" {
		return section + key
	}
	return section + "." + key
}

// File is what errors call the document.
func (d *Document) File() string { return d.file }

// Has says that the root holds a section or key of this name.
func (d *Document) Has(name string) bool { _, ok := d.raw[name]; return ok }

// Raw returns the value of a section or key of the root, nil where there is none.
func (d *Document) Raw(name string) any { return d.raw[name] }

// Put replaces a section of the root.
func (d *Document) Put(name string, table map[string]any) { d.raw[name] = table }

// Drop removes a section or key of the root.
func (d *Document) Drop(name string) { delete(d.raw, name) }

// Encode returns the document as TOML, without defaults, keys in sorted order.
func (d *Document) Encode() ([]byte, error) { return toml.Marshal(d.raw) }

// Values are the document's keys with dots and their values as text.
func (d *Document) Values() map[string]string {
	values := map[string]string{}
	var walk func(prefix string, table map[string]any)
	walk = func(prefix string, table map[string]any) {
		for k, v := range table {
			if sub, ok := v.(map[string]any); ok {
				walk(Dotted(prefix, k), sub)
				continue
			}
			values[Dotted(prefix, k)] = fmt.Sprint(v)
		}
	}
	walk("", d.raw)
	return values
}

// Set applies one "a.b=value" that came from elsewhere than the file; from says where.
// The value is TOML, in which .5 and 5. are numbers too; what is not is taken as a
// string.
func (d *Document) Set(from, assignment string) error {
	key, text, ok := strings.Cut(assignment, "=")
	key = strings.TrimSpace(key)
	if !ok || key == "" || strings.HasPrefix(key, ".") || strings.HasSuffix(key, ".") {
		return &config.Error{File: from, Found: fmt.Sprintf("%q", assignment),
			Allowed: "key=value or section.key=value"}
	}
	value, ok := oneValue(text)
	if !ok {
		if value, ok = oneValue(WithZeros(text)); !ok {
			value = strings.TrimSpace(text)
		}
	}
	key = FirstSpelling(key)
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
	at[parts[len(parts)-1]] = value
	d.from[key] = from
	if err := d.respell(); err != nil { // the value may be a table
		err.File, err.Line = from, 0
		return err
	}
	return nil
}

// oneValue is the TOML value that text is, and nothing behind it.
func oneValue(text string) (any, bool) {
	var v struct {
		V any `toml:"v"`
	}
	d := toml.NewDecoder(strings.NewReader("v = " + text)).DisallowUnknownFields()
	err := d.Decode(&v)
	return v.V, err == nil
}

// Locate completes a *config.Error in err's chain with the place of its key; other errors
// pass.
func (d *Document) Locate(section string, err error) error {
	var e *config.Error
	if err == nil || !errors.As(err, &e) || e.File != "" {
		return err
	}
	c := *e
	c.Key = Dotted(section, e.Key)
	if from := d.cameFrom(c.Key); from != "" {
		c.File = from
	} else if row, ok := d.line[c.Key]; ok {
		c.File, c.Line = d.file, row
	} else {
		c.File, c.Line = d.file, d.line[section]
		if c.Found == "0" || c.Found == `""` { // nobody wrote that
			c.Found = "nothing"
		}
	}
	return &c
}

// cameFrom says where a key, or a section all of whose keys, came from beside the file;
// "": from the file.
func (d *Document) cameFrom(key string) string {
	if from := d.from[key]; from != "" {
		return from
	}
	if _, ok := d.line[key]; ok {
		return ""
	}
	for _, k := range slices.Sorted(maps.Keys(d.from)) {
		if strings.HasPrefix(k, key+".") {
			return d.from[k]
		}
	}
	return ""
}

// Finish refuses every key and section that nothing has decoded, and what
// [Document.RefuseReplaced] refuses.
func (d *Document) Finish() error {
	return d.finish(slices.Collect(maps.Keys(d.used))...)
}

// FinishSection is Finish for one section, all of which has been decoded.
func (d *Document) FinishSection(name string) error { return d.finish(name) }

func (d *Document) finish(sections ...string) error {
	var bad []string
	for _, name := range sections {
		s := d.used[name]
		if s == nil {
			continue
		}
		for key := range s.raw {
			if !s.known[key] && (name != "" || d.used[key] == nil) {
				bad = append(bad, Dotted(name, key))
			}
		}
	}
	if len(bad) == 0 {
		return d.RefuseReplaced()
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
	return d.unknown(name, rest, allowed)
}

// unknown is the error of a key or section that nobody decodes.
func (d *Document) unknown(section, key string, allowed []string) error {
	err := config.Bad(key, key, strings.Join(allowed, ", "))
	err.(*config.Error).Found = "an unknown key"
	return d.Locate(section, err)
}

// RefuseSections refuses the first section that is none of those, before a key that it
// should have held is missed.
func (d *Document) RefuseSections(known ...string) error {
	var bad []string
	for name, v := range d.raw {
		if _, section := v.(map[string]any); section && !slices.Contains(known, name) {
			bad = append(bad, name)
		}
	}
	if len(bad) == 0 {
		return nil
	}
	slices.SortFunc(bad, func(a, b string) int {
		return cmp.Or(d.line[a]-d.line[b], strings.Compare(a, b))
	})
	var allowed []string
	for _, name := range slices.Sorted(slices.Values(known)) {
		allowed = append(allowed, "["+name+"]")
	}
	return d.unknown("", bad[0], allowed)
}

// Effective returns the complete configuration: every decoded struct with the values in
// force.
func (d *Document) Effective() ([]byte, error) {
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
