// Package jsontext says in words what is wrong with a JSON file: the decoder names types
// of the program.
package jsontext

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"reflect"
	"strings"
	"unicode"

	"sotto/config"
)

// Error is err, which decoding b of a file gave, as a *config.Error with the line and the
// key; allowed says what the file has to be. nil for no error.
func Error(file string, b []byte, err error, allowed string) error {
	if err == nil {
		return nil
	}
	e := &config.Error{File: file, Found: strings.TrimPrefix(err.Error(), "json: "), Allowed: allowed}
	var (
		known  *config.Error
		syntax *json.SyntaxError
		kind   *json.UnmarshalTypeError
	)
	unknown, isUnknown := strings.CutPrefix(err.Error(), "json: unknown field ")
	switch {
	case errors.As(err, &known):
		e.Key, e.Found, e.Allowed = known.Key, known.Found, known.Allowed
	case len(bytes.TrimSpace(b)) == 0:
		e.Found = "nothing"
	case errors.As(err, &kind):
		e.Line, e.Found = line(b, kind.Offset), values[strings.Fields(kind.Value)[0]]
		if _, number, ok := strings.Cut(kind.Value, " "); ok { // one that does not fit
			e.Found = number
		}
		if e.Key = keys(kind.Field); e.Key != "" {
			e.Allowed = kindOf(kind.Type)
		}
	case errors.Is(err, io.ErrUnexpectedEOF), errors.As(err, &syntax) && syntax.Offset >= int64(len(b)):
		e.Line, e.Found = line(b, int64(len(b))), "an end in the middle"
	case errors.As(err, &syntax):
		e.Line, e.Found = line(b, syntax.Offset), "no JSON: "+syntax.Error()
	case isUnknown:
		e.Key, e.Found = strings.Trim(unknown, `"`), "an unknown key"
	}
	return e
}

// Next reads the next value of d, which decodes b, as Error says.
func Next(file string, b []byte, d *json.Decoder, v any, allowed string) error {
	before := d.InputOffset()
	err := d.Decode(v)
	var kind *json.UnmarshalTypeError
	if errors.As(err, &kind) { // it counts from the value on
		kind.Offset += before
	}
	return Error(file, b, err, allowed)
}

// values are what the decoder calls values.
var values = map[string]string{"string": "a text", "number": "a number", "bool": "true or false",
	"array": "a list", "object": "an object"}

// Kind is what a value that a pointer points to is in JSON, in words.
func Kind(pointer any) string { return kindOf(reflect.TypeOf(pointer)) }

func kindOf(t reflect.Type) string {
	switch k := t.Kind(); {
	case k == reflect.Pointer:
		return kindOf(t.Elem())
	case k == reflect.String:
		return "a text"
	case k == reflect.Bool:
		return "true or false"
	case k == reflect.Float32 || k == reflect.Float64:
		return "a number"
	case k >= reflect.Uint && k <= reflect.Uintptr:
		return "a whole number, 0 or more"
	case k >= reflect.Int && k <= reflect.Int64:
		return "a whole number"
	case k == reflect.Slice || k == reflect.Array:
		return "a list"
	}
	return "an object"
}

// keys is a path without the names of structs that others embed, which begin with a
// capital letter as no key does.
func keys(path string) string {
	var out []string
	for _, k := range strings.Split(path, ".") {
		if k != "" && !unicode.IsUpper(rune(k[0])) {
			out = append(out, k)
		}
	}
	return strings.Join(out, ".")
}

func line(b []byte, offset int64) int {
	return 1 + bytes.Count(bytes.TrimRight(b[:min(offset, int64(len(b)))], "\n"), []byte("\n"))
}
