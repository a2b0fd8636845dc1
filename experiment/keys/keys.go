package keys

import (
	_ "embed"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/pelletier/go-toml/v2"

	"sotto/config"
	"sotto/experiment/runfile"
)

// A Key is one that a run file may have, or an owner's policy.
type Key struct {
	Section string   `json:"section"`           // "": before all sections
	Name    string   `json:"key"`               // without the section
	Kind    string   `json:"kind"`              // what its values are, in words
	Default string   `json:"default,omitempty"` // as TOML; "": none, or Text has it
	Values  []string `json:"values,omitempty"`  // names that it takes one of
	// With is what the section names for the key to be there, such as "graph": ["er"];
	// empty: all runs have it.
	With map[string][]string `json:"with,omitempty"`
	Text string              `json:"text"` // what it means, with its range and default
}

// Dotted is the key with its section.
func (k *Key) Dotted() string { return runfile.Dotted(k.Section, k.Name) }

// List has every key, section by section, in the order of a run file: those of runs, and
// of further sections.
func List(more ...Section) []Key {
	var all []Key
	for _, s := range append(common(), more...) {
		known := map[string]bool{}
		for _, p := range s.Params {
			for _, k := range of(s.Name, p) {
				known[k.Name] = true
				all = append(all, k)
			}
		}
		for _, r := range registries {
			if r.section == s.Name {
				all = append(all, r.list(known)...)
			}
		}
	}
	return all
}

// list has the keys that one name of the registry or several have beside those of all
// runs. Names whose keys are alike stand together.
func (r *registry) list(known map[string]bool) (all []Key) {
	var groups []Key
	for _, name := range registered(runfile.Dotted(r.section, r.key)) {
		params := r.params(name)
		if params == nil {
			continue
		}
		for _, k := range of(r.section, params) {
			if known[k.Name] && k.Text == "" {
				continue
			}
			same := slices.IndexFunc(groups, func(g Key) bool {
				return g.Name == k.Name && g.Kind == k.Kind && g.Default == k.Default && g.Text == k.Text
			})
			if same < 0 {
				k.With = map[string][]string{r.key: {name}}
				groups = append(groups, k)
				continue
			}
			with := groups[same].With
			with[r.key] = append(with[r.key], name)
		}
	}
	return groups
}

// of has the keys of one struct, which params points to, and of those that it embeds.
func of(section string, params any) (all []Key) {
	var add func(v reflect.Value)
	add = func(v reflect.Value) {
		for i := range v.NumField() {
			f := v.Type().Field(i)
			name, _, _ := strings.Cut(f.Tag.Get("toml"), ",")
			switch {
			case f.Anonymous && name == "":
				first := len(all)
				add(v.Field(i))
				// what is said where a struct is embedded is of its key of that name
				if text := comments[place(v.Type())+"."+f.Name]; text != "" {
					for k := range all[first:] {
						if all[first+k].Name == strings.ToLower(f.Name) {
							all[first+k].Text = text
						}
					}
				}
			case name == "" || name == "-" || tables(f.Type):
			default:
				k := Key{Section: section, Name: name, Kind: runfile.Kind(params, name),
					Text: comments[place(v.Type())+"."+name]}
				if !strings.Contains(k.Text, "efault") && !v.Field(i).IsZero() {
					k.Default = shown(v.Field(i).Interface())
				}
				k.Values = registered(k.Dotted())
				all = append(all, k)
			}
		}
	}
	add(reflect.ValueOf(params).Elem())
	return all
}

// tables reports whether a key is a list of tables, which are sections of their own.
func tables(t reflect.Type) bool {
	return t.Kind() == reflect.Slice && t.Elem().Kind() == reflect.Struct
}

// shown is a value as a run file has it.
func shown(value any) string {
	if s, ok := value.(string); ok {
		return strconv.Quote(s)
	}
	b, err := toml.Marshal(map[string]any{"v": value})
	if err != nil {
		return fmt.Sprint(value)
	}
	return strings.TrimSpace(strings.TrimPrefix(string(b), "v = "))
}

// Find has those of all keys that a word is about: a section with those below it, a key
// with its section, or a key alone. Second spellings count. An unknown word is a
// config.Error.
func Find(all []Key, word string) ([]Key, error) {
	word = strings.Trim(word, "[] ")
	asked := runfile.FirstSpelling(word)
	var found []Key
	for _, k := range all {
		if k.Dotted() == asked || k.Name == asked ||
			asked != "" && (k.Section == asked || strings.HasPrefix(k.Section, asked+".")) {
			found = append(found, k)
		}
	}
	if found != nil {
		return found, nil
	}
	var options []string
	for _, k := range all {
		options = append(options, k.Section, k.Dotted(), k.Name)
	}
	allowed := "a section or key: sotto explain lists them"
	if near := config.Nearest(word, options); near != "" {
		allowed += "; did you mean " + near + "?"
	}
	return nil, config.Bad("KEY", word, allowed)
}

// commentText has a line for each field of a struct that has a key of a file: package,
// type and key, and after a tab its comment, quoted. It is made from the sources:
//
//	go test ./experiment/keys -update
//
//go:embed comments.txt
var commentText string

var comments = parsed(commentText)

// parsed has the comments by package, type and key.
func parsed(text string) map[string]string {
	all := map[string]string{}
	for line := range strings.Lines(text) {
		key, quoted, _ := strings.Cut(strings.TrimSuffix(line, "\n"), "\t")
		text, err := strconv.Unquote(quoted)
		if err != nil {
			panic("experiment/keys: comments.txt: " + err.Error()) // it is part of the program
		}
		all[key] = text
	}
	return all
}

// place is that of a type: its package's path within the module, and its name.
func place(t reflect.Type) string {
	module := strings.TrimSuffix(reflect.TypeFor[Key]().PkgPath(), "experiment/keys")
	return strings.TrimPrefix(t.PkgPath(), module) + "." + t.Name()
}
