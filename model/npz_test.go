package model_test

import (
	"archive/zip"
	"bytes"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
	"testing"

	"sotto/model"
	"sotto/tensor"
)

// npzFixture was made by Python's zipfile (deflate) from arrays packed with struct by the
// description of the NPY format: w, float32 of shape (3,), 1, -2.5, 0.1; and b of shape
// (2, 2), 1, 2, 3, 4.
const npzFixture = "504b030414000000080000002100ea901ac2510000008c00000005000000772e6e70799bec17ea1b10c9c850c650ad9e925a9c5ca46ea5a0" +
	"6e9366a2aea3a09e965f54529498179f5f94920a12774bcc294e058a17672416a402f91ac63a9a3a0ab50a14002e0686067b0606850367cf9cb10500" +
	"504b0304140000000800000021004efb2075530000009000000005000000622e6e70799bec17ea1b10c9c850c650ad9e925a9c5ca46ea5a06e936" +
	"6a2aea3a09e965f54529498179f5f94920a12774bcc294e058a17672416a402f91a463a0a469a3a0ab50a64032e0686067b060606072002e20607" +
	"00504b0102140314000000080000002100ea901ac2510000008c000000050000000000000000000000800100000000772e6e7079504b0102140314" +
	"0000000800000021004efb20755300000090000000050000000000000000000000800174000000622e6e7079504b0506000000000200020066000000" +
	"ea0000000000"

func TestNPZReadsWhatOthersWrote(t *testing.T) {
	b, err := hex.DecodeString(npzFixture)
	if err != nil {
		t.Fatal(err)
	}
	got, err := model.DecodeNPZ(b)
	if err != nil {
		t.Fatal(err)
	}
	want := []model.NamedVec{{Name: "w", Vec: tensor.Vec{1, -2.5, .1}},
		{Name: "b", Vec: tensor.Vec{1, 2, 3, 4}}}
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("read %v, want %v", got, want)
	}
}

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
	got, err := model.DecodeNPZ(b)
	if err != nil || len(got) != 3 || !slices.Equal(got[0].Vec, tensors[0].Vec) || len(got[1].Vec) != 0 ||
		got[1].Name != "b.c" ||
		math.Float32bits(got[2].Vec[0]) != math.Float32bits(tensors[2].Vec[0]) {
		t.Errorf("decoded %v, %v", got, err)
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

// archive stores one member.
func archive(name, content string) []byte {
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	w, err := z.CreateHeader(&zip.FileHeader{Name: name})
	if err == nil {
		_, err = io.WriteString(w, content)
	}
	if err = errors.Join(err, z.Close()); err != nil {
		panic(err) // in memory
	}
	return b.Bytes()
}

func npy(header, data string) string {
	return "\x93NUMPY\x01\x00" + string([]byte{byte(len(header)), 0}) + header + data
}

func TestNPZRefuses(t *testing.T) {
	const good = "{'descr': '<f4', 'fortran_order': False, 'shape': (1,), }\n"
	for _, c := range []struct{ name, content, want string }{
		{"a.npy", npy(good, "\x00\x00\x00\x00"), ""},
		{"a.npy", npy("{'shape': (1, 1), 'descr': '<f4', 'fortran_order': False}\n", "\x00\x00\x00\x00"), ""},
		{"a.npy", npy("{'descr': '<f4', 'fortran_order': False, 'shape': (), }\n", "\x00\x00\x00\x00"), ""},
		{"a.npy", npy("{'descr': '<f4', 'fortran_order': False, 'shape': (0, 7), }\n", ""), ""},
		{"a.npy", npy(good, "\x00\x00\x00"), "3 bytes of values"},
		{"a.npy", npy(good, "\x00\x00\x00\x00\x00"), "5 bytes of values"},
		{"a.npy", npy(strings.Replace(good, "<f4", "<f8", 1), "\x00\x00\x00\x00"), "descr '<f8'"},
		{"a.npy", npy(strings.Replace(good, "False", "True", 1), "\x00\x00\x00\x00"), "fortran_order True"},
		{"a.npy", npy(strings.Replace(good, "(1,)", "(1,,)", 1), "\x00\x00\x00\x00"), "shape (1,,)"},
		{"a.npy", npy(strings.Replace(good, "(1,)", "(4611686018427387904, 4)", 1), "\x00\x00\x00\x00"),
			"shape (46"},
		{"a.npy", npy(strings.Replace(good, "'shape': (1,)", "'descr': '<f4'", 1), "\x00\x00\x00\x00"),
			"shape"},
		{"a.npy", npy("{'a': 1}\n", ""), "no dictionary"},
		{"a.npy", "\x93NUMPY\x02\x00", "version 1.0"},
		{"a.npy", "\x93NUMPY\x01\x00\xff\xff{}", "a header of 65535 bytes"},
		{"a.txt", "", "no array's"},
		{".npy", "", "no array's"},
	} {
		_, err := model.DecodeNPZ(archive(c.name, c.content))
		switch {
		case c.want == "" && err != nil:
			t.Errorf("%q: %v", c.content, err)
		case c.want != "" && (!errors.Is(err, model.ErrNPZ) || !strings.Contains(err.Error(), c.want)):
			t.Errorf("%q: %v, want %q", c.content, err, c.want)
		}
	}
	b, _ := hex.DecodeString(npzFixture)
	for i := range b {
		if _, err := model.DecodeNPZ(b[:i]); !errors.Is(err, model.ErrNPZ) {
			t.Fatalf("cut at %d: %v", i, err)
		}
	}
	b[80] ^= 1 // in the compressed data: the checksum finds it
	if _, err := model.DecodeNPZ(b); !errors.Is(err, model.ErrNPZ) {
		t.Errorf("an altered member: %v", err)
	}
}

func FuzzDecodeNPZ(f *testing.F) {
	b, _ := hex.DecodeString(npzFixture)
	f.Add(b)
	f.Add(archive("a.npy", npy("{'descr': '<f4', 'fortran_order': False, 'shape': (1, 2,), }\n",
		"\x00\x00\x00\x00\x00\x00\x80\x3f")))
	f.Add(archive("a.npy",
		npy("{'descr': '<f4', 'fortran_order': False, 'shape': (99999999999999999999,), }\n", "")))
	f.Fuzz(func(t *testing.T, b []byte) {
		ts, err := model.DecodeNPZ(b)
		if err != nil {
			if !errors.Is(err, model.ErrNPZ) {
				t.Fatalf("unnamed error %v", err)
			}
			return
		}
		again, err := model.EncodeNPZ(ts)
		if err != nil {
			t.Fatal(err)
		}
		back, err := model.DecodeNPZ(again)
		if err != nil || len(back) != len(ts) {
			t.Fatalf("%d arrays come back as %d: %v", len(ts), len(back), err)
		}
		for i := range ts {
			same := func(x, y float32) bool { return math.Float32bits(x) == math.Float32bits(y) }
			if back[i].Name != ts[i].Name || !slices.EqualFunc(back[i].Vec, ts[i].Vec, same) {
				t.Fatalf("array %q comes back changed", ts[i].Name)
			}
		}
	})
}
