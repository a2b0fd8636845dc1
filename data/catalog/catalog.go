// Package catalog lists the data sets that the program knows, with their files.
package catalog

import (
	"cmp"
	"errors"
	"os"
	"path/filepath"
	"slices"

	"sotto/data"
)

// FileStatus is the result of checking one published file: Err is that of [data.Check].
type FileStatus struct {
	data.File
	Err error
}

// State is "ok", "missing", "altered", or "unreadable" where the file cannot be read.
func (s FileStatus) State() string {
	switch {
	case s.Err == nil:
		return "ok"
	case errors.Is(s.Err, data.ErrMissing):
		return "missing"
	case errors.Is(s.Err, data.ErrAltered):
		return "altered"
	}
	return "unreadable"
}

// Verify compares every published file below dir with its size and SHA-256.
func Verify(dir string) []FileStatus {
	var all []FileStatus
	for _, f := range data.Files() {
		all = append(all, FileStatus{f, data.Check(dir, f)})
	}
	return all
}

// Entry describes one data set for `sotto data list`.
type Entry struct {
	Name    string      `json:"name"`
	Records string      `json:"records"` // training and test records
	Shape   string      `json:"shape"`
	Task    string      `json:"task"`
	Terms   string      `json:"terms"` // licence or conditions, as commonly stated
	Files   []data.File `json:"files,omitempty"`
	// Fetchable says that Fetch can download the data set.
	Fetchable bool `json:"fetchable"`
}

// Present reports whether all files of the data set exist below dir with the published
// sizes; it does not read them. Generators are always present.
func (e Entry) Present(dir string) bool {
	for _, f := range e.Files {
		info, err := os.Stat(filepath.Join(dir, filepath.FromSlash(f.Path)))
		if err != nil || info.Size() != f.Bytes {
			return false
		}
	}
	return true
}

// entries describes the members of data.Datasets; a test keeps both in step.
var entries = []Entry{
	{Name: "mnist", Records: "60,000 + 10,000", Shape: "28 x 28 x 1", Task: "10 digits",
		Terms: "CC BY-SA 3.0 (LeCun, Cortes)"},
	{Name: "fashion-mnist", Records: "60,000 + 10,000", Shape: "28 x 28 x 1", Task: "10 kinds of clothing",
		Terms: "MIT (Zalando SE)"},
	{Name: "cifar-10", Records: "50,000 + 10,000", Shape: "32 x 32 x 3", Task: "10 kinds of objects",
		Terms: "none stated; cite Krizhevsky 2009"},
	{Name: "cifar-100", Records: "5,000 + 2,000 (subset)", Shape: "32 x 32 x 3", Task: "100 kinds of objects",
		Terms: "none stated; cite Krizhevsky 2009"},
	{Name: "heart-disease", Records: "740 or 920", Shape: "13 or 18", Task: "disease, 4 hospitals",
		Terms: "CC BY 4.0 (UCI); name the investigators"},
	{Name: "california-housing", Records: "20,640", Shape: "8", Task: "house value",
		Terms: "none stated; Pace, Barry 1997"},
	{Name: "houses", Records: "20,640", Shape: "8, norm 1", Task: "house value or longitude",
		Terms: "none stated; Pace, Barry 1997"},
	{Name: "adult-a9a", Records: "32,561 + 16,281", Shape: "123", Task: "income", Terms: "CC BY 4.0 (UCI)"},
	{Name: "breast-cancer", Records: "569", Shape: "30", Task: "diagnosis", Terms: "CC BY 4.0 (UCI)"},
	{Name: "parkinsons", Records: "5,875", Shape: "19", Task: "score, 42 people",
		Terms: "CC BY 4.0 (UCI); cite Tsanas et al. 2009"},
	{Name: "movielens", Records: "100,000 of 943 users", Shape: "20 (any)", Task: "rating",
		Terms: "GroupLens: research, no redistribution; you supply u.data"},
	{Name: "made-ratings", Records: "100,000 of 943 users", Shape: "20 (any)",
		Task: "rating, in place of movielens", Terms: "generated"},
	{Name: "linear-tasks", Records: "10 to 100 for each agent", Shape: "100 (any)",
		Task: "one linear rule for each agent", Terms: "generated"},
	{Name: "least-squares", Records: "100 for each agent", Shape: "10 (any)", Task: "linear regression",
		Terms: "generated"},
	{Name: "logistic-regression", Records: "100 for each agent", Shape: "10 (any)",
		Task: "one noisy linear rule", Terms: "generated"},
	{Name: "quadratics", Records: "10 for each agent", Shape: "10 (any)",
		Task: "convex problems of known constants", Terms: "generated"},
	{Name: "values", Records: "1 for each agent", Shape: "10 (any)", Task: "vectors to average",
		Terms: "generated"},
	{Name: "csv", Records: "any", Shape: "any", Task: "your delimited text file", Terms: "yours"},
	{Name: "libsvm", Records: "any", Shape: "any", Task: "your sparse text file", Terms: "yours"},
	{Name: "table", Records: "any", Shape: "any", Task: "your files by a schema", Terms: "yours"},
	{Name: "glyphs", Records: "6,000 + 2,000 (any)", Shape: "28 x 28 x 1", Task: "10 drawn digits",
		Terms: "generated"},
}

// fileOwners names the data set whose files another one reads.
var fileOwners = map[string]string{"houses": "california-housing"}

// Owner returns the data set whose published files the one called name reads: itself, or
// another one. Two that have the same owner are the same records.
func Owner(name string) string { return cmp.Or(fileOwners[name], name) }

// List describes every data set, sorted by name.
func List() []Entry {
	list := slices.Clone(entries)
	for i := range list {
		e := &list[i]
		for _, f := range data.Files() {
			if f.Dataset == Owner(e.Name) {
				e.Files = append(e.Files, f)
			}
		}
		e.Fetchable = len(e.Files) > 0 && !slices.ContainsFunc(e.Files, func(f data.File) bool {
			return len(f.URLs) == 0
		})
	}
	slices.SortFunc(list, func(a, b Entry) int { return cmp.Compare(a.Name, b.Name) })
	return list
}
