package tomltext

import (
	"bytes"
	"errors"
	"fmt"
	"reflect"
	"regexp"
	"strconv"
	"strings"

	"github.com/pelletier/go-toml/v2"

	"sotto/config"
)

// documented is what errors of a file's form allow.
const documented = "TOML of the documented keys"

// Decode fills the struct that v points to from the TOML file b. It refuses keys that the
// struct does not have. Errors are *config.Error; file names it in them.
func Decode(file string, b []byte, v any) error {
	b, err := Of(file, b)
	if err != nil {
		return err
	}
	d := toml.NewDecoder(bytes.NewReader(b))
	d.DisallowUnknownFields()
	err = d.Decode(v)
	var (
		unknown *toml.StrictMissingError
		wrong   *toml.DecodeError
	)
	switch {
	case errors.As(err, &unknown) && len(unknown.Errors) > 0:
		row, _ := unknown.Errors[0].Position()
		key := unknown.Errors[0].Key()
		return &config.Error{File: file, Line: row, Key: strings.Join(key, "."), Found: "an unknown key",
			Allowed: "one of " + strings.Join(beside(reflect.TypeOf(v), key), ", ")}
	case errors.As(err, &wrong):
		row, _ := wrong.Position()
		e := &config.Error{File: file, Line: row, Key: strings.Join(wrong.Key(), "."),
			Found: strings.TrimPrefix(wrong.Error(), "toml: "), Allowed: documented}
		if m := mismatch.FindStringSubmatch(e.Found); m != nil {
			e.Found, e.Allowed = "a TOML "+m[1], kinds[m[2]]
			if e.Allowed == "" {
				e.Allowed = documented
			}
			if v, ok := valueIn(b, row); ok {
				e.Found = v
			}
		}
		return e
	case err != nil:
		return &config.Error{File: file, Found: err.Error(), Allowed: documented}
	}
	return nil
}

// mismatch is what the decoder says of a value of another type: the value's, and the
// field's.
var mismatch = regexp.MustCompile(`^cannot decode TOML ([a-z ]+) into .*?([^ ]+)$`)

// kinds are the types of fields in words.
var kinds = map[string]string{"int": "a whole number", "float64": "a number", "bool": "true or false",
	"string": "a text in quotes", "[]string": "a list of texts in quotes",
	"[]float64": "a list of numbers", "[]int": "a list of whole numbers"}

// valueIn is the value that a key has in one line of a file, as an error shows it. ok:
// the line is whole.
func valueIn(b []byte, line int) (value string, ok bool) {
	lines := bytes.Split(b, []byte("\n"))
	var one map[string]any
	if line < 1 || line > len(lines) || toml.Unmarshal(lines[line-1], &one) != nil || len(one) != 1 {
		return "", false
	}
	for _, v := range one {
		switch v := v.(type) {
		case string:
			return strconv.Quote(v), true
		case map[string]any:
			return "", false
		default:
			return fmt.Sprint(v), true
		}
	}
	return "", false
}

// beside lists the keys that may stand where an unknown one does: those of the innermost
// struct around it.
func beside(t reflect.Type, key []string) []string {
	for t.Kind() == reflect.Pointer || t.Kind() == reflect.Slice {
		t = t.Elem()
	}
	if t.Kind() != reflect.Struct {
		return nil
	}
	var names []string
	for i := range t.NumField() {
		f := t.Field(i)
		name, _, _ := strings.Cut(f.Tag.Get("toml"), ",")
		switch {
		case f.Anonymous && name == "":
			names = append(names, beside(f.Type, nil)...)
		case name == "" || name == "-":
		case len(key) > 1 && name == key[0]:
			if inner := beside(f.Type, key[1:]); inner != nil {
				return inner
			}
			names = append(names, name)
		default:
			names = append(names, name)
		}
	}
	return names
}
