package experiment

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"

	"github.com/pelletier/go-toml/v2"

	"sotto/config"
)

const (
	sweepSection = "sweep"
	maxCells     = 1_000_000
)

// Axis is one key of a run file with the values that a sweep gives it.
type Axis struct {
	Key    string
	Values []string // as TOML
}

// Sweep is a run file and the axes along which it is varied. Its cells are all combinations of values, the last
// axis fastest; the seed, where it is an axis, is the last one.
type Sweep struct {
	file string
	base []byte
	set  []string
	Axes []Axis
}

// ReadSweep reads the run file at path, whose section [sweep] names keys and lists of values:
//
//	[sweep]
//	topology.graph = ["ring", "complete"]
//	seed = [1, 2, 3]
//
// set changes keys as for Read; axes are further "key=a,b,c", in place of those of the file with the same key.
func ReadSweep(path string, set, axes []string) (*Sweep, error) {
	b, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	return ParseSweep(path, b, set, axes)
}

// ParseSweep is ReadSweep on bytes; file names them in errors.
func ParseSweep(file string, b []byte, set, axes []string) (*Sweep, error) {
	doc, err := parseDocument(file, b)
	if err != nil {
		return nil, err
	}
	lists := map[string][]string{}
	section, ok := doc.raw[sweepSection].(map[string]any)
	if !ok && doc.raw[sweepSection] != nil {
		return nil, doc.locate("", config.Bad(sweepSection, doc.raw[sweepSection], "a section [sweep]"))
	}
	if err := flatten(lists, "", section); err != nil {
		return nil, doc.locate(sweepSection, err)
	}
	for _, a := range axes {
		key, list, ok := strings.Cut(a, "=")
		if !ok || key == "" || list == "" {
			return nil, &config.Error{File: "--sweep", Found: fmt.Sprintf("%q", a), Allowed: "key=value,value,..."}
		}
		lists[key] = strings.Split(list, ",")
	}
	if len(lists) == 0 {
		return nil, doc.locate("", config.Bad(sweepSection, "nothing to vary", "a section [sweep] with lists of values, or --sweep key=a,b"))
	}
	s := &Sweep{file: file, base: b, set: set}
	keys := slices.SortedFunc(maps.Keys(lists), func(a, b string) int {
		if (a == "seed") != (b == "seed") {
			if a == "seed" {
				return 1
			}
			return -1
		}
		return strings.Compare(a, b)
	})
	cells := 1
	for _, k := range keys {
		s.Axes = append(s.Axes, Axis{k, lists[k]})
		if cells *= len(lists[k]); cells > maxCells {
			return nil, doc.locate(sweepSection, config.Bad(k, fmt.Sprintf("%d cells and more", cells), fmt.Sprintf("at most %d cells", maxCells)))
		}
	}
	_, err = s.Cell(0)
	return s, err
}

// flatten collects the lists of a [sweep] section, in which "a.b = [...]" is a table a with a key b.
func flatten(lists map[string][]string, prefix string, m map[string]any) error {
	for _, key := range slices.Sorted(maps.Keys(m)) {
		full := dotted(prefix, key)
		switch v := m[key].(type) {
		case map[string]any:
			if err := flatten(lists, full, v); err != nil {
				return err
			}
		case []any:
			if len(v) == 0 {
				return config.Bad(full, "an empty list", "one value or more")
			}
			for _, x := range v {
				b, err := toml.Marshal(map[string]any{"v": x})
				if err != nil {
					return config.Bad(full, x, "a TOML value")
				}
				lists[full] = append(lists[full], strings.TrimSpace(strings.TrimPrefix(string(b), "v = ")))
			}
		default:
			return config.Bad(full, v, "a list of values")
		}
	}
	return nil
}

// Cells returns the number of combinations.
func (s *Sweep) Cells() int {
	n := 1
	for _, a := range s.Axes {
		n *= len(a.Values)
	}
	return n
}

// Values returns the value of each axis in cell i.
func (s *Sweep) Values(i int) []string {
	v := make([]string, len(s.Axes))
	for k := len(s.Axes) - 1; k >= 0; k-- {
		n := len(s.Axes[k].Values)
		v[k] = s.Axes[k].Values[i%n]
		i /= n
	}
	return v
}

// Cell returns the run file of cell i.
func (s *Sweep) Cell(i int) (*File, error) {
	doc, err := parseDocument(s.file, s.base)
	if err != nil {
		return nil, err
	}
	delete(doc.raw, sweepSection)
	for _, v := range s.set {
		if err := doc.set("--set", v); err != nil {
			return nil, err
		}
	}
	for k, v := range s.Values(i) {
		if err := doc.set("["+sweepSection+"]", s.Axes[k].Key+"="+v); err != nil {
			return nil, err
		}
	}
	return doc.decode()
}

// describe is what cell i varies, for people.
func (s *Sweep) describe(i int) string {
	var parts []string
	for k, v := range s.Values(i) {
		parts = append(parts, s.Axes[k].Key+"="+strings.Trim(v, `"'`))
	}
	return strings.Join(parts, " ")
}

// digest identifies the sweep: the run file, settings and axes.
func (s *Sweep) digest() string {
	h := sha256.New()
	fmt.Fprintf(h, "%q %q %q", s.base, s.set, s.Axes)
	return hex.EncodeToString(h.Sum(nil))
}
