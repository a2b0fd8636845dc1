package schema

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"sotto/config"
)

// Mark stands behind every value of a draft that came from records.
const Mark = "  # private: agree on public values first"

// maxCategories is how many different texts make a category of a draft.
const maxCategories = 20

// draftMissing are the missing cells of every draft, whatever the file has.
var draftMissing = []string{"", "NA", "N/A", "NaN", "nan", "NULL", "null", "?"}

const draftHead = `# A draft, made from one owner's file. What is marked private came from records: replace
# it by public values, from handbooks or the meaning of the column, before anybody else
# sees this file. Kinds came from records too. Then agree, and write confirmed = true.

`

const draftComma = "# Column %s has numbers with a decimal comma: --decimal-comma reads them as numbers.\n\n"

// Draft proposes a schema file from an owner's file: numbers with their smallest and
// largest value for bounds, few different texts as categories, texts that never repeat,
// or a column that is called an id and mostly differs, as the id, anything else ignored.
// The column called target, or the last one if that is "", is the target. The draft holds
// values of records, each with Mark, and is not confirmed: it is private until those are
// replaced. Errors are *config.Error and hold no cell.
func Draft(file string, b []byte, how Reading, target string) ([]byte, *Layout, error) {
	in, err := how.open(file, b, nil)
	if err != nil {
		return nil, nil, err
	}
	header := in.header
	if err := draftHeader(header, file); err != nil {
		return nil, nil, err
	}
	found, err := survey(in, file, how)
	if err != nil {
		return nil, nil, err
	}
	at := len(header) - 1
	if target != "" {
		if at = slices.Index(header, target); at < 0 {
			return nil, nil, config.Bad("target", target, "a column that the first line names")
		}
	}
	s := &Schema{Version: Version, MissingCells: draftMissing}
	if s.Target, err = found[at].target(header[at]); err != nil {
		return nil, nil, &config.Error{File: file, Key: "target", Found: fmt.Sprintf("column %d", at+1),
			Allowed: err.Error()}
	}
	ids, head := 0, draftHead
	for k, name := range header {
		if k == at {
			continue
		}
		c := found[k].column(name)
		if found[k].comma && !found[k].number {
			head += fmt.Sprintf(draftComma, strconv.Quote(name))
		}
		if c.Kind == ID {
			if ids++; ids > 1 {
				c.Kind = Ignore
			}
		}
		s.Columns = append(s.Columns, c)
	}
	s.fill()
	if err := s.validate(); err != nil {
		return nil, nil, &config.Error{File: file, Found: "columns that make no schema",
			Allowed: "columns with different names, and a number or category besides the target"}
	}
	return append([]byte(head), s.write(Mark)...), &in.layout, nil
}

// guess finds the delimiter without a schema: the one that cuts the first line into most
// cells.
func (r Reading) guess(file, text string, l *Layout) error {
	if stated, err := r.state(l); stated || err != nil {
		return err
	}
	most, again := 1, false
	for _, d := range delimiters {
		header, err := newCSV(text, d.comma).Read()
		if err != nil {
			continue
		}
		if again = again && len(header) <= most || len(header) == most && most > 1; len(header) > most {
			most, l.Delimiter, l.comma = len(header), d.name, d.comma
		}
	}
	if most == 1 || again {
		return &config.Error{File: file, Line: 1, Key: "delimiter",
			Found:   "no line that one delimiter cuts best",
			Allowed: "at least two columns, or a stated delimiter"}
	}
	l.Guesses = append(l.Guesses, "delimiter")
	return nil
}

// draftHeader reads the names of the columns. A number among them says that the line is a
// record.
func draftHeader(header []string, file string) error {
	seen := map[string]bool{}
	for k, name := range header {
		_, isNumber := number(name, false)
		_, isComma := number(name, true)
		if name == "" || isNumber || isComma || seen[name] || checkText("", name, false) != nil {
			return &config.Error{File: file, Line: 1, Key: "column " + strconv.Itoa(k+1),
				Found:   "no name of its own in the first line",
				Allowed: "names of columns: texts, each once, that are no numbers"}
		}
		seen[name] = true
	}
	return nil
}

