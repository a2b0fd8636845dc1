package rowfile

import (
	"os"
	"path/filepath"
	"testing"
)

// A table that cannot be written to reports it and adds nothing, now and later.
func TestFailedAdd(t *testing.T) {
	c := Codec[string]{
		Header: []string{"x"},
		Key:    func(r string) string { return r },
		Encode: func(r string) []string { return []string{r} },
		Decode: func(f []string) (string, error) { return f[0], nil },
	}
	path := filepath.Join(t.TempDir(), "rows.csv")
	table, err := Open(path, c)
	if err != nil {
		t.Fatal(err)
	}
	if err := table.Add("a"); err != nil {
		t.Fatal(err)
	}
	table.file.Close()
	if table.file, err = os.Open(path); err != nil { // for reading only
		t.Fatal(err)
	}
	for range 2 {
		if table.Add("b") == nil {
			t.Fatal("a row was lost and nothing said")
		}
	}
	if _, ok := table.Find("b"); ok || len(table.Rows()) != 1 {
		t.Error("a row is there that was not written")
	}
	rows, err := table.Close()
	if err != nil || len(rows) != 1 {
		t.Errorf("%q, %v", rows, err)
	}
}
