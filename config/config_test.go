package config_test

import (
	"fmt"
	"testing"

	"sotto/config"
)

func TestErrorText(t *testing.T) {
	for _, tc := range []struct {
		err  error
		want string
	}{
		{config.Bad("p", 2.5, "0 to 1"), "p: found 2.5, allowed: 0 to 1"},
		{config.Bad("graph", "rings", "ring"), `graph: found "rings", allowed: ring`},
		{config.Bad("graph", "rign", "one of path, ring, star"),
			`graph: found "rign", allowed: one of path, ring, star; did you mean ring?`},
		{config.Bad("graph", "cube", "one of path, ring"), `graph: found "cube", allowed: one of path, ring`},
		{&config.Error{Key: "a.rouns", Found: "an unknown key", Allowed: "[model], rounds"},
			"a.rouns: found an unknown key, allowed: [model], rounds; did you mean rounds?"},
		{&config.Error{Key: "modle", Found: "an unknown key", Allowed: "[model], rounds"},
			"modle: found an unknown key, allowed: [model], rounds; did you mean model?"},
		{&config.Error{File: "a.toml", Found: "nothing"}, "a.toml: found nothing"},
		{&config.Error{File: "a.toml", Line: 3, Key: "k", Found: "1", Allowed: "2"},
			"a.toml:3: k: found 1, allowed: 2"},
	} {
		if got := tc.err.Error(); got != tc.want {
			t.Errorf("got %q, want %q", got, tc.want)
		}
	}
}

func ExampleOneOf() {
	fmt.Println(config.OneOf(map[string]int{"star": 1, "complete": 2, "ring": 3}))
	// Output: one of complete, ring, star
}

func ExampleBad() {
	fmt.Println(config.Bad("step_size", -1, "above 0 and finite"))
	// Output: step_size: found -1, allowed: above 0 and finite
}

func TestNearest(t *testing.T) {
	options := []string{"run", "report", "reproduce", "roster"}
	for word, want := range map[string]string{"rnu": "run", "repotr": "report", "RUN": "run",
		"reprodce": "reproduce", "run": "", "": "", "train": "", "r": "", "rooster": "roster", "x": ""} {
		if got := config.Nearest(word, options); got != want {
			t.Errorf("%q: %q, want %q", word, got, want)
		}
	}
}

func FuzzNearest(f *testing.F) {
	f.Add("rnu", "run")
	f.Fuzz(func(t *testing.T, word, option string) {
		if got := config.Nearest(word, []string{option}); got != "" && (got != option || got == word) {
			t.Errorf("%q, %q: %q", word, option, got)
		}
	})
}

func ExampleCount() {
	fmt.Println(config.Count(1, "link"), config.Count(0, "link"), config.Count(12, "link"))
	// Output: 1 link 0 links 12 links
}
