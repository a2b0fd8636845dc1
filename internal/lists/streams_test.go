package lists

import (
	"bytes"
	"encoding/hex"
	"go/ast"
	"go/parser"
	"go/printer"
	"go/token"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"sotto/internal/source"
)

// Every random stream follows from a seed and a purpose, every signature and checkpoint
// from a text before its content. A changed text is another stream, with other results,
// or a file that nobody can read any more. The list does not say where a text stands:
// that may change.
func TestPurposesOfStreams(t *testing.T) {
	checkSame(t, "streams.txt", "texts of streams, hashes and checkpoints", set(purposes(module(t))))
}

// Whoever wants to draw again what a seed has drawn finds every stream on one page.
func TestStreamsAreDocumented(t *testing.T) {
	b, err := os.ReadFile("../../docs/draws.md")
	if err != nil {
		t.Fatal(err)
	}
	page, named := string(b), 0
	for _, line := range set(purposes(module(t))) {
		kind, text, _ := strings.Cut(line, " ")
		switch kind {
		case "public", "derive":
			text, err = strconv.Unquote(text)
		case "pcg": // letters as a number; of glyphs the record's
			var letters []byte
			if letters, err = hex.DecodeString(strings.TrimPrefix(text, "0x")); text == "0" {
				continue
			}
			text = string(letters)
		default:
			continue
		}
		if err != nil {
			t.Fatalf("%s: %v", line, err)
		}
		if named++; !strings.Contains(page, "`"+text+"`") {
			t.Errorf("docs/draws.md has no %s `%s`", kind, text)
		}
	}
	if named < 45 {
		t.Errorf("%d streams", named)
	}
}

// The test is itself tested: what a package derives a stream or a hash from is found.
func TestPurposesAreFound(t *testing.T) {
	p := &pack{}
	p.parse(t, `package p
const base = "trial"
const runTag = "run/1"
func f(seed uint64, stream string) {
	rng.Public(seed, base+" "+stream, 1)
	rng.NewStream(&key, rng.Choice)
	agent.AppendTag(nil, runTag)
	sha256.Sum256(append([]byte("sotto seed\n"), d...))
	rand.NewPCG(seed, 0x61)
}
func g() { f(1, "first"); x := "second"; f(2, x) }`)
	want := []string{`checkpoint "run/1"`, `domain rng.Choice`, `hash "sotto seed\n"`, `pcg 0x61`,
		`public "trial first"`, `public "trial second"`, `text "sotto seed\n"`}
	if got := set(p.purposes()); !slices.Equal(got, want) {
		t.Errorf("found %q, want %q", got, want)
	}
}

// pack is one package's syntax.
type pack struct {
	files []*ast.File
	fset  *token.FileSet
}

// purposes are those of all packages but those of tests.
func purposes(files *source.Files) []string {
	packs := map[string]*pack{}
	for _, f := range files.All {
		if f.Test || strings.HasSuffix(f.Dir, "test") || strings.HasPrefix(f.Dir, "internal/") {
			continue
		}
		if packs[f.Dir] == nil {
			packs[f.Dir] = &pack{fset: files.Fset}
		}
		packs[f.Dir].files = append(packs[f.Dir].files, f.Syntax)
	}
	var all []string
	for _, p := range packs {
		all = append(all, p.purposes()...)
	}
	return all
}

// callee names what a call calls, with a selector's last package or value: rng.Public.
func callee(c *ast.CallExpr) string {
	switch f := c.Fun.(type) {
	case *ast.Ident:
		return f.Name
	case *ast.SelectorExpr:
		if x, ok := f.X.(*ast.Ident); ok {
			return x.Name + "." + f.Sel.Name
		}
		return "." + f.Sel.Name
	}
	return ""
}

// ownText begins what is hashed or signed: the program's name and what it is.
var ownText = regexp.MustCompile(`^/?sotto[ /][a-z/ -]*(\n|[ /][0-9]+$)`)

func (p *pack) purposes() []string {
	var all []string
	add := func(kind string, texts ...string) {
		for _, s := range texts {
			all = append(all, kind+" "+s)
		}
	}
	p.inspect(func(fn *ast.FuncDecl, n ast.Node) {
		switch n := n.(type) {
		case *ast.BasicLit:
			if s, err := strconv.Unquote(n.Value); err == nil && n.Kind == token.STRING {
				if m := ownText.FindString(s); m != "" {
					add("text", strconv.Quote(m))
				}
			}
		case *ast.CompositeLit: // a key of 32 bytes with letters in it
			if a, ok := n.Type.(*ast.ArrayType); ok && p.text(a) == "[32]byte" && len(n.Elts) > 0 {
				add("key", p.text(n))
			}
		case *ast.CallExpr:
			p.call(fn, n, add)
		}
	})
	return all
}

// call adds what a call derives a stream, a hash or a checkpoint from.
func (p *pack) call(fn *ast.FuncDecl, c *ast.CallExpr, add func(kind string, texts ...string)) {
	name := callee(c)
	_, method, _ := strings.Cut(name, ".")
	arg := func(k int) ast.Expr {
		if k < len(c.Args) {
			return c.Args[k]
		}
		return &ast.BadExpr{}
	}
	switch {
	case name == "rng.Public":
		add("public", p.values(fn, arg(1), 0)...)
	case name == "rng.NewStream", method == "Rekey":
		if d := p.text(arg(1)); strings.HasPrefix(d, "rng.") {
			add("domain", d)
		}
	case name == "derive":
		add("derive", p.values(fn, arg(0), 0)...)
	case method == "AppendTag" && strings.HasPrefix(name, "agent."):
		add("checkpoint", p.values(fn, arg(1), 0)...)
	case name == "agent.ReadState":
		add("checkpoint", p.values(fn, arg(1), 0)...)
	case name == "rand.NewPCG":
		add("pcg", p.text(arg(1)))
	case name == "hkdf.Key", name == "sha256.Sum256", p.hashes(fn, c):
		ast.Inspect(c, func(n ast.Node) bool {
			if l, ok := n.(*ast.BasicLit); ok && l.Kind == token.STRING {
				add("hash", l.Value)
			}
			return true
		})
	}
}

