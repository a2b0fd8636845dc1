package data

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"unicode/utf8"

	"sotto/config"
	"sotto/data/csv"
)

// CSVParams are the parameters of "csv", a delimited text file of the user's.
type CSVParams struct {
	Path string `toml:"path"` // file of the training records
	// test records; "" holds out test_fraction of path, drawn with the seed
	TestPath string `toml:"test_path"`
	// TestFraction counts if there is no test_path, within each group; default .25.
	TestFraction float64 `toml:"test_fraction"`
	Header       bool    `toml:"header"`    // the first row has the columns' names; default true
	Delimiter    string  `toml:"delimiter"` // character between cells; default ","
	// cells that stand for a missing number; rows with one are dropped
	Missing []string `toml:"missing"`
	Drop    []string `toml:"drop"`   // columns left out; columns are named or counted from 1
	Label   string   `toml:"label"`  // column of classes; give this or target
	Target  string   `toml:"target"` // column of numbers to predict; give this or label
	// Classes are the label's values in order. You state them, because which values occur
	// is a fact about the data.
	Classes []string `toml:"label_values"`
	Group   string   `toml:"group"`  // column that names the owner of a record; "" for none
	Groups  []string `toml:"groups"` // the owners' names in that column, in order
	// Bounds are [low, high] of features, by column: values are clamped and scaled to [0,
	// 1]. Other features are left as they are. Take bounds from public knowledge, not
	// from the data.
	Bounds    map[string][]float64 `toml:"bounds"`
	Limit     int                  `toml:"limit"`      // how many training records are kept; 0: all
	TestLimit int                  `toml:"test_limit"` // as limit, of test records
	CSVNames
}

// CSVNames are further columns by name.
type CSVNames struct {
	// UnitColumn names the person of each record by an id; "": every record is its own
	// person. It is no feature. All records of a person are held out, or none.
	UnitColumn string `toml:"unit_column,omitempty"`
	// Columns are the names of features in order, by which every file is read, whatever
	// the order of its columns; others are left out. Without it all other columns are
	// features, in the order of the file.
	Columns []string `toml:"feature_columns,omitempty"`
}

func (p *CSVParams) validate() error {
	switch {
	case p.Path == "":
		return config.Bad("path", p.Path, "the path of a file")
	case utf8.RuneCountInString(p.Delimiter) != 1 ||
		slices.Contains([]string{"\"", "\r", "\n", "\ufffd"}, p.Delimiter):
		return config.Bad("delimiter", p.Delimiter, "one character other than a quote or line end")
	case (p.Label == "") == (p.Target == ""):
		return config.Bad("label", p.Label, "a column, with target empty; or empty, with target a column")
	case twice(p.Classes) != "":
		return config.Bad("label_values", twice(p.Classes), "each value once")
	case twice(p.Groups) != "":
		return config.Bad("groups", twice(p.Groups), "each value once")
	case p.Label != "" && len(p.Classes) < 2:
		return config.Bad("label_values", len(p.Classes), "at least 2 values of the label")
	case p.Label == "" && len(p.Classes) > 0:
		return config.Bad("label_values", p.Classes, "nothing with target, whose values are numbers")
	case (p.Group == "") != (len(p.Groups) == 0):
		return config.Bad("groups", len(p.Groups), "the values of the group column; nothing without one")
	}
	for _, read := range [][2]string{{"label", p.Label}, {"target", p.Target}, {"group", p.Group},
		{"unit_column", p.UnitColumn}} {
		if read[1] != "" && slices.Contains(p.Drop, read[1]) {
			return config.Bad("drop", read[1], "columns other than "+read[0]+": it is read")
		}
	}
	if err := cmp.Or(p.validateUnits(), p.validateColumns()); err != nil {
		return err
	}
	for _, name := range slices.Sorted(maps.Keys(p.Bounds)) {
		if b := p.Bounds[name]; len(b) != 2 || !(b[0] < b[1]) || math.IsInf(b[0], 0) || math.IsInf(b[1], 0) {
			return config.Bad("bounds."+name, b, "[low, high] with low < high")
		}
	}
	t := TableParams{TestFraction: p.TestFraction, Limit: p.Limit, TestLimit: p.TestLimit}
	return t.validate()
}

// validateUnits checks the column of persons. A limit would keep or drop a person by the
// records of others.
func (p *CSVParams) validateUnits() error {
	u := p.UnitColumn
	switch {
	case u == "":
		return nil
	case u == p.Label || u == p.Target:
		return config.Bad("unit_column", u, "a column other than label and target")
	case p.Limit != 0:
		return config.Bad("limit", p.Limit,
			"0 with unit_column: which records of a person are kept must not depend on others")
	}
	return nil
}

