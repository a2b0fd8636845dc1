package schema

import (
	"bytes"
	"encoding/binary"
	"encoding/csv"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode/utf16"
	"unicode/utf8"

	"sotto/config"
)

// Reading says how an owner's file is written. The zero value has it found. It is the
// owner's own: two owners of one schema may write their files differently.
type Reading struct {
	// Delimiter is comma, semicolon, tab, pipe or the character itself; "" is found.
	Delimiter string
	// Encoding is utf-8, latin-1, windows-1252 or utf-16; "" is found.
	Encoding string
	// DecimalComma says that numbers have a comma before their decimals: 81,5. It is
	// never guessed.
	DecimalComma bool
}

// Layout is how a file was read.
type Layout struct {
	Encoding  string `json:"encoding"`
	Delimiter string `json:"delimiter"` // comma, semicolon, tab or pipe; of Parquet none
	// Guesses names what neither the owner nor the file states: "encoding", "delimiter".
	Guesses []string `json:"guesses"`

	comma rune
}

// Text is the layout in words.
func (l *Layout) Text() string {
	say := func(what, v string) string {
		if slices.Contains(l.Guesses, what) {
			return v + " (guessed)"
		}
		return v
	}
	if l.Encoding == "parquet" {
		return "Parquet"
	}
	return say("encoding", l.Encoding) + ", " + say("delimiter", l.Delimiter)
}

// delimiters are the ones that are looked for.
var delimiters = []struct {
	name  string
	comma rune
}{{"comma", ','}, {"semicolon", ';'}, {"tab", '\t'}, {"pipe", '|'}}

// encodings are the names of a Reading, and what decodes each.
var encodings = map[string]func([]byte) (string, error){
	"utf-8":        fromUTF8,
	"latin-1":      func(b []byte) (string, error) { return fromBytes(b, nil) },
	"windows-1252": func(b []byte) (string, error) { return fromBytes(b, &windows1252) },
	"utf-16":       fromUTF16,
}

var (
	markUTF8   = []byte("\xef\xbb\xbf")
	markLittle = []byte("\xff\xfe")
	markBig    = []byte("\xfe\xff")
)

// windows1252 are the characters of bytes 0x80 to 0x9f; the five bytes without one are
// controls, as in Latin-1.
var windows1252 = [32]rune{'€', 0x81, '‚', 'ƒ', '„', '…', '†', '‡', 'ˆ', '‰', 'Š', '‹', 'Œ', 0x8d, 'Ž', 0x8f,
	0x90, '‘', '’', '“', '”', '•', '–', '—', '˜', '™', 'š', '›', 'œ', 0x9d, 'ž', 'Ÿ'}

// decode makes text of a file. Without a stated encoding a mark at the beginning decides.
// Else every line goes by its own bytes, so that no record changes how another is read:
// UTF-8 where they are, and Windows-1252, of which Latin-1's texts are a part.
func (r Reading) decode(file string, b []byte) (string, Layout, error) {
	l := Layout{Encoding: r.Encoding}
	switch {
	case r.Encoding != "":
		if _, ok := encodings[r.Encoding]; !ok {
			return "", l, config.Bad("encoding", r.Encoding, config.OneOf(encodings))
		}
	case bytes.HasPrefix(b, markUTF8):
		l.Encoding = "utf-8"
	case bytes.HasPrefix(b, markLittle), bytes.HasPrefix(b, markBig):
		l.Encoding = "utf-16"
	case utf8.Valid(b):
		l.Encoding = "utf-8"
	default:
		l.Encoding, l.Guesses = "windows-1252", []string{"encoding"}
	}
	from := encodings[l.Encoding]
	if len(l.Guesses) > 0 {
		from = fromLines
	}
	text, err := from(b)
	if i := strings.IndexByte(text, 0); err == nil && i >= 0 {
		err = &config.Error{Line: 1 + strings.Count(text[:i], "\n"), Found: "a zero byte",
			Allowed: "text; UTF-16 begins with a byte order mark"}
	}
	var e *config.Error
	if errors.As(err, &e) {
		e.File, e.Key = file, "encoding"
	}
	return text, l, err
}

func fromUTF8(b []byte) (string, error) {
	b = bytes.TrimPrefix(b, markUTF8)
	if utf8.Valid(b) {
		return string(b), nil
	}
	line := 1
	for one := range bytes.Lines(b) {
		if !utf8.Valid(one) {
			break
		}
		line++
	}
	return "", &config.Error{Line: line, Found: "bytes that are not UTF-8",
		Allowed: "UTF-8; see also latin-1, windows-1252"}
}

