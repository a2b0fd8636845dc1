package model_test

import (
	"encoding/binary"
	"errors"
	"slices"
	"strings"
	"testing"

	"sotto/model"
	"sotto/tensor"
)

// The layout is checked byte by byte against the format's own description: u64 header
// length, JSON with dtype, shape and data_offsets, then the buffer.
func TestSafetensorsLayout(t *testing.T) {
	b, err := model.EncodeSafetensors(map[string]string{"k": "v"},
		[]model.NamedVec{{Name: "a", Vec: tensor.Vec{1}}, {Name: "b", Vec: tensor.Vec{-2, .5}}})
	if err != nil {
		t.Fatal(err)
	}
	n := binary.LittleEndian.Uint64(b)
	header := strings.TrimRight(string(b[8:8+n]), " ")
	want :=
		`{"__metadata__":{"k":"v"},"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]},` +
			`"b":{"dtype":"F32","shape":[2],"data_offsets":[4,12]}}`
	if header != want || n%8 != 0 {
		t.Errorf("header %s (%d bytes)", header, n)
	}
	if got := b[8+n:]; !slices.Equal(got, []byte{0, 0, 0x80, 0x3f, 0, 0, 0, 0xc0, 0, 0, 0, 0x3f}) {
		t.Errorf("data % x", got)
	}
	meta, ts, err := model.DecodeSafetensors(b)
	if err != nil || meta["k"] != "v" || len(ts) != 2 || ts[1].Name != "b" ||
		!slices.Equal(ts[1].Vec, tensor.Vec{-2, .5}) {
		t.Errorf("decoded %v %v %v", meta, ts, err)
	}
	for i := range b {
		if _, _, err := model.DecodeSafetensors(b[:i]); !errors.Is(err, model.ErrSafetensors) {
			t.Fatalf("cut at %d: %v", i, err)
		}
	}
	if _, err := model.EncodeSafetensors(nil, []model.NamedVec{{Name: "a"}, {Name: "a"}}); err == nil {
		t.Error("a name twice was accepted")
	}
	for _, v := range []model.NamedVec{{Name: "__metadata__", Vec: tensor.Vec{1}},
		{Name: "a", Dims: []int{1 << 32, 1 << 32}}, {Name: "a", Vec: tensor.Vec{1}, Dims: []int{-1, -1}}} {
		if _, err := model.EncodeSafetensors(nil, []model.NamedVec{v}); err == nil {
			t.Errorf("%s of shape %v was accepted", v.Name, v.Dims)
		}
	}
}

// A shape whose number of elements wraps around is none.
func TestSafetensorsOfHugeShapes(t *testing.T) {
	const header = `{"a":{"dtype":"F32","shape":[2,2305843009213693952],"data_offsets":[0,0]},` +
		`"b":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}}`
	b := append(binary.LittleEndian.AppendUint64(nil, uint64(len(header))), header...)
	_, ts, err := model.DecodeSafetensors(append(b, make([]byte, 8)...))
	if !errors.Is(err, model.ErrSafetensors) {
		t.Errorf("decoded %v, %v", ts, err)
	}
}

func FuzzDecodeSafetensors(f *testing.F) {
	b, _ := model.EncodeSafetensors(nil,
		[]model.NamedVec{{Name: "a", Vec: tensor.Vec{1, 2}}, {Name: "b", Vec: tensor.Vec{3}}})
	f.Add(b)
	f.Add([]byte("\x02\x00\x00\x00\x00\x00\x00\x00{}"))
	f.Add([]byte("\xff\xff\xff\xff\xff\xff\xff\xff{}"))
	f.Fuzz(func(t *testing.T, b []byte) {
		meta, ts, err := model.DecodeSafetensors(b)
		if err != nil {
			if !errors.Is(err, model.ErrSafetensors) {
				t.Fatalf("unnamed error %v", err)
			}
			return
		}
		for _, x := range ts {
			if x.Name == "" || x.Name == "__metadata__" {
				return
			}
		}
		if _, err := model.EncodeSafetensors(meta, ts); err != nil {
			t.Fatal(err)
		}
	})
}
