// Package source reads the module's Go files for tests that hold for all of them.
package source

import (
	"bytes"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// File is one Go file of the module.
type File struct {
	Path      string // below the module's root, with slashes
	Dir       string // its package's folder
	Text      []byte
	Syntax    *ast.File
	Test      bool // its name ends in _test.go
	Generated bool // its first comment says so
}

// Files are those of the module in a folder, in the order of their paths. Folders
// testdata and examples, hidden ones and other modules are left out.
type Files struct {
	Fset *token.FileSet
	All  []*File
}

// Read parses the files below root.
func Read(root string) (*Files, error) {
	s := &Files{Fset: token.NewFileSet()}
	return s, filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && path != root && leftOut(path, d.Name()):
			return filepath.SkipDir
		case d.IsDir() || !strings.HasSuffix(d.Name(), ".go"):
			return nil
		}
		return s.add(root, path)
	})
}

func leftOut(path, name string) bool {
	if strings.HasPrefix(name, ".") || name == "testdata" || name == "examples" {
		return true
	}
	_, err := os.Stat(filepath.Join(path, "go.mod"))
	return err == nil
}

func (s *Files) add(root, path string) error {
	text, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	syntax, err := parser.ParseFile(s.Fset, path, text, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		return err
	}
	below, err := filepath.Rel(root, path)
	if err != nil {
		return err
	}
	f := &File{Path: filepath.ToSlash(below), Text: text, Syntax: syntax,
		Test: strings.HasSuffix(path, "_test.go"), Generated: ast.IsGenerated(syntax)}
	f.Dir = "."
	if i := strings.LastIndexByte(f.Path, '/'); i >= 0 {
		f.Dir = f.Path[:i]
	}
	s.All = append(s.All, f)
	return nil
}

// Lines are the file's lines without their ends.
func (f *File) Lines() []string {
	return strings.Split(string(bytes.TrimSuffix(f.Text, []byte("\n"))), "\n")
}
