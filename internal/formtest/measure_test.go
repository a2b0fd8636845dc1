package formtest

import (
	"fmt"
	"go/ast"
	"strings"
	"unicode/utf8"

	"sotto/internal/source"
)

// Bounds of the rules.
const (
	maxColumns  = 110 // of code; a tab is four
	maxComment  = 90  // of a line that is a comment
	maxFunction = 80
	maxFile     = 400
	maxTestFile = 600
	maxPackage  = 6000 // lines without tests
	maxMethods  = 25
	maxFields   = 10
)

// rules say what is allowed, by name.
var rules = map[string]string{
	"columns":   fmt.Sprintf("no line above %d columns, no comment above %d", maxColumns, maxComment),
	"functions": fmt.Sprintf("%d lines", maxFunction),
	"files":     fmt.Sprintf("%d lines, %d of a test", maxFile, maxTestFile),
	"packages":  fmt.Sprintf("%d lines without tests", maxPackage),
	"methods":   fmt.Sprintf("%d methods of a type", maxMethods),
	"fields":    fmt.Sprintf("%d fields of a struct", maxFields),
	"imports":   "the standard library's, then others', then sotto's, a blank line between",
	"features":  "the number of lines that ask for a feature by name",
}

// measure finds what breaks a rule. Generated files and the programs that generate
// kernels are exempt: nobody reads the former, and the latter are written after the
// instructions' manuals.
func measure(files *source.Files) sizes {
	all := sizes{}
	for _, f := range files.All {
		if f.Generated || strings.HasPrefix(f.Dir, "tensor/internal/gen") {
			continue
		}
		lines := f.Lines()
		all.over("columns", f.Path, long(lines), 0)
		most := maxFile
		if f.Test {
			most = maxTestFile
		}
		all.over("files", f.Path, len(lines), most)
		all.over("imports", f.Path, mixed(files, f), 0)
		all.declarations(files, f)
		if !f.Test {
			all[key{"packages", f.Dir}] += len(lines)
		}
	}
	for k, n := range all {
		if k.rule == "packages" && n <= maxPackage || k.rule == "methods" && n <= maxMethods {
			delete(all, k)
		}
	}
	total := 0
	for _, n := range features(files) {
		total += n
	}
	all.over("features", "total", total, 0)
	return all
}

// over notes what is above a bound.
func (s sizes) over(rule, name string, n, most int) {
	if n > most {
		s[key{rule, name}] = n
	}
}

// mixed counts imports that stand with those of another origin, or after those that they
// should come before.
func mixed(files *source.Files, f *source.File) (n int) {
	last, at := 0, 0
	for _, i := range f.Syntax.Imports {
		root, _, _ := strings.Cut(strings.Trim(i.Path.Value, `"`), "/")
		origin := 1
		if root == "sotto" {
			origin = 3
		} else if strings.Contains(root, ".") {
			origin = 2
		}
		line := files.Fset.Position(i.Pos()).Line
		if last > origin || last > 0 && last < origin && line == at+1 {
			n++
		}
		last, at = max(last, origin), line
	}
	return n
}

// long counts the lines that are too long.
func long(lines []string) (n int) {
	inside := false // of a comment in /* */
	for _, l := range lines {
		text := strings.TrimSpace(l)
		comment := inside || strings.HasPrefix(text, "//") || strings.HasPrefix(text, "/*")
		if comment && !strings.HasPrefix(text, "//") {
			inside = !strings.Contains(text, "*/")
		}
		columns := utf8.RuneCountInString(l) + 3*strings.Count(l, "\t")
		if columns > maxColumns || comment && columns > maxComment {
			n++
		}
	}
	return n
}

// declarations measures functions and types; those of tests have functions alone.
func (s sizes) declarations(files *source.Files, f *source.File) {
	for _, d := range f.Syntax.Decls {
		switch d := d.(type) {
		case *ast.FuncDecl:
			name := d.Name.Name
			if r := receiver(d); r != "" {
				name = r + "." + name
				if !f.Test {
					s[key{"methods", f.Dir + "." + r}]++
				}
			}
			lines := files.Fset.Position(d.End()).Line - files.Fset.Position(d.Pos()).Line + 1
			s.over("functions", f.Path+":"+name, lines, maxFunction)
		case *ast.GenDecl:
			for _, spec := range d.Specs {
				if t, ok := spec.(*ast.TypeSpec); ok && !f.Test {
					s.over("fields", f.Dir+"."+t.Name.Name, fields(t), maxFields)
				}
			}
		}
	}
}

// receiver names the type that a method is of; "" for a function.
func receiver(d *ast.FuncDecl) string {
	if d.Recv == nil || len(d.Recv.List) == 0 {
		return ""
	}
	x := d.Recv.List[0].Type
	for {
		switch t := x.(type) {
		case *ast.StarExpr:
			x = t.X
		case *ast.IndexExpr:
			x = t.X
		case *ast.IndexListExpr:
			x = t.X
		case *ast.Ident:
			return t.Name
		default:
			return ""
		}
	}
}

// fields counts those of a struct; an embedded one is one.
func fields(t *ast.TypeSpec) (n int) {
	s, ok := t.Type.(*ast.StructType)
	if !ok {
		return 0
	}
	for _, f := range s.Fields.List {
		n += max(1, len(f.Names))
	}
	return n
}
