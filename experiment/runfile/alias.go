package runfile

import (
	"cmp"
	"strings"

	"sotto/config"
)

// alias is a second spelling that a run file may use. What is in force is always written
// with the first one, because digests of configurations depend on it.
type alias struct {
	section string // "" for the root
	key     string
	value   string // "" where it is the key, or the name of the section, that has two spellings
	also    string // the second spelling
}

// aliases are all second spellings. That of a section comes before those of its keys.
var aliases = []alias{
	{"", "tuned", "", "selection"},
	{"tuned", "cost", "not included", "uncounted"},
	{"topology", "wake", "", "activation"},
	{"topology", "wake", "pair", "pairwise"},
	{"topology", "vectors", "hidden", "ground_truth"},
	{"data", "allow_altered", "", "allow_modified"},
	{"algorithm", "own_state", "", "private_iterate"},
	{"privacy", "min_records", "", "public_min_records"},
	{"privacy", "curious", "", "colluding"},
	{"replication", "sampling", "one", "single-record"},
	{"replication", "one_record", "", "single_record"},
	{"evaluate", "estimation", "", "parameter_rmse"},
}

// FirstSpelling is a key with dots as what is in force names it.
func FirstSpelling(key string) string {
	for _, a := range aliases {
		if a.value != "" {
			continue
		}
		also, first := Dotted(a.section, a.also), Dotted(a.section, a.key)
		if rest, ok := strings.CutPrefix(key, also); ok && (rest == "" || a.section == "" && rest[0] == '.') {
			key = first + rest
		}
	}
	return key
}

// respell brings the document to first spellings; a key that has both is refused.
func (d *Document) respell() *config.Error {
	for _, a := range aliases {
		table := d.raw
		if a.section != "" {
			var ok bool
			if table, ok = d.raw[a.section].(map[string]any); !ok {
				continue // Section refuses what is no table
			}
		}
		if a.value != "" {
			if table[a.key] == a.also {
				table[a.key] = a.value
			}
			continue
		}
		value, second := table[a.also]
		if !second {
			continue
		}
		if _, both := table[a.key]; both {
			key := Dotted(a.section, a.also)
			return &config.Error{
				File:    d.file,
				Line:    cmp.Or(d.also[key], d.line[a.section]),
				Key:     key,
				Found:   "a second spelling of " + a.key,
				Allowed: "one of the two",
			}
		}
		table[a.key] = value
		delete(table, a.also)
	}
	return nil
}
