package ledger

import (
	"bytes"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"hash"
	"iter"
	"slices"
	"strconv"
	"strings"

	"sotto/config"
)

// Table is a data set as its owner stores it.
type Table struct {
	// Lines yields the records as they stand in the file.
	Lines iter.Seq[[]byte]
	// Columns are named, or numbered "1", "2" and so on.
	Columns []string
	// Used says of each of Columns whether it identifies the records of a data set that
	// is seen for the first time. The others are looked at where an earlier file was seen
	// with them.
	Used []bool
	// Rows yields the cells of every record in the order of Columns, "" where a value is
	// missing. The slice is valid until the next one. Lines and Rows may be run through
	// more than once, also later, and are not nil.
	Rows iter.Seq[[]string]
	// Key is the column that names the person a record is of; "": none.
	Key string
}

// layout is a set of columns, and the digests of records in these columns. Numbers count
// by value, other cells without blanks around them; the order of columns and further
// columns do not matter. So a data set is recognised that was exported anew.
type layout struct {
	columns []recordDigest // of names, ascending
	digests []recordDigest // of records, ascending
}

// source is the table that a fingerprint was made of, to look at it in other layouts.
type source struct {
	table *Table
	mac   hash.Hash
	names []recordDigest // of Columns
	seen  map[string][]recordDigest
}

// digester makes digests of a kind under a secret.
func digester(secret []byte) (hash.Hash, error) {
	if len(secret) < minSecret {
		return nil, config.Bad("secret", fmt.Sprintf("%d bytes", len(secret)),
			fmt.Sprintf("at least %d", minSecret))
	}
	return hmac.New(sha256.New, secret), nil
}

func digestOf(mac hash.Hash, kind byte, b []byte) recordDigest {
	var sum [sha256.Size]byte
	mac.Reset()
	mac.Write([]byte{kind})
	mac.Write(b)
	return recordDigest(mac.Sum(sum[:0])[:digestSize])
}

// NewTableFingerprint digests a table: its lines, its records by value, and with a key
// column the people it is of. secret is as for NewFingerprint. A key column that the
// table lacks, and a row with more or fewer cells than columns, are a config.Error.
func NewTableFingerprint(secret []byte, t Table) (*Fingerprint, error) {
	p, err := NewFingerprint(secret, t.Lines)
	if err != nil {
		return nil, err
	}
	mac, err := digester(secret)
	if err != nil {
		return nil, err
	}
	key, err := t.check()
	if err != nil {
		return nil, err
	}
	s := &source{table: &t, mac: mac, seen: map[string][]recordDigest{}}
	var own []recordDigest
	for i, name := range t.Columns {
		s.names = append(s.names, digestOf(mac, 'n', []byte(strings.ToLower(name))))
		if t.Used[i] {
			own = append(own, s.names[i])
		}
	}
	for row := range t.Rows {
		if len(row) != len(t.Columns) {
			return nil, config.Bad("rows", fmt.Sprintf("a row of %d cells", len(row)),
				fmt.Sprintf("%d, one for each column", len(t.Columns)))
		}
		if key >= 0 && row[key] != "" {
			p.people = append(p.people, digestOf(mac, 'p', []byte(canonical(row[key]))))
		}
	}
	p.people = sortedSet(p.people)
	p.from = s
	if own = sortedSet(own); len(own) > 0 {
		if digests := s.in(own); digests != nil {
			p.layouts = []layout{{own, digests}}
		}
	}
	return p, nil
}

// check refuses a table that cannot be read, and finds its key column; -1: it names none.
func (t *Table) check() (key int, err error) {
	if t.Rows == nil {
		return 0, config.Bad("rows", "none", "as many as lines")
	}
	if len(t.Used) != len(t.Columns) {
		return 0, config.Bad("used", fmt.Sprintf("%d values", len(t.Used)),
			fmt.Sprintf("%d, one for each column", len(t.Columns)))
	}
	if t.Key == "" {
		return -1, nil
	}
	if key = slices.Index(t.Columns, t.Key); key < 0 {
		return 0, config.Bad("key_column", t.Key, "a column of the file: "+strings.Join(t.Columns, ", "))
	}
	return key, nil
}

// in returns the digests of the table's records in the given columns, nil if it lacks one
// of them, or has one twice.
func (s *source) in(columns []recordDigest) []recordDigest {
	var id []byte
	for i := range columns {
		id = append(id, columns[i][:]...)
	}
	if d, ok := s.seen[string(id)]; ok {
		return d
	}
	d := s.project(columns)
	s.seen[string(id)] = d
	return d
}

func (s *source) project(columns []recordDigest) []recordDigest {
	at := make([]int, len(columns))
	for k, c := range columns {
		if at[k] = slices.Index(s.names, c); at[k] < 0 || slices.Contains(s.names[at[k]+1:], c) {
			return nil
		}
	}
	var digests []recordDigest
	var b []byte
	for row := range s.table.Rows {
		b = b[:0]
		for k, i := range at {
			v := canonical(row[i])
			b = append(b, columns[k][:]...)
			b = binary.LittleEndian.AppendUint64(b, uint64(len(v)))
			b = append(b, v...)
		}
		digests = append(digests, digestOf(s.mac, 'v', b))
	}
	return sortedSet(digests)
}

// maxExponent bounds what is read as a number: a text of digits beyond stays a text.
const maxExponent = 1 << 20