// hashes says that a call writes to what its function has from sha256.New or hmac.New.
func (p *pack) hashes(fn *ast.FuncDecl, c *ast.CallExpr) bool {
	to, write, _ := strings.Cut(callee(c), ".")
	if name := to + "." + write; len(c.Args) > 0 && (name == "fmt.Fprintf" || name == "io.WriteString") {
		to, write = p.text(c.Args[0]), "Write"
	}
	if fn == nil || write != "Write" {
		return false
	}
	found := false
	ast.Inspect(fn, func(n ast.Node) bool {
		if a, ok := n.(*ast.AssignStmt); ok && len(a.Lhs) == 1 && p.text(a.Lhs[0]) == to {
			made, ok := a.Rhs[0].(*ast.CallExpr)
			found = found || ok && (callee(made) == "sha256.New" || callee(made) == "hmac.New")
		}
		return true
	})
	return found
}

// inspect visits all nodes with the function that they stand in.
func (p *pack) inspect(visit func(fn *ast.FuncDecl, n ast.Node)) {
	for _, f := range p.files {
		for _, d := range f.Decls {
			fn, _ := d.(*ast.FuncDecl)
			ast.Inspect(d, func(n ast.Node) bool {
				if s, ok := n.(*ast.ImportSpec); ok && s != nil {
					return false
				}
				visit(fn, n)
				return true
			})
		}
	}
}

// values are the texts that an expression can be, quoted: of constants, of what is
// assigned to a variable in its function, and of the arguments that the package calls the
// function with. A part that only a run knows is a star.
func (p *pack) values(fn *ast.FuncDecl, x ast.Expr, depth int) []string {
	var out []string
	for _, s := range p.strings(fn, x, depth) {
		out = append(out, strconv.Quote(s))
	}
	return out
}

func (p *pack) strings(fn *ast.FuncDecl, x ast.Expr, depth int) (all []string) {
	defer func() {
		if len(all) == 0 {
			all = []string{"*"}
		}
	}()
	switch x := x.(type) {
	case *ast.BasicLit:
		if s, err := strconv.Unquote(x.Value); err == nil {
			return []string{s}
		}
	case *ast.BinaryExpr:
		for _, a := range p.strings(fn, x.X, depth) {
			for _, b := range p.strings(fn, x.Y, depth) {
				all = append(all, a+b)
			}
		}
	case *ast.Ident:
		if depth < 4 {
			all = p.named(fn, x.Name, depth+1)
		}
	case *ast.CallExpr:
		if _, method, _ := strings.Cut(callee(x), "."); depth < 4 && method != "" {
			all = p.returned(method, depth+1)
		}
	}
	return all
}

// returned are the texts that the package's functions of a name return.
func (p *pack) returned(name string, depth int) (all []string) {
	p.inspect(func(fn *ast.FuncDecl, n ast.Node) {
		if r, ok := n.(*ast.ReturnStmt); ok && fn != nil && fn.Name.Name == name && len(r.Results) == 1 {
			all = append(all, p.strings(fn, r.Results[0], depth)...)
		}
	})
	return all
}

// named are the texts that a constant, a variable or a parameter can be.
func (p *pack) named(fn *ast.FuncDecl, name string, depth int) (all []string) {
	p.inspect(func(in *ast.FuncDecl, n ast.Node) {
		switch n := n.(type) {
		case *ast.ValueSpec:
			for k, id := range n.Names {
				if id.Name == name && k < len(n.Values) && (in == nil || in == fn) {
					all = append(all, p.strings(in, n.Values[k], depth)...)
				}
			}
		case *ast.AssignStmt:
			for k, left := range n.Lhs {
				if in == fn && p.text(left) == name && len(n.Lhs) == len(n.Rhs) {
					all = append(all, p.strings(in, n.Rhs[k], depth)...)
				}
			}
		case *ast.CallExpr:
			k := parameter(fn, name)
			if _, method, ok := strings.Cut(callee(n), "."); k >= 0 && k < len(n.Args) &&
				(ok && method == fn.Name.Name || callee(n) == fn.Name.Name) {
				all = append(all, p.strings(in, n.Args[k], depth)...)
			}
		}
	})
	return all
}

// parameter is the place of a function's parameter, -1 where it has none of the name.
func parameter(fn *ast.FuncDecl, name string) int {
	if fn == nil {
		return -1
	}
	k := 0
	for _, f := range fn.Type.Params.List {
		for _, id := range f.Names {
			if id.Name == name {
				return k
			}
			k++
		}
	}
	return -1
}

func (p *pack) text(n ast.Node) string {
	var b bytes.Buffer
	if err := printer.Fprint(&b, p.fset, n); err != nil {
		return "*"
	}
	return b.String()
}

func (p *pack) parse(t *testing.T, text string) {
	t.Helper()
	p.fset = token.NewFileSet()
	f, err := parser.ParseFile(p.fset, "p.go", text, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	p.files = append(p.files, f)
}
