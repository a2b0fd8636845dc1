// Package sweep runs an experiment in many cells, each with some keys of its own, and
// keeps one row of each.
package sweep

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"

	"sotto/config"
	"sotto/experiment"
	"sotto/experiment/runfile"
)

const maxCells = 1_000_000

// Cell is one run of a sweep: its place on each axis, for people, and the settings that
// make it so, "section.key=value" with TOML values.
type Cell struct {
	Values []string
	Set    []string
}

// Sweep is a run file and the cells that vary it.
type Sweep struct {
	file  string
	base  []byte
	set   []string
	Axes  []string // names of what Values hold
	cells []Cell
	flags map[string]bool // keys that the command line varies
	more  asked           // what their rows have beside what all have
}

// New returns a sweep over the given cells, each with one value for every axis. file
// names base in errors.
func New(file string, base []byte, axes []string, cells []Cell) (*Sweep, error) {
	s := &Sweep{file: file, base: base, Axes: axes, cells: cells}
	if len(cells) == 0 || len(cells) > maxCells {
		return nil, config.Bad("cells", len(cells), fmt.Sprintf("1 to %d", maxCells))
	}
	for i, c := range cells {
		if len(c.Values) != len(axes) {
			return nil, config.Bad("cells", fmt.Sprintf("cell %d with %d values", i, len(c.Values)),
				fmt.Sprintf("%d values", len(axes)))
		}
	}
	return s, s.check()
}

// check decodes the first cell.
func (s *Sweep) check() error {
	f, err := s.Cell(0)
	if err == nil {
		s.more.rmse = f.Evaluate.RMSE
	}
	return err
}

// Read reads the run file at path, whose section [sweep] names keys and lists of
// values:
//
//	[sweep]
//	topology.graph = ["ring", "complete"]
//	seed = [1, 2, 3]
//
// A section stands for several of its keys at once, privacy = [{mechanism = "none"},
// {target_epsilon = 1.0}]. Cells are all combinations of values, keys in alphabetical
// order with the seed and the fold last, the last one fastest. A file with [evaluate]
// folds and no fold is run for every fold. set changes keys as for Read; axes are further
// "key=a,b,c", in place of those of the file with the same key.
func Read(path string, set, axes []string) (*Sweep, error) {
	b, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	return Parse(path, b, set, axes)
}

// Parse is Read on bytes; file names them in errors.
func Parse(file string, b []byte, set, axes []string) (*Sweep, error) {
	doc, err := runfile.Parse(file, b)
	if err != nil {
		return nil, err
	}
	lists, flags := map[string][]choice{}, map[string]bool{}
	section, ok := doc.Raw(experiment.SweepSection).(map[string]any)
	if !ok && doc.Raw(experiment.SweepSection) != nil {
		return nil, doc.Locate("", config.Bad(experiment.SweepSection, doc.Raw(experiment.SweepSection),
			"a section [sweep]"))
	}
	if err := flatten(lists, "", section); err != nil {
		return nil, doc.Locate(experiment.SweepSection, err)
	}
	for _, a := range axes {
		key, list, ok := strings.Cut(a, "=")
		if !ok || key == "" || list == "" {
			return nil, &config.Error{File: "--sweep", Found: fmt.Sprintf("%q", a),
				Allowed: "key=value,value,..."}
		}
		key = runfile.FirstSpelling(key)
		lists[key], flags[key] = nil, true
		for v := range strings.SplitSeq(list, ",") {
			lists[key] = append(lists[key], plain(key, v))
		}
	}
	if err := addFolds(file, b, set, lists); err != nil {
		return nil, err
	}
	if len(lists) == 0 {
		return nil, doc.Locate("", config.Bad(experiment.SweepSection, "nothing to vary",
			"a section [sweep] with lists of values, --sweep key=a,b, or evaluate.folds"))
	}
	keys := slices.SortedFunc(maps.Keys(lists), func(a, b string) int {
		return cmp.Or(cmp.Compare(slices.Index(lastAxes, a), slices.Index(lastAxes, b)),
			strings.Compare(a, b))
	})
	if k := overlap(keys, lists); k != "" {
		return nil, doc.Locate(experiment.SweepSection, config.Bad(k, "two lists", "each key in one list"))
	}
	bad := func(key, found, allowed string) error {
		if flags[key] {
			return &config.Error{File: "--sweep", Key: key, Found: fmt.Sprintf("%q", found), Allowed: allowed}
		}
		return doc.Locate(experiment.SweepSection, config.Bad(key, found, allowed))
	}
	s := &Sweep{file: file, base: b, set: set, Axes: keys, cells: []Cell{{}}, flags: flags,
		more: asked{data: true}}
	for _, k := range keys {
		if len(s.cells)*len(lists[k]) > maxCells {
			return nil, bad(k, fmt.Sprintf("%d values after %d cells", len(lists[k]), len(s.cells)),
				fmt.Sprintf("at most %d cells", maxCells))
		}
		if v := twice(lists[k]); v != "" {
			return nil, bad(k, v+" twice", "each value once")
		}
		s.cells = product(s.cells, lists[k])
	}
	return s, s.check()
}

// Cells returns the number of cells.
func (s *Sweep) Cells() int { return len(s.cells) }

// document is the run file without the sweep, with the settings that the command line
// makes.
func (s *Sweep) document() (*runfile.Document, error) {
	doc, err := runfile.Parse(s.file, s.base)
	if err != nil {
		return nil, err
	}
	doc.Drop(experiment.SweepSection)
	for _, v := range s.set {
		if err := doc.Set("--set", v); err != nil {
			return nil, err
		}
	}
	return doc, nil
}

// Cell returns the run file of cell i.
func (s *Sweep) Cell(i int) (*experiment.File, error) {
	doc, err := s.document()
	if err != nil {
		return nil, err
	}
	for _, v := range s.cells[i].Set {
		from := "[" + experiment.SweepSection + "]"
		if key, _, _ := strings.Cut(v, "="); s.flags[key] {
			from = "--sweep"
		}
		if err := doc.Set(from, v); err != nil {
			return nil, err
		}
	}
	return experiment.Decode(doc)
}

// Warning says what nobody has paid for where runs of private data may be chosen among by
// their results; "" where that costs nothing.
func (s *Sweep) Warning() (string, error) {
	if slices.Equal(s.Axes, []string{FoldAxis}) {
		return "", nil // nobody chooses among folds
	}
	for i := range s.Cells() {
		f, err := s.Cell(i)
		if err != nil {
			return "", err
		}
		if s.Cells() > 1 && f.Privacy.Mechanism != "none" && !experiment.Generated(f.Data.Dataset) {
			return "selection not accounted: epsilon is that of one run; to choose among runs by what " +
				"they gave costs more on private data (sotto tune charges it)", nil
		}
	}
	return "", nil
}

// describe is what cell i varies, for people.
func (s *Sweep) describe(i int) string {
	var parts []string
	for k, v := range s.cells[i].Values {
		parts = append(parts, s.Axes[k]+"="+v)
	}
	return strings.Join(parts, " ")
}

// digest identifies the sweep by its keys and cells, however they are written and given.
func (s *Sweep) digest() (string, error) {
	doc, err := s.document()
	if err != nil {
		return "", err
	}
	base, err := doc.Encode()
	if err != nil {
		return "", err
	}
	h := sha256.New()
	fmt.Fprintf(h, "%q %q %q", base, s.Axes, s.cells)
	return hex.EncodeToString(h.Sum(nil)), nil
}
