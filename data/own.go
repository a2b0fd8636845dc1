package data

import (
	"bytes"
	"fmt"

	"sotto/config"
)

// Own is one owner's part of a data set, from a file of the owner's.
type Own struct {
	Split *Split
	// Records are the raw lines of the file that hold a record, training and test, for
	// the fingerprint of a ledger.
	Records [][]byte
}

// owners names the data sets that an owner can bring its own part of, and how its file is
// read.
var owners = map[string]func(decode func(any) error, path string, b []byte, seed uint64) (*Table, *Split,
	error){
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
	t, split, err := load(decode, path, b, seed)
	if err != nil {
		return nil, err
	}
	lines := bytes.Split(b, []byte("\n"))
	own := &Own{Split: split}
	for _, number := range t.Lines {
		own.Records = append(own.Records, bytes.TrimSpace(lines[number-1]))
	}
	return own, nil
}

// ownHospital reads one hospital's file, as heartDisease reads each of the four.
func ownHospital(decode func(any) error, path string, b []byte, seed uint64) (*Table, *Split, error) {
	p := HeartParams{tableDefaults(), "drop"}
	if err := decode(&p); err != nil {
		return nil, nil, err
	}
	if err := p.check(); err != nil {
		return nil, nil, err
	}
	features, options := p.layout()
	t, err := ReadCSV(bytes.NewReader(b), path, options)
	if err != nil {
		return nil, nil, err
	}
	all := &Dataset{
		Name:       "heart-disease",
		Classes:    2,
		ClassNames: []string{"healthy", "disease"},
		GroupNames: []string{"own"},
	}
	if err := all.addHospital(t, 0, features, p.Missing == "fill", p.Normalize); err != nil {
		return nil, nil, err
	}
	if all.Len() == 0 {
		return nil, nil, &config.Error{File: path, Found: "no complete row",
			Allowed: "at least one row without missing cells"}
	}
	all.Shape = [3]int{1, 1, all.X.Cols}
	split, err := holdOut(all, p.TableParams, seed)
	return t, split, err
}

// ownCSV reads the owner's file in place of the run file's path.
func ownCSV(decode func(any) error, path string, b []byte, seed uint64) (*Table, *Split, error) {
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
		return nil, nil, err
	}
	t, err := ReadCSV(bytes.NewReader(b), path, options)
	if err != nil {
		err = fmt.Errorf("%s: %w", path, err)
	}
	return t, split, err
}
