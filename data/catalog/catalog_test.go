package catalog_test

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"sotto/data"
	"sotto/data/catalog"
)

func dataDir(t *testing.T) string {
	t.Helper()
	dir := os.Getenv("SOTTO_DATA")
	if dir == "" {
		t.Skip("SOTTO_DATA not set: needs all files")
	}
	return dir
}

// What a user's own files hold is theirs, whatever data set reads them.
func TestOfUsers(t *testing.T) {
	for _, e := range catalog.List() {
		if data.OfUsers(e.Name) != (e.Terms == "yours") {
			t.Errorf("%s: of users %v, terms %q", e.Name, data.OfUsers(e.Name), e.Terms)
		}
	}
	if !data.OfUsers("memory") {
		t.Error("records in memory are nobody's")
	}
}

// In an empty folder a data set asks for a file of its own list, or of none: two that
// read one file have one owner.
func TestOwner(t *testing.T) {
	asked := map[string]string{}
	for _, e := range catalog.List() {
		_, err := data.Load(e.Name, t.TempDir(), 1, func(any) error { return nil })
		if !errors.Is(err, data.ErrMissing) || len(e.Files) == 0 {
			if len(e.Files) > 0 {
				t.Errorf("%s: %v, want a missing file", e.Name, err)
			}
			continue
		}
		k := slices.IndexFunc(e.Files, func(f data.File) bool {
			return strings.Contains(err.Error(), filepath.FromSlash(f.Path))
		})
		if k < 0 {
			t.Errorf("%s asks for a file that is not in its list: %v", e.Name, err)
			continue
		}
		if other, ok := asked[e.Files[k].Path]; ok && catalog.Owner(other) != catalog.Owner(e.Name) {
			t.Errorf("%s and %s read %s", other, e.Name, e.Files[k].Path)
		}
		asked[e.Files[k].Path] = e.Name
	}
	if catalog.Owner("houses") != catalog.Owner("california-housing") ||
		catalog.Owner("mnist") == catalog.Owner("fashion-mnist") {
		t.Error("houses are not those of california-housing, or mnist is fashion-mnist")
	}
}

func TestListMatchesDatasets(t *testing.T) {
	list := catalog.List()
	for _, e := range list {
		if _, ok := data.Datasets[e.Name]; !ok || e.Records == "" || e.Shape == "" || e.Task == "" ||
			e.Terms == "" {
			t.Errorf("entry %+v", e)
		}
		if want := len(e.Files) > 0 && e.Name != "cifar-100"; e.Fetchable != want {
			t.Errorf("%s: fetchable %v", e.Name, e.Fetchable)
		}
		if e.Present(t.TempDir()) != (len(e.Files) == 0) {
			t.Errorf("%s: present in an empty folder is %v", e.Name, e.Present(t.TempDir()))
		}
	}
	if len(list) != len(data.Datasets) || !slices.IsSortedFunc(list, func(a, b catalog.Entry) int {
		return slices.Compare([]string{a.Name}, []string{b.Name})
	}) {
		t.Errorf("%d entries for %d data sets, or not sorted", len(list), len(data.Datasets))
	}
}

func TestVerifyRealFiles(t *testing.T) {
	absent := 0
	for _, s := range catalog.Verify(dataDir(t)) {
		if s.Err != nil {
			absent++
			t.Log(s.Err)
		}
	}
	// CIFAR-10's batches 2 to 5 are published but large; everything else must be there
	// and intact.
	if absent > 4 {
		t.Errorf("%d files are missing or altered", absent)
	}
}

// A file that cannot be read is neither missing nor altered, and one that nobody has
// published is refused without a panic.
func TestUnreadable(t *testing.T) {
	dir, f := t.TempDir(), data.Files()[0]
	if err := os.MkdirAll(filepath.Join(dir, filepath.FromSlash(f.Path)), 0o700); err != nil {
		t.Fatal(err)
	}
	if s := (catalog.FileStatus{File: f, Err: data.Check(dir, f)}); s.State() != "unreadable" {
		t.Errorf("a folder in its place: %s, %v", s.State(), s.Err)
	}
	if err := data.Check(dir, data.File{Path: "nothing"}); !errors.Is(err, data.ErrMissing) {
		t.Errorf("no published file: %v", err)
	}
	file := filepath.Join(dir, "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, e := range catalog.List() {
		if len(e.Files) > 0 && e.Present(file) {
			t.Errorf("%s is present below a file", e.Name)
		}
	}
}
