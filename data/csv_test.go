package data_test

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"sotto/data"
)

func TestReadCIFAR(t *testing.T) {
	record := func(labels ...byte) []byte {
		b := labels
		for k := range 3072 {
			b = append(b, byte(k/1024*100+k%1024%32))
		}
		return b
	}
	p, err := data.ReadCIFAR10(bytes.NewReader(append(record(3), record(9)...)), "f")
	if err != nil || !slices.Equal(p.Labels, []int32{3, 9}) || p.Coarse != nil {
		t.Fatalf("%+v, %v", p.Labels, err)
	}
	// Pixel (y, x) has red x, green 100 + x, blue 200 + x.
	if at := 3072 + (7*32+5)*3; !slices.Equal(p.Pixels[at:at+3], []byte{5, 105, 205}) {
		t.Errorf("pixel (7, 5) is %v", p.Pixels[at:at+3])
	}
	if p, err := data.ReadCIFAR100(bytes.NewReader(record(19, 99)), "f"); err != nil || p.Labels[0] != 99 ||
		p.Coarse[0] != 19 {
		t.Errorf("%v, %v", p, err)
	}
	for name, c := range map[string]struct {
		b    []byte
		fine bool
		key  string
	}{
		"empty":     {nil, false, "byte 0"},
		"truncated": {append(record(3), record(9)[:3000]...), false, "byte 3073"},
		"trailing":  {append(record(3), 1), false, "byte 3073"},
		"label":     {append(record(3), record(10)...), false, "byte 3073"},
		"coarse":    {record(20, 1), true, "byte 0"},
		"fine":      {record(1, 100), true, "byte 1"},
	} {
		read := data.ReadCIFAR10
		if c.fine {
			read = data.ReadCIFAR100
		}
		_, err := read(bytes.NewReader(c.b), "f")
		wantBad(t, name, err, c.key)
	}
}

func FuzzReadCIFAR(f *testing.F) {
	f.Add(make([]byte, 3073), false)
	f.Add(make([]byte, 3074), true)
	f.Fuzz(func(t *testing.T, b []byte, fine bool) {
		read, classes := data.ReadCIFAR10, int32(10)
		if fine {
			read, classes = data.ReadCIFAR100, 100
		}
		p, err := read(bytes.NewReader(b), "f")
		if err == nil && (len(p.Pixels) != 3072*len(p.Labels) || slices.Max(p.Labels) >= classes) {
			t.Fatalf("%d pixels, labels %v", len(p.Pixels), p.Labels)
		}
	})
}

