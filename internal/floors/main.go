// Command floors draws the packages of this module on the layers that package deptest
// keeps them in, with the imports between them, as docs/floors.svg:
//
//	go run ./internal/floors
//
// An import that follows from others is left out: a package that imports sim has agent
// anyway. The same imports give the same bytes, and a test says when the picture is old.
package main

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"sotto/internal/atomicfile"
	"sotto/internal/deptest"
)

// file is the picture's place below the module's root.
var file = filepath.Join("docs", "floors.svg")

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "floors:", err)
		os.Exit(1)
	}
}

func run() error {
	root, err := goList("-m", "-f", "{{.Dir}}")
	if err != nil {
		return err
	}
	picture, err := draw()
	if err != nil {
		return err
	}
	return atomicfile.Write(filepath.Join(root[0], file), picture)
}

// draw returns the picture.
func draw() ([]byte, error) {
	imports, err := readImports()
	if err != nil {
		return nil, err
	}
	h := newHouse(deptest.Layers(), imports)
	h.arrange()
	var b bytes.Buffer
	writeSVG(&b, h, func(pkg string) string { return class(pkg, imports) })
	return b.Bytes(), nil
}

// class says what a package knows of records.
func class(pkg string, imports map[string][]string) string {
	switch {
	case pkg == "data" || slices.Contains(imports[pkg], "data"):
		return "records"
	case slices.Contains(deptest.Sealed(), pkg):
		return "sealed"
	}
	return "other"
}

// readImports returns the imports inside the module of each of its packages, by their
// paths below the module's.
func readImports() (map[string][]string, error) {
	module, err := goList("-m")
	if err != nil {
		return nil, err
	}
	prefix := module[0] + "/"
	lines, err := goList("-f", `{{.ImportPath}} {{join .Imports " "}}`, prefix+"...")
	if err != nil {
		return nil, err
	}
	imports := map[string][]string{}
	for _, line := range lines {
		words := strings.Fields(line)
		pkg := strings.TrimPrefix(words[0], prefix)
		for _, w := range words[1:] {
			if to, ok := strings.CutPrefix(w, prefix); ok {
				imports[pkg] = append(imports[pkg], to)
			}
		}
	}
	return imports, nil
}

func goList(args ...string) ([]string, error) {
	out, err := exec.Command("go", append([]string{"list"}, args...)...).Output()
	if err != nil {
		return nil, fmt.Errorf("go list %s: %w", strings.Join(args, " "), err)
	}
	return strings.Split(strings.TrimSpace(string(out)), "\n"), nil
}
