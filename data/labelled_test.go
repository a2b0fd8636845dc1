package data_test

import (
	"bytes"
	"compress/gzip"
	"encoding/binary"
	"errors"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"sotto/data"
)

func idx(dims []uint32, content []byte) []byte {
	b := []byte{0, 0, 8, byte(len(dims))}
	for _, d := range dims {
		b = binary.BigEndian.AppendUint32(b, d)
	}
	return append(b, content...)
}

func zip(b []byte) []byte {
	var z bytes.Buffer
	w := gzip.NewWriter(&z)
	w.Write(b)
	w.Close()
	return z.Bytes()
}

// writeMNIST writes a tiny data set in MNIST's form.
func writeMNIST(t *testing.T, labels []byte) string {
	t.Helper()
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, "mnist"), 0o700); err != nil {
		t.Fatal(err)
	}
	n := uint32(len(labels))
	images := make([]byte, 4*len(labels))
	for i := range images {
		images[i] = byte(50 * (i % 5))
	}
	for _, prefix := range []string{"train", "t10k"} {
		for name, b := range map[string][]byte{
			"-images-idx3-ubyte.gz": zip(idx([]uint32{n, 2, 2}, images)),
			"-labels-idx1-ubyte.gz": zip(idx([]uint32{uint32(len(labels))}, labels)),
		} {
			if err := os.WriteFile(filepath.Join(dir, "mnist", prefix+name), b, 0o600); err != nil {
				t.Fatal(err)
			}
		}
	}
	return dir
}

func TestMissingAndAltered(t *testing.T) {
	if _, err := data.Load("mnist", t.TempDir(), 1, params("")); !errors.Is(err, data.ErrMissing) ||
		!strings.Contains(err.Error(), "sotto data fetch mnist") {
		t.Errorf("missing: %v", err)
	}
	dir := writeMNIST(t, []byte{3, 1, 4})
	if _, err := data.Load("mnist", dir, 1, params("")); !errors.Is(err, data.ErrAltered) ||
		!strings.Contains(err.Error(), "train-images") ||
		!strings.Contains(err.Error(), "440fcabf73cc546fa21475e81ea370265605f56be210a4024d2ca8f203523609") {
		t.Errorf("altered: %v", err)
	}
	s := load(t, "mnist", dir, "allow_altered = true\nlimit = 2\nnormalize = false")
	if s.Train.Len() != 2 || s.Test.Len() != 3 || s.Train.X.Row(0)[1] != float32(50./255) {
		t.Errorf("%d and %d records, first row %v", s.Train.Len(), s.Test.Len(), s.Train.X.Row(0))
	}
	dir = writeMNIST(t, []byte{3, 10, 4})
	_, err := data.Load("mnist", dir, 1, params("allow_altered = true"))
	wantBad(t, "label 10", err, "byte 9")
	if err := os.WriteFile(filepath.Join(dir, "mnist", "train-labels-idx1-ubyte.gz"),
		idx([]uint32{2}, []byte{1, 2}), 0o600); err != nil {
		t.Fatal(err)
	}
	_, err = data.Load("mnist", dir, 1, params("allow_altered = true"))
	wantBad(t, "two labels for three images", err, "byte 4")
}

// A file of the right size with one changed byte is told by its sum, and the message
// holds both sums.
func TestAlteredByOneByte(t *testing.T) {
	dir := dataDir(t, "mnist")
	b, err := os.ReadFile(filepath.Join(dir, "mnist", "train-labels-idx1-ubyte.gz"))
	if err != nil {
		t.Fatal(err)
	}
	copied := t.TempDir()
	if err := os.Mkdir(filepath.Join(copied, "mnist"), 0o700); err != nil {
		t.Fatal(err)
	}
	b[1000] ^= 1
	if err := os.WriteFile(filepath.Join(copied, "mnist", "train-labels-idx1-ubyte.gz"), b, 0o600); err !=
		nil {
		t.Fatal(err)
	}
	for _, f := range data.Files() {
		err := data.Check(copied, f)
		switch {
		case f.Path != "mnist/train-labels-idx1-ubyte.gz":
			if !errors.Is(err, data.ErrMissing) {
				t.Errorf("%s: %v, want it missing", f.Path, err)
			}
		case !errors.Is(err, data.ErrAltered),
			!strings.Contains(err.Error(),
				"3552534a0a558bbed6aed32b30c495cca23d567ec52cac8be1a0730e8010255c"):
			t.Errorf("%s: %v, want it altered", f.Path, err)
		}
	}
}

// Counts, means and standard deviations as the publishers and common loaders state them.
func TestMNIST(t *testing.T) {
	s := load(t, "mnist", dataDir(t, "mnist"), "normalize = false")
	if got, want := counts(s.Train.Labels, 10),
		[]int{5923, 6742, 5958, 6131, 5842, 5421, 5918, 6265, 5851, 5949}; !slices.Equal(got, want) {
		t.Errorf("training counts %v, want %v", got, want)
	}
	if got, want := counts(s.Test.Labels, 10),
		[]int{980, 1135, 1032, 1010, 982, 892, 958, 1028, 974, 1009}; !slices.Equal(got, want) {
		t.Errorf("test counts %v, want %v", got, want)
	}
	moments(t, s.Train, .13066, .30811, 1e-5)
	n := load(t, "mnist", dataDir(t, "mnist"), "limit = 100\nresize = 32")
	if n.Train.Shape != [3]int{32, 32, 1} || n.Train.Len() != 100 || n.Test.Len() != 10_000 {
		t.Errorf("shape %v, %d and %d records", n.Train.Shape, n.Train.Len(), n.Test.Len())
	}
	// The corner is black in every digit: (0 - .1307)/.3081, resized or not.
	if got := n.Train.X.Row(0)[0]; math.Abs(float64(got)+.1307/.3081) > 1e-6 {
		t.Errorf("corner %v", got)
	}
	if n.Train.Digest == s.Train.Digest {
		t.Error("the digest ignores parameters")
	}
}

func TestFashionMNIST(t *testing.T) {
	s := load(t, "fashion-mnist", dataDir(t, "fashion-mnist"), "normalize = false")
	for c, n := range counts(s.Train.Labels, 10) {
		if n != 6000 {
			t.Errorf("%d records of class %d, want 6000", n, c)
		}
	}
	moments(t, s.Train, .28604, .35302, 1e-5)
}

func moments(t *testing.T, d *data.Dataset, mean, std, tol float64) {
	t.Helper()
	var s, s2 float64
	for _, v := range d.X.Data {
		s += float64(v)
		s2 += float64(v) * float64(v)
	}
	n := float64(len(d.X.Data))
	m := s / n
	if sd := math.Sqrt(s2/n - m*m); math.Abs(m-mean) > tol || math.Abs(sd-std) > tol {
		t.Errorf("mean %.5f and standard deviation %.5f, want %.5f and %.5f", m, sd, mean, std)
	}
}
