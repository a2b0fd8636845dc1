package schema_test

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unicode/utf16"

	"pgregory.net/rapid"

	"sotto/config"
	"sotto/data/schema"
)

// Rows without an id are counted by themselves: nobody is the same person as another for
// having none.
func TestEmptyIDsAreCounted(t *testing.T) {
	without := strings.NewReplacer("\np2,", "\n,", "\np4,", "\n ,").Replace(rows)
	c, err := parse(t, heart).Check("own.csv", []byte(without), schema.Reading{})
	if err != nil || c.EmptyIDs != 2 || c.RepeatedIDs != 1 {
		t.Errorf("%+v %v, want 2 rows without an id and 1 with a repeated one", c, err)
	}
}

// rows has a row for each thing that a cell can do.
const rows = `patient,age,sex,bmi,pressure,pain,outcome
p1,25,F,30,64,none,well
p2,-1, M ,50,300,some,ill
p3,100,X,,NA,none,ill
p4,50,,10,0,NA,well
p5,50,F,20,256,some,
p1,75,M,40,32,none,ill
`

func TestRead(t *testing.T) {
	r, err := parse(t, heart).Read("own.csv", []byte(rows), schema.Reading{})
	if err != nil {
		t.Fatal(err)
	}
	// age, F, M, other, sex missing, bmi, bmi missing, pressure, none, some, intercept
	want := [][]float32{
		{.25, 1, 0, 0, 0, 0, 0, .25, 1, 0, 1},
		{0, 0, 1, 0, 0, 1, 0, 1, 0, 1, 1},
		{1, 0, 0, 1, 0, 0, 1, .5, 1, 0, 1},
		{.75, 0, 1, 0, 0, .5, 0, .125, 1, 0, 1},
	}
	if r.Width != 11 || !slices.Equal(r.X, slices.Concat(want...)) {
		t.Errorf("width %d, %v", r.Width, r.X)
	}
	if !slices.Equal(r.Labels, []int32{0, 1, 1, 1}) || r.Targets != nil ||
		!slices.Equal(r.Lines, []int{2, 3, 4, 7}) || !slices.Equal(r.IDs, []string{"p1", "p2", "p3", "p1"}) {
		t.Errorf("labels %v, lines %v, ids %q", r.Labels, r.Lines, r.IDs)
	}
	c := r.Counts
	got := fmt.Sprint(c.Rows, c.Kept, c.Dropped, c.Refused, c.Incomplete, c.Extra, c.RepeatedIDs, c.Classes,
		c.Columns)
	if want := "6 4 2 0 3 0 1 [1 3] [{age 0 0 1 0 0} {sex 1 1 0 1 0} {bmi 1 1 0 0 0} {pressure 1 1 1 0 0} " +
		"{pain 1 0 0 0 0} {outcome 1 0 0 0 0}]"; got != want {
		t.Errorf("counts\n%s, want\n%s", got, want)
	}
	if text := c.Layout.Text(); text != "utf-8, comma (guessed)" {
		t.Error(text)
	}
}

// A number outside the bounds is clipped to them, however far outside: 1e38 was, and 1e39
// was called no number.
func TestReadClipsAnyNumber(t *testing.T) {
	for cell, ok := range map[string]bool{"1e38": true, "1e39": true, "1e309": true, "1e999999": true,
		"inf": false, "Infinity": false, "nan": false} {
		text := strings.Replace(rows, ",300,", ","+cell+",", 1)
		r, err := parse(t, heart).Read("own.csv", []byte(text), schema.Reading{})
		if (err == nil) != ok || ok && r.X[11+7] != 1 {
			t.Errorf("%s: %v", cell, err)
		}
		r, err = parse(t, heart).Read("own.csv", []byte(strings.Replace(text, cell, "-"+cell, 1)),
			schema.Reading{})
		if (err == nil) != ok || ok && r.X[11+7] != 0 {
			t.Errorf("-%s: %v", cell, err)
		}
	}
}

func TestReadNumbers(t *testing.T) {
	text := "version = 1\n[[column]]\nname = \"x\"\nkind = \"number\"\nbounds = [0, 8]\n" +
		"[target]\ncolumn = \"y\"\nkind = \"number\"\nbounds = [-2, 2]\n"
	for scale, want := range map[string][]float32{"": {1, -2}, "scale = [0, 1]": {.75, 0},
		"scale = [-1, 1]": {.5, -1}} {
		r, err := parse(t, text+scale).Read("own", []byte("x;y\n4;1,0\n\"9,5\";-3\n"),
			schema.Reading{DecimalComma: true})
		if err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(r.Targets, want) || !slices.Equal(r.X, []float32{.5, 1}) || r.Labels != nil ||
			r.IDs != nil {
			t.Errorf("%s: %v, %v", scale, r.Targets, r.X)
		}
	}
}

