package data

import (
	"bytes"
	"fmt"
	"iter"

	"sotto/config"
	"sotto/data/csv"
	"sotto/data/schema"
)

// OwnFile is an owner's file, and how it is written where the data set is "table": others
// are written as the run file says.
type OwnFile struct {
	Path string
	schema.Reading
}

// Own is one owner's part of a data set, from a file of the owner's.
type Own struct {
	Split *Split
	Sheet
	Counts Counts
}

// Counts are exact figures of an owner's file: the owner's alone.
type Counts struct {
	Rows    int
	Dropped int    // rows with a missing cell that are left out
	Read    string // how the file was read, in words; "": as the run file says
	// Filled, Clipped and Other are cells of data set table: missing ones for which a
	// stated value stands, numbers outside their bounds, texts that none of the
	// categories is.
	Filled, Clipped, Other int
	// MostOfID is the most rows that have one id, where ids name no persons; 0: no ids.
	MostOfID int
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

// owners names the data sets that an owner can bring its own part of, and how its file,
// whose bytes are b, is read.
var owners = map[string]func(decode func(any) error, from OwnFile, b []byte, src Source) (*Own, error){
	"csv":           ownCSV,
	"heart-disease": ownHospital,
	TableName:       ownTable,
}

// CheckOwn refuses a data set that no owner can bring its own part of.
func CheckOwn(name string) error {
	if owners[name] == nil {
		return config.Bad("dataset", name, config.OneOf(owners)+
			", of which an owner can bring its own part")
	}
	return nil
}

// LoadOwn loads the owner's file as a part of the data set called name, with the
// parameters of the run file. The file is private: nobody knows its digest, and none is
// checked.
func LoadOwn(name string, from OwnFile, src Source, decode func(params any) error) (*Own, error) {
	load := owners[name]
	if err := CheckOwn(name); err != nil {
		return nil, err
	}
	if name != TableName && from.Reading != (schema.Reading{}) {
		return nil, config.Bad("delimiter, encoding, decimal_comma", "a value",
			"none with data set "+name+": its files are written as the run file says")
	}
	read := userBytes
	if name == TableName {
		read = tableBytes
	}
	b, err := read(from.Path)
	if err != nil {
		return nil, err
	}
	return load(orDefaults(decode), from, b, src)
}

// fromTable adds a file that csv.Read has read to the owner's part.
func (own *Own) fromTable(t *csv.Table, o csv.Options, b []byte, kept int) (*Own, error) {
	var err error
	if own.Columns, own.Used, own.Rows, err = o.Cells(t.File, b); err != nil {
		return nil, err
	}
	lines := bytes.Split(b, []byte("\n"))
	for _, number := range t.Lines {
		own.Records = append(own.Records, bytes.TrimSpace(lines[number-1]))
	}
	own.Counts = Counts{Rows: len(t.Lines), Dropped: len(t.Lines) - kept}
	return own, nil
}

// ownHospital reads one hospital's file, as heartDisease reads each of the four.
func ownHospital(decode func(any) error, from OwnFile, b []byte, src Source) (*Own, error) {
	p := HeartParams{tableDefaults(), "drop", ""}
	if err := decode(&p); err != nil {
		return nil, err
	}
	if err := p.check(); err != nil {
		return nil, err
	}
	features, options := p.layout()
	t, err := csv.Read(bytes.NewReader(b), from.Path, options)
	if err != nil {
		return nil, err
	}
	all := p.empty([]string{"own"})
	if err := all.addHospital(t, 0, features, &p); err != nil {
		return nil, err
	}
	if all.Len() == 0 {
		return nil, &config.Error{File: from.Path, Found: "no complete row",
			Allowed: "at least one row without missing cells"}
	}
	all.Shape = [3]int{1, 1, all.X.Cols}
	all.Variables = append(variablesOf(features, p.Normalize), all.outcome("num", "num"))
	src.own = &places{rows: len(t.Lines), of: t.Complete(p.Missing == "fill")}
	split, err := holdOut(all, p.TableParams, src)
	if err != nil {
		return nil, err
	}
	return (&Own{Split: split}).fromTable(t, options, b, all.Len())
}

// ownCSV reads the owner's file in place of the run file's path.
func ownCSV(decode func(any) error, from OwnFile, b []byte, src Source) (*Own, error) {
	var of CSVParams
	src.own = &places{}
	split, err := csvFile(func(params any) error {
		err := decode(params)
		if p, ok := params.(*CSVParams); ok {
			if p.TestPath != "" {
				return config.Bad("test_path", p.TestPath,
					"no value: an owner's test records are held out of its own file")
			}
			p.Path = from.Path
			of = *p
		}
		return err
	}, src)
	if err == nil {
		of, err = of.onto(from.Path, b)
	}
	if err != nil {
		return nil, err
	}
	options := of.options()
	t, err := csv.Read(bytes.NewReader(b), from.Path, options)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", from.Path, err)
	}
	return (&Own{Split: split}).fromTable(t, options, b, len(t.Complete(false)))
}
