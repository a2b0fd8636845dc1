package data

import "slices"

// entries describes the members of Datasets; a test keeps both in step.
var entries = []Entry{
	{Name: "mnist", Records: "60,000 + 10,000", Shape: "28 x 28 x 1", Task: "10 digits", Terms: "CC BY-SA 3.0 (LeCun, Cortes)"},
	{Name: "fashion-mnist", Records: "60,000 + 10,000", Shape: "28 x 28 x 1", Task: "10 kinds of clothing", Terms: "MIT (Zalando SE)"},
	{Name: "glyphs", Records: "6,000 + 2,000 (any)", Shape: "28 x 28 x 1", Task: "10 drawn digits", Terms: "generated"},
}

// List describes every data set, sorted by name.
func List() []Entry {
	list := slices.Clone(entries)
	for i := range list {
		e := &list[i]
		for _, f := range files {
			if f.Dataset == e.Name {
				e.Files = append(e.Files, f)
			}
		}
		e.Fetchable = len(e.Files) > 0 && !slices.ContainsFunc(e.Files, func(f File) bool { return len(f.URLs) == 0 })
	}
	slices.SortFunc(list, func(a, b Entry) int {
		if a.Name < b.Name {
			return -1
		}
		return 1
	})
	return list
}