// texture is what the cells of one column are.
type texture struct {
	rows   int // without missing cells
	number bool
	comma  bool // all cells are numbers if there is a decimal comma
	lo, hi float64
	texts  map[string]int // at most maxCategories+1 of them
	all    map[string]bool
}

// survey looks at all rows.
func survey(in *rows, file string, how Reading) ([]texture, error) {
	found := make([]texture, len(in.header))
	for k := range found {
		found[k] = texture{number: true, comma: true, texts: map[string]int{}, all: map[string]bool{}}
	}
	for rows := 0; ; rows++ {
		cells, _, err := in.next()
		if err == io.EOF && rows == 0 {
			return nil, &config.Error{File: file, Line: 1, Found: "no rows", Allowed: "at least one row"}
		}
		if err == io.EOF {
			return found, nil
		}
		if err != nil {
			return nil, err
		}
		for k, cell := range cells {
			if cell = strings.TrimSpace(cell); cell != null && !slices.Contains(draftMissing, cell) {
				found[k].add(strings.Clone(cell), how)
			}
		}
	}
}

func (f *texture) add(cell string, how Reading) {
	f.rows++
	f.all[cell] = true
	if len(f.texts) <= maxCategories || f.texts[cell] > 0 {
		f.texts[cell]++
	}
	if f.comma {
		_, f.comma = number(cell, true)
	}
	if f.number {
		var v float64
		if v, f.number = number(cell, how.DecimalComma); f.rows == 1 {
			f.lo, f.hi = v, v
		} else {
			f.lo, f.hi = min(f.lo, v), max(f.hi, v)
		}
	}
}

// bounds are the smallest and the largest value; one apart where they are the same.
func (f *texture) bounds() []float64 {
	if float32(f.lo) == float32(f.hi) {
		step := max(1, f.hi/1024, -f.hi/1024)
		if f.hi > 0 {
			return []float64{f.lo - step, f.hi}
		}
		return []float64{f.lo, f.hi + step}
	}
	return []float64{f.lo, f.hi}
}

func (f *texture) values() []string {
	var all []string
	for v := range f.texts {
		if checkText("", v, false) != nil {
			return nil
		}
		all = append(all, v)
	}
	slices.SortFunc(all, func(a, b string) int {
		x, isX := number(a, false)
		y, isY := number(b, false)
		if isX && isY && x != y {
			return cmp.Compare(x, y)
		}
		return cmp.Compare(a, b)
	})
	return all
}

func (f *texture) column(name string) Column {
	switch {
	case f.rows == 0:
		return Column{Name: name, Kind: Ignore}
	case idName(name) && 2*len(f.all) > f.rows:
		return Column{Name: name, Kind: ID}
	case f.number:
		return Column{Name: name, Kind: Number, Bounds: f.bounds()}
	case len(f.texts) <= maxCategories && 2*len(f.texts) <= f.rows && f.values() != nil &&
		f.texts["other"] == 0:
		return Column{Name: name, Kind: Category, Categories: f.values(), Other: true}
	case len(f.all) == f.rows:
		return Column{Name: name, Kind: ID}
	}
	return Column{Name: name, Kind: Ignore}
}

// idName says that a column is called an id: "id", "patient_id", "Patient ID".
func idName(name string) bool {
	words := strings.FieldsFunc(strings.ToLower(name), func(r rune) bool { return !unicode.IsLetter(r) })
	return len(words) > 0 && words[len(words)-1] == "id"
}

// target proposes what to predict; the error says which columns it takes.
func (f *texture) target(name string) (Target, error) {
	if values := f.values(); len(values) >= 2 && len(values) <= maxCategories && 2*len(values) <= f.rows {
		return Target{Column: name, Kind: Class, Values: values}, nil
	}
	if f.number && f.rows > 0 {
		return Target{Column: name, Kind: Number, Bounds: f.bounds()}, nil
	}
	return Target{}, fmt.Errorf("a column of numbers, or of 2 to %d texts that repeat", maxCategories)
}