// validateColumns checks the names of features.
func (p *CSVParams) validateColumns() error {
	switch {
	case p.Columns == nil:
		return nil
	case len(p.Columns) == 0:
		return config.Bad("feature_columns", "an empty list", "the names of features")
	case !p.Header:
		return config.Bad("feature_columns", p.Columns, "nothing with header = false: columns have no names")
	case len(p.Drop) > 0:
		return config.Bad("drop", p.Drop, "nothing with feature_columns: all others are left out")
	case twice(p.Columns) != "":
		return config.Bad("feature_columns", twice(p.Columns), "each name once")
	}
	for _, c := range []string{p.Label, p.Target, p.Group, p.UnitColumn} {
		if c != "" && slices.Contains(p.Columns, c) {
			return config.Bad("feature_columns", c, "features: label, target, group and unit_column are none")
		}
	}
	for _, name := range slices.Sorted(maps.Keys(p.Bounds)) {
		if !slices.Contains(p.Columns, name) {
			return config.Bad("bounds", name, "the feature_columns "+strings.Join(p.Columns, ", "))
		}
	}
	return nil
}

// onto is p for the file with bytes b: where features are asked for by name, all columns
// that are not read are dropped.
func (p CSVParams) onto(path string, b []byte) (CSVParams, error) {
	if p.Columns == nil {
		return p, nil
	}
	t, err := p.options().Head(path, b)
	if err != nil {
		return p, err
	}
	return p, p.narrowTo(t)
}

// twice is a value that is there again, "" where none is.
func twice(values []string) string {
	for k, v := range values {
		if slices.Contains(values[:k], v) {
			return v
		}
	}
	return ""
}

// csvFile loads the user's file; see csv.Read for its faults.
func csvFile(decode func(any) error, src Source) (*Split, error) {
	p := CSVParams{TestFraction: .25, Header: true, Delimiter: ","}
	if err := decode(&p); err != nil {
		return nil, err
	}
	if err := p.validate(); err != nil {
		return nil, err
	}
	var sums []string
	load := func(path string) (*Dataset, error) { return p.load(path, &sums, src.own) }
	split, err := twoFiles(p.Path, p.TestPath, TableParams{TestFraction: p.TestFraction, Limit: p.Limit,
		TestLimit: p.TestLimit}, src, load)
	if err != nil {
		return nil, err
	}
	if train, test := split.Train, split.Test; test.X.Cols != train.X.Cols {
		return nil, &config.Error{File: p.TestPath, Line: 1, Found: fmt.Sprintf("%d features", test.X.Cols),
			Allowed: fmt.Sprintf("%d as in %s", train.X.Cols, p.Path)}
	} else if want := strings.Join(train.Columns, ", "); want != strings.Join(test.Columns, ", ") {
		return nil, &config.Error{File: p.TestPath, Line: 1, Key: "header",
			Found: "the features " + strings.Join(test.Columns, ", "), Allowed: want + ", as in " + p.Path}
	}
	return split.seal(p.unplaced(), src.Seed, sums), nil
}

// GoString is what digests cover: keys that came later are in it where they are given, so
// that data sets from before keep their digests.
func (p CSVParams) GoString() string {
	type plain CSVParams
	names := p.CSVNames
	p.CSVNames = CSVNames{}
	text := digested("data.CSVParams", fmt.Sprintf("%#v", plain(p)),
		fmt.Sprintf(", CSVNames:%#v", p.CSVNames))
	if text = strings.TrimSuffix(text, "}"); names.UnitColumn != "" {
		text += fmt.Sprintf(", UnitColumn:%q", names.UnitColumn)
	}
	if names.Columns != nil {
		text += fmt.Sprintf(", Columns:%#v", names.Columns)
	}
	return text + "}"
}

// unplaced is what the digest covers: where the files lie does not matter.
func (p CSVParams) unplaced() CSVParams {
	p.Path, p.TestPath = "", ""
	return p
}

// options says how the file is written.
func (p *CSVParams) options() csv.Options {
	o := csv.Options{Header: p.Header, Missing: p.Missing, Drop: p.Drop}
	o.Delimiter, _ = utf8.DecodeRuneInString(p.Delimiter)
	for _, c := range []string{p.Label, p.Group, p.UnitColumn} {
		if c != "" {
			o.Text = append(o.Text, c)
		}
	}
	return o
}