// encoders write a file as a Reading's encodings have it; "" is UTF-8 with a mark.
var encoders = map[string]func(string) []byte{
	"utf-8": func(s string) []byte { return []byte(s) },
	"":      func(s string) []byte { return []byte("\ufeff" + s) },
	"latin-1": func(s string) (b []byte) {
		for _, c := range s {
			b = append(b, byte(c))
		}
		return b
	},
	"utf-16": func(s string) []byte { return wide(binary.LittleEndian, s) },
	"big":    func(s string) []byte { return wide(binary.BigEndian, s) },
}

func wide(order binary.AppendByteOrder, s string) (b []byte) {
	for _, c := range utf16.Encode([]rune("\ufeff" + s)) {
		b = order.AppendUint16(b, c)
	}
	return b
}

// line writes cells with quotes where they must have them, or all with quotes.
func line(cells []string, comma string, quoted, crlf bool) string {
	var parts []string
	for _, c := range cells {
		if quoted || strings.ContainsAny(c, "\"\t,;|") {
			c = `"` + strings.ReplaceAll(c, `"`, `""`) + `"`
		}
		parts = append(parts, c)
	}
	if crlf {
		return strings.Join(parts, comma) + "\r\n"
	}
	return strings.Join(parts, comma) + "\n"
}

// The same records give the same bits, whatever the order of columns, what else is in the
// file, and however it is written.
func TestSameRecordsSameBits(t *testing.T) {
	s := parse(t, strings.Replace(heart, `"F"`, `"Fé, \"x\""`, 1))
	names := []string{"patient", "age", "sex", "bmi", "pressure", "pain", "outcome"}
	rapid.Check(t, func(t *rapid.T) {
		var table [][]string
		n := rapid.IntRange(1, 8).Draw(t, "rows")
		for i := range n {
			x := rapid.Float64Range(-10, 300)
			number := func(k string) string {
				v := strconv.FormatFloat(x.Draw(t, k), 'g', rapid.IntRange(-1, 6).Draw(t, "digits"), 64)
				return rapid.SampledFrom([]string{v, v, v, "NA", ""}).Draw(t, k+" cell")
			}
			table = append(table, []string{fmt.Sprint("p", i),
				strconv.FormatFloat(x.Draw(t, "age"), 'g', -1, 64),
				rapid.SampledFrom([]string{"Fé, \"x\"", "M", "other", "a|b;c\td", ""}).Draw(t, "sex"),
				number("bmi"), number("pressure"),
				rapid.SampledFrom([]string{"none", "some"}).Draw(t, "pain"),
				rapid.SampledFrom([]string{"well", "ill"}).Draw(t, "outcome")})
		}
		read := func(columns []int, extra int, comma, encoding string,
			decimal, crlf, quoted, stated bool) *schema.Records {
			var b strings.Builder
			header := []string{}
			for _, k := range columns {
				header = append(header, names[k])
			}
			for k := range extra {
				header = append(header, fmt.Sprint("extra ", k%2))
			}
			b.WriteString(line(header, comma, quoted, crlf))
			for _, row := range table {
				var cells []string
				for _, k := range columns {
					cell := row[k]
					if decimal && (k == 1 || k == 3 || k == 4) {
						cell = strings.Replace(cell, ".", ",", 1)
					}
					cells = append(cells, cell)
				}
				for range extra {
					cells = append(cells, "é;,\"|")
				}
				b.WriteString(line(cells, comma, quoted, crlf))
			}
			how := schema.Reading{DecimalComma: decimal}
			if stated {
				how.Delimiter = comma
				if how.Encoding = encoding; encoding == "big" {
					how.Encoding = "utf-16"
				}
			}
			r, err := s.Read("own.csv", encoders[encoding](b.String()), how)
			if err != nil {
				t.Fatalf("%v\n%s", err, b.String())
			}
			if r.Counts.Extra != extra {
				t.Fatalf("%d extra columns, want %d", r.Counts.Extra, extra)
			}
			return r
		}
		order := []int{0, 1, 2, 3, 4, 5, 6}
		a := read(order, 0, ",", "utf-8", false, false, false, true)
		b := read(rapid.Permutation(order).Draw(t, "columns"), rapid.IntRange(0, 3).Draw(t, "extra"),
			rapid.SampledFrom([]string{",", ";", "\t", "|"}).Draw(t, "comma"),
			rapid.SampledFrom([]string{"utf-8", "", "latin-1", "utf-16", "big"}).Draw(t, "encoding"),
			rapid.Bool().Draw(t, "decimal"), rapid.Bool().Draw(t, "crlf"), rapid.Bool().Draw(t, "quoted"),
			rapid.Bool().Draw(t, "stated"))
		same := slices.EqualFunc(a.X, b.X, func(x, y float32) bool {
			return math.Float32bits(x) == math.Float32bits(y)
		})
		if !same || !slices.Equal(a.Labels, b.Labels) || !slices.Equal(a.IDs, b.IDs) {
			t.Fatalf("%v\n%v", a.X, b.X)
		}
	})
}

