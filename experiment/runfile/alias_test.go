package runfile

import (
	"bytes"
	"fmt"
	"os"
	"strings"
	"testing"
)

// written is one line of TOML that uses the first or the second spelling of a, under the
// section's first name.
func (a alias) written(second bool) (key, value string) {
	key, value = a.key, "1"
	switch {
	case a.value != "" && second:
		value = fmt.Sprintf("%q", a.also)
	case a.value != "":
		value = fmt.Sprintf("%q", a.value)
	case second:
		key = a.also
	}
	if a.section == "" {
		return key + ".method", value // a section with a key of its own
	}
	return Dotted(a.section, key), value
}

func encoded(t *testing.T, text string, set ...string) []byte {
	t.Helper()
	d, err := Parse("run.toml", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range set {
		if err := d.Set("--set", s); err != nil {
			t.Fatal(err)
		}
	}
	b, err := d.Encode()
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func TestBothSpellingsAreOneDocument(t *testing.T) {
	for _, a := range aliases {
		key, value := a.written(false)
		also, second := a.written(true)
		want := encoded(t, key+" = "+value)
		section, rest, _ := strings.Cut(also, ".")
		for what, b := range map[string][]byte{
			"dotted":        encoded(t, also+" = "+second),
			"in a section":  encoded(t, "["+section+"]\n"+rest+" = "+second),
			"inline":        encoded(t, section+" = {"+rest+" = "+second+"}"),
			"--set":         encoded(t, "", also+"="+second),
			"--set table":   encoded(t, "", section+"={"+rest+" = "+second+"}"),
			"over a first":  encoded(t, key+" = 7", also+"="+second),
			"under a first": encoded(t, also+" = 7", key+"="+value),
		} {
			if !bytes.Equal(b, want) {
				t.Errorf("%v %s: %q, want %q", a, what, b, want)
			}
		}
	}
	if b := encoded(t, "topology.wakes = 3\nselections.cost = 1"); !bytes.Contains(b, []byte("wakes")) ||
		!bytes.Contains(b, []byte("selections")) {
		t.Errorf("another key was respelled: %q", b)
	}
}

func TestBothSpellingsAtOnce(t *testing.T) {
	for text, want := range map[string]string{
		"[topology]\nwake = \"pair\"\nactivation = \"pair\"": "run.toml:3: topology.activation: " +
			"found a second spelling of wake, allowed: one of the two",
		"privacy = {curious = \"one\", colluding = \"one\"}": "run.toml:1: privacy.colluding: " +
			"found a second spelling of curious, allowed: one of the two",
		"[tuned]\ncost = \"none\"\n[selection]\ncost = \"none\"": "run.toml:3: selection: " +
			"found a second spelling of tuned, allowed: one of the two",
	} {
		if _, err := Parse("run.toml", []byte(text)); err == nil || err.Error() != want {
			t.Errorf("%s: %v, want %s", text, err, want)
		}
	}
	d, err := Parse("run.toml", nil)
	if err != nil {
		t.Fatal(err)
	}
	err = d.Set("--set", "topology={wake=\"pair\",activation=\"pair\"}")
	if err == nil || !strings.HasPrefix(err.Error(), "--set: topology.activation: ") {
		t.Errorf("a table with both: %v", err)
	}
}

// An error in a key stands at its line, whichever spelling that has.
func TestSecondSpellingHasALine(t *testing.T) {
	d, err := Parse("run.toml", []byte("rounds = 1\n[selection]\ncost = 3"))
	if err != nil {
		t.Fatal(err)
	}
	var p struct {
		Cost string `toml:"cost"`
	}
	if err := d.Read("tuned", &p); err == nil || !strings.HasPrefix(err.Error(), "run.toml:3: tuned.cost") {
		t.Error(err)
	}
}

func TestAliasesAreDocumented(t *testing.T) {
	doc, err := os.ReadFile("../../docs/run-file.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, a := range aliases {
		first, second := Dotted(a.section, a.key), a.also
		switch {
		case a.section == "":
			first, second = "["+a.key+"]", "["+a.also+"]"
		case a.value != "":
			first, second = fmt.Sprintf("%s = %q", first, a.value), fmt.Sprintf("%q", a.also)
		}
		if row := fmt.Sprintf("| `%s` | `%s` |", first, second); !bytes.Contains(doc, []byte(row)) {
			t.Errorf("docs/run-file.md has no row %s", row)
		}
	}
}
