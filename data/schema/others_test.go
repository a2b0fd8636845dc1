package schema_test

import (
	"bytes"
	"slices"
	"strings"
	"testing"

	"github.com/parquet-go/parquet-go"

	"sotto/data/schema"
)

const townSchema = `version = 1
[[column]]
name = "town"
kind = "category"
categories = ["Málaga", "Zürich"]
other = true
missing = "other"
[[column]]
name = "code"
kind = "category"
categories = ["73211009", "38341003"]
other = true
missing = "other"
[target]
column = "ill"
kind = "class"
values = ["no", "yes"]
`

// The bytes of one record do not change how others are read, whatever they are and in
// whatever column. One byte that is not UTF-8 had every "Zürich" read as "ZÃ¼rich".
func TestOneRecordsBytesChangeNoOther(t *testing.T) {
	s := parse(t, townSchema)
	rows := "town,code,note,ill\nMálaga,73211009,x,no\n\"Zürich\",38341003,Müller,yes\n"
	want, err := s.Read("own.csv", []byte(rows+"Bonn,1,x,no\n"), schema.Reading{})
	if err != nil {
		t.Fatal(err)
	}
	for _, last := range []string{"Bonn,1,M\xfcller,no\n", "Z\xfcrich,1,x,no\n", "Bonn,1,\"\x80\n\",no\n"} {
		got, err := s.Read("own.csv", []byte(rows+last), schema.Reading{})
		if err != nil {
			t.Fatal(err)
		}
		if others := 2 * want.Width; !slices.Equal(got.X[:others], want.X[:others]) || got.Len() != 3 {
			t.Errorf("%q: the others are %v, want %v", last, got.X[:others], want.X[:others])
		}
		if name, _, _ := strings.Cut(got.Counts.Layout.Text(), ","); name != "windows-1252 (guessed)" {
			t.Errorf("%q: %s", last, name)
		}
	}
	if r, err := s.Read("own.csv", []byte(rows+"Z\xfcrich,1,x,no\n"), schema.Reading{}); err != nil ||
		!slices.Equal(r.X[2*r.Width:2*r.Width+2], want.X[want.Width:want.Width+2]) {
		t.Errorf("a line of another encoding: %v, %v", r, err)
	}
}

// A column of whole numbers that one missing cell has made one of doubles has the same
// texts: 73211009 was 7.3211009e+07, and no category.
func TestOneMissingCellChangesNoOther(t *testing.T) {
	type whole struct {
		Town string `parquet:"town"`
		Code int64  `parquet:"code"`
		Ill  string `parquet:"ill"`
	}
	type double struct {
		Town string   `parquet:"town"`
		Code *float64 `parquet:"code,optional"`
		Ill  string   `parquet:"ill"`
	}
	s := parse(t, townSchema)
	read := func(write func(b *bytes.Buffer) error) []float32 {
		var b bytes.Buffer
		if err := write(&b); err != nil {
			t.Fatal(err)
		}
		r, err := s.Read("own.parquet", b.Bytes(), schema.Reading{})
		if err != nil {
			t.Fatal(err)
		}
		return r.X[:2*r.Width]
	}
	want := read(func(b *bytes.Buffer) error {
		return parquet.Write(b, []whole{{"Bonn", 73211009, "no"}, {"Bonn", 38341003, "yes"},
			{"Bonn", 1, "no"}})
	})
	got := read(func(b *bytes.Buffer) error {
		return parquet.Write(b, []double{{"Bonn", to(73211009.), "no"}, {"Bonn", to(38341003.), "yes"},
			{"Bonn", nil, "no"}})
	})
	if !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}
