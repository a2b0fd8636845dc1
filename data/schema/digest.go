package schema

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
)

// Digest identifies what a record is: the SHA-256 of the schema's canonical JSON. Layout,
// comments, spelled-out defaults and confirmed do not count, every other value does.
func (s *Schema) Digest() [sha256.Size]byte {
	b, err := json.Marshal(s)
	if err != nil {
		panic("schema: a valid schema does not marshal: " + err.Error())
	}
	return sha256.Sum256(b)
}

// Diff returns the first difference from o in words, s being "here" and o "there", or ""
// where both have the same digest.
func (s *Schema) Diff(o *Schema) string {
	if s.Digest() == o.Digest() {
		return ""
	}
	if d := differ("", []keyed{{"version", s.Version, o.Version}, {"name", s.Name, o.Name},
		{"intercept", s.Intercept, o.Intercept},
		{"missing_cells", s.MissingCells, o.MissingCells}}); d != "" {
		return d
	}
	for i := range min(len(s.Columns), len(o.Columns)) {
		a, b := &s.Columns[i], &o.Columns[i]
		if a.Name != b.Name {
			return fmt.Sprintf("column %d: %q here, %q there", i+1, a.Name, b.Name)
		}
		if d := differ(fmt.Sprintf("column %d, %q: ", i+1, a.Name), []keyed{{"kind", a.Kind, b.Kind},
			{"unit", a.Unit, b.Unit}, {"bounds", a.Bounds, b.Bounds}, {"scale", a.Scale, b.Scale},
			{"categories", a.Categories, b.Categories}, {"other", a.Other, b.Other},
			{"missing", a.Missing, b.Missing}, {"indicator", a.Indicator, b.Indicator}}); d != "" {
			return d
		}
	}
	if n, m := len(s.Columns), len(o.Columns); n > m {
		return fmt.Sprintf("column %d: %q here, none there", m+1, s.Columns[m].Name)
	} else if m > n {
		return fmt.Sprintf("column %d: none here, %q there", n+1, o.Columns[n].Name)
	}
	a, b := &s.Target, &o.Target
	return differ("target: ", []keyed{{"column", a.Column, b.Column}, {"kind", a.Kind, b.Kind},
		{"unit", a.Unit, b.Unit}, {"values", a.Values, b.Values}, {"bounds", a.Bounds, b.Bounds},
		{"scale", a.Scale, b.Scale}, {"missing", a.Missing, b.Missing}})
}

// keyed is one key in two schemas.
type keyed struct {
	key         string
	here, there any
}

func differ(place string, all []keyed) string {
	for _, k := range all {
		if here, there := value(k.here), value(k.there); !reflect.DeepEqual(here, there) {
			return fmt.Sprintf("%s%s: %s here, %s there", place, k.key, here, there)
		}
	}
	return ""
}

// value writes a value as TOML has it.
func value(v any) string {
	switch v := v.(type) {
	case string:
		return quote(v)
	case []string:
		parts := make([]string, len(v))
		for i := range v {
			parts[i] = quote(v[i])
		}
		return "[" + strings.Join(parts, ", ") + "]"
	case float64:
		return strconv.FormatFloat(v, 'g', -1, 64)
	case []float64:
		parts := make([]string, len(v))
		for i := range v {
			parts[i] = value(v[i])
		}
		return "[" + strings.Join(parts, ", ") + "]"
	}
	return fmt.Sprint(v)
}

// quote writes a basic string of TOML: what it escapes is escaped alike in JSON.
func quote(s string) string {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if e.Encode(s) != nil {
		return strconv.Quote(s)
	}
	return strings.ReplaceAll(strings.TrimSuffix(b.String(), "\n"), "\x7f", `\u007f`)
}

// Encode writes the schema as a TOML file that Parse reads to the same schema.
func (s *Schema) Encode() []byte { return s.write("") }

// write puts mark behind every line with bounds, categories or target values.
func (s *Schema) write(mark string) []byte {
	var b bytes.Buffer
	line := func(key string, v any) { fmt.Fprintf(&b, "%s = %s\n", key, value(v)) }
	marked := func(key string, v any) { fmt.Fprintf(&b, "%s = %s%s\n", key, value(v), mark) }
	text := func(key, v string) {
		if v != "" {
			line(key, v)
		}
	}
	line("version", s.Version)
	text("name", s.Name)
	line("confirmed", s.Confirmed)
	line("intercept", s.Intercept)
	line("missing_cells", s.MissingCells)
	for i := range s.Columns {
		c := &s.Columns[i]
		b.WriteString("\n[[column]]\n")
		line("name", c.Name)
		line("kind", c.Kind)
		text("unit", c.Unit)
		switch c.Kind {
		case Number:
			marked("bounds", c.Bounds)
			line("scale", c.Scale)
		case Category:
			marked("categories", c.Categories)
			line("other", c.Other)
		default:
			continue
		}
		line("missing", c.Missing)
		if c.Indicator {
			line("indicator", true)
		}
	}
	t := &s.Target
	b.WriteString("\n[target]\n")
	line("column", t.Column)
	line("kind", t.Kind)
	text("unit", t.Unit)
	if t.Kind == Class {
		marked("values", t.Values)
	} else {
		marked("bounds", t.Bounds)
		if slices.Contains(t.Scale, 1) {
			line("scale", t.Scale)
		}
	}
	line("missing", t.Missing)
	return b.Bytes()
}