// Nothing that a cell holds is in an error, nor what stands in the first line: a file
// without a header has a record there. place is the line of the error.
func TestErrorsHoldNoCell(t *testing.T) {
	const head = "patient,age,sex,bmi,pressure,pain,outcome\n"
	for _, c := range []struct {
		text string
		how  schema.Reading
		line int
		want string
	}{
		{head + "p1,SECRET,F,30,64,none,well\n", schema.Reading{}, 2, `column "age"`},
		{head + "p1,1,F,30,64,none,well\n\np1,1,F,30,64,SECRET,well\n", schema.Reading{}, 4, "categories"},
		{head + "p1,1,F,30,64,none,SECRET\n", schema.Reading{}, 2, `column "outcome"`},
		{head + "SECRET,,F,30,64,none,well\n", schema.Reading{}, 2, "missing cell"},
		{head + "p1,0x5EC2E7,F,SECRET,64,none,well\n", schema.Reading{}, 2, `column "age"`},
		{head + "p1,1,F,30,64,none,well,SECRET\n", schema.Reading{}, 2, "number of fields"},
		{head + "p1,1,F,30,64,none,SEC\"RET\n", schema.Reading{}, 2, "quote"},
		{head + "p1,1,F,30,64,none,\"SECRET\n", schema.Reading{}, 2, "quote"},
		{head + "p1,1,F,30,\"6,4\",none,well\n", schema.Reading{}, 2, "stated, not guessed"},
		{head + "p1,1,F,\"1.000,5\",64,none,well\n", schema.Reading{DecimalComma: true}, 2, "no point"},
		{head + "SECRET,1,F,30,64,NA,well\n", schema.Reading{}, 1, "no complete row"},
		{head, schema.Reading{}, 1, "no rows"},
		{"", schema.Reading{}, 1, "no line"},
		{"SECRET,1,F,30,64,none,well\n", schema.Reading{}, 1,
			`no "patient", "age", "sex", "bmi", "pressure" and 2 more`},
		{"patient;age;SECRET\nSECRET;1;1\n", schema.Reading{}, 1, "semicolon"},
		{"age," + head + "SECRET,p1,1,F,30,64,none,well\n", schema.Reading{}, 1, "two of it"},
		{head + "p1,1,F,30,64,none,SECRET\x00\n", schema.Reading{}, 2, "zero byte"},
		{head + "p1,1,F,30,64,none,SECRET\xff\n", schema.Reading{Encoding: "utf-8"}, 2, "not UTF-8"},
		{head + "SECRET", schema.Reading{Encoding: "utf-16"}, 1, "byte order mark"},
		{"\xff\xfeS\x00E\x00C", schema.Reading{}, 0, "odd number"},
		{"\xff\xfeS\x00\n\x00\x00\xd8E\x00", schema.Reading{}, 2, "surrogate"},
		{head, schema.Reading{Encoding: "ebcdic"}, 0, "latin-1, utf-16, utf-8, windows-1252"},
		{head, schema.Reading{Delimiter: "dot"}, 0, "comma, semicolon, tab or pipe"},
	} {
		_, err := parse(t, heart).Read("own.csv", []byte(c.text), c.how)
		var e *config.Error
		if !errors.As(err, &e) || e.Line != c.line || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%q: %v", c.text, err)
			continue
		}
		if text := err.Error(); strings.Contains(text, "SEC") || strings.Contains(text, "5EC2E7") {
			t.Errorf("a cell in %v", err)
		}
	}
}

// Neither a schema that is a draft nor a file without a column has its records looked at.
func TestRefusedBeforeRecords(t *testing.T) {
	bad := []byte("patient,age,sex,bmi,pressure,pain\np1,x,x,x,x,x\np\n")
	draft := parse(t, strings.Replace(heart, "confirmed = true", "confirmed = false", 1))
	if _, err := draft.Read("own.csv", bad, schema.Reading{}); err == nil ||
		!strings.Contains(err.Error(), "heart.toml: confirmed: found false") {
		t.Errorf("a draft: %v", err)
	}
	if _, err := parse(t, heart).Read("own.csv", bad, schema.Reading{}); err == nil ||
		!strings.Contains(err.Error(), `no "outcome" among 6 columns`) {
		t.Errorf("a lost column: %v", err)
	}
}