func fromBytes(b []byte, upper *[32]rune) (string, error) {
	var s strings.Builder
	s.Grow(len(b) + len(b)/16)
	for _, c := range b {
		if upper != nil && 0x80 <= c && c < 0xa0 {
			s.WriteRune(upper[c-0x80])
			continue
		}
		s.WriteRune(rune(c))
	}
	return s.String(), nil
}

// fromLines reads each line that is UTF-8 as such, and the others as Windows-1252.
func fromLines(b []byte) (string, error) {
	var s strings.Builder
	s.Grow(len(b) + len(b)/16)
	for line := range bytes.Lines(b) {
		text := string(line)
		if !utf8.Valid(line) {
			text, _ = fromBytes(line, &windows1252)
		}
		s.WriteString(text)
	}
	return s.String(), nil
}

func fromUTF16(b []byte) (string, error) {
	var order binary.ByteOrder = binary.LittleEndian
	switch {
	case bytes.HasPrefix(b, markBig):
		order = binary.BigEndian
	case !bytes.HasPrefix(b, markLittle):
		return "", &config.Error{Line: 1, Found: "no byte order mark", Allowed: "UTF-16 with one"}
	}
	if len(b)%2 != 0 {
		return "", &config.Error{Found: "an odd number of bytes", Allowed: "UTF-16"}
	}
	var s strings.Builder
	s.Grow(len(b) / 2)
	line := 1
	for i := 2; i < len(b); i += 2 {
		c := rune(order.Uint16(b[i:]))
		if utf16.IsSurrogate(c) {
			low := rune(0)
			if i += 2; i < len(b) {
				low = rune(order.Uint16(b[i:]))
			}
			if c = utf16.DecodeRune(c, low); c == utf8.RuneError {
				return "", &config.Error{Line: line, Found: "half a surrogate pair", Allowed: "UTF-16"}
			}
		}
		if c == '\n' {
			line++
		}
		s.WriteRune(c)
	}
	return s.String(), nil
}

// state takes the delimiter that the owner states, if any.
func (r Reading) state(l *Layout) (stated bool, err error) {
	if r.Delimiter == "" {
		return false, nil
	}
	for _, d := range delimiters {
		if r.Delimiter == d.name || r.Delimiter == string(d.comma) {
			l.Delimiter, l.comma = d.name, d.comma
			return true, nil
		}
	}
	return true, config.Bad("delimiter", r.Delimiter, "comma, semicolon, tab or pipe")
}

// delimiter finds the delimiter under which the header has all the columns needed.
func (r Reading) delimiter(file, text string, l *Layout, needed []string) error {
	stated, err := r.state(l)
	if stated || err != nil {
		return err
	}
	var whole []string
	most := -1
	for _, d := range delimiters {
		header, err := newCSV(text, d.comma).Read()
		if err != nil {
			continue
		}
		found := 0
		trim(header)
		for _, name := range needed {
			if slices.Contains(header, name) {
				found++
			}
		}
		if found == len(needed) {
			whole = append(whole, d.name)
		}
		// none found: the one that cuts the line into most cells, for the error
		if score := found<<20 + len(header); score > most {
			most, l.Delimiter, l.comma = score, d.name, d.comma
		}
	}
	switch {
	case len(whole) > 1:
		return &config.Error{File: file, Line: 1, Key: "delimiter", Found: strings.Join(whole, " or "),
			Allowed: "one that the columns of the schema decide, or a stated one"}
	case most < 0:
		l.Delimiter, l.comma = delimiters[0].name, delimiters[0].comma
	}
	l.Guesses = append(l.Guesses, "delimiter")
	return nil
}

func newCSV(text string, comma rune) *csv.Reader {
	r := csv.NewReader(strings.NewReader(text))
	r.Comma = comma
	return r
}

func trim(cells []string) {
	for i := range cells {
		cells[i] = strings.TrimSpace(cells[i])
	}
}

// csvFault is an error of package csv, which holds no cell.
func csvFault(err error, file string) error {
	var p *csv.ParseError
	if !errors.As(err, &p) {
		return fmt.Errorf("schema: %s: %w", file, err)
	}
	return &config.Error{File: file, Line: p.Line, Found: p.Err.Error(),
		Allowed: "rows of equally many cells, quoted as in RFC 4180"}
}
