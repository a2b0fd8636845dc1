package model_test

import (
	"archive/zip"
	"bytes"
	"encoding/binary"
	"io"
	"math"
	"strings"
	"testing"

	"sotto/model"
	"sotto/tensor"
)

// member reads one file of an archive with the standard library.
func member(t *testing.T, b []byte, name string) []byte {
	t.Helper()
	z, err := zip.NewReader(bytes.NewReader(b), int64(len(b)))
	if err != nil {
		t.Fatal(err)
	}
	f, err := z.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	raw, err := io.ReadAll(f)
	if err != nil {
		t.Fatal(err)
	}
	return raw
}

// The layout of an array, byte by byte: magic, version 1.0, u16 header length, the
// dictionary padded with spaces and a line end so that values start at a multiple of 64
// (NPY format, version 1.0).
func TestNPZLayout(t *testing.T) {
	tensors := []model.NamedVec{{Name: "a", Vec: tensor.Vec{1, -2, .5}}, {Name: "b.c", Vec: tensor.Vec{}},
		{Name: "n", Vec: tensor.Vec{float32(math.NaN())}}}
	b, err := model.EncodeNPZ(tensors)
	if err != nil {
		t.Fatal(err)
	}
	dict := "{'descr': '<f4', 'fortran_order': False, 'shape': (3,), }"
	want := "\x93NUMPY\x01\x00\x76\x00" + dict + strings.Repeat(" ", 0x76-len(dict)-1) + "\n" +
		"\x00\x00\x80\x3f\x00\x00\x00\xc0\x00\x00\x00\x3f"
	if got := member(t, b, "a.npy"); string(got) != want {
		t.Errorf("array is % x,\nwant     % x", got, want)
	}
	if got := member(t, b, "b.c.npy"); len(got) != 128 || !bytes.Contains(got, []byte("'shape': (0,)")) {
		t.Errorf("no values are %q", got)
	}
	if got := member(t, b, "n.npy")[128:]; len(got) != 4 ||
		binary.LittleEndian.Uint32(got) != math.Float32bits(tensors[2].Vec[0]) {
		t.Errorf("NaN is % x", got)
	}
	again, _ := model.EncodeNPZ(tensors)
	if !bytes.Equal(b, again) {
		t.Error("the same tensors give other bytes")
	}
	for _, bad := range [][]model.NamedVec{{{Name: ""}}, {{Name: "a"}, {Name: "a"}}} {
		if _, err := model.EncodeNPZ(bad); err == nil {
			t.Errorf("names %v were accepted", bad)
		}
	}
}
