package tensor

import (
	"encoding/binary"
	"math"
	"slices"
	"unsafe"
)

// memory is v's as the machine keeps it. The caller may not use it after v.
func memory(v Vec) []byte {
	return unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(v))), 4*len(v))
}

// littleEndian says that memory is in the order of the wire and of files.
var littleEndian = memory(Vec{math.Float32frombits(1)})[0] == 1

// AppendBytes appends the elements of v to b, four bytes each, little-endian.
func (v Vec) AppendBytes(b []byte) []byte {
	if littleEndian {
		return append(b, memory(v)...)
	}
	return appendBytes(b, v)
}

// SetBytes sets v to the elements that AppendBytes has appended. It panics unless b has
// four bytes for each.
func (v Vec) SetBytes(b []byte) {
	if len(b) != 4*len(v) {
		panic("tensor: SetBytes needs four bytes for each element")
	}
	if littleEndian {
		copy(memory(v), b)
		return
	}
	setBytes(v, b)
}

func appendBytes(b []byte, v Vec) []byte {
	b = slices.Grow(b, 4*len(v))
	for _, x := range v {
		b = binary.LittleEndian.AppendUint32(b, math.Float32bits(x))
	}
	return b
}

func setBytes(v Vec, b []byte) {
	for i := range v {
		v[i] = math.Float32frombits(binary.LittleEndian.Uint32(b[4*i:]))
	}
}
