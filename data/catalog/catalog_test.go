package catalog_test

import (
	"os"
	"slices"
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
