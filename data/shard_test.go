package data_test

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"sotto/config"
	"sotto/data"
)

// store writes a file and returns its path.
func store(t *testing.T, b []byte) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "part.csv")
	if err := os.WriteFile(path, b, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// The parts of a CSV file hold every complete line of it once, under its header, and an
// owner reads them as its own.
func TestShardCSV(t *testing.T) {
	text := "\n" + `x;y;"the owner";c` + "\r\n"
	var want []string
	for i := range 40 {
		line := fmt.Sprintf(`%d;%d;"%s";%s`, i, i*i, []string{"north", "south"}[i%2],
			[]string{"yes", "no"}[i/3%2])
		want = append(want, line)
		text += line + "\r\n"
		if i%10 == 0 {
			text += fmt.Sprintf("%d;NA;north;yes\n\n", i) // not complete
		}
	}
	path := store(t, []byte(text))
	params := func(p any) error {
		if c, ok := p.(*data.CSVParams); ok {
			c.Path, c.Delimiter, c.Missing, c.Label, c.Classes, c.Group, c.Groups = path, ";", []string{"NA"},
				"c", []string{"no", "yes"}, "the owner", []string{"north", "south"}
		}
		return nil
	}
	for partition, agents := range map[string]int{"iid": 3, "natural": 2} {
		files, records, err := data.Shard("csv", "", partition, agents, 5, params)
		if err != nil || len(files) != agents {
			t.Fatalf("%s: %d files, %v", partition, len(files), err)
		}
		var got []string
		for i, f := range files {
			lines := strings.Split(strings.TrimSuffix(string(f), "\n"), "\n")
			if lines[0] != `x;y;"the owner";c` || len(lines) != 1+records[i] {
				t.Fatalf("%s: agent %d has %d records in\n%s", partition, i, records[i], f)
			}
			if partition == "natural" && (strings.Contains(string(f), "south") != (i == 1) ||
				records[i] != 20) {
				t.Errorf("natural: agent %d has\n%s", i, f)
			}
			got = append(got, lines[1:]...)
			own, err := data.LoadOwn("csv", data.OwnFile{Path: store(t, f)}, data.Source{Seed: 1}, params)
			if err != nil {
				t.Fatal(err)
			}
			if n := own.Split.Train.Len() + own.Split.Test.Len(); n != records[i] {
				t.Errorf("%s: agent %d reads %d of its %d records", partition, i, n, records[i])
			}
		}
		slices.Sort(got)
		slices.Sort(want)
		if !slices.Equal(got, want) {
			t.Errorf("%s: the parts hold\n%q\nwant\n%q", partition, got, want)
		}
	}
}

// The files of owners are written together, each readable by its owner alone, over
// nothing that is there.
func TestWriteDealt(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "dealt")
	if err := data.WriteDealt(dir, [][]byte{[]byte("a"), []byte("b")}); err != nil {
		t.Fatal(err)
	}
	b, err := os.ReadFile(data.DealtPath(dir, 1))
	if err != nil || string(b) != "b" {
		t.Errorf("agent 1 has %q, %v", b, err)
	}
	if info, err := os.Stat(data.DealtPath(dir, 0)); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the file of agent 0: %v, %v", info, err)
	}
	if err := data.WriteDealt(dir, nil); !errors.Is(err, fs.ErrExist) {
		t.Errorf("over a folder that is there: %v", err)
	}
}

func TestShardRefuses(t *testing.T) {
	for name, c := range map[string]struct {
		dataset, text string
		change        func(*data.CSVParams)
		want          string
	}{
		"images": {"mnist", "", nil, "csv, heart-disease"},
		"two lines": {"csv", "x,c\n1,\"a\nb\"\n2,a\n", func(p *data.CSVParams) {
			p.Classes = []string{"a", "a\nb"}
		}, "several lines"},
		"header": {"csv", "\"x\n1\",c\n1,a\n2,a\n", nil, "several lines"},
		"test path": {"csv", "x,c\n1,a\n2,b\n", func(p *data.CSVParams) {
			p.TestPath = "t.csv"
		}, "test_path"},
		"empty": {"csv", "x,c\n1,a\n2,b\n", nil, "allow_empty"},
	} {
		path := store(t, []byte(c.text))
		_, _, err := data.Shard(c.dataset, "", "iid", 3, 1, func(p any) error {
			if csv, ok := p.(*data.CSVParams); ok {
				csv.Path, csv.Label, csv.Classes = path, "c", []string{"a", "b"}
				if c.change != nil {
					c.change(csv)
				}
			}
			return nil
		})
		var bad *config.Error
		if !errors.As(err, &bad) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// By hospital, the four parts have the sizes of the published description (FLamby), and
// are what each hospital's own file gives.
func TestShardHospitals(t *testing.T) {
	dir := os.Getenv("SOTTO_DATA")
	if dir == "" {
		t.Skip("SOTTO_DATA not set: needs heart-disease")
	}
	files, records, err := data.Shard("heart-disease", dir, "natural", 4, 1, defaults)
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(records, []int{303, 261, 46, 130}) {
		t.Errorf("%d records", records)
	}
	for i, hospital := range []string{"cleveland", "hungarian", "switzerland", "va"} {
		part, err := data.LoadOwn("heart-disease", data.OwnFile{Path: store(t, files[i])},
			data.Source{Seed: 9}, defaults)
		if err != nil {
			t.Fatal(err)
		}
		own, err := data.LoadOwn("heart-disease",
			data.OwnFile{Path: filepath.Join(dir, "heart-disease", "processed."+hospital+".data")},
			data.Source{Seed: 9}, defaults)
		if err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(recordsOf(part.Split), recordsOf(own.Split)) {
			t.Errorf("%s: other records than in its own file", hospital)
		}
	}
}

// recordsOf are the records of both parts, which are dealt by their places in a file.
func recordsOf(s *data.Split) (all []string) {
	for _, d := range []*data.Dataset{s.Train, s.Test} {
		for r := range d.Len() {
			all = append(all, fmt.Sprint(d.X.Row(r), d.Labels[r]))
		}
	}
	slices.Sort(all)
	return all
}
