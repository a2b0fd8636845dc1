package data

import (
	"bytes"
	"encoding/csv"
	"fmt"
	"iter"
	"slices"
	"strings"

	"sotto/config"
)

// Own is one owner's part of a data set, from a file of the owner's.
type Own struct {
	Split *Split
	Sheet
}

// Sheet is an owner's file as it stands, for the fingerprint of a ledger.
type Sheet struct {
	// Records are the raw lines of the file that hold a record, training and test.
	Records [][]byte
	// Columns are those of the file by name, or "1", "2" and so on; Used says which of
	// them the run does not drop.
	Columns []string
	Used    []bool
	// Rows yields the cells of every record, "" where one stands for a missing value. The
	// slice is valid until the next one.
	Rows iter.Seq[[]string]
}

// ownFile is an owner's file as a data set reads it.
type ownFile struct {
	table   *Table
	split   *Split
	options CSVOptions
}

// owners names the data sets that an owner can bring its own part of, and how its file is
// read.
var owners = map[string]func(decode func(any) error, path string, b []byte, seed uint64) (ownFile, error){
	"csv":           ownCSV,
	"heart-disease": ownHospital,
}

// LoadOwn loads the owner's file at path as a part of the data set called name, with the
// parameters of the run file. The file is private: nobody knows its digest, and none is
// checked.
func LoadOwn(name, path string, seed uint64, decode func(params any) error) (*Own, error) {
	load, ok := owners[name]
	if !ok {
		return nil, config.Bad("dataset", name, config.OneOf(owners)+
			", of which an owner can bring its own part")
	}
	b, err := userBytes(path)
	if err != nil {
		return nil, err
	}
	f, err := load(decode, path, b, seed)
	if err != nil {
		return nil, err
	}
	own := &Own{Split: f.split}
	if own.Sheet, err = f.options.sheet(path, b); err != nil {
		return nil, err
	}
	lines := bytes.Split(b, []byte("\n"))
	for _, number := range f.table.Lines {
		own.Records = append(own.Records, bytes.TrimSpace(lines[number-1]))
	}
	return own, nil
}

// sheet reads columns and cells of a file that ReadCSV has read.
func (o CSVOptions) sheet(path string, b []byte) (Sheet, error) {
	read := func() *csv.Reader {
		r := csv.NewReader(bytes.NewReader(b))
		r.ReuseRecord = true
		if o.Delimiter != 0 {
			r.Comma = o.Delimiter
		}
		return r
	}
	first, err := read().Read()
	if err != nil {
		return Sheet{}, csvFault(err, path)
	}
	t, skip, _, err := o.layout(first, path, 1)
	if err != nil {
		return Sheet{}, err
	}
	var s Sheet
	for k := range t.Columns {
		s.Columns = append(s.Columns, t.Columns[k].Name)
		s.Used = append(s.Used, !skip[k])
	}
	s.Rows = func(yield func([]string) bool) {
		r := read()
		if o.Header {
			r.Read()
		}
		for {
			cells, err := r.Read()
			if err != nil { // the end: ReadCSV found no fault
				return
			}
			for k, c := range cells {
				if cells[k] = strings.TrimSpace(c); slices.Contains(o.Missing, cells[k]) {
					cells[k] = ""
				}
			}
			if !yield(cells) {
				return
			}
		}
	}
	return s, nil
}

// ownHospital reads one hospital's file, as heartDisease reads each of the four.
func ownHospital(decode func(any) error, path string, b []byte, seed uint64) (ownFile, error) {
	p := HeartParams{tableDefaults(), "drop"}
	if err := decode(&p); err != nil {
		return ownFile{}, err
	}
	if err := p.check(); err != nil {
		return ownFile{}, err
	}
	features, options := p.layout()
	t, err := ReadCSV(bytes.NewReader(b), path, options)
	if err != nil {
		return ownFile{}, err
	}
	all := &Dataset{
		Name:       "heart-disease",
		Classes:    2,
		ClassNames: []string{"healthy", "disease"},
		GroupNames: []string{"own"},
	}
	if err := all.addHospital(t, 0, features, p.Missing == "fill", p.Normalize); err != nil {
		return ownFile{}, err
	}
	if all.Len() == 0 {
		return ownFile{}, &config.Error{File: path, Found: "no complete row",
			Allowed: "at least one row without missing cells"}
	}
	all.Shape = [3]int{1, 1, all.X.Cols}
	split, err := holdOut(all, p.TableParams, seed)
	return ownFile{t, split, options}, err
}

// ownCSV reads the owner's file in place of the run file's path.
func ownCSV(decode func(any) error, path string, b []byte, seed uint64) (ownFile, error) {
	var options CSVOptions
	split, err := csvFile(func(params any) error {
		err := decode(params)
		if p, ok := params.(*CSVParams); ok {
			if p.TestPath != "" {
				return config.Bad("test_path", p.TestPath,
					"no value: an owner's test records are held out of its own file")
			}
			p.Path = path
			options = p.options()
		}
		return err
	}, Source{Seed: seed})
	if err != nil {
		return ownFile{}, err
	}
	t, err := ReadCSV(bytes.NewReader(b), path, options)
	if err != nil {
		err = fmt.Errorf("%s: %w", path, err)
	}
	return ownFile{t, split, options}, err
}
