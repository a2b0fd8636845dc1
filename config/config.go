// Package config holds the one error that bad input gives: which file, line and key, the
// value found and the values allowed. Constructors in every package return it without
// File and Line; the package that read the file adds them.
package config

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Error describes one value that cannot be used. Found and Allowed are public: they never
// hold data.
type Error struct {
	File    string // "" where the value did not come from a file
	Line    int    // 1-based; 0 when unknown
	Key     string // dotted key from the root of the file, for instance "privacy.target_delta"
	Found   string
	Allowed string
}

func (e *Error) Error() string {
	var b strings.Builder
	if e.File != "" {
		b.WriteString(e.File)
		if e.Line > 0 {
			fmt.Fprintf(&b, ":%d", e.Line)
		}
		b.WriteString(": ")
	}
	if e.Key != "" {
		fmt.Fprintf(&b, "%s: ", e.Key)
	}
	fmt.Fprintf(&b, "found %s", e.Found)
	if e.Allowed != "" {
		fmt.Fprintf(&b, ", allowed: %s", e.Allowed)
	}
	if meant := e.meant(); meant != "" {
		fmt.Fprintf(&b, "; did you mean %s?", meant)
	}
	return b.String()
}

// Bad returns an Error for key. found is formatted with %v; strings are quoted.
func Bad(key string, found any, allowed string) error {
	f := fmt.Sprint(found)
	if s, ok := found.(string); ok {
		f = fmt.Sprintf("%q", s)
	}
	return &Error{Key: key, Found: f, Allowed: allowed}
}

// OneOf lists the keys of an explicit registry for an Error's Allowed: "one of complete,
// ring, star".
func OneOf[V any](registry map[string]V) string {
	return "one of " + strings.Join(slices.Sorted(maps.Keys(registry)), ", ")
}
