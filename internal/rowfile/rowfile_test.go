package rowfile_test

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"pgregory.net/rapid"

	"sotto/config"
	"sotto/internal/rowfile"
)

type row struct {
	n    int
	text string
}

// codec is that of rows in order; those of a log stay as they were added.
func codec(ordered bool) rowfile.Codec[row] {
	c := rowfile.Codec[row]{
		Header: []string{"n", "text"},
		Key:    func(r row) string { return strconv.Itoa(r.n) },
		Encode: func(r row) []string { return []string{strconv.Itoa(r.n), r.text} },
		Decode: func(f []string) (row, error) {
			n, err := strconv.Atoi(f[0])
			if err != nil {
				return row{}, config.Bad("n", f[0], "a whole number")
			}
			return row{n, f[1]}, nil
		},
		Row:     "row",
		Table:   "computation",
		Columns: "the columns ",
		Foreign: func(h []string) string {
			if h[0] == "n" {
				return ""
			}
			return "another kind"
		},
	}
	if ordered {
		c.Compare = func(a, b row) int { return cmp.Compare(a.n, b.n) }
	}
	return c
}

func open(t testing.TB, path string, c rowfile.Codec[row]) *rowfile.Table[row] {
	t.Helper()
	table, err := rowfile.Open(path, c)
	if err != nil {
		t.Fatal(err)
	}
	return table
}

// A process that was killed after any byte of its file leaves a file with which the next
// one ends at the same bytes: rows that are whole are kept, others are added again.
func TestTornAtEveryByte(t *testing.T) {
	rows := []row{{3, "plain"}, {1, `quoted "text", with a comma`}, {2, ""}, {10, "last"}}
	for _, ordered := range []bool{true, false} {
		path := filepath.Join(t.TempDir(), "rows.csv")
		table := open(t, path, codec(ordered))
		if err := table.Add(rows...); err != nil {
			t.Fatal(err)
		}
		torn, err := os.ReadFile(path) // before rows are put in order
		if err != nil {
			t.Fatal(err)
		}
		if _, err := table.Close(); err != nil {
			t.Fatal(err)
		}
		want, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		for _, from := range [][]byte{torn, want} {
			for k := range len(from) + 1 {
				if err := os.WriteFile(path, from[:k], 0o644); err != nil {
					t.Fatal(err)
				}
				table := open(t, path, codec(ordered))
				missing := slices.DeleteFunc(slices.Clone(rows), func(r row) bool {
					kept, ok := table.Find(strconv.Itoa(r.n))
					return ok && kept == r
				})
				if lines := bytes.Count(from[:k], []byte("\n")); len(rows)-len(missing) != max(0, lines-1) {
					t.Fatalf("cut at %d, with %d lines: %d rows are missing", k, lines, len(missing))
				}
				if err := table.Add(missing...); err != nil {
					t.Fatal(err)
				}
				if _, err := table.Close(); err != nil {
					t.Fatal(err)
				}
				if got, _ := os.ReadFile(path); !bytes.Equal(got, want) {
					t.Fatalf("cut at %d of\n%s\nends as\n%s\nwant\n%s", k, from, got, want)
				}
			}
		}
	}
}

// Whatever is added, found and cut off, a table holds what a map does.
func TestTableIsAMap(t *testing.T) {
	path := filepath.Join(t.TempDir(), "rows.csv")
	rapid.Check(t, func(rt *rapid.T) {
		os.Remove(path)
		c := codec(rapid.Bool().Draw(rt, "ordered"))
		table, want := open(t, path, c), map[string]row{}
		rt.Repeat(map[string]func(*rapid.T){
			"add": func(rt *rapid.T) {
				r := row{rapid.IntRange(0, 9).Draw(rt, "n"),
					rapid.StringMatching(`[a-z", ]*`).Draw(rt, "text")}
				if err := table.Add(r); err != nil {
					rt.Fatal(err)
				}
				want[strconv.Itoa(r.n)] = r
			},
			"stop": func(rt *rapid.T) {
				if err := table.Stop(); err != nil {
					rt.Fatal(err)
				}
				f, err := os.OpenFile(path, os.O_APPEND|os.O_WRONLY, 0)
				if err == nil {
					_, err = f.WriteString(rapid.SampledFrom([]string{"", "7", "7,half"}).Draw(rt, "half"))
					err = errors.Join(err, f.Close())
				}
				if err != nil {
					rt.Fatal(err)
				}
				table = open(t, path, c)
			},
			"close": func(rt *rapid.T) {
				rows, err := table.Close()
				if err != nil || len(rows) != len(want) {
					rt.Fatalf("%d rows of %d, %v", len(rows), len(want), err)
				}
				table = open(t, path, c)
			},
			"": func(rt *rapid.T) {
				read, err := rowfile.Read(path, c)
				if err != nil || len(read) != len(want) || !slices.Equal(read, table.Rows()) ||
					c.Compare != nil && !slices.IsSortedFunc(read, c.Compare) {
					rt.Fatalf("the file has %v, the table %v (%v)", read, table.Rows(), err)
				}
				for key, r := range want {
					if got, ok := table.Find(key); !ok || got != r {
						rt.Fatalf("%s is %v, want %v", key, got, r)
					}
				}
			},
		})
		if err := table.Stop(); err != nil {
			rt.Fatal(err)
		}
	})
}

