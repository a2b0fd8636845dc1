package data

import (
	"bytes"
	"compress/gzip"
	"encoding/binary"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"sotto/internal/keep"
	"sotto/tensor"
)

// withPublished adds a gzipped file to the list of published ones and to a data folder.
func withPublished(t *testing.T, path string, content []byte) (s *store, f File) {
	t.Helper()
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	if _, err := z.Write(content); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	s = &store{dir: t.TempDir()}
	at := filepath.Join(s.dir, filepath.FromSlash(path))
	if err := os.MkdirAll(filepath.Dir(at), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(at, b.Bytes(), 0o644); err != nil {
		t.Fatal(err)
	}
	f = File{Dataset: "mnist", Path: path, Bytes: int64(b.Len()), SHA256: hexSum(b.Bytes())}
	was := files
	t.Cleanup(func() { files = was })
	files = append(slices.Clone(files), f)
	return s, f
}

// What was unpacked before is read where it is whole, and only of published files.
func TestUnpackedOnce(t *testing.T) {
	dir := t.TempDir()
	t.Setenv(keep.Variable, dir)
	content := binary.BigEndian.AppendUint32([]byte{0, 0, 8, 1}, 3)
	content = append(content, 7, 8, 9)
	s, f := withPublished(t, "mnist/test-idx.gz", content)
	load := func() []byte {
		t.Helper()
		x, _, err := s.idx("mnist", "test-idx.gz")
		if err != nil {
			t.Fatal(err)
		}
		return x.Data
	}
	want := content[8:]
	if got := load(); !bytes.Equal(got, want) {
		t.Fatalf("%v", got)
	}
	kept := filepath.Join(dir, "data", f.SHA256)
	whole, err := os.ReadFile(kept)
	if err != nil {
		t.Fatal(err)
	}
	if got := load(); !bytes.Equal(got, want) {
		t.Errorf("read from what is kept: %v", got)
	}
	for what, b := range map[string][]byte{"cut off": whole[:len(whole)-1], "foreign": content} {
		if err := os.WriteFile(kept, b, 0o600); err != nil {
			t.Fatal(err)
		}
		if got := load(); !bytes.Equal(got, want) {
			t.Errorf("%s: %v", what, got)
		}
		if again, err := os.ReadFile(kept); err != nil || !bytes.Equal(again, whole) {
			t.Errorf("%s: not written anew, %v", what, err)
		}
	}
	// a whole file of other content: its checksum is not that in the published file
	if err := keep.Write(kept, "unpacked "+f.SHA256, append(content[:10:10], 99)); err != nil {
		t.Fatal(err)
	}
	if got := load(); !bytes.Equal(got, want) {
		t.Errorf("another's content: %v", got)
	}
	// a file that is not as published is read, where that is allowed, and not kept
	if err := os.RemoveAll(dir); err != nil {
		t.Fatal(err)
	}
	files[len(files)-1].SHA256 = hexSum(nil)
	s.any = true
	if got := load(); !bytes.Equal(got, want) {
		t.Errorf("altered: %v", got)
	}
	if _, err := os.Stat(dir); err == nil {
		t.Error("an altered file was kept")
	}
}

// Resampling row by row gives what the formula of bilinear interpolation says.
func TestResampleIsBilinear(t *testing.T) {
	const h, w, channels = 5, 4, 3
	image := make([]float32, h*w*channels)
	for i := range image {
		image[i] = float32(i*i%17) - 3.5
	}
	for _, size := range []int{1, 4, 5, 7, 32} {
		rows, cols := newResampler(h, size), newResampler(w, size)
		got := make(tensor.Vec, size*size*channels)
		resample(got, image, rows, cols, w, channels)
		for i, v := range got {
			y, x, c := i/channels/size, i/channels%size, i%channels
			at := func(row, col int) float32 { return image[(row*w+col)*channels+c] }
			across := func(row int) float32 {
				a, b := at(row, cols.lo[x]), at(row, cols.hi[x])
				return a + float32(cols.weight[x]*(b-a))
			}
			top, bottom := across(rows.lo[y]), across(rows.hi[y])
			if want := top + float32(rows.weight[y]*(bottom-top)); v != want {
				t.Fatalf("side %d, (%d, %d, %d): %v, want %v", size, y, x, c, v, want)
			}
		}
	}
}
