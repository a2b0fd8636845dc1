package data

import (
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"strings"

	"sotto/config"
	"sotto/data/schema"
	"sotto/tensor"
)

// SchemaParams are the parameters of "table": owners' files that one schema describes,
// CSV or Parquet. Columns are found by name.
type SchemaParams struct {
	// Paths are the files. Of several files, each is one owner, named after the file
	// without its ending.
	Paths []string `toml:"paths"`
	// Group is the column that names the owner of each record, in place of several files;
	// "": none. Groups are its values in order.
	Group  string   `toml:"group"`
	Groups []string `toml:"groups"`
	// TestFraction of the records of every owner is held out, drawn with the seed;
	// default .25, above 0 and below 1.
	TestFraction float64 `toml:"test_fraction"`
	// UnitColumn is the column of kind id that names the person of each record; "": every
	// record is its own person. All records of a person are held out, or none.
	UnitColumn string `toml:"unit_column,omitempty"`
	// Delimiter, Encoding and DecimalComma say how all files are written; see
	// schema.Reading. For simulations only: an owner says how its own file is written.
	Delimiter    string `toml:"delimiter,omitempty"`
	Encoding     string `toml:"encoding,omitempty"`
	DecimalComma bool   `toml:"decimal_comma,omitempty"`

	schema *schema.Schema
}

// TableName is the data set that a schema describes.
const TableName = "table"

// WithSchema has decode tell the data set "table" what a record is: its constructor
// refuses to read records without s.
func WithSchema(decode func(any) error, s *schema.Schema) func(any) error {
	return func(params any) error {
		err := orDefaults(decode)(params)
		if p, ok := params.(*SchemaParams); ok {
			p.schema = s
		}
		return err
	}
}

func schemaDefaults() SchemaParams { return SchemaParams{TestFraction: .25} }

func (p *SchemaParams) validate() error {
	if p.schema == nil {
		return config.Bad("schema", "nothing", "the path of the schema file that says what a record is")
	}
	var id string
	for _, c := range p.schema.Columns {
		if c.Kind == schema.ID {
			id = c.Name
		}
	}
	switch {
	case p.UnitColumn != "" && id == "":
		return config.Bad("unit_column", p.UnitColumn, "nothing: the schema has no column of kind id")
	case p.UnitColumn != "" && p.UnitColumn != id:
		return config.Bad("unit_column", p.UnitColumn, id+", the schema's column of kind id")
	case p.Group != "" && len(p.Groups) < 1:
		return config.Bad("groups", len(p.Groups), "the values of the group column")
	case p.Group == "" && len(p.Groups) > 0:
		return config.Bad("group", "nothing", "the column that has the values of groups")
	case twice(p.Groups) != "":
		return config.Bad("groups", twice(p.Groups), "each value once")
	case p.Group != "" && len(p.Paths) > 1:
		return config.Bad("group", p.Group, "no column with several paths: each is an owner's")
	}
	t := TableParams{TestFraction: p.TestFraction}
	return t.validate()
}

// files are the owners' names by file.
func (p *SchemaParams) files() ([]string, error) {
	if len(p.Paths) == 0 {
		return nil, config.Bad("paths", "nothing",
			`the paths of owners' files, such as ["north.csv", "south.csv"]`)
	}
	names := make([]string, len(p.Paths))
	for i, path := range p.Paths {
		name := filepath.Base(path)
		names[i] = strings.TrimSuffix(name, filepath.Ext(name))
	}
	if again := twice(names); again != "" {
		return nil, config.Bad("paths", again, "files of different names: they are those of owners")
	}
	return names, nil
}

func (p *SchemaParams) reading() schema.Reading {
	return schema.Reading{Delimiter: p.Delimiter, Encoding: p.Encoding, DecimalComma: p.DecimalComma}
}

// tableFiles loads all owners' files.
func tableFiles(decode func(any) error, src Source) (*Split, error) {
	p := schemaDefaults()
	if err := decode(&p); err != nil {
		return nil, err
	}
	if err := p.validate(); err != nil {
		return nil, err
	}
	names, err := p.files()
	if err != nil {
		return nil, err
	}
	all, ids, sums := p.empty(), []string(nil), []string{fmt.Sprintf("%x", p.schema.Digest())}
	var x [][]float32
	for i, path := range p.Paths {
		b, err := tableBytes(path)
		if err != nil {
			return nil, absent("paths", path, err)
		}
		r, err := p.read(path, b, p.reading())
		if err != nil {
			return nil, err
		}
		sums, all.Dropped = append(sums, hexSum(b)), all.Dropped+r.Counts.Dropped
		for k := range r.Len() {
			g := i
			if p.Group != "" {
				if g = slices.Index(p.Groups, r.Groups[k]); g < 0 {
					return nil, &config.Error{File: path, Line: r.Lines[k], Key: "column " + p.Group,
						Found: "a cell that is none of the groups", Allowed: fmt.Sprintf("%q", p.Groups)}
				}
			}
			all.Groups = append(all.Groups, int32(g))
		}
		all.Labels, all.Targets = append(all.Labels, r.Labels...), append(all.Targets, r.Targets...)
		for _, id := range r.IDs {
			if len(p.Paths) > 1 { // two owners' ids are two persons
				id = names[i] + "\x1f" + id
			}
			ids = append(ids, id)
		}
		x = append(x, r.X)
	}
	all.X = p.matrix(slices.Concat(x...))
	if all.GroupNames = names; p.Group != "" {
		all.GroupNames = p.Groups
	}
	if p.UnitColumn != "" {
		all.SetUnits(ids)
	}
	split, err := holdOut(all, TableParams{TestFraction: p.TestFraction}, src)
	if err != nil {
		return nil, err
	}
	return split.seal(p.unplaced(), src.Seed, sums), nil
}