// canonical writes a cell so that equal values have equal texts: a decimal number as its
// sign, its digits without zeros at either end, "e" and a power of ten, exactly; any
// other text without blanks around it.
func canonical(cell string) string {
	cell = strings.TrimSpace(cell)
	s, sign := cell, ""
	if strings.HasPrefix(s, "+") || strings.HasPrefix(s, "-") {
		if s[0] == '-' {
			sign = "-"
		}
		s = s[1:]
	}
	exponent := 0
	if i := strings.IndexAny(s, "eE"); i >= 0 {
		e, err := strconv.Atoi(s[i+1:])
		if err != nil || e < -maxExponent || e > maxExponent {
			return cell
		}
		exponent, s = e, s[:i]
	}
	whole, part, _ := strings.Cut(s, ".")
	digits := whole + part
	if digits == "" || strings.Trim(digits, "0123456789") != "" {
		return cell
	}
	exponent -= len(part)
	digits = strings.TrimLeft(digits, "0")
	if digits == "" {
		return "0"
	}
	short := strings.TrimRight(digits, "0")
	return sign + short + "e" + strconv.Itoa(exponent+len(digits)-len(short))
}

// has reports whether q's table, or what was stored of it, has a record of l.
func (q *Fingerprint) has(l *layout) bool {
	return intersect(q.digestsIn(l.columns), l.digests) > 0
}

// digestsIn returns q's records in the given columns, nil if they are not known so.
func (q *Fingerprint) digestsIn(columns []recordDigest) []recordDigest {
	if q.from != nil {
		return q.from.in(columns)
	}
	for i := range q.layouts {
		if slices.Equal(q.layouts[i].columns, columns) {
			return q.layouts[i].digests
		}
	}
	return nil
}

// intersect counts what two ascending lists share.
func intersect(a, b []recordDigest) (n int) {
	for i, j := 0, 0; i < len(a) && j < len(b); {
		switch c := compareDigests(a[i], b[j]); {
		case c == 0:
			n, i, j = n+1, i+1, j+1
		case c < 0:
			i++
		default:
			j++
		}
	}
	return n
}

// merge returns the layouts of both with all their records. A layout that q's table has
// is completed from it; only where it has none of p's it adds its own.
func (p *Fingerprint) merge(q *Fingerprint) []layout {
	var all []layout
	found := false
	for _, l := range p.layouts {
		if d := q.digestsIn(l.columns); d != nil {
			l.digests, found = sortedSet(slices.Concat(l.digests, d)), true
		}
		all = append(all, l)
	}
	for _, l := range q.layouts {
		known := slices.ContainsFunc(p.layouts, func(o layout) bool {
			return slices.Equal(o.columns, l.columns)
		})
		if !known && (q.from == nil || !found) {
			all = append(all, l)
		}
	}
	slices.SortFunc(all, compareLayouts)
	return all
}

func compareLayouts(a, b layout) int { return slices.CompareFunc(a.columns, b.columns, compareDigests) }

// encodeTable appends what format 2 has beyond the digests of lines: people, then
// layouts, each list after its length.
func (p *Fingerprint) encodeTable(b []byte) []byte {
	list := func(d []recordDigest) {
		b = binary.LittleEndian.AppendUint64(b, uint64(len(d)))
		for i := range d {
			b = append(b, d[i][:]...)
		}
	}
	list(p.people)
	b = binary.LittleEndian.AppendUint64(b, uint64(len(p.layouts)))
	for i := range p.layouts {
		list(p.layouts[i].columns)
		list(p.layouts[i].digests)
	}
	return b
}

// parseTable reads what encodeTable writes; false: it is not intact.
func (p *Fingerprint) parseTable(b []byte) bool {
	ok := true
	number := func() uint64 {
		if len(b) < 8 {
			ok = false
			return 0
		}
		n := binary.LittleEndian.Uint64(b)
		b = b[8:]
		return n
	}
	list := func() []recordDigest {
		n := number()
		if n > uint64(len(b))/digestSize {
			ok = false
			return nil
		}
		d := cutDigests(b[:n*digestSize])
		b = b[n*digestSize:]
		ok = ok && (d != nil || n == 0)
		return d
	}
	p.people = list()
	for n := number(); ok && n > 0; n-- {
		l := layout{list(), list()}
		if len(l.columns) == 0 || len(l.digests) == 0 {
			return false
		}
		p.layouts = append(p.layouts, l)
	}
	for i := 1; i < len(p.layouts); i++ {
		ok = ok && compareLayouts(p.layouts[i-1], p.layouts[i]) < 0
	}
	return ok && len(b) == 0 && p.byValue()
}

// cutDigests reads digests that ascend; nil if they do not.
func cutDigests(b []byte) []recordDigest {
	d := make([]recordDigest, len(b)/digestSize)
	for i := range d {
		d[i] = recordDigest(b[i*digestSize:])
		if i > 0 && bytes.Compare(d[i-1][:], d[i][:]) >= 0 {
			return nil
		}
	}
	return d
}

// People returns how many people p's file names in its key column, and how many of them
// the file before, charged to a ledger, named too. It is private.
func (p *Fingerprint) People(before *Fingerprint) (known, total int) {
	if before != nil {
		known = intersect(p.people, before.people)
	}
	return known, len(p.people)
}
