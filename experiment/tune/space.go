package tune

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"sotto/config"
	"sotto/experiment/runfile"
)

// dimension is one key of a search space and the values it may take.
type dimension struct {
	key    string
	kind   string   // uniform, log, integer or choice
	lo, hi float64  // of a range
	values []string // of a choice: TOML
}

// spaceKinds are the tables that a key of [tune.space] may hold: one of these keys, and a
// list.
var spaceKinds = map[string]string{
	"uniform": "[low, high] with low < high",
	"log":     "[low, high] with 0 < low < high",
	"integer": "[low, high], whole numbers with low < high",
	"choice":  "two values or more",
}

// source gives the random bits of a search: streams of package rng.
type source interface{ Uint64() uint64 }

func unit(r source) float64 { return float64(r.Uint64()>>11) * 0x1p-53 }

// draw returns a value as TOML text, numbers rounded to four significant digits.
func (d *dimension) draw(r source) string {
	u := unit(r)
	switch d.kind {
	case "uniform":
		return d.number(d.lo + u*(d.hi-d.lo))
	case "log":
		return d.number(math.Exp((1-u)*math.Log(d.lo) + u*math.Log(d.hi)))
	case "integer":
		return d.number(d.lo + math.Floor(u*(d.hi-d.lo+1)))
	}
	return d.values[min(int(u*float64(len(d.values))), len(d.values)-1)]
}

// number writes x, brought into the range.
func (d *dimension) number(x float64) string {
	if d.kind == "integer" {
		return strconv.FormatFloat(min(max(math.Round(x), d.lo), d.hi), 'f', 0, 64)
	}
	rounded, _ := strconv.ParseFloat(strconv.FormatFloat(x, 'g', 4, 64), 64)
	return strconv.FormatFloat(min(max(rounded, d.lo), d.hi), 'g', -1, 64)
}

// perturb returns a neighbour of value, as population-based training explores: a number
// times 1.2 or 0.8, kept in the range, or the next value of a choice on either side,
// where there is one.
func (d *dimension) perturb(value string, r source) string {
	up := r.Uint64()>>63 == 1
	if d.kind == "choice" {
		at := slices.Index(d.values, value)
		if up {
			at++
		} else {
			at--
		}
		return d.values[min(max(at, 0), len(d.values)-1)]
	}
	x, _ := strconv.ParseFloat(value, 64) // number wrote it
	if up {
		return d.number(1.2 * x)
	}
	return d.number(.8 * x)
}

// ends are values that show what the key can do to a run: the ends of a range, all values
// of a choice.
func (d *dimension) ends() []string {
	if d.kind == "choice" {
		return d.values
	}
	return []string{d.number(d.lo), d.number(d.hi)}
}

// dimensions are a search space: values of it are in their order.
type dimensions []dimension

// candidate draws values of all keys.
func (s dimensions) candidate(r source) []string {
	values := make([]string, len(s))
	for i := range s {
		values[i] = s[i].draw(r)
	}
	return values
}

// explore redraws each value with the given chance, and else perturbs it.
func (s dimensions) explore(values []string, resample float64, r source) []string {
	values = slices.Clone(values)
	for i := range s {
		if unit(r) < resample {
			values[i] = s[i].draw(r)
		} else {
			values[i] = s[i].perturb(values[i], r)
		}
	}
	return values
}

// settings are "key=value" for values.
func (s dimensions) settings(values []string) []string {
	var list []string
	for i, v := range values {
		list = append(list, s[i].key+"="+v)
	}
	return list
}

// describe names values, for people.
func (s dimensions) describe(values []string) string {
	var parts []string
	for i, v := range values {
		parts = append(parts, s[i].key+"="+strings.Trim(v, `"'`))
	}
	return strings.Join(parts, " ")
}

