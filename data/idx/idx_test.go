package idx_test

import (
	"bytes"
	"compress/gzip"
	"encoding/binary"
	"errors"
	"slices"
	"testing"

	"sotto/config"
	"sotto/data/idx"
)

func file(dims []uint32, content []byte) []byte {
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

func TestRead(t *testing.T) {
	plain := file([]uint32{2, 1, 3}, []byte{1, 2, 3, 4, 5, 6})
	for name, b := range map[string][]byte{"plain": plain, "gzip": zip(plain)} {
		x, err := idx.Read(bytes.NewReader(b), "f")
		if err != nil || !slices.Equal(x.Dims, []int{2, 1, 3}) ||
			!slices.Equal(x.Data, []byte{1, 2, 3, 4, 5, 6}) {
			t.Errorf("%s: %+v, %v", name, x, err)
		}
	}
	zipped := zip(plain)
	broken := slices.Clone(zipped)
	broken[len(broken)-6]++ // checksum
	for name, c := range map[string]struct {
		b   []byte
		key string
	}{
		"empty":          {nil, "byte 0"},
		"no header":      {plain[:3], "byte 3"},
		"magic":          {[]byte{0, 1, 8, 1, 0, 0, 0, 0}, "byte 0"},
		"floats":         {[]byte{0, 0, 13, 1, 0, 0, 0, 0}, "byte 0"},
		"no dimensions":  {[]byte{0, 0, 8, 0}, "byte 0"},
		"short sizes":    {plain[:10], "byte 8"},
		"huge":           {file([]uint32{1 << 20, 1 << 20}, nil), "byte 8"},
		"truncated":      {plain[:len(plain)-1], "byte 21"},
		"trailing":       {append(slices.Clone(plain), 7), "byte 22"},
		"gzip header":    {zipped[:5], "byte 0"},
		"gzip truncated": {zipped[:len(zipped)-9], "byte 22"},
		"gzip checksum":  {broken, "byte 22"},
	} {
		_, err := idx.Read(bytes.NewReader(c.b), "some.gz")
		var bad *config.Error
		if !errors.As(err, &bad) || bad.File != "some.gz" || bad.Key != c.key {
			t.Errorf("%s: error %v, want some.gz and %s", name, err, c.key)
		}
	}
}

func FuzzRead(f *testing.F) {
	plain := file([]uint32{2, 1, 3}, []byte{1, 2, 3, 4, 5, 6})
	f.Add(plain)
	f.Add(zip(plain))
	f.Add(file([]uint32{1 << 30}, nil))
	f.Fuzz(func(t *testing.T, b []byte) {
		x, err := idx.Read(bytes.NewReader(b), "f")
		if err != nil {
			return
		}
		n := 1
		for _, d := range x.Dims {
			n *= d
		}
		if n != len(x.Data) {
			t.Fatalf("sizes %v, %d bytes", x.Dims, len(x.Data))
		}
	})
}
