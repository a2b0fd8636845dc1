// Package schema says what a record is: a public TOML file that owners agree on before
// anybody reads records. It names the columns of an owner's file, their kinds, units,
// public bounds and categories, what a missing cell becomes, and the target. Every
// owner's file is then read by column name into the same features in the same order.
//
// A schema is public. What reading tells of a file, its Counts, is the owner's alone.
package schema

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/pelletier/go-toml/v2/unstable"

	"sotto/config"
	"sotto/internal/tomltext"
)

// Version is the one version of schema files.
const Version = 1

// FileName is what a schema is called in the folder of a run, a node or a model.
const FileName = "schema.toml"

// Limits of a schema.
const (
	maxFile     = 1 << 24 // bytes
	maxColumns  = 10_000
	maxFeatures = 1 << 20
	maxText     = 256 // bytes of a name, unit, category or value
)

// Kinds of columns and targets.
const (
	Number   = "number"
	Category = "category"
	Ignore   = "ignore" // not looked at, and may be absent
	ID       = "id"     // names who a record is of: no feature
	Class    = "class"  // of a target
)

// What a missing cell does.
const (
	Refuse = "refuse"         // the file is refused
	Drop   = "drop"           // the row is left out
	Mean   = "mean of bounds" // the middle of a number's bounds stands for it
)

// Schema is a parsed, valid schema file, with defaults filled in.
type Schema struct {
	Version int    `toml:"version" json:"version"`
	Name    string `toml:"name" json:"name"`
	// Confirmed says that all values are public and agreed; default true. Records are not
	// read without it. It is no part of the digest.
	Confirmed bool `toml:"confirmed" json:"-"`
	// Intercept adds a last feature that is 1 in every record.
	Intercept bool `toml:"intercept" json:"intercept"`
	// MissingCells are the texts that stand for a missing value; default the empty one.
	MissingCells []string `toml:"missing_cells" json:"missing_cells"`
	Target       Target   `toml:"target" json:"target"`
	Columns      []Column `toml:"column" json:"columns"`

	file string // where it came from, for errors
}

// Column is one column of an owner's file.
type Column struct {
	Name string `toml:"name" json:"name"`
	Kind string `toml:"kind" json:"kind"` // Number, Category, Ignore or ID
	Unit string `toml:"unit" json:"unit"` // for people
	// Bounds are [low, high] of a number; values outside are clipped to them.
	Bounds []float64 `toml:"bounds" json:"bounds,omitempty"`
	// Scale is what Bounds are scaled to: [0, 1], the default, or [-1, 1].
	Scale []float64 `toml:"scale" json:"scale,omitempty"`
	// Categories have a feature each, 0 or 1; Other adds one for all other texts, which
	// are refused without it.
	Categories []string `toml:"categories" json:"categories,omitempty"`
	Other      bool     `toml:"other" json:"other"`
	// Missing is Refuse, the default, Drop, or what stands for a missing cell: Mean or a
	// float64 within Bounds; one of Categories, or "other" with Other.
	Missing any `toml:"missing" json:"missing,omitempty"`
	// Indicator adds a feature that is 1 where the cell was missing.
	Indicator bool `toml:"indicator" json:"indicator"`
}

// Target is the column to predict.
type Target struct {
	Column string   `toml:"column" json:"column"`
	Kind   string   `toml:"kind" json:"kind"` // Class or Number
	Unit   string   `toml:"unit" json:"unit"` // for people
	Values []string `toml:"values" json:"values,omitempty"`
	// Bounds are [low, high] of a number: values outside are clipped to them. Scale is
	// what they are scaled to, [0, 1] or [-1, 1]; without it they keep their unit.
	Bounds []float64 `toml:"bounds" json:"bounds,omitempty"`
	Scale  []float64 `toml:"scale" json:"scale,omitempty"`
	// Missing is Refuse, the default, or Drop.
	Missing string `toml:"missing" json:"missing"`
}

// Read reads and checks the schema file at path.
func Read(path string) (*Schema, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if info.Size() > maxFile {
		return nil, &config.Error{File: path, Found: fmt.Sprintf("%d bytes", info.Size()),
			Allowed: fmt.Sprintf("at most %d", maxFile)}
	}
	b, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	return Parse(path, b)
}

// Parse is Read on bytes; file names them in errors, which are *config.Error.
func Parse(file string, b []byte) (*Schema, error) {
	b, err := tomltext.Of(file, b)
	if err != nil {
		return nil, err
	}
	s := &Schema{Confirmed: true, file: file}
	if err := tomltext.Decode(file, b, s); err != nil {
		return nil, err
	}
	s.fill()
	if err := s.validate(); err != nil {
		return nil, located(file, b, err)
	}
	return s, nil
}

// located adds file and line to an error of validate. A key that the file does not have
// gets the line of its table.
func located(file string, b []byte, err error) error {
	var e *config.Error
	if !errors.As(err, &e) {
		return err
	}
	c := *e
	c.File = file
	lines := index(b)
	table, _, _ := strings.Cut(c.Key, ".")
	if c.Line = lines[c.Key]; c.Line == 0 {
		all, _, _ := strings.Cut(table, "[") // of columns that stand in one list
		c.Line = max(1, lines[all], lines[table])
	}
	return &c
}

// index returns the line of every table and key: "column[0]", "column[0].name".
func index(b []byte) map[string]int {
	var p unstable.Parser
	p.Reset(b)
	lines, count, table := map[string]int{}, map[string]int{}, ""
	for p.NextExpression() {
		e := p.Expression()
		if e.Kind == unstable.Comment || e.Kind == unstable.Invalid {
			continue
		}
		var parts []string
		row := 0
		for it := e.Key(); it.Next(); {
			parts = append(parts, string(it.Node().Data))
			row = p.Shape(it.Node().Raw).Start.Line
		}
		key := strings.Join(parts, ".")
		switch {
		case e.Kind == unstable.ArrayTable:
			count[key]++
			key = fmt.Sprintf("%s[%d]", key, count[key]-1)
			table = key
		case e.Kind == unstable.Table:
			table = key
		case table != "":
			key = table + "." + key
		}
		if lines[key] == 0 {
			lines[key] = row
		}
	}
	return lines
}

// Features returns the names of a record's features in order: "age", "sex=F",
// "sex=other", "bmi missing", "intercept".
func (s *Schema) Features() []string {
	var names []string
	for i := range s.Columns {
		names = append(names, s.Columns[i].features()...)
	}
	if s.Intercept {
		names = append(names, "intercept")
	}
	return names
}

func (c *Column) features() (names []string) {
	switch c.Kind {
	case Number:
		names = []string{c.Name}
	case Category:
		for _, v := range c.slots() {
			names = append(names, c.Name+"="+v)
		}
	}
	if c.Indicator {
		names = append(names, c.Name+" missing")
	}
	return names
}

// slots are the categories that have a feature.
func (c *Column) slots() []string {
	if c.Other {
		return append(slices.Clone(c.Categories), "other")
	}
	return c.Categories
}

// width is the number of features.
func (c *Column) width() int {
	n := 0
	switch c.Kind {
	case Number:
		n = 1
	case Category:
		n = len(c.slots())
	}
	if c.Indicator {
		n++
	}
	return n
}