// readSpace reads a [tune.space] table, in which "a.b = {...}" is a table a with a key b.
func readSpace(into map[string]dimension, prefix string, table map[string]any) error {
	for _, key := range slices.Sorted(maps.Keys(table)) {
		full := runfile.FirstSpelling(runfile.Dotted(prefix, key))
		sub, ok := table[key].(map[string]any)
		if !ok {
			return config.Bad(full, table[key], "a table with one of "+kindList())
		}
		kind := ""
		for k := range sub {
			if _, list := sub[k].([]any); list && spaceKinds[k] != "" {
				kind = k
			}
		}
		if kind == "" && len(sub) > 0 && allTables(sub) {
			if err := readSpace(into, full, sub); err != nil {
				return err
			}
			continue
		}
		if kind == "" || len(sub) != 1 {
			return config.Bad(full, strings.Join(slices.Sorted(maps.Keys(sub)), ", "),
				"a table with one of "+kindList())
		}
		texts, err := tomlTexts(sub[kind].([]any))
		if err != nil {
			return config.Bad(full, sub[kind], "TOML values")
		}
		d, err := newDimension(full, kind, texts)
		if err != nil {
			return err
		}
		if _, two := into[full]; two {
			return config.Bad(full, "two tables", "one table, under one spelling of the key")
		}
		into[full] = d
	}
	return nil
}

func allTables(m map[string]any) bool {
	for _, v := range m {
		if _, ok := v.(map[string]any); !ok {
			return false
		}
	}
	return true
}

func kindList() string {
	var kinds []string
	for _, k := range slices.Sorted(maps.Keys(spaceKinds)) {
		kinds = append(kinds, k+" = "+spaceKinds[k])
	}
	return strings.Join(kinds, "; ")
}

// tomlTexts writes values as TOML.
func tomlTexts(values []any) (texts []string, err error) {
	for _, x := range values {
		text, err := runfile.Text(x)
		if err != nil {
			return nil, err
		}
		texts = append(texts, text)
	}
	return texts, nil
}

// newDimension makes a dimension from TOML texts: the two ends of a range, or the values
// of a choice.
func newDimension(key, kind string, texts []string) (dimension, error) {
	d := dimension{key: key, kind: kind}
	bad := func() (dimension, error) {
		return d, config.Bad(key, fmt.Sprintf("%s = [%s]", kind, strings.Join(texts, ", ")),
			kind+" = "+spaceKinds[kind])
	}
	if kind == "choice" {
		for i, v := range texts {
			if slices.Contains(texts[:i], v) {
				return d, config.Bad(key, fmt.Sprintf("choice = [%s]", strings.Join(texts, ", ")),
					"values that differ")
			}
		}
		if d.values = texts; len(texts) < 2 {
			return bad()
		}
		return d, nil
	}
	if len(texts) != 2 {
		return bad()
	}
	var errs [2]error
	d.lo, errs[0] = strconv.ParseFloat(texts[0], 64)
	d.hi, errs[1] = strconv.ParseFloat(texts[1], 64)
	switch {
	case errs[0] != nil || errs[1] != nil || !(d.lo < d.hi) || math.IsInf(d.lo, 0) ||
		math.IsInf(d.hi-d.lo, 0),
		kind == "log" && !(d.lo > 0),
		kind == "integer" && (d.lo != math.Floor(d.lo) || d.hi != math.Floor(d.hi) ||
			math.Abs(d.lo) > 1<<52 || math.Abs(d.hi) > 1<<52):
		return bad()
	}
	return d, nil
}

// parseSpaceFlag reads "key=log:0.01:1", "key=uniform:0:1", "key=integer:1:9" or
// "key=a,b,c".
func parseSpaceFlag(flag string) (dimension, error) {
	key, text, ok := strings.Cut(flag, "=")
	if !ok || key == "" || text == "" {
		return dimension{}, &config.Error{File: "--tune", Found: fmt.Sprintf("%q", flag),
			Allowed: "key=log:low:high, key=uniform:low:high, key=integer:low:high or key=value,value,..."}
	}
	key = runfile.FirstSpelling(key)
	kind, ends, ok := strings.Cut(text, ":")
	if _, known := spaceKinds[kind]; ok && known && kind != "choice" {
		return newDimension(key, kind, strings.Split(ends, ":"))
	}
	return newDimension(key, "choice", strings.Split(text, ","))
}
