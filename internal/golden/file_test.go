package golden

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
)

// A goldenFile holds the columns of every case, by name.
type goldenFile struct {
	path string
	mu   sync.Mutex
	rows map[string][]column
}

func openGolden(name string) (*goldenFile, error) {
	f := &goldenFile{path: filepath.Join("testdata", "golden", name), rows: map[string][]column{}}
	b, err := os.ReadFile(f.path)
	if os.IsNotExist(err) {
		return f, nil
	}
	row := ""
	for line := range strings.Lines(string(b)) {
		line = strings.TrimSuffix(line, "\n")
		if value, ok := strings.CutPrefix(line, "\t"); ok {
			key, value, _ := strings.Cut(value, " ")
			f.rows[row] = append(f.rows[row], column{key, strings.TrimLeft(value, " ")})
		} else if line != "" && line[0] != '#' {
			row = line
		}
	}
	return f, err
}

// keep drops all columns but one.
func (f *goldenFile) keep(name string) {
	for row, all := range f.rows {
		f.rows[row] = slices.DeleteFunc(all, func(c column) bool { return c.name != name })
	}
}

// set replaces what the file says of a case.
func (f *goldenFile) set(row string, got []column) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.rows[row] = got
}

// compare names every column that differs, with both values.
func (f *goldenFile) compare(row string, got []column) []string {
	want, ok := f.rows[row]
	if !ok {
		return []string{fmt.Sprintf("%s has no %s: -update", f.path, row)}
	}
	var bad []string
	for k := range max(len(got), len(want)) {
		none := column{"nothing", ""}
		g, w := none, none
		if k < len(got) {
			g = got[k]
		}
		if k < len(want) {
			w = want[k]
		}
		if g != w {
			bad = append(bad, fmt.Sprintf("%s: got %s %s\n%*s want %s %s",
				row, g.name, g.value, len(row)+1, "", w.name, w.value))
		}
	}
	return bad
}

// write writes the file, cases in the order of their names. Those that are no longer run
// are dropped.
func (f *goldenFile) write(head string, known []string) error {
	var b strings.Builder
	for line := range strings.Lines(head) {
		b.WriteString("# " + line)
	}
	b.WriteString("\n")
	for _, row := range slices.Sorted(maps.Keys(f.rows)) {
		if !slices.Contains(known, row) {
			continue
		}
		b.WriteString("\n" + row + "\n")
		for _, c := range f.rows[row] {
			fmt.Fprintf(&b, "\t%-8s %s\n", c.name, c.value)
		}
	}
	if err := os.MkdirAll(filepath.Dir(f.path), 0o755); err != nil {
		return err
	}
	return os.WriteFile(f.path, []byte(b.String()), 0o644)
}
