package tomltext_test

import (
	"strings"
	"testing"

	"sotto/internal/tomltext"
)

type inner struct {
	Colour string `toml:"colour"`
}

type shared struct {
	Epsilon float64 `toml:"epsilon,omitempty"`
}

type file struct {
	Version int      `toml:"version"`
	Parts   []inner  `toml:"part"`
	Names   []string `toml:"names"`
	shared
	Hidden int `toml:"-"`
}

// What cannot be decoded is one error with its line, and an unknown key's says which ones
// there are in its table.
func TestDecode(t *testing.T) {
	for text, want := range map[string]string{
		"version = 1\nepsilon = 2": "",
		"\ufeffversion = 1":        "",
		"verson = 1": "f:1: verson: found an unknown key, allowed: one of version, part, names, epsilon; " +
			"did you mean version?",
		"[[part]]\ncolour = 'a'\n[[part]]\ncolor = 'b'": "f:4: part.color: found an unknown key, allowed: " +
			"one of colour; did you mean colour?",
		"[prat]\ncolour = 'a'":     "did you mean part?",
		"version = 'one' # of two": "f:1: version: found \"one\", allowed: a whole number",
		"epsilon = '8'":            "f:1: epsilon: found \"8\", allowed: a number",
		"names = 3":                "f:1: names: found 3, allowed: a list of texts in quotes",
		"part = 1":                 "f:1: part: found 1, allowed: TOML of the documented keys",
		"names = [\n3]":            "found a TOML integer, allowed: a text in quotes",
		"version = ":               "f:1: found ",
		"version = 1\nversion = 2": "f:2: version: found ",
	} {
		err := tomltext.Decode("f", []byte(text), new(file))
		if (want == "") != (err == nil) || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", text, err, want)
		}
	}
}
