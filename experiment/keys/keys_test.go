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
		commentText, comments = string(want), parsed(string(want))
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

// stated is a default in words: default 0.3, or "plain" (default).
var stated = regexp.MustCompile(`[Dd]efault (?:is )?"?(-?\.?[0-9][0-9.,e-]*|true|false|[a-z][a-z-]+)"?|` +
	`"?([a-z][a-z0-9_-]*)"? \(default\)`)

// A default that a comment states is the one that the constructor has.
func TestStatedDefaults(t *testing.T) {
	checked := 0
	for _, r := range registries {
		for _, name := range registered(r.section + "." + r.key) {
			params := r.params(name)
			if params == nil {
				continue
			}
			values := map[string]string{}
			visit(reflect.ValueOf(params).Elem(), func(key string, v reflect.Value) {
				if !v.IsZero() && v.Kind() != reflect.Slice && v.Kind() != reflect.Pointer {
					values[key] = strings.Trim(fmt.Sprint(v.Interface()), `"`)
				}
			})
			for _, k := range of(r.section, params) {
				m := stated.FindStringSubmatch(k.Text)
				if values[k.Name] == "" || m == nil {
					continue
				}
				checked++
				if want, got := plainly(m[1]+m[2]), plainly(values[k.Name]); want != got {
					t.Errorf("%s of %s: the comment states %s, the constructor has %s", k.Dotted(), name,
						want, got)
				}
			}
		}
	}
	if checked < 60 {
		t.Errorf("%d defaults were compared", checked)
	}
}

// plainly is a number in one spelling, and other text as it is.
func plainly(s string) string {
	s = strings.TrimRight(strings.ReplaceAll(s, ",", ""), ".")
	if x, err := strconv.ParseFloat(s, 64); err == nil {
		return strconv.FormatFloat(x, 'g', -1, 64)
	}
	return s
}

// visit goes through the keys of a struct, embedded ones included.
func visit(v reflect.Value, each func(key string, v reflect.Value)) {
	for i := range v.NumField() {
		f := v.Type().Field(i)
		name, _, _ := strings.Cut(f.Tag.Get("toml"), ",")
		if f.Anonymous && name == "" {
			visit(v.Field(i), each)
		} else if name != "" && name != "-" {
			each(name, v.Field(i))
		}
	}
}

// Values that completion offers are of keys that there are.
func TestPlainKeysAreThere(t *testing.T) {
	all := List()
	for key := range plain {
		if !slices.ContainsFunc(all, func(k Key) bool { return k.Dotted() == key }) {
			t.Errorf("%s is no key", key)
		}
	}
}
