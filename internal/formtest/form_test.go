// Package formtest holds rules of form that a reader profits from: lines that fit a
// screen, functions and files that fit a head, structs that are one thing, features that
// are asked for in few places. What breaks a rule today is in allow.txt with its size,
// and may not grow.
//
//	go test ./internal/formtest -update         lower numbers, less what is mended
//	go test ./internal/formtest -update -grow   the numbers of today
//
// Without -grow a line of the list may change its name, as when a file moves, only if its
// rule's lines do not become more and their sum does not rise.
package formtest

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"sotto/internal/source"
)

var (
	update = flag.Bool("update", false, "lower the numbers of allow.txt")
	grow   = flag.Bool("grow", false, "with -update: raise them too")
)

const list = "allow.txt"

// key is one thing that a rule is about: a file, a function, a struct or a package.
type key struct{ rule, name string }

func (k key) String() string { return k.rule + " " + k.name }

// sizes are what breaks a rule, and by how much.
type sizes map[key]int

// readModule reads the module's files once.
var readModule = sync.OnceValues(func() (*source.Files, error) {
	return source.Read(filepath.Join("..", ".."))
})

func module(t *testing.T) *source.Files {
	t.Helper()
	files, err := readModule()
	if err != nil {
		t.Fatal(err)
	}
	return files
}

// Nothing breaks a rule that the list does not have, nothing grows, and what is mended
// leaves the list.
func TestForm(t *testing.T) {
	now := measure(module(t))
	allowed, err := read(list)
	if err != nil {
		t.Fatal(err)
	}
	if *update {
		if bad := worse(allowed, now); len(bad) > 0 && !*grow {
			t.Fatalf("the list would grow, see -grow:\n%s", strings.Join(bad, "\n"))
		}
		if err := os.WriteFile(list, now.encode(), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	for _, line := range compare(allowed, now) {
		t.Error(line)
	}
}

// compare says in lines what breaks a rule, by name.
func compare(allowed, now sizes) (bad []string) {
	for k, n := range now {
		switch was, ok := allowed[k]; {
		case !ok:
			bad = append(bad, fmt.Sprintf("%s: %d, allowed: %s", k, n, rules[k.rule]))
		case n > was:
			bad = append(bad, fmt.Sprintf("%s: %d, was %d; it may not grow", k, n, was))
		}
	}
	for k := range allowed {
		if _, ok := now[k]; !ok {
			bad = append(bad, fmt.Sprintf("%s: mended or gone; take it off the list with -update", k))
		}
	}
	slices.Sort(bad)
	return bad
}

// worse is what an update without -grow refuses: a larger number of something that was on
// the list, and more lines or a larger sum of a rule.
func worse(allowed, now sizes) (bad []string) {
	for k, n := range now {
		if was, ok := allowed[k]; ok && n > was {
			bad = append(bad, fmt.Sprintf("%s: %d, was %d", k, n, was))
		}
	}
	for rule := range rules {
		lines, sum := now.total(rule)
		before, most := allowed.total(rule)
		if lines > before || sum > most {
			line := fmt.Sprintf("%s: %d lines, sum %d; were %d, sum %d", rule, lines, sum, before, most)
			bad = append(bad, line)
		}
	}
	slices.Sort(bad)
	return bad
}

func (s sizes) total(rule string) (lines, sum int) {
	for k, n := range s {
		if k.rule == rule {
			lines, sum = lines+1, sum+n
		}
	}
	return lines, sum
}

// encode writes the list in the order of its lines.
func (s sizes) encode() []byte {
	var lines []string
	for k, n := range s {
		lines = append(lines, fmt.Sprintf("%s %d\n", k, n))
	}
	slices.Sort(lines)
	return []byte(strings.Join(lines, ""))
}

func read(path string) (sizes, error) {
	b, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	s := sizes{}
	for line := range bytes.Lines(b) {
		f := strings.Fields(string(line))
		if len(f) != 3 || rules[f[0]] == "" {
			return nil, fmt.Errorf("%s: %q is not a rule, a name and a number", path, line)
		}
		if s[key{f[0], f[1]}], err = strconv.Atoi(f[2]); err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
	}
	return s, nil
}

// The test is itself tested: what is new, what grows and what is mended is found, and an
// update refuses more of it but lets a file move.
func TestListShrinks(t *testing.T) {
	aa, bb, moved := key{"columns", "a/a.go"}, key{"columns", "b/b.go"}, key{"columns", "c/a.go"}
	fields, file := key{"fields", "a.T"}, key{"files", "a/a.go"}
	was := sizes{aa: 3, bb: 2, fields: 12}
	for _, tc := range []struct {
		now           sizes
		found, refuse int
	}{
		{was, 0, 0},
		{sizes{aa: 1, bb: 2, fields: 12}, 0, 0},
		{sizes{aa: 3, bb: 2}, 1, 0},
		{sizes{aa: 4, bb: 1, fields: 12}, 1, 1},
		{sizes{moved: 3, bb: 2, fields: 12}, 2, 0},
		{sizes{moved: 4, bb: 2, fields: 12}, 2, 1},
		{sizes{aa: 3, bb: 2, fields: 12, file: 401}, 1, 1},
	} {
		if got := compare(was, tc.now); len(got) != tc.found {
			t.Errorf("%v: found %q, want %d", tc.now, got, tc.found)
		}
		if got := worse(was, tc.now); len(got) != tc.refuse {
			t.Errorf("%v: refused %q, want %d", tc.now, got, tc.refuse)
		}
	}
}
