package tomltext_test

import (
	"testing"

	"sotto/data/schema"
	"sotto/experiment/runfile"
	"sotto/internal/tomltext"
	"sotto/node/roster"
)

func TestMarks(t *testing.T) {
	for text, want := range map[string]string{"a = 1": "a = 1", "\ufeffa = 1": "a = 1", "": "",
		"a = '\ufeff'": "a = '\ufeff'"} {
		if got, err := tomltext.Of("f", []byte(text)); err != nil || string(got) != want {
			t.Errorf("%q: %q, %v", text, got, err)
		}
	}
}

// Every reader names UTF-16, and none stops at a mark.
func TestReaders(t *testing.T) {
	for name, parse := range map[string]func(b []byte) error{
		"run file": func(b []byte) error { _, err := runfile.Parse("f", b); return err },
		"schema":   func(b []byte) error { _, err := schema.Parse("f", b); return err },
		"roster":   func(b []byte) error { _, err := roster.Parse("f", b); return err },
		"policy":   func(b []byte) error { _, err := roster.ParsePolicy("f", b); return err },
	} {
		for _, wide := range []string{"\xff\xfea\x00", "\xfe\xff\x00a"} {
			if err := parse([]byte(wide)); err == nil ||
				err.Error() != "f:1: found text in UTF-16, allowed: UTF-8" {
				t.Errorf("%s: %v", name, err)
			}
		}
		const text = "version = 1\n"
		with, without := parse([]byte("\ufeff"+text)), parse([]byte(text))
		if (with == nil) != (without == nil) || with != nil && with.Error() != without.Error() {
			t.Errorf("%s: with a mark %v, without %v", name, with, without)
		}
	}
}