func write(t *testing.T, name, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestUserCSV(t *testing.T) {
	path := write(t, "p.csv", "id,age,bmi,site,ill\n1,50,20,b,yes\n2,120,30,a,no\n3,,31,a,no\n4,25,25,b,no\n")
	base := "path = '" + path +
		"'\nlabel = 'ill'\nlabel_values = ['no', 'yes']\ndrop = ['id']\nmissing = ['']\ngroup = " +
		"'site'\ngroups = ['a', 'b']\n" +
		"test_path = '" + path + "'\n[bounds]\nage = [0, 100]"
	s := load(t, "csv", "", base)
	// Row 3 is incomplete; age is clamped and scaled, bmi taken as it is.
	if d := s.Train; !slices.Equal(d.X.Data, []float32{.5, 20, 1, 30, .25, 25}) ||
		!slices.Equal(d.Labels, []int32{1, 0, 0}) || !slices.Equal(d.Groups, []int32{1, 0, 1}) {
		t.Errorf("%v %v %v", d.X.Data, d.Labels, d.Groups)
	}
	moved := write(t, "q.csv",
		"id,age,bmi,site,ill\n1,50,20,b,yes\n2,120,30,a,no\n3,,31,a,no\n4,25,25,b,no\n")
	if again := load(t, "csv", "", strings.ReplaceAll(base, path, moved)); again.Train.Digest !=
		s.Train.Digest {
		t.Error("the digest depends on where the file lies")
	}
	target := load(t, "csv", "", "path = '"+path+
		"'\ntarget = 'bmi'\ndrop = ['id', 'site', 'ill']\nmissing = ['']\ntest_fraction = 0.34")
	if target.Train.Len() != 2 || target.Test.Len() != 1 || target.Train.Targets == nil {
		t.Errorf("%d and %d records", target.Train.Len(), target.Test.Len())
	}
	for what, c := range map[string]struct{ params, key string }{
		"no path":        {"label = 'x'\nlabel_values = ['a', 'b']", "path"},
		"no label":       {"path = 'x'", "label"},
		"both":           {"path = 'x'\nlabel = 'a'\ntarget = 'b'\nlabel_values = ['a', 'b']", "label"},
		"no classes":     {"path = 'x'\nlabel = 'a'", "label_values"},
		"no groups":      {"path = 'x'\ntarget = 'a'\ngroup = 'b'", "groups"},
		"values, target": {"path = 'x'\ntarget = 'a'\nlabel_values = ['a', 'b']", "label_values"},
		"groups alone":   {"path = 'x'\ntarget = 'a'\ngroups = ['a']", "groups"},
		"delimiter":      {"path = 'x'\ntarget = 'a'\ndelimiter = ',,'", "delimiter"},
		"bounds":         {"path = 'x'\ntarget = 'a'\n[bounds]\nb = [1, 1]", "bounds.b"},
		"unknown bounds": {base + "\nheight = [0, 1]", "bounds"},
		"fraction":       {"path = 'x'\ntarget = 'a'\ntest_fraction = 1.0", "test_fraction"},
		"class":          {strings.Replace(base, "'yes'", "'ja'", 1), "column ill"},
		"group":          {strings.Replace(base, "['a', 'b']", "['a']", 1), "column site"},
		"no such drop":   {strings.Replace(base, "drop = ['id']", "drop = ['ward']", 1), "drop"},
		"label dropped":  {strings.Replace(base, "drop = ['id']", "drop = ['ill']", 1), "drop"},
		"group dropped":  {strings.Replace(base, "drop = ['id']", "drop = ['site']", 1), "drop"},
		"target dropped": {"path = 'x'\ntarget = 'a'\ndrop = ['a']", "drop"},
		"value twice":    {strings.Replace(base, "['no', 'yes']", "['no', 'yes', 'no']", 1), "label_values"},
		"group twice":    {strings.Replace(base, "['a', 'b']", "['a', 'b', 'a']", 1), "groups"},
		"missing cell":   {strings.Replace(base, "missing = ['']", "", 1), "column age"},
		"no test left": {"path = '" + path +
			"'\ntarget = 'bmi'\ndrop = ['id', 'site', 'ill']\nmissing = ['']\ntest_fraction = 0.1",
			"test_fraction"},
	} {
		_, err := data.Load("csv", "", 1, params(c.params))
		wantBad(t, what, err, c.key)
	}
	if _, err := data.Load("csv", "", 1, params("path = '/absent.csv'\ntarget = 'a'")); !errors.Is(err,
		data.ErrMissing) {
		t.Errorf("absent file: %v", err)
	}
}

func TestUserLibSVM(t *testing.T) {
	path := write(t, "x.txt", "0 1:1\n2 2:1\n0 3:1\n2 1:2\n")
	s := load(t, "libsvm", "", "path = '"+path+"'\ndim = 4\nlabel_values = [0, 2]\ntest_path = '"+path+
		"'\ntest_limit = 1")
	if s.Train.X.Cols != 4 || !slices.Equal(s.Train.Labels, []int32{0, 1, 0, 1}) || s.Test.Len() != 1 {
		t.Errorf("%d columns, labels %v, %d test records", s.Train.X.Cols, s.Train.Labels, s.Test.Len())
	}
	r := load(t, "libsvm", "", "path = '"+path+"'\ndim = 4\nregression = true")
	if r.Train.Len() != 3 || r.Test.Len() != 1 || r.Train.Targets == nil {
		t.Errorf("%d and %d records", r.Train.Len(), r.Test.Len())
	}
	for what, c := range map[string]struct{ params, key string }{
		"no path": {"dim = 4", "path"},
		"no dim":  {"path = 'x'", "dim"},
		"values": {"path = '" + path + "'\ndim = 4\nregression = true\nlabel_values = [0, 2]",
			"label_values"},
		"label": {"path = '" + path + "'\ndim = 4", "label of record 1"},
		"index": {"path = '" + path + "'\ndim = 2\nlabel_values = [0, 2]", "index"},
	} {
		_, err := data.Load("libsvm", "", 1, params(c.params))
		wantBad(t, what, err, c.key)
	}
}

// Files that are written otherwise are told so in one line.
func TestUserCSVWrittenOtherwise(t *testing.T) {
	for text, want := range map[string]string{
		"a;b\n1;2\n":                    `file: a;b; line 1 is one cell: is the delimiter ";"?`,
		"a\tb\n1\t2\n":                  `is the delimiter "\t"?`,
		"c,b\n1,2\n":                    `:1: drop: found "a", allowed: columns of this file: c, b`,
		"\xff\xfea\x00,\x00b\x00\n\x00": ":1: found UTF-16 text, allowed: UTF-8",
	} {
		path := write(t, "o.csv", text)
		_, err := data.Load("csv", "", 1, params("path = '"+path+"'\ntarget = 'b'\ndrop = ['a']"))
		if err == nil || !strings.HasSuffix(err.Error(), want) {
			t.Errorf("%q: %v, want %s", text, err, want)
		}
	}
}
