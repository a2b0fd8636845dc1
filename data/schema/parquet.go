package schema

import (
	"bytes"
	"io"
	"math/big"
	"strconv"
	"time"
	"unicode/utf8"

	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/format"

	"sotto/config"
)

// parquetMagic begins every Parquet file.
const parquetMagic = "PAR1"

// null is the cell of a missing value of Parquet. No text has it: a zero byte is refused.
const null = "\x00"

// parquetBuffer is how many rows are decoded at once.
const parquetBuffer = 256

// openParquet reads the columns of a Parquet file that hold one value a row; columns of
// lists and groups are left out. Numbers are exact, dates are 2006-01-02, times are those
// of RFC 3339.
func (r Reading) openParquet(file string, b []byte) (_ *rows, err error) {
	for _, stated := range []struct{ key, found string }{{"delimiter", r.Delimiter},
		{"encoding", r.Encoding}, {"decimal_comma", map[bool]string{true: "true"}[r.DecimalComma]}} {
		if stated.found != "" {
			return nil, config.Bad(stated.key, stated.found, "no value: "+file+" is a Parquet file")
		}
	}
	bad := &config.Error{File: file, Found: "no intact Parquet file", Allowed: "CSV, or Parquet with one " +
		"value a row in each column"}
	defer recovered(&err, bad)
	f, err := parquet.OpenFile(bytes.NewReader(b), int64(len(b)))
	if err != nil {
		return nil, bad
	}
	at := map[int]int{} // the place of each column of the file
	out := &rows{layout: Layout{Encoding: "parquet", Delimiter: "none", Guesses: []string{}}}
	var texts []func(parquet.Value) (string, bool)
	for _, c := range f.Root().Columns() {
		if c.Leaf() && !c.Repeated() {
			at[c.Index()] = len(out.header)
			out.header = append(out.header, c.Name())
			texts = append(texts, parquetText(c.Type()))
		}
	}
	trim(out.header)
	p := &parquetRows{groups: f.RowGroups(), at: at, texts: texts, cells: make([]string, len(texts)),
		file: file, bad: bad, header: out.header}
	out.next = p.next
	return out, nil
}

// recovered makes bad of a panic of the library, which reads what anybody may have made.
func recovered(err *error, bad error) {
	if recover() != nil {
		*err = bad
	}
}

// parquetRows are the rows of all groups.
type parquetRows struct {
	groups []parquet.RowGroup
	open   parquet.Rows
	buffer []parquet.Row // decoded, of which the first are read
	at     map[int]int
	texts  []func(parquet.Value) (string, bool)
	cells  []string
	count  int
	file   string
	header []string
	bad    error
}

func (p *parquetRows) next() (_ []string, _ int, err error) {
	defer recovered(&err, p.bad)
	for len(p.buffer) == 0 {
		if err := p.fill(); err != nil {
			return nil, 0, err
		}
	}
	p.count++
	for k := range p.cells {
		p.cells[k] = null
	}
	for _, v := range p.buffer[0] {
		k, ok := p.at[v.Column()]
		if !ok || v.IsNull() {
			continue
		}
		if p.cells[k], ok = p.texts[k](v); !ok {
			return nil, 0, &config.Error{File: p.file, Line: p.count,
				Key:   "column " + strconv.Quote(p.header[k]),
				Found: "a value that is neither text, number nor date", Allowed: "those, or a missing value"}
		}
	}
	p.buffer = p.buffer[1:]
	return p.cells, p.count, nil
}

// fill decodes further rows; io.EOF where there are none.
func (p *parquetRows) fill() error {
	if p.open == nil {
		if len(p.groups) == 0 {
			return io.EOF
		}
		p.open, p.groups = p.groups[0].Rows(), p.groups[1:]
	}
	buffer := make([]parquet.Row, parquetBuffer)
	n, err := p.open.ReadRows(buffer)
	p.buffer = buffer[:n]
	switch {
	case err == io.EOF || err == nil && n == 0:
		err = p.open.Close()
		p.open = nil
	case err != nil:
		return p.bad
	}
	return err
}

// parquetText is how values of a type are written, as a CSV file would have them.
func parquetText(t parquet.Type) func(parquet.Value) (string, bool) {
	logical := t.LogicalType()
	if logical == nil {
		return parquetPlain
	}
	switch l := logical.Value.(type) {
	case *format.DecimalType:
		return func(v parquet.Value) (string, bool) { return parquetDecimal(v, int(l.Scale)) }
	case *format.DateType:
		return func(v parquet.Value) (string, bool) {
			return time.Unix(int64(v.Int32())*86_400, 0).UTC().Format(time.DateOnly), true
		}
	case *format.TimestampType:
		unit := time.Nanosecond
		switch l.Unit.Value.(type) {
		case *format.MilliSeconds:
			unit = time.Millisecond
		case *format.MicroSeconds:
			unit = time.Microsecond
		}
		return func(v parquet.Value) (string, bool) {
			n, second := v.Int64(), int64(time.Second/unit)
			at := time.Unix(n/second, n%second*int64(unit)).UTC()
			return at.Format(time.RFC3339Nano), true
		}
	case *format.IntType:
		if l.IsSigned {
			return parquetPlain
		}
		return func(v parquet.Value) (string, bool) {
			if v.Kind() == parquet.Int32 {
				return strconv.FormatUint(uint64(v.Uint32()), 10), true
			}
			return strconv.FormatUint(v.Uint64(), 10), true
		}
	case *format.StringType, *format.EnumType, *format.JsonType, nil:
		return parquetPlain
	}
	return func(parquet.Value) (string, bool) { return "", false }
}

// parquetPlain writes what has no further meaning than its physical type: numbers in
// full, so that a column of whole ones has the same texts where a missing cell has made
// it one of fractions.
func parquetPlain(v parquet.Value) (string, bool) {
	switch v.Kind() {
	case parquet.Boolean:
		return strconv.FormatBool(v.Boolean()), true
	case parquet.Int32:
		return strconv.FormatInt(int64(v.Int32()), 10), true
	case parquet.Int64:
		return strconv.FormatInt(v.Int64(), 10), true
	case parquet.Float:
		return strconv.FormatFloat(float64(v.Float()), 'f', -1, 32), true
	case parquet.Double:
		return strconv.FormatFloat(v.Double(), 'f', -1, 64), true
	case parquet.ByteArray:
		b := v.ByteArray()
		return string(b), utf8.Valid(b) && bytes.IndexByte(b, 0) < 0
	}
	return "", false
}

// parquetDecimal writes an integer that counts units of 10^-scale.
func parquetDecimal(v parquet.Value, scale int) (string, bool) {
	n := new(big.Int)
	switch v.Kind() {
	case parquet.Int32:
		n.SetInt64(int64(v.Int32()))
	case parquet.Int64:
		n.SetInt64(v.Int64())
	case parquet.ByteArray, parquet.FixedLenByteArray:
		b := v.ByteArray()
		if n.SetBytes(b); len(b) > 0 && b[0] >= 0x80 { // two's complement, big end first
			n.Sub(n, new(big.Int).Lsh(big.NewInt(1), uint(8*len(b))))
		}
	default:
		return "", false
	}
	if scale < 0 || scale > 1000 {
		return "", false
	}
	q := new(big.Rat).SetFrac(n, new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(scale)), nil))
	return q.FloatString(scale), true
}
