package data

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"sotto/config"
	"sotto/data/csv"
)

// joint is a data set that owners hold parts of, with the line of its file that each
// record came from.
type joint struct {
	*Dataset
	header []byte // of every part; nil: none
	lines  [][]byte
}

// joints names the data sets that Shard cuts: those of owners.
var joints = map[string]func(decode func(any) error, src Source) (*joint, error){
	"csv":           jointCSV,
	"heart-disease": jointHospitals,
}

// Shard cuts the complete records of a data set of owners, training and test together, to
// agents by a partition, and returns for each agent the file that LoadOwn would read, in
// the form of the original, with its number of records. Files hold the original lines and
// are as private as those. decode fills the parameters of data set and partition from one
// section. An agent without records is an error unless the partition allows it.
func Shard(name, dir, partition string, agents int, seed uint64,
	decode func(params any) error) (files [][]byte, records []int, err error) {
	load, ok := joints[name]
	if !ok {
		return nil, nil, config.Bad("dataset", name,
			config.OneOf(joints)+": joint files, which can be cut")
	}
	j, err := load(orDefaults(decode), Source{Dir: dir, Seed: seed})
	if err != nil {
		return nil, nil, err
	}
	parts, err := Partition(partition, j.Dataset, agents, seed, decode)
	if err != nil {
		return nil, nil, err
	}
	for _, rows := range parts {
		var b bytes.Buffer
		if j.header != nil {
			b.Write(j.header)
			b.WriteByte('\n')
		}
		for _, r := range rows {
			b.Write(j.lines[r])
			b.WriteByte('\n')
		}
		files, records = append(files, b.Bytes()), append(records, len(rows))
	}
	return files, records, nil
}

// take appends the lines of the rows of t at keep, which is read from b.
func (j *joint) take(t *csv.Table, b []byte, keep []int) error {
	lines := bytes.Split(b, []byte("\n"))
	for _, row := range keep {
		line := bytes.TrimRight(lines[t.Lines[row]-1], "\r")
		if bytes.Count(line, []byte(`"`))%2 == 1 {
			return &config.Error{
				File:    t.File,
				Line:    t.Lines[row],
				Found:   "a record over several lines",
				Allowed: "one line for each record",
			}
		}
		j.lines = append(j.lines, line)
	}
	return nil
}

// jointHospitals reads the four hospitals as heartDisease does.
func jointHospitals(decode func(any) error, src Source) (*joint, error) {
	p := HeartParams{tableDefaults(), "drop", ""}
	if err := decode(&p); err != nil {
		return nil, err
	}
	if err := p.check(); err != nil {
		return nil, err
	}
	features, options := p.layout()
	j := &joint{Dataset: p.empty(hospitals)}
	st := &store{dir: src.Dir, any: p.AllowAltered}
	for g, hospital := range hospitals {
		path := "heart-disease/processed." + hospital + ".data"
		b, err := st.read(path)
		if err != nil {
			return nil, err
		}
		t, err := csv.Read(bytes.NewReader(b), filepath.Join(src.Dir, filepath.FromSlash(path)), options)
		if err != nil {
			return nil, err
		}
		if err := j.addHospital(t, int32(g), features, &p); err != nil {
			return nil, err
		}
		if err := j.take(t, b, t.Complete(p.Missing == "fill")); err != nil {
			return nil, err
		}
	}
	return j, nil
}

// jointCSV reads the file at path whole: each owner holds its test records out of its own
// part.
func jointCSV(decode func(any) error, _ Source) (*joint, error) {
	p := CSVParams{TestFraction: .25, Header: true, Delimiter: ","}
	if err := decode(&p); err != nil {
		return nil, err
	}
	if err := p.validate(); err != nil {
		return nil, err
	}
	if p.TestPath != "" {
		return nil, config.Bad("test_path", p.TestPath,
			"no value: an owner's test records are held out of its own file")
	}
	b, err := userBytes(p.Path)
	if err != nil {
		return nil, err
	}
	var sums []string
	d, err := p.load(p.Path, &sums, nil)
	if err != nil {
		return nil, err
	}
	if p, err = p.onto(p.Path, b); err != nil {
		return nil, err
	}
	t, err := csv.Read(bytes.NewReader(b), p.Path, p.options())
	if err != nil {
		return nil, err
	}
	j := &joint{Dataset: d}
	if p.Header {
		if j.header, err = headerLine(b, p.Path); err != nil {
			return nil, err
		}
	}
	return j, j.take(t, b, t.Complete(false))
}

// headerLine is the first line of a file that is not empty.
func headerLine(b []byte, path string) ([]byte, error) {
	for number, line := range bytes.Split(b, []byte("\n")) {
		line = bytes.TrimRight(line, "\r")
		if len(line) == 0 {
			continue
		}
		if bytes.Count(line, []byte(`"`))%2 == 1 {
			return nil, &config.Error{
				File:    path,
				Line:    number + 1,
				Found:   "a header over several lines",
				Allowed: "one line",
			}
		}
		return line, nil
	}
	panic(fmt.Sprintf("data: %s was read and is empty", path))
}

// DealtPath is agent i's file below the folder of [WriteDealt].
func DealtPath(dir string, i int) string {
	return filepath.Join(dir, fmt.Sprintf("agent-%d", i), "records.csv")
}

// WriteDealt makes dir with the files of [Shard], readable by their owner alone, or
// nothing.
func WriteDealt(dir string, files [][]byte) (err error) {
	if _, err := os.Lstat(dir); err == nil {
		return &fs.PathError{Op: "make", Path: dir, Err: fs.ErrExist}
	}
	partial, err := os.MkdirTemp(filepath.Dir(dir), filepath.Base(dir)+".partial-*") // mode 0700
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, os.RemoveAll(partial))
		}
	}()
	for i, b := range files {
		path := DealtPath(partial, i)
		if err := os.Mkdir(filepath.Dir(path), 0o700); err != nil {
			return err
		}
		if err := os.WriteFile(path, b, 0o600); err != nil {
			return err
		}
	}
	return os.Rename(partial, dir)
}