func TestManyAddAtOnce(t *testing.T) {
	path := filepath.Join(t.TempDir(), "rows.csv")
	table := open(t, path, codec(true))
	var wg sync.WaitGroup
	for k := range 8 {
		wg.Go(func() {
			for i := range 20 {
				if err := table.Add(row{20*k + i, "x"}); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	rows, err := table.Close()
	if err != nil || len(rows) != 160 || rows[159].n != 159 {
		t.Errorf("%d rows, %v", len(rows), err)
	}
	if err := table.Add(row{1, ""}); !errors.Is(err, os.ErrClosed) {
		t.Errorf("a closed table: %v", err)
	}
}

func TestMerge(t *testing.T) {
	dir := t.TempDir()
	var paths []string
	for k, rows := range [][]row{{{4, "d"}, {0, "a"}}, {{2, "c"}, {0, "a"}}, {{0, "b"}}} {
		paths = append(paths, filepath.Join(dir, fmt.Sprint(k)))
		if err := os.WriteFile(paths[k], rowfile.Encode(rows, codec(true)), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	got, err := rowfile.Merge(paths[:2], codec(true))
	if err != nil || !slices.Equal(got, []row{{0, "a"}, {2, "c"}, {4, "d"}}) {
		t.Errorf("%v, %v", got, err)
	}
	empty, other := filepath.Join(dir, "empty"), filepath.Join(dir, "other")
	os.WriteFile(empty, []byte("n,te"), 0o644)
	os.WriteFile(other, []byte("n,texts\n1,x\n"), 0o644)
	for last, want := range map[string]string{
		paths[2]: ": row: found row 0 with other figures than in an earlier file, allowed: shards of one " +
			"computation",
		empty: ":1: found , allowed: n,text, as the first file",
		other: ":1: found n,texts, allowed: n,text, as the first file",
	} {
		if _, err := rowfile.Merge([]string{paths[0], last}, codec(true)); err == nil ||
			err.Error() != last+want {
			t.Errorf("%v, want %s%s", err, last, want)
		}
	}
	_, err = rowfile.Merge([]string{filepath.Join(dir, "none")}, codec(true))
	if !errors.Is(err, os.ErrNotExist) {
		t.Error(err)
	}
}

// Files that are no table of this kind are refused and left as they are.
func TestRefusals(t *testing.T) {
	path := filepath.Join(t.TempDir(), "rows.csv")
	for text, want := range map[string]string{
		"a,b\n1,x\n":              ":1: found a,b, allowed: another kind",
		"n,texts\n1,x\n":          ":1: found n,texts, allowed: the columns n,text",
		"n,text\n1,x\nq,y\n2,z":   `:3: n: found "q", allowed: a whole number`,
		"n,text\n1,x\n2\n":        ": record on line 3: wrong number of fields",
		"n,text\n1,x \"y\"\n2,\n": `: parse error on line 2, column 5: bare " in non-quoted-field`,
	} {
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		_, err := rowfile.Open(path, codec(true))
		if err == nil || err.Error() != path+want {
			t.Errorf("%q: %v, want %s%s", text, err, path, want)
		}
		if got, _ := os.ReadFile(path); string(got) != text {
			t.Errorf("%q was changed to %q", text, got)
		}
	}
	for text, want := range map[string][]string{"c,d\n1,2\n": {"c", "d"}, "c,d\n1\n": nil, "c,d": nil} {
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		h, err := rowfile.Header(path)
		if !slices.Equal(h, want) || (err != nil) != (text == "c,d\n1\n") {
			t.Errorf("%q: header %q, %v", text, h, err)
		}
	}
}

func FuzzDecode(f *testing.F) {
	f.Add([]byte("n,text\n1,x\n2,\"y\ny\"\n"))
	f.Add([]byte("n,te"))
	f.Fuzz(func(t *testing.T, b []byte) {
		c := codec(true)
		rows, err := rowfile.Decode("f", b, c)
		if err != nil {
			return
		}
		again, err := rowfile.Decode("f", rowfile.Encode(rows, c), c)
		if err != nil || !slices.Equal(again, rows) {
			t.Errorf("%v came back as %v, %v", rows, again, err)
		}
	})
}

func Example() {
	dir, err := os.MkdirTemp("", "rows")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, "squares.csv")
	squares := rowfile.Codec[[2]string]{
		Header:  []string{"n", "square"},
		Key:     func(r [2]string) string { return r[0] },
		Encode:  func(r [2]string) []string { return r[:] },
		Decode:  func(f []string) ([2]string, error) { return [2]string(f), nil },
		Compare: func(a, b [2]string) int { return strings.Compare(a[0], b[0]) },
	}
	table, err := rowfile.Open(path, squares)
	if err != nil {
		panic(err)
	}
	for _, n := range []int{3, 1, 2} {
		if _, done := table.Find(fmt.Sprint(n)); done {
			continue // by an earlier process
		}
		if err := table.Add([2]string{fmt.Sprint(n), fmt.Sprint(n * n)}); err != nil {
			panic(err)
		}
	}
	rows, err := table.Close()
	fmt.Println(rows, err)
	// Output: [[1 1] [2 4] [3 9]] <nil>
}