// unplaced is what the digest covers beside the schema's and the files'.
func (p SchemaParams) unplaced() SchemaParams {
	p.Paths, p.schema = nil, nil
	return p
}

// empty is the data set without records.
func (p *SchemaParams) empty() *Dataset {
	t := &p.schema.Target
	width := len(p.schema.Features())
	d := &Dataset{Name: TableName, Shape: [3]int{1, 1, width},
		Known: Known{RowNorm: p.rowNorm(), Variables: p.schema.Variables()}}
	if t.Kind == schema.Class {
		d.Classes, d.ClassNames = len(t.Values), t.Values
	}
	return d
}

// rowNorm bounds the length of a record's features: those of a number and of an indicator
// lie in [-1, 1], and of a category's one is 1.
func (p *SchemaParams) rowNorm() float64 {
	n := 0
	for i := range p.schema.Columns {
		c := &p.schema.Columns[i]
		if c.Kind == schema.Number || c.Kind == schema.Category {
			n++
		}
		if c.Indicator {
			n++
		}
	}
	if p.schema.Intercept {
		n++
	}
	return math.Sqrt(float64(n))
}

func (p *SchemaParams) matrix(x []float32) tensor.Mat {
	width := len(p.schema.Features())
	return tensor.Mat{Rows: len(x) / width, Cols: width, Stride: width, Data: x}
}

// read reads one file. A person without an id is refused where persons count.
func (p *SchemaParams) read(path string, b []byte, how schema.Reading) (*schema.Records, error) {
	r, err := p.schema.ReadGrouped(path, b, how, p.Group)
	if err != nil {
		return nil, err
	}
	for k, id := range r.IDs {
		if p.UnitColumn != "" && strings.Trim(id, "\x00") == "" {
			return nil, &config.Error{File: path, Line: r.Lines[k], Key: "column " + p.UnitColumn,
				Found: "an empty cell", Allowed: "the id of a person in every row"}
		}
	}
	return r, nil
}

// ownTable reads the owner's file by the schema.
func ownTable(decode func(any) error, from OwnFile, b []byte, src Source) (*Own, error) {
	p := schemaDefaults()
	if err := decode(&p); err != nil {
		return nil, err
	}
	if err := p.validate(); err != nil {
		return nil, err
	}
	p.Group = "" // the owner is one
	r, err := p.read(from.Path, b, from.Reading)
	if err != nil {
		return nil, err
	}
	all := p.empty()
	all.X, all.Labels, all.Targets, all.GroupNames = p.matrix(r.X), r.Labels, r.Targets, []string{"own"}
	if p.UnitColumn != "" {
		all.SetUnits(r.IDs)
	}
	own := &Own{}
	src.own = placesOf(r.Lines, r.Dropped)
	if own.Split, err = holdOut(all, TableParams{TestFraction: p.TestFraction}, src); err != nil {
		return nil, err
	}
	sheet, err := p.schema.Sheet(from.Path, b, from.Reading)
	if err != nil {
		return nil, err
	}
	own.Sheet = Sheet{Columns: sheet.Columns, Used: sheet.Used, Rows: sheet.Rows}
	for line := range sheet.Lines {
		own.Records = append(own.Records, line)
	}
	c := &r.Counts
	own.Counts = Counts{Rows: c.Rows, Dropped: c.Dropped, Read: c.Layout.Text()}
	for _, col := range c.Columns {
		own.Counts.Filled += col.Filled
		own.Counts.Clipped += col.Clipped
		own.Counts.Other += col.Other
	}
	if p.UnitColumn == "" && r.IDs != nil {
		own.Counts.MostOfID = mostOf(r.IDs)
	}
	return own, nil
}

// mostOf is how often the most frequent text is there.
func mostOf(texts []string) int {
	count, most := map[string]int{}, 0
	for _, t := range texts {
		count[t]++
		most = max(most, count[t])
	}
	return most
}
