package libsvm_test

import (
	"bytes"
	"errors"
	"slices"
	"strings"
	"testing"

	"sotto/config"
	"sotto/data/libsvm"
)

func TestRead(t *testing.T) {
	x, y, err := libsvm.Read(strings.NewReader("-1 1:.5 3:2 \n+1 # empty\n\n1 2:-1e1\n"), "f", 0)
	if err != nil || !slices.Equal(y, []float64{-1, 1, 1}) || x.Rows != 3 || x.Cols != 3 ||
		!slices.Equal(x.Data, []float32{.5, 0, 2, 0, 0, 0, 0, -10, 0}) {
		t.Errorf("%+v %v, %v", x, y, err)
	}
	if x, _, err := libsvm.Read(strings.NewReader("1 1:1\n"), "f", 5); err != nil || x.Cols != 5 {
		t.Errorf("%d columns, want 5 as given: %v", x.Cols, err)
	}
	for text, line := range map[string]int{
		"":                       1,
		"x 1:1":                  1,
		"1 1:1\nnan 1:1":         2,
		"1 0:1":                  1,
		"1 2:1 1:1":              1,
		"1 2:1 2:1":              1,
		"1 1:1\n\n1 6:1":         3,
		"1 1":                    1,
		"1 a:1":                  1,
		"1 1:":                   1,
		"1 1:inf":                1,
		"1 1:1e300":              1,
		"1 1:1\n1 99999999999:1": 2,
	} {
		_, _, err := libsvm.Read(strings.NewReader(text), "f", 5)
		var bad *config.Error
		if !errors.As(err, &bad) || bad.File != "f" || bad.Line != line {
			t.Errorf("%q: error %v, want f:%d", text, err, line)
		}
	}
	// Two short lines must not ask for a terabyte.
	if _, _, err := libsvm.Read(strings.NewReader(strings.Repeat("1 268435456:1\n", 2)), "f", 0); err ==
		nil {
		t.Error("2^29 cells are accepted")
	}
}

func FuzzRead(f *testing.F) {
	f.Add([]byte("-1 1:.5 3:2 \n+1 2:1\n"), 0)
	f.Add([]byte("1 # c\n"), 4)
	f.Fuzz(func(t *testing.T, b []byte, dim int) {
		if dim == 0 || dim > 1000 {
			dim = 1000 // keep dense rows small
		}
		x, y, err := libsvm.Read(bytes.NewReader(b), "f", dim)
		if err == nil && (x.Rows != len(y) || x.Cols != dim || len(x.Data) != x.Rows*x.Cols) {
			t.Fatalf("%d labels, %d x %d", len(y), x.Rows, x.Cols)
		}
	})
}