// load reads a file, and says where its records stand where own is not nil.
func (p CSVParams) load(path string, sums *[]string, own *places) (*Dataset, error) {
	b, err := userBytes(path)
	if err != nil {
		return nil, err
	}
	*sums = append(*sums, hexSum(b))
	if p, err = p.onto(path, b); err != nil {
		return nil, err
	}
	o := p.options()
	o.Own = own != nil
	t, err := csv.Read(bytes.NewReader(b), path, o)
	if err != nil {
		return nil, err
	}
	keep := t.Complete(false)
	if len(keep) == 0 {
		return nil, &config.Error{File: path, Line: t.Lines[0], Found: "no complete row",
			Allowed: "at least one row without missing cells"}
	}
	if own != nil {
		own.rows, own.of = len(t.Lines), keep
	}
	features, err := p.features(t)
	if err != nil {
		return nil, err
	}
	x, err := encode(t, features, keep, true)
	if err != nil {
		return nil, err
	}
	d := flat("csv", x)
	d.RowNorm = longest(features, true)
	d.Dropped = len(t.Lines) - len(keep)
	d.Columns = p.named(t, features)
	if p.Label != "" {
		d.Classes, d.ClassNames = len(p.Classes), p.Classes
		d.Labels, err = labelsFrom(t, p.Label, p.Classes, keep)
	} else {
		d.Targets, err = targets(t, p.Target, keep)
	}
	if err == nil && p.Group != "" {
		d.GroupNames = p.Groups
		d.Groups, err = labelsFrom(t, p.Group, p.Groups, keep)
	}
	if err == nil && p.UnitColumn != "" {
		err = d.setUnitsFrom(t, p.UnitColumn, keep)
	}
	d.Variables = append(variablesOf(features, true), d.outcome(p.Label, p.Target))
	return d, err
}

// named are the names of features, by which other files' columns are found; nil where
// columns have no names, or one was asked for by its number.
func (p *CSVParams) named(t *csv.Table, features []feature) (names []string) {
	if !p.Header {
		return nil
	}
	for _, ref := range append(slices.Collect(maps.Keys(p.Bounds)), p.Label+p.Target) {
		if !slices.ContainsFunc(t.Columns, func(c csv.Column) bool { return c.Name == ref }) {
			return nil
		}
	}
	for _, f := range features {
		names = append(names, f.name)
	}
	return names
}

// features lists every column but label, target, group and that of persons, in the order
// of the file or of Columns. Without bounds the scale is the identity.
func (p *CSVParams) features(t *csv.Table) ([]feature, error) {
	bounds := make([][]float64, len(t.Columns))
	for _, name := range slices.Sorted(maps.Keys(p.Bounds)) {
		k := t.Find(name)
		if k < 0 {
			return nil, config.Bad("bounds", name, "columns "+t.Names())
		}
		bounds[k] = p.Bounds[name]
	}
	var taken [4]int
	for i, ref := range []string{p.Label, p.Target, p.Group, p.UnitColumn} {
		if taken[i] = -1; ref == "" {
			continue
		}
		if taken[i] = t.Find(ref); taken[i] < 0 {
			return nil, config.Bad([]string{"label", "target", "group", "unit_column"}[i], ref,
				"columns "+t.Names())
		}
	}
	var fs []feature
	for k, c := range t.Columns {
		if slices.Contains(taken[:], k) {
			continue
		}
		f := feature{name: c.Name, plain: bounds[k] == nil}
		if !f.plain {
			f.lo, f.hi = bounds[k][0], bounds[k][1]
		}
		fs = append(fs, f)
	}
	if len(fs) == 0 {
		return nil, &config.Error{File: t.File, Line: 1, Found: "no column left for features",
			Allowed: "at least one"}
	}
	if p.Columns != nil {
		slices.SortFunc(fs, func(f, g feature) int {
			return slices.Index(p.Columns, f.name) - slices.Index(p.Columns, g.name)
		})
	}
	return fs, nil
}

func targets(t *csv.Table, column string, keep []int) ([]float32, error) {
	c, err := t.Column(column)
	if err != nil {
		return nil, err
	}
	if c.Numbers == nil { // it is kept as text
		return nil, config.Bad("target", column, "a column other than group and unit_column")
	}
	y := make([]float32, len(keep))
	for i, row := range keep {
		y[i] = float32(c.Numbers[row])
	}
	return y, nil
}

// absent is err with the key of the path, and where it begins, where no file is there.
func absent(key, path string, err error) error {
	if !errors.Is(err, ErrMissing) {
		return err
	}
	from := ""
	if dir, err := os.Getwd(); err == nil && !filepath.IsAbs(path) {
		from = ", a path from where the command runs: " + dir
	}
	return fmt.Errorf("%w: %s, data.%s%s", ErrMissing, path, key, from)
}

// tableBytes are those of a user's file in any encoding.
func tableBytes(path string) ([]byte, error) {
	b, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("%w: %s", ErrMissing, path)
	}
	if err != nil {
		return nil, fmt.Errorf("data: %w", err)
	}
	return b, nil
}

func userBytes(path string) ([]byte, error) {
	b, err := tableBytes(path)
	if err != nil {
		return nil, err
	}
	if bytes.HasPrefix(b, []byte("\xff\xfe")) || bytes.HasPrefix(b, []byte("\xfe\xff")) {
		return nil, &config.Error{File: path, Line: 1, Found: "UTF-16 text", Allowed: "UTF-8"}
	}
	return b, nil
}
