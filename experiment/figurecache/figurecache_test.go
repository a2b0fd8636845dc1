package figurecache_test

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"sotto/experiment/figurecache"
	"sotto/internal/keep"
	"sotto/privacy/account"
)

// cost is that of a plan, composed or remembered, and how many figures were remembered.
func cost(t *testing.T, noise float64) (i account.Interval, had int) {
	t.Helper()
	lately, before := account.Figures().All()
	p := account.DPSGD(account.ZeroOut, .02, 100)
	p.NoiseMultiplier = noise
	i, err := account.Epsilon(p, 1e-5)
	if err != nil {
		t.Fatal(err)
	}
	return i, len(lately) + len(before)
}

// process makes a new memory with what the file holds.
func process() *figurecache.Cache {
	account.Figures().Forget()
	return figurecache.Open()
}

func save(t *testing.T, c *figurecache.Cache) []byte {
	t.Helper()
	if err := c.Save(); err != nil {
		t.Fatal(err)
	}
	b, err := os.ReadFile(filepath.Join(os.Getenv(keep.Variable), "figures"))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// A figure from the file is the computed one, bit for bit, and what is not a whole file
// of this program is not read.
func TestFiguresFromTheFile(t *testing.T) {
	dir := t.TempDir()
	t.Setenv(keep.Variable, dir)
	c := process()
	one, had := cost(t, 1)
	if had != 0 {
		t.Fatalf("%d figures from nowhere", had)
	}
	file := save(t, c)

	c = process()
	if again, had := cost(t, 1); again != one || had != 1 {
		t.Errorf("%v, computed %v; %d remembered", again, one, had)
	}
	if !bytes.Equal(save(t, c), file) {
		t.Error("nothing new changed the file")
	}

	broken := bytes.Clone(file)
	broken[len(broken)-40] ^= 1 // in the figure
	path := filepath.Join(dir, "figures")
	for what, b := range map[string][]byte{"a bit changed": broken, "cut off": file[:len(file)-1],
		"foreign": {1}, "empty": nil} {
		if err := os.WriteFile(path, b, 0o600); err != nil {
			t.Fatal(err)
		}
		c := process()
		if again, had := cost(t, 1); again != one || had != 0 {
			t.Errorf("%s: %v, computed %v; %d remembered", what, again, one, had)
		}
		if !bytes.Equal(save(t, c), file) {
			t.Errorf("%s: not written anew", what)
		}
	}
	other, ok := keep.Read(path, "another version", 1<<20)
	if ok {
		t.Errorf("read by another version: %q", other)
	}
}

// What two processes compute at once is kept of both.
func TestSaveMerges(t *testing.T) {
	t.Setenv(keep.Variable, t.TempDir())
	first := process()
	one, _ := cost(t, 1)
	second := process() // the first has not saved yet
	two, _ := cost(t, 2)
	save(t, second)
	account.Figures().Forget()
	cost(t, 1)
	save(t, first)

	process()
	if i, had := cost(t, 1); i != one || had != 2 {
		t.Errorf("%v, want %v; %d remembered", i, one, had)
	}
	if i, had := cost(t, 2); i != two || had != 2 {
		t.Errorf("%v, want %v; %d remembered", i, two, had)
	}
}

func TestOff(t *testing.T) {
	t.Setenv(keep.Variable, "off")
	c := process()
	cost(t, 1)
	if err := c.Save(); c != nil || err != nil {
		t.Errorf("%v, %v", c, err)
	}
}
