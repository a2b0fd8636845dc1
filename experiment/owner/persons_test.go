package owner_test

import (
	"crypto/ed25519"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"sotto/agent"
	"sotto/config"
	"sotto/privacy"
	"sotto/privacy/account"
	"sotto/privacy/ledger"
	"sotto/tensor"
)

var ownerByPersons = strings.NewReplacer(`label = "class"`, "label = \"class\"\nunit_column = \"patient\"",
	"batch_size = 20", "unit = \"person\"\nmax_rows_per_person = 2\nbatch_size = 20").Replace(ownerRun)

// visits writes 120 persons with one to three records each.
func visits(t *testing.T) string {
	t.Helper()
	r := rand.New(rand.NewPCG(1, 2))
	var b strings.Builder
	b.WriteString("patient,x,y,class\n")
	for p := range 120 {
		for range 1 + p%3 {
			x, y := r.IntN(100), r.IntN(100)
			fmt.Fprintf(&b, "p%d,%d,%d,%s\n", p, x, y, map[bool]string{true: "yes", false: "no"}[x > y])
		}
	}
	path := filepath.Join(t.TempDir(), "own.csv")
	if err := os.WriteFile(path, []byte(b.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// An owner's run by persons counts persons in all its public terms, charges them to a
// ledger by persons, and is answered from no other ledger.
func TestOwnerByPersons(t *testing.T) {
	path := visits(t)
	o, err := ownerOf(t, ownerByPersons, path)
	if err != nil {
		t.Fatal(err)
	}
	x, err := o.Terms()
	if err != nil {
		t.Fatal(err)
	}
	if x.Unit != account.Person("patient") || x.Records > 110 || x.Records < 70 ||
		x.Rate != 20/float64(x.Records) || x.Charges != 6 {
		t.Errorf("terms %+v; want about 90 of 120 persons", x)
	}
	if alone, err := o.LocalBaseline(t.Context()); err != nil || alone < .7 {
		t.Errorf("alone %g, %v", alone, err)
	}
	_, key, _ := ed25519.GenerateKey(nil)
	opt := ledger.Options{Key: key, FS: ledger.OS{AllowVolatile: true}, Run: "this run", Accountant: "rdp"}
	for _, unit := range []account.Unit{x.Unit, account.Record(), account.Person("class")} {
		dir := filepath.Join(t.TempDir(), "ledger")
		l, err := ledger.Create(dir, ledger.Genesis{Adjacency: x.Adjacency, Unit: unit,
			Budget: account.Budget{Epsilon: 50, Delta: 1e-3}, MinRecords: 70}, opt)
		if err != nil {
			t.Fatal(err)
		}
		gate, err := o.Gate(l, "this run")
		if err != nil {
			t.Fatal(err)
		}
		v, answered := make(tensor.Vec, 2), 0
		for err = nil; err == nil; answered++ {
			err = gate.Answer(&agent.Query{Oracle: "grad", At: make(tensor.Vec, 2)}, v)
		}
		answered--
		var bad *config.Error
		switch {
		case unit == x.Unit && (answered != 6 || !errors.Is(err, privacy.ErrExhausted)):
			t.Errorf("%d answers, then %v", answered, err)
		case unit != x.Unit && (answered != 0 || !errors.As(err, &bad) || v.Norm() != 0):
			t.Errorf("a ledger of %v: %d answers %v, then %v", unit, answered, v, err)
		}
		if err := l.Close(); err != nil {
			t.Fatal(err)
		}
		if _, err := ledger.Verify(dir, ledger.Options{FS: opt.FS}); err != nil {
			t.Error(err)
		}
	}
}

func TestOwnerWithoutIds(t *testing.T) {
	var bad *config.Error
	if _, err := ownerOf(t, ownerByPersons, ownTable(t)); !errors.As(err, &bad) {
		t.Errorf("a file without the column: %v", err)
	}
}
