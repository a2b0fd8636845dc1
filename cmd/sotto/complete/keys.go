package complete

import (
	"cmp"
	"errors"
	"os"
	"reflect"
	"slices"
	"strings"

	"sotto/algo"
	"sotto/config"
	"sotto/experiment"
	"sotto/experiment/keys"
	"sotto/experiment/runfile"
	"sotto/model"
)

// choices reads the run file at path, the built-in one for "", with settings.
func choices(path string, set []string) keys.Chosen {
	b, err := experiment.Builtin, error(nil)
	if path != "" {
		b, err = os.ReadFile(path)
	}
	values := map[string]string{}
	if doc, e := runfile.Parse(path, b); err == nil && e == nil {
		for _, s := range set {
			_ = doc.Set("--set", s) // the command refuses it
		}
		values = doc.Values()
	}
	of := func(key, standard string) string {
		return cmp.Or(strings.Trim(values[key], `"'`), standard)
	}
	return keys.Chosen{Graph: of("topology.graph", "ring"), Dataset: of("data.dataset", "glyphs"),
		Partition: of("data.partition", "iid"), Model: of("model.name", "mlp"),
		Algorithm: of("algorithm.name", "dsgd")}
}

// settings completes key=value of a run file: keys, or after the equals sign the values
// of one that has a list of them. set are the settings before.
func settings(path string, set []string, word string) []string {
	f := choices(path, set)
	key, _, valued := strings.Cut(word, "=")
	if !valued {
		var words []string
		for section, all := range keys.Sections(f) {
			for _, params := range all {
				for _, k := range runfile.Keys(params) {
					words = append(words, runfile.Dotted(section, k)+"=")
				}
			}
		}
		return tidy(words)
	}
	values := prefixed(key+"=", keys.Values(key))
	if values == nil {
		values = prefixed(key+"=", probed(f, path, set, key))
	}
	return values
}

// probed are the values that an error about an impossible one allows, and true and false
// of a switch.
func probed(f keys.Chosen, path string, set []string, key string) []string {
	section, name, ok := strings.Cut(key, ".")
	if !ok {
		section, name = "", key
	}
	for _, params := range keys.Sections(f)[section] {
		field := fieldOf(reflect.ValueOf(params).Elem(), name)
		switch {
		case !field.IsValid():
			continue
		case field.Kind() == reflect.Bool:
			return []string{"false", "true"}
		case field.Kind() == reflect.String:
			if values := allowed(tried(path, set, key, impossible)); values != nil {
				return values
			}
			return allowed(constructed(f, section, name))
		case field.Kind() == reflect.Slice && field.Type().Elem().Kind() == reflect.String:
			var values []string
			for _, v := range allowed(tried(path, set, key, "['"+impossible+"']")) {
				values = append(values, "['"+v+"']")
			}
			return values
		}
		return nil
	}
	return nil
}

// impossible is the value of no key.
const impossible = "?"

// tried is what is said of a value of a key, by the run file or else by the built-in one:
// a file that is being written has other faults.
func tried(path string, set []string, key, value string) error {
	_, err := experiment.Read(path, append(slices.Clone(set), key+"="+value))
	if allowed(err) == nil {
		_, err = experiment.Read("", []string{key + "=" + value})
	}
	return err
}

// constructed is what an algorithm or model says of an impossible value.
func constructed(f keys.Chosen, section, name string) error {
	decode := func(params any) error {
		if field := fieldOf(reflect.ValueOf(params).Elem(), name); field.IsValid() {
			field.SetString(impossible)
		}
		return nil
	}
	switch section {
	case "algorithm":
		_, err := algo.New(f.Algorithm, decode)
		return err
	case "model":
		_, err := model.New(f.Model, model.Shape{Height: 8, Width: 8, Channels: 1, Classes: 2}, decode)
		return err
	}
	return nil
}

// fieldOf is the field that a toml tag names, in embedded structs too.
func fieldOf(v reflect.Value, key string) reflect.Value {
	for i := range v.NumField() {
		f := v.Type().Field(i)
		name, _, _ := strings.Cut(f.Tag.Get("toml"), ",")
		if f.Anonymous && name == "" {
			if in := fieldOf(v.Field(i), key); in.IsValid() {
				return in
			}
		} else if name == key {
			return v.Field(i)
		}
	}
	return reflect.Value{}
}

// allowed are the values that an error lists.
func allowed(err error) []string {
	var bad *config.Error
	if !errors.As(err, &bad) || !strings.Contains(bad.Found, impossible) {
		return nil
	}
	if list, ok := strings.CutPrefix(bad.Allowed, "one of "); ok {
		return strings.Split(list, ", ")
	}
	if a, b, ok := strings.Cut(bad.Allowed, " or "); ok && !strings.Contains(a+b, " ") {
		return []string{a, b}
	}
	return nil
}

func tidy(words []string) []string {
	slices.Sort(words)
	return slices.Compact(words)
}

func prefixed(prefix string, words []string) []string {
	var out []string
	for _, w := range words {
		out = append(out, prefix+w)
	}
	return out
}
