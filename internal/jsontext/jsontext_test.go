package jsontext_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"testing"

	"sotto/config"
	"sotto/internal/jsontext"
)

type level int

func (l *level) UnmarshalText(b []byte) error {
	if string(b) != "high" {
		return config.Bad("level", string(b), "high")
	}
	return nil
}

type Inner struct {
	Rounds uint64 `json:"rounds"`
}

type file struct {
	Inner
	Name  string    `json:"name"`
	Parts []float64 `json:"parts"`
	Of    struct {
		Whole int `json:"whole"`
	} `json:"of"`
	Level level `json:"level"`
}

// What cannot be read is one error without a name of the program's types.
func TestError(t *testing.T) {
	for text, want := range map[string]string{
		`{"name": "a", "parts": [1.5], "rounds": 3}`: "",
		``:                              "f: found nothing, allowed: a file",
		"\n":                            "f: found nothing, allowed: a file",
		`["a"]`:                         "f:1: found a list, allowed: a file",
		`"a"`:                           "f:1: found a text, allowed: a file",
		"{\"name\": \"a\",\n\"parts\":": "f:2: found an end in the middle, allowed: a file",
		"{\"name\": \"a\",\n":           "f:1: found an end in the middle, allowed: a file",
		"{\"name\": \"a\",\n}}": "f:2: found no JSON: invalid character '}' looking for " +
			"beginning of object key string, allowed: a file",
		"{\n\"name\": 3}":        "f:2: name: found a number, allowed: a text",
		`{"rounds": "x"}`:        "f:1: rounds: found a text, allowed: a whole number, 0 or more",
		`{"rounds": -1}`:         "f:1: rounds: found -1, allowed: a whole number, 0 or more",
		`{"parts": {}}`:          "f:1: parts: found an object, allowed: a list",
		`{"parts": [true]}`:      "f:1: parts: found true or false, allowed: a number",
		`{"of": {"whole": 1.5}}`: "f:1: of.whole: found 1.5, allowed: a whole number",
		`{"level": "low"}`:       `f: level: found "low", allowed: high`,
		`{"nam": "a"}`:           "f: nam: found an unknown key, allowed: a file",
	} {
		d := json.NewDecoder(bytes.NewReader([]byte(text)))
		d.DisallowUnknownFields()
		got := ""
		if err := jsontext.Error("f", []byte(text), d.Decode(new(file)), "a file"); err != nil {
			got = err.Error()
			var bad *config.Error
			if !errors.As(err, &bad) {
				t.Errorf("%q: %T", text, err)
			}
		}
		if got != want {
			t.Errorf("%q:\ngot  %s\nwant %s", text, got, want)
		}
	}
}

// In a file of several values lines are those of the file.
func TestNext(t *testing.T) {
	for text, want := range map[string]string{
		"{\"name\": \"a\"}\n\n{\"name\": \"b\"}\n": "",
		"{\"name\": \"a\"}\n\n{\"name\": 2}\n":     "f:3: name: found a number, allowed: a text",
		"{\"name\": \"a\"}\n{\n\"rounds\": 1.5}\n": "f:3: rounds: found 1.5, " +
			"allowed: a whole number, 0 or more",
		"{\"name\": \"a\"}\n{\"name\": \"b\"": "f:2: found an end in the middle, allowed: files",
		"{\"name\": \"a\"}\n\n\n{\"name\" \"b\"}\n": "f:4: found no JSON: " +
			"invalid character '\"' after object key, allowed: files",
	} {
		d := json.NewDecoder(bytes.NewReader([]byte(text)))
		var err error
		for err == nil && d.More() {
			err = jsontext.Next("f", []byte(text), d, new(file), "files")
		}
		if err == nil && want != "" || err != nil && err.Error() != want {
			t.Errorf("%q: %v, want %q", text, err, want)
		}
	}
}
