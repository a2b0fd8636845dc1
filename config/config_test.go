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
