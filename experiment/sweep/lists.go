package sweep

import (
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"sotto/config"
	"sotto/experiment/runfile"
)

// choice is one value on an axis: for people, and as settings.
type choice struct {
	text string
	set  []string // "section.key=value", values as TOML
}

// plain is a value of a key.
func plain(key, value string) choice { return choice{bare(value), []string{key + "=" + value}} }

// together are values of several keys of a section.
func together(section string, table map[string]any) (choice, error) {
	var c choice
	var texts []string
	for _, key := range slices.Sorted(maps.Keys(table)) {
		v, err := runfile.Text(table[key])
		if err != nil {
			return c, config.Bad(runfile.Dotted(section, key), table[key], "a TOML value")
		}
		c.set = append(c.set, runfile.FirstSpelling(runfile.Dotted(section, key))+"="+v)
		texts = append(texts, key+"="+bare(v))
	}
	if c.text = strings.Join(texts, " "); c.text == "" {
		return c, config.Bad(section, "a table without keys", "one key of ["+section+"] or more")
	}
	return c, nil
}

// bare is a string without the quotes of TOML.
func bare(v string) string { return strings.Trim(v, `"'`) }

// twice is a value that a list has a second time, or "".
func twice(list []choice) string {
	had := map[string]bool{}
	for _, v := range list {
		n := number(v.text)
		if had[n] {
			return v.text
		}
		had[n] = true
	}
	return ""
}

// number writes a number in one way, so that equal ones are equal text; other values stay
// as they are. Whole numbers, as seeds, keep all their digits.
func number(v string) string {
	if n, err := strconv.ParseInt(v, 10, 64); err == nil {
		return strconv.FormatInt(n, 10)
	}
	x, err := strconv.ParseFloat(v, 64)
	switch {
	case err != nil:
		return v
	case x == math.Trunc(x) && math.Abs(x) < 1<<53:
		return strconv.FormatInt(int64(x), 10)
	}
	return strconv.FormatFloat(x, 'g', -1, 64)
}

// same compares two values as numbers where both are, and else as text.
func same(v, w string) bool { return number(v) == number(w) }

// overlap is a key that two axes vary, or "".
func overlap(axes []string, lists map[string][]choice) string {
	by := map[string]string{}
	for _, axis := range axes {
		for _, c := range lists[axis] {
			for _, set := range c.set {
				key, _, _ := strings.Cut(set, "=")
				if other, ok := by[key]; ok && other != axis {
					return key
				}
				by[key] = axis
			}
		}
	}
	return ""
}

// product gives every cell every choice, the choices fastest.
func product(cells []Cell, choices []choice) []Cell {
	var out []Cell
	for _, c := range cells {
		for _, v := range choices {
			out = append(out, Cell{
				Values: append(slices.Clone(c.Values), v.text),
				Set:    append(slices.Clone(c.Set), v.set...),
			})
		}
	}
	return out
}

// flatten collects the lists of a [sweep] section, in which "a.b = [...]" is a table a
// with a key b.
func flatten(lists map[string][]choice, prefix string, m map[string]any) error {
	for _, key := range slices.Sorted(maps.Keys(m)) {
		full := runfile.FirstSpelling(runfile.Dotted(prefix, key))
		switch v := m[key].(type) {
		case map[string]any:
			if err := flatten(lists, full, v); err != nil {
				return err
			}
		case []any:
			if len(v) == 0 {
				return config.Bad(full, "an empty list", "one value or more")
			}
			if lists[full] != nil {
				return config.Bad(full, "two lists", "one list, under one spelling of the key")
			}
			for _, x := range v {
				c, err := choiceOf(full, x)
				if err != nil {
					return err
				}
				lists[full] = append(lists[full], c)
			}
		default:
			return config.Bad(full, v, "a list of values")
		}
	}
	return nil
}

// choiceOf is an element of the list of a key, or of a section where it is a table.
func choiceOf(key string, x any) (choice, error) {
	if table, ok := x.(map[string]any); ok && !strings.Contains(key, ".") {
		return together(key, table)
	}
	v, err := runfile.Text(x)
	if err != nil {
		return choice{}, config.Bad(key, x, "a TOML value")
	}
	return plain(key, v), nil
}
