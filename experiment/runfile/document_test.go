package runfile_test

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"sotto/config"
	"sotto/experiment/runfile"
)

const file = `name = "ring"
rounds = 5

[model]
hidden = [8, 4]
size = 3
[model.init]
law = "normal"
`

type root struct {
	Name   string `toml:"name"`
	Rounds uint64 `toml:"rounds"`
}

// least is what a key that takes no 0 is decoded into.
type least struct {
	Rounds uint64 `toml:"rounds" allowed:"1 to 99"`
}

type size struct {
	Size float64 `toml:"size"`
}

type shape struct {
	size                  // shared with others, without a name of its own
	Hidden []int          `toml:"hidden"`
	Init   map[string]any `toml:"init"`
	Bias   bool           `toml:"bias,omitempty"`
	Secret int            `toml:"-"`
}

func parse(t *testing.T, text string, set ...string) *runfile.Document {
	t.Helper()
	d, err := runfile.Parse("run.toml", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range set {
		if err := d.Set("--set", s); err != nil {
			t.Fatal(err)
		}
	}
	return d
}

// read decodes what the file above holds.
func read(d *runfile.Document) (r root, s shape, err error) {
	s.Bias = true
	err = errors.Join(d.Read("", &r), d.Read("model", &s))
	return r, s, err
}

func TestSectionsAreDecodedOverDefaults(t *testing.T) {
	d := parse(t, file, "model.size=2.5", "name = dense", "extra.deep=1")
	r, s, err := read(d)
	if err != nil {
		t.Fatal(err)
	}
	if r != (root{"dense", 5}) || s.Size != 2.5 || !slices.Equal(s.Hidden, []int{8, 4}) || !s.Bias {
		t.Errorf("decoded %+v and %+v", r, s)
	}
	if !d.Has("extra") || d.Has("deep") || d.File() != "run.toml" {
		t.Errorf("Has is wrong, or the name: %q", d.File())
	}
	want := map[string]string{"name": "dense", "rounds": "5", "model.hidden": "[8 4]", "model.size": "2.5",
		"model.init.law": "normal", "extra.deep": "1"}
	if got := d.Values(); !maps.Equal(got, want) {
		t.Errorf("values %v, want %v", got, want)
	}
	if got := runfile.Keys(&shape{}); !slices.Equal(got, []string{"size", "hidden", "init", "bias"}) {
		t.Errorf("keys %q", got)
	}
}

// The effective file has every default, in sorted order, and is read back to itself.
func TestEffectiveIsCompleteAndStable(t *testing.T) {
	d := parse(t, "rounds = 7\n")
	if _, _, err := read(d); err != nil {
		t.Fatal(err)
	}
	b, err := d.Effective()
	if err != nil {
		t.Fatal(err)
	}
	const want = "name = ''\nrounds = 7\n\n[model]\nbias = true\nhidden = []\nsize = 0.0\n"
	if string(b) != want {
		t.Errorf("effective is\n%s\nwant\n%s", b, want)
	}
	again := parse(t, string(b))
	if _, _, err := read(again); err != nil {
		t.Fatal(err)
	}
	if c, err := again.Effective(); err != nil || string(c) != want {
		t.Errorf("read back: %v\n%s", err, c)
	}
}

func TestErrorsSayWhereAndWhat(t *testing.T) {
	const whole = "a whole number, 0 to 9223372036854775807"
	all := func(d *runfile.Document) error {
		_, _, err := read(d)
		if err == nil {
			err = d.Finish()
		}
		return err
	}
	set := func(s string) func(*runfile.Document) error {
		return func(d *runfile.Document) error {
			if err := d.Set("--set", s); err != nil {
				return err
			}
			return all(d)
		}
	}
	for _, tc := range []struct {
		text string
		do   func(*runfile.Document) error
		want string
	}{
		{file, all, ""},
		{file + "[other]\n", all, "run.toml:9: other: found an unknown key, allowed: [model], name, rounds"},
		{file, set("rounds=x"), `--set: rounds: found "x", allowed: ` + whole},
		{file, set("model.size=[1]"), `--set: model.size: found [1], allowed: a number`},
		{file, set("model.bias=2"), "--set: model.bias: found 2, allowed: true or false"},
		{file, set("model.hidden=2"), "--set: model.hidden: found 2, allowed: a list of whole numbers"},
		{file, set(`model.hidden=["a"]`),
			`--set: model.hidden: found ["a"], allowed: a list of whole numbers`},
		{file, set("rounds=3.0"), "--set: rounds: found 3.0, allowed: " + whole},
		{file, set("name=2"), "--set: name: found 2, allowed: a string"},
		{file, set("model=2"), "--set: model: found 2, allowed: a section [model]"},
		{file, set("name.first=2"), "--set: name: found a value, allowed: a section"},
		{file, set("=2"), `--set: found "=2", allowed: key=value or section.key=value`},
		{file, set("a."), `--set: found "a.", allowed: key=value or section.key=value`},
		{file, set("a.=2"), `--set: found "a.=2", allowed: key=value or section.key=value`},
		{strings.Replace(file, "size = 3", "\nsizes = 3", 1), all,
			"run.toml:7: model.sizes: found an unknown key, allowed: bias, hidden, init, size; " +
				"did you mean size?"},
		{"round = 1\n" + file, all,
			"run.toml:1: round: found an unknown key, allowed: [model], name, rounds; did you mean rounds?"},
		{file, func(d *runfile.Document) error {
			return d.Locate("model", fmt.Errorf("no: %w", config.Bad("size", 3, "1")))
		}, "run.toml:6: model.size: found 3, allowed: 1"},
		{file, func(d *runfile.Document) error { return d.Locate("model", config.Bad("law", 3, "1")) },
			"run.toml:4: model.law: found 3, allowed: 1"},
		{file, func(d *runfile.Document) error {
			return d.Locate("model", &config.Error{File: "other", Key: "k", Found: "1"})
		}, "other: k: found 1"},
		{"rounds = -1", func(d *runfile.Document) error { return d.Read("", new(least)) },
			"run.toml:1: rounds: found -1, allowed: a whole number, 1 to 99"},
		{"rounds = 0", func(d *runfile.Document) error {
			n := new(least)
			err := d.Read("", n)
			n.Rounds = 7 // the program's own
			return errors.Join(err, d.RefuseReplaced())
		}, "run.toml:1: rounds: found 0, allowed: 1 to 99; 7 is in force without the key"},
		{file, func(d *runfile.Document) error { return d.Read("model", shape{}) },
			"parameters of section [model] are a runfile_test.shape, not a pointer to a struct"},
	} {
		d := parse(t, tc.text)
		got := ""
		if err := tc.do(d); err != nil {
			got = err.Error()
		}
		if got != tc.want {
			t.Errorf("got  %s\nwant %s", got, tc.want)
		}
	}
	for text, want := range map[string]string{
		"a = ":    "run.toml:1: found no valid TOML: ",
		"\n\na b": "run.toml:3: found no valid TOML: ",
	} {
		if _, err := runfile.Parse("run.toml", []byte(text)); err == nil ||
			!strings.HasPrefix(err.Error(), want) {
			t.Errorf("%q: %v, want %s", text, err, want)
		}
	}
}

// What stands behind the value of a setting is not passed over.
func TestSetTakesOneValue(t *testing.T) {
	for _, set := range []string{"rounds=3\nname=\"b\"", "rounds=3\n[model]", "rounds=3\nmodel.size=4"} {
		d := parse(t, file, set)
		if _, _, err := read(d); err == nil || !strings.HasPrefix(err.Error(), "--set: rounds: found ") {
			t.Errorf("%q: %v", set, err)
		}
	}
}

// A key that is read by other means is known, and a document that was changed is written
// as it stands.
func TestKnownKeysAndChanges(t *testing.T) {
	d := parse(t, "[tune]\nspace = 1\n[model]\nsize = 1\n")
	s, err := d.Section("tune")
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Decode(&struct{}{}); err != nil {
		t.Fatal(err)
	}
	if err := d.Finish(); err == nil {
		t.Error("an unknown key was let through")
	}
	s.Know("space")
	if err := d.Finish(); err != nil {
		t.Error(err)
	}
	if b, err := s.Encode(); err != nil || string(b) != "space = 1\n" {
		t.Errorf("%q, %v", b, err)
	}
	d.Drop("tune")
	d.Put("found", map[string]any{"score": .5})
	if b, err := d.Encode(); err != nil || string(b) != "[found]\nscore = 0.5\n\n[model]\nsize = 1\n" {
		t.Errorf("%q, %v", b, err)
	}
}

func FuzzParse(f *testing.F) {
	f.Add(file, "model.size=2")
	f.Fuzz(func(t *testing.T, text, set string) {
		d, err := runfile.Parse("run.toml", []byte(text))
		if err != nil {
			return
		}
		d.Set("--set", set)
		if _, _, err := read(d); err == nil {
			d.Finish()
			if _, err := d.Effective(); err != nil {
				t.Error(err)
			}
		}
	})
}

func ExampleDocument() {
	d, err := runfile.Parse("run.toml", []byte("[model]\nsize = 3\nsise = 4\n"))
	if err != nil {
		panic(err)
	}
	var m size
	fmt.Println(d.Read("model", &m), m.Size)
	fmt.Println(d.Finish())
	// Output:
	// <nil> 3
	// run.toml:3: model.sise: found an unknown key, allowed: size; did you mean size?
}

// A zero that was given is in force, or refused: never taken for a key that is not there.
func TestZerosAreUsedOrRefused(t *testing.T) {
	const refused = "run.toml:2: model.size: found 0, allowed: above 0; 3 is in force without the key"
	for text, want := range map[string]string{
		"[model]\nsize = 0\n":          refused,
		"[model]\nsize = 0.0\n":        refused,
		"[model]\nshare = 0\n":         "", // a pointer tells it from no key
		"[model]\nhidden = [1]\n":      "",
		"[model]\nsize = 2\n":          "",
		"name = ''\nrounds = 0\n":      "",
		"[model]\nbias = false\n":      "",
		"[model.init]\nx = [0, ' ']\n": "",
	} {
		d := parse(t, text)
		if _, _, err := read(d); err != nil {
			t.Fatal(err)
		}
		m := &struct {
			size
			Share *int `toml:"share"`
		}{}
		if err := d.Read("model", m); err != nil {
			t.Fatal(err)
		}
		if m.Size == 0 {
			m.Size = 3 // what a package does with its default
		}
		got := ""
		if err := d.RefuseReplaced(); err != nil {
			got = err.Error()
		}
		if got != want {
			t.Errorf("%q:\ngot  %s\nwant %s", text, got, want)
		}
		if d.ZeroMeant("model.size"); d.RefuseReplaced() != nil {
			t.Errorf("%q: a zero with a meaning of its own is refused", text)
		}
	}
	d := parse(t, file)
	if v, ok := d.Given("model.init.law"); !ok || v != "normal" {
		t.Errorf("model.init.law is %v, %v", v, ok)
	}
	for _, key := range []string{"model.init.none", "none.x", "name.x"} {
		if v, ok := d.Given(key); ok {
			t.Errorf("%s is %v", key, v)
		}
	}
}

func TestNumbersAsPeopleWriteThem(t *testing.T) {
	for text, want := range map[string]string{
		".5": "0.5", "-.5": "-0.5", "+.25": "0.25", "5.": "5", "1_000": "1000", "1_000.5": "1000.5",
		"1e3": "1000", ".5e1": "5", "5.e-1": "0.5", "[.1, .2,3.]": "[0.1 0.2 3]", " .5 ": "0.5",
		// and what is no number
		".": ".", "..5": "..5", ".5/x": ".5/x", "v.5": "v.5", "1.2.3": "1.2.3", ".e5": ".e5",
	} {
		d := parse(t, "", "a.b="+text)
		if got := d.Values()["a.b"]; got != want {
			t.Errorf("%q is %q, want %q", text, got, want)
		}
	}
}

// A misspelled section is named before the key that it should have held is missed.
func TestUnknownSectionsAreNamed(t *testing.T) {
	d, err := runfile.Parse("run.toml", []byte("name = \"a\"\n[model]\n[zoo]\n[privcy]\n"))
	if err != nil {
		t.Fatal(err)
	}
	const want = "run.toml:4: privcy: found an unknown key, allowed: [model], [privacy], [zoo]; " +
		"did you mean privacy?"
	if err := d.RefuseSections("zoo", "privacy", "model"); err == nil || err.Error() != want {
		t.Errorf("%v, want %s", err, want)
	}
	if err := d.RefuseSections("zoo", "privcy", "model", "other"); err != nil {
		t.Error(err)
	}
}
