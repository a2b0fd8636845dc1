package keys

import (
	"bytes"
	"flag"
	"fmt"
	"go/ast"
	"os"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"sotto/internal/source"
)

var update = flag.Bool("update", false, "write comments.txt from the sources")

// What is said of a key is the comment of its field.
func TestCommentsAreThoseOfTheSources(t *testing.T) {
	want := fromSources(t)
	if *update {
		if err := os.WriteFile("comments.txt", want, 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if !bytes.Equal(want, []byte(commentText)) {
		t.Error("comments.txt is not what the sources say: go test ./experiment/keys -update")
	}
}

// fromSources has the comments of all fields with a toml key, outside tests.
func fromSources(t *testing.T) []byte {
	t.Helper()
	files, err := source.Read("../..")
	if err != nil {
		t.Fatal(err)
	}
	var lines []string
	for _, f := range files.All {
		if f.Test || strings.HasPrefix(f.Dir, "reproduce") {
			continue
		}
		ast.Inspect(f.Syntax, func(n ast.Node) bool {
			if s, ok := n.(*ast.TypeSpec); ok {
				if fields, ok := s.Type.(*ast.StructType); ok {
					for key, text := range fieldComments(fields) {
						lines = append(lines, fmt.Sprintf("%s.%s.%s\t%q\n", f.Dir, s.Name.Name, key, text))
					}
				}
			}
			return true
		})
	}
	slices.Sort(lines)
	return []byte(strings.Join(lines, ""))
}

// fieldComments are the comments of a struct's fields by key, with keys in place of the
// names of fields. A comment that names a later field without one is that field's too.
func fieldComments(s *ast.StructType) map[string]string {
	keyOf, all := map[string]string{}, map[string]string{}
	type field struct{ name, text string }
	var fields []field
	for _, f := range s.Fields.List {
		text := strings.TrimSpace(joined(f.Doc.Text()) + "\n" + joined(f.Comment.Text()))
		text = link.ReplaceAllString(text, "$1")
		if name, ok := f.Type.(*ast.Ident); ok && len(f.Names) == 0 && text != "" { // embedded
			key := strings.ToLower(name.Name)
			all[name.Name] = strings.Replace(text, name.Name, key, 1)
		}
		if f.Tag == nil || len(f.Names) != 1 {
			continue
		}
		tag, err := strconv.Unquote(f.Tag.Value)
		if err != nil {
			continue
		}
		key, _, _ := strings.Cut(reflect.StructTag(tag).Get("toml"), ",")
		if key == "" || key == "-" {
			continue
		}
		keyOf[f.Names[0].Name] = key
		fields = append(fields, field{f.Names[0].Name, text})
	}
	shared := ""
	for _, f := range fields {
		if f.text == "" && mentions(shared, f.name) {
			f.text = shared
		}
		shared = f.text
		all[keyOf[f.name]] = word.ReplaceAllStringFunc(f.text, func(w string) string {
			if key, ok := keyOf[w]; ok {
				return key
			}
			return w
		})
	}
	return all
}

var link = regexp.MustCompile(`\[([a-z]\w*\.[A-Z]\w*)\]`) // to another package, as go doc reads it

var word = regexp.MustCompile(`\b[A-Z]\w*\b`)

func mentions(text, name string) bool { return slices.Contains(word.FindAllString(text, -1), name) }

// joined is a comment whose lines are joined, but those that are set apart.
func joined(text string) string {
	var b strings.Builder
	apart := false
	for i, line := range strings.Split(strings.TrimSpace(text), "\n") {
		indented := strings.HasPrefix(line, "\t") || strings.HasPrefix(line, "  ")
		switch {
		case line == "":
			continue
		case i == 0:
		case indented || apart:
			b.WriteString("\n")
		default:
			b.WriteString(" ")
		}
		if apart = indented; indented {
			line = "    " + strings.TrimRight(strings.TrimLeft(line, "\t"), " ")
		}
		b.WriteString(line)
	}
	return b.String()
}

// Nobody has to guess: every key of a run file says what it means.
func TestEveryKeyHasWords(t *testing.T) {
	if *update {
		t.Skip("comments.txt was written just now")
	}
	all := List()
	if len(all) < 250 {
		t.Errorf("%d keys", len(all))
	}
	for _, k := range all {
		if k.Text == "" {
			t.Errorf("%s, with %v: its field has no comment", k.Dotted(), k.With)
		}
		if k.Kind == "" {
			t.Errorf("%s: no kind", k.Dotted())
		}
	}
}
