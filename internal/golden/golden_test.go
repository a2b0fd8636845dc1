package golden

import (
	"flag"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"sotto/internal/long"
)

var (
	update      = flag.Bool("update", false, "make the golden files again")
	updateWords = flag.Bool("update-words", false, "make the golden file of sentences again")
)

// inputs are the files that run files name.
var inputs = []string{"edges.txt", "owners.csv", "wakes.csv"}

// prepare makes a folder with the case's run file and all that run files name.
func prepare(t *testing.T, c *runCase) string {
	t.Helper()
	dir := t.TempDir()
	for _, name := range inputs {
		b, err := os.ReadFile(filepath.Join("testdata", name))
		if err == nil {
			err = os.WriteFile(filepath.Join(dir, name), b, 0o644)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(dir, "run.toml"), []byte(c.text), 0o644); err != nil {
		t.Fatal(err)
	}
	return dir
}

// TestRuns runs every case with the machine's kernels. Those marked cut it also runs in
// two parts with another number of workers.
func TestRuns(t *testing.T) {
	words, err := openGolden("words.txt")
	if err != nil {
		t.Fatal(err)
	}
	known := runAll(t, "fma", words, func(*runCase) bool { return true })
	if (*update || *updateWords) && !t.Failed() {
		if err := words.write(wordsHead, known); err != nil {
			t.Fatal(err)
		}
	}
}

// TestPortableRuns runs the cases marked cut with portable kernels, which are slow and
// have nothing to add to the others. Checkpoints of them go on in every run of tests.
func TestPortableRuns(t *testing.T) {
	if !long.Tests && !*update {
		t.Skip("go test -tags long")
	}
	runAll(t, "portable", nil, func(c *runCase) bool { return c.has("cut") })
}

// runAll runs cases with kernels of one arithmetic, and returns their names. words may be
// nil.
func runAll(t *testing.T, arithmetic string, words *goldenFile, chosen func(c *runCase) bool) []string {
	cases, err := readCases("testdata/runs.txt")
	if err != nil {
		t.Fatal(err)
	}
	golden, err := openGolden(arithmetic + ".txt")
	if err != nil {
		t.Fatal(err)
	}
	if runtime.GOARCH != "amd64" { // the compiler fuses products and sums there
		t.Log("not amd64: only digests of configurations are compared")
		golden.keep("config")
	}
	var known []string
	t.Run(arithmetic, func(t *testing.T) {
		for i := range cases {
			c := &cases[i]
			if !chosen(c) {
				continue
			}
			known = append(known, c.name)
			t.Run(c.name, func(t *testing.T) {
				t.Parallel()
				runOne(t, c, arithmetic, golden, words)
			})
		}
	})
	if *update && !t.Failed() {
		if err := golden.write(goldenHead(arithmetic), known); err != nil {
			t.Fatal(err)
		}
	}
	return known
}

func goldenHead(arithmetic string) string {
	return "What the runs of runs.txt leave, with arithmetic " + arithmetic + ": full digests of\n" +
		"configuration and run, noise multipliers to the last bit, the first 64 bits of SHA-256\n" +
		"of files. Sentences and times are left out.\n"
}

const wordsHead = "What people read of the runs of runs.txt: the first 64 bits of SHA-256 of whole files\n" +
	"without times, and notes.\n"

func runOne(t *testing.T, c *runCase, arithmetic string, golden, words *goldenFile) {
	if c.has("data") && os.Getenv("SOTTO_DATA") == "" {
		t.Skip("SOTTO_DATA not set")
	}
	d := driver{dir: prepare(t, c), workers: "1"}
	if arithmetic == "portable" {
		d.kernels = "portable"
	} else if c.has("avx2") {
		d.kernels = "avx2"
	}
	whole, err := d.run("run.toml", "runs")
	if err != nil {
		t.Fatal(err)
	}
	l, err := readRun(filepath.Join(d.dir, whole))
	if err != nil {
		t.Fatal(err)
	}
	if l.summary.Arithmetic != arithmetic {
		t.Skipf("this machine's arithmetic is %s, not %s", l.summary.Arithmetic, arithmetic)
	}
	got := l.figures()
	said := l.words()
	if c.has("cut") && arithmetic == "fma" {
		verdict, refusal := resumed(t, d, l)
		got = append(got, column{"resumed", verdict})
		if refusal != "" {
			said = append(said, column{"refusal", refusal})
		}
	}
	if *update {
		golden.set(c.name, got)
	} else {
		if runtime.GOARCH != "amd64" {
			got = got[:1]
		}
		for _, bad := range golden.compare(c.name, got) {
			t.Error(bad)
		}
	}
	if arithmetic != "fma" {
		return
	}
	if *update || *updateWords {
		words.set(c.name, said)
	} else {
		for _, bad := range words.compare(c.name, said) {
			t.Errorf("%s (sentences alone: -update-words)", bad)
		}
	}
}

// resumed cuts the run in two and says whether the whole is the same: "same", the columns
// that differ, or "refused" and the refusal.
func resumed(t *testing.T, d driver, whole *leaves) (verdict, refusal string) {
	d.workers = "3"
	partial, err := d.cut("run.toml", "cut")
	if err != nil {
		t.Fatal(err)
	}
	dir, err := d.resume(partial, "cut")
	if err != nil {
		s := strings.ReplaceAll(err.Error(), partial, "DIR")
		return "refused", s[strings.LastIndex(s, "\n")+1:]
	}
	l, err := readRun(filepath.Join(d.dir, dir))
	if err != nil {
		t.Fatal(err)
	}
	var bad []string
	want := whole.figures()
	for k, g := range l.figures() {
		if g != want[k] {
			bad = append(bad, g.name)
		}
	}
	if bad == nil {
		return "same", ""
	}
	return "differs in " + strings.Join(bad, ", "), ""
}
