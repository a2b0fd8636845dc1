package schema_test

import (
	"bytes"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/parquet-go/parquet-go"

	"sotto/config"
	"sotto/data/schema"
)

// patient is a row of rows, in another order, with columns that the schema does not have.
type patient struct {
	Outcome  *string  `parquet:"outcome,optional,dict"`
	Visits   []int32  `parquet:"visits,list"`
	Pressure *int32   `parquet:"pressure,optional,decimal(1:9)"`
	Born     int32    `parquet:"born,date"`
	Seen     int64    `parquet:"seen,timestamp(millisecond)"`
	Age      float64  `parquet:"age,snappy"`
	Sex      *string  `parquet:"sex,optional,zstd"`
	Bmi      *float32 `parquet:"bmi,optional"`
	Pain     *string  `parquet:"pain,optional"`
	Patient  string   `parquet:"patient"`
	Alive    bool     `parquet:"alive"`
}

func to[T any](v T) *T { return &v }

// patients says what rows says.
var patients = []patient{
	{to("well"), []int32{1, 2}, to[int32](640), 0, 0, 25, to("F"), to[float32](30), to("none"), "p1", true},
	{to("ill"), nil, to[int32](3000), 1, 1, -1, to("M"), to[float32](50), to("some"), "p2", true},
	{to("ill"), []int32{3}, nil, 1, 1, 100, to("X"), nil, to("none"), "p3", false},
	{to("well"), nil, to[int32](0), 1, 1, 50, nil, to[float32](10), nil, "p4", true},
	{nil, nil, to[int32](2560), 1, 1, 50, to("F"), to[float32](20), to("some"), "p5", true},
	{to("ill"), nil, to[int32](320), 1, 1, 75, to("M"), to[float32](40), to("none"), "p1", true},
}

func parquetOf(t testing.TB, rows []patient, groups int) []byte {
	t.Helper()
	var b bytes.Buffer
	w := parquet.NewGenericWriter[patient](&b)
	for part := range slices.Chunk(rows, max(1, len(rows)/groups)) {
		if _, err := w.Write(part); err != nil {
			t.Fatal(err)
		}
		if err := w.Flush(); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// A Parquet file gives the same records as the CSV file that says the same.
func TestParquetIsReadAsCSV(t *testing.T) {
	s := parse(t, heart)
	want, err := s.Read("own.csv", []byte(rows), schema.Reading{})
	if err != nil {
		t.Fatal(err)
	}
	for _, groups := range []int{1, 3} {
		got, err := s.Read("own.parquet", parquetOf(t, patients, groups), schema.Reading{})
		if err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(got.X, want.X) || !slices.Equal(got.Labels, want.Labels) ||
			!slices.Equal(got.IDs, want.IDs) || !slices.Equal(got.Lines, []int{1, 2, 3, 6}) {
			t.Errorf("%d groups: %v %v %q %v", groups, got.X, got.Labels, got.IDs, got.Lines)
		}
		if got.Counts.Extra != 3 || got.Counts.Layout.Text() != "Parquet" { // lists are left out
			t.Errorf("%+v", got.Counts)
		}
	}
}

// The cells of further types are those that a CSV file would have.
func TestParquetTypes(t *testing.T) {
	s := parse(t, heart)
	sheet, err := s.Sheet("own.parquet", parquetOf(t, patients[1:3], 1), schema.Reading{})
	if err != nil {
		t.Fatal(err)
	}
	var cells []string
	for row := range sheet.Rows {
		for k, name := range sheet.Columns {
			cells = append(cells, name+"="+row[k])
		}
	}
	text := strings.Join(cells, " ")
	for _, want := range []string{"born=1970-01-02", "seen=1970-01-01T00:00:00.001Z", "pressure=300.0",
		"alive=true", "alive=false", "bmi= ", "age=-1 "} {
		if !strings.Contains(text+" ", want) {
			t.Errorf("no %q in %q", want, text)
		}
	}
}

func TestParquetFaults(t *testing.T) {
	s, whole := parse(t, heart), parquetOf(t, patients, 2)
	for name, c := range map[string]struct {
		b    []byte
		how  schema.Reading
		want string
	}{
		"cut off":  {whole[:len(whole)/2], schema.Reading{}, "no intact Parquet file"},
		"delim":    {whole, schema.Reading{Delimiter: "comma"}, "own.parquet is a Parquet file"},
		"decimals": {whole, schema.Reading{DecimalComma: true}, "own.parquet is a Parquet file"},
		"no rows":  {parquetOf(t, nil, 1), schema.Reading{}, "no rows"},
	} {
		_, err := s.Read("own.parquet", c.b, c.how)
		var bad *config.Error
		if !errors.As(err, &bad) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func FuzzParquet(f *testing.F) {
	f.Add(parquetOf(f, patients, 1))
	f.Add(parquetOf(f, patients, 3))
	s := parse(f, heart)
	f.Fuzz(func(t *testing.T, b []byte) {
		_, err := s.Read("fuzz", b, schema.Reading{})
		var bad *config.Error
		if err != nil && !errors.As(err, &bad) {
			t.Fatalf("%T: %v", err, err)
		}
	})
}

// A sheet has the same cells and lines however the file is written.
func TestSheet(t *testing.T) {
	s := parse(t, heart)
	lines := func(text string, how schema.Reading) string {
		sheet, err := s.Sheet("own.csv", []byte(text), how)
		if err != nil {
			t.Fatal(err)
		}
		var b bytes.Buffer
		for line := range sheet.Lines {
			b.Write(line)
			b.WriteByte('\n')
		}
		return b.String()
	}
	want := "p1\x1f25\x1fF\x1f30\x1f64\x1fnone\x1fwell\x1f\n"
	if got := lines(rows, schema.Reading{}); !strings.HasPrefix(got, want) || strings.Count(got, "\n") != 6 {
		t.Errorf("%q", got)
	}
	turned := "note,outcome,pain,pressure,bmi,sex,age,patient,twice,twice\n,well,none,64,30,F,25,p1,a,b\n"
	if got := lines(turned, schema.Reading{}); got != want {
		t.Errorf("%q", got)
	}
	comma := "outcome;pain;pressure;bmi;sex;age;patient\nwell;none;64;30;F;25,0;p1\n"
	want = strings.Replace(want, "25", "25.0", 1)
	if got := lines(comma, schema.Reading{DecimalComma: true}); got != want {
		t.Errorf("%q", got)
	}
	sheet, err := s.Sheet("own.csv", []byte(turned), schema.Reading{})
	if err != nil || !slices.Equal(sheet.Columns,
		[]string{"note", "outcome", "pain", "pressure", "bmi", "sex", "age", "patient"}) ||
		sheet.Used[0] || !sheet.Used[1] {
		t.Errorf("%v, %v, %v", sheet.Columns, sheet.Used, err)
	}
}