// Check goes on where Read ends.
func TestCheck(t *testing.T) {
	text := rows + "p7,x,F,20,256,much,well\np8,50,F,20,256,none,dead\n"
	s := parse(t, strings.Replace(heart, "confirmed = true", "confirmed = false", 1))
	c, err := s.Check("own.csv", []byte(text), schema.Reading{Delimiter: ","})
	if err != nil {
		t.Fatal(err)
	}
	var refused []int
	for _, col := range c.Columns {
		refused = append(refused, col.Refused)
	}
	if c.Rows != 8 || c.Kept != 4 || c.Dropped != 2 || c.Refused != 2 ||
		!slices.Equal(refused, []int{1, 0, 0, 0, 1, 1}) || !slices.Equal(c.Classes, []int{1, 3}) {
		t.Errorf("%+v", c)
	}
	if text := c.Layout.Text(); text != "utf-8, comma" {
		t.Error(text)
	}
	if _, err := s.Check("own.csv", []byte("x\n"), schema.Reading{}); err == nil {
		t.Error("a file without the columns was checked")
	}
}

// Bytes that are no UTF-8 are Windows-1252, and that is said.
func TestEncodings(t *testing.T) {
	s := parse(t, strings.Replace(heart, `"M"]`, `"€", "ü"]`, 1))
	const guessed = "windows-1252 (guessed)"
	for text, want := range map[string]string{"\x80": guessed, "\xfc": guessed, "ü": "utf-8", "F": "utf-8"} {
		r, err := s.Read("own.csv", []byte(strings.Replace(rows, " M ", text, 1)), schema.Reading{})
		if err != nil {
			t.Fatal(err)
		}
		got, _, _ := strings.Cut(r.Counts.Layout.Text(), ",")
		if got != want || r.Width != 12 || r.X[12+4] != 0 {
			t.Errorf("%q: %s, %v", text, got, r.X[12:24])
		}
	}
}

func FuzzRead(f *testing.F) {
	for _, e := range encoders {
		f.Add(e(rows), "", "", false)
	}
	f.Add([]byte(strings.ReplaceAll(rows, ",", ";")), "semicolon", "windows-1252", true)
	f.Add([]byte("\"patient\";age\n"), "", "latin-1", false)
	s := parse(f, heart)
	f.Fuzz(func(t *testing.T, b []byte, delimiter, encoding string, comma bool) {
		how := schema.Reading{Delimiter: delimiter, Encoding: encoding, DecimalComma: comma}
		c, checked := s.Check("fuzz", b, how)
		r, err := s.Read("fuzz", b, how)
		var bad *config.Error
		if err != nil && !errors.As(err, &bad) {
			t.Fatalf("%T: %v", err, err)
		}
		if err == nil {
			if checked != nil || c.Refused != 0 || len(r.X) != r.Len()*r.Width || len(r.Labels) != r.Len() {
				t.Fatalf("%v, %+v", checked, c)
			}
			for _, x := range r.X {
				if !(-1 <= x && x <= 1) {
					t.Fatalf("feature %v", x)
				}
			}
		}
		draft, _, err := schema.Draft("fuzz", b, how, "")
		if err != nil {
			if !errors.As(err, &bad) {
				t.Fatalf("%T: %v", err, err)
			}
			return
		}
		d, err := schema.Parse("draft", draft)
		if err != nil || d.Confirmed {
			t.Fatalf("%v\n%s", err, draft)
		}
		if c, err := d.Check("fuzz", b, how); err == nil && c.Rows == 0 {
			t.Fatal("a draft of no rows")
		}
	})
}

// New records have no target yet, and what they lack is said by line.
func TestReadNew(t *testing.T) {
	s := parse(t, heart)
	old, err := s.Read("own.csv", []byte(rows), schema.Reading{})
	if err != nil {
		t.Fatal(err)
	}
	// without the last column, the target, and the first, the ID
	var text []string
	for _, line := range strings.Split(strings.TrimSpace(rows), "\n") {
		cells := strings.Split(line, ",")
		text = append(text, strings.Join(cells[1:len(cells)-1], ","))
	}
	got, err := s.ReadNew("new.csv", []byte(strings.Join(text, "\n")), schema.Reading{})
	if err != nil {
		t.Fatal(err)
	}
	// p5 lacks the target alone, p4 a cell that drops the row
	if !slices.Equal(got.Lines, []int{2, 3, 4, 6, 7}) || !slices.Equal(got.Dropped, []int{5}) {
		t.Errorf("lines %v, dropped %v", got.Lines, got.Dropped)
	}
	last := len(got.X) - 2*got.Width
	if !slices.Equal(slices.Concat(got.X[:last], got.X[last+got.Width:]), old.X) || got.Labels != nil ||
		got.IDs != nil {
		t.Errorf("%v, with the target %v", got.X, old.X)
	}
	if _, err := s.ReadNew("new.csv", []byte("age\n1\n"), schema.Reading{}); err == nil {
		t.Error("columns that the schema needs may be absent")
	}
}
