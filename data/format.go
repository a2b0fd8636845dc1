package data

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"sotto/config"
	"sotto/data/csv"
	"sotto/tensor"
)

// Format is how a data set of owners' files reads records that are not its own: those
// that a finished model is asked about.
type Format struct {
	Classes []string // names in order; nil: a regression
	Target  string   // the column to predict
	// Scaled are the columns with public bounds, in the order of their names.
	Scaled []Bounded
	read   func(path string, features []string, labelled bool) (*Records, error)
}

// Bounded is a column whose values are clamped to [Low, High] and scaled to [0, 1].
type Bounded struct {
	Column    string
	Low, High float64
}

// Records are those of one file. They are private.
type Records struct {
	X       tensor.Mat
	Labels  []int32   // nil: none were read
	Targets []float32 // nil: none were read
	Lines   []int     // of each record in the file
	Dropped []int     // lines of the rows with a missing cell
}

// formats are those of data sets whose records come from owners' files without a schema.
var formats = map[string]func(decode func(any) error) (*Format, error){
	"csv": csvFormat,
}

// OfUsers says whether the records of the data set called name come from files of the
// user's, so that figures of them may be private: all others are published or generated.
func OfUsers(name string) bool {
	_, known := Datasets[name]
	return !known || slices.Contains([]string{"csv", "libsvm", "table"}, name)
}

// FormatOf returns the format of the data set called name, with the parameters of the run
// file; nil where the data set reads no owner's files.
func FormatOf(name string, decode func(params any) error) (*Format, error) {
	if of, ok := formats[name]; ok {
		return of(orDefaults(decode))
	}
	return nil, nil
}

// Read reads the file at path. features are the names of its columns in the order of the
// model's features, whatever theirs in the file, in which others are not looked at; nil:
// the file has the columns of the run's, in their order. labelled says that the label or
// target is read too; without it that column may be absent and is not looked at. Columns
// that the run drops may be absent. Errors hold no cell, and are *config.Error once it is
// open.
func (f *Format) Read(path string, features []string, labelled bool) (*Records, error) {
	r, err := f.read(path, features, labelled)
	var e *config.Error
	if errors.As(err, &e) {
		c := *e
		if c.File = path; strings.HasPrefix(c.Key, "column ") {
			c.Found = "a cell that is none"
		}
		return nil, &c
	}
	return r, err
}

func csvFormat(decode func(any) error) (*Format, error) {
	p := CSVParams{TestFraction: .25, Header: true, Delimiter: ","}
	if err := decode(&p); err != nil {
		return nil, err
	}
	p.Path = cmp.Or(p.Path, "unread") // a node's run file may have none
	if err := p.validate(); err != nil {
		return nil, err
	}
	f := &Format{Classes: p.Classes, Target: p.Label + p.Target, read: p.records}
	for name, b := range p.Bounds {
		f.Scaled = append(f.Scaled, Bounded{name, b[0], b[1]})
	}
	slices.SortFunc(f.Scaled, func(a, b Bounded) int { return strings.Compare(a.Column, b.Column) })
	return f, nil
}

// records reads a file with the columns of the run's.
func (p CSVParams) records(path string, names []string, labelled bool) (*Records, error) {
	b, err := userBytes(path)
	if err != nil {
		return nil, err
	}
	if names != nil {
		p.Columns = names
	}
	if err := p.narrow(path, b, labelled); err != nil {
		return nil, err
	}
	t, err := csv.Read(bytes.NewReader(b), path, p.options())
	if err != nil {
		return nil, err
	}
	keep := t.Complete(false)
	r := &Records{}
	for _, row := range keep {
		r.Lines = append(r.Lines, t.Lines[row])
	}
	for _, line := range t.Lines {
		if _, ok := slices.BinarySearch(r.Lines, line); !ok {
			r.Dropped = append(r.Dropped, line)
		}
	}
	features, err := p.features(t)
	if err != nil {
		return nil, err
	}
	if r.X, err = encode(t, features, keep, true); err != nil {
		return nil, err
	}
	switch {
	case p.Label != "":
		r.Labels, err = labelsFrom(t, p.Label, p.Classes, keep)
	case p.Target != "":
		r.Targets, err = targets(t, p.Target, keep)
	}
	return r, err
}

// narrow changes p to what the file with bytes b has of it: columns that are not read are
// dropped where they are there, and where features are asked for by name, all others.
func (p *CSVParams) narrow(path string, b []byte, labelled bool) error {
	t, err := p.options().Head(path, b)
	if err != nil {
		return err
	}
	unread := append(slices.Clone(p.Drop), p.Group, p.UnitColumn)
	if p.Group, p.UnitColumn = "", ""; !labelled {
		unread = append(unread, p.Label, p.Target)
		p.Label, p.Target = "", ""
	}
	if p.Columns != nil {
		return p.narrowTo(t)
	}
	p.Drop = slices.DeleteFunc(unread, func(ref string) bool {
		return ref == "" || p.Header && t.Find(ref) < 0
	})
	return nil
}

// narrowTo drops all columns but the features and what else is read.
func (p *CSVParams) narrowTo(t *csv.Table) error {
	for _, name := range p.Columns {
		if !slices.ContainsFunc(t.Columns, func(c csv.Column) bool { return c.Name == name }) {
			return &config.Error{File: t.File, Line: 1, Key: "header",
				Found:   fmt.Sprintf("no column %q", name),
				Allowed: "the features " + strings.Join(p.Columns, ", ")}
		}
	}
	p.Drop = nil
	for _, c := range t.Columns {
		if !slices.Contains(p.Columns, c.Name) &&
			!slices.Contains([]string{p.Label, p.Target, p.Group, p.UnitColumn}, c.Name) {
			p.Drop = append(p.Drop, c.Name)
		}
	}
	return nil
}
