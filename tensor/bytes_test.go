package tensor

import (
	"bytes"
	"encoding/binary"
	"math"
	"testing"
)

// Vectors of any bits, at any place in a row of bytes, are those numbers in little-endian
// order, and come back, whether they are copied or formed one by one.
func FuzzBytes(f *testing.F) {
	f.Add([]byte(nil), 0)
	f.Add([]byte{1, 2, 3, 4, 0xff, 0xff, 0x80, 0x7f, 0, 0, 0, 0x80}, 3)
	f.Fuzz(func(t *testing.T, b []byte, at int) {
		bits := make([]uint32, len(b)/4)
		v := make(Vec, len(bits))
		for i := range bits {
			bits[i] = uint32(b[4*i])<<24 | uint32(b[4*i+1]) | uint32(b[4*i+2])<<8 | uint32(b[4*i+3])<<16
			v[i] = math.Float32frombits(bits[i])
		}
		front := make([]byte, uint(at)%9)
		want, err := binary.Append(bytes.Clone(front), binary.LittleEndian, bits)
		if err != nil {
			t.Fatal(err)
		}
		for name, twin := range map[string]struct {
			write func(b []byte, v Vec) []byte
			read  func(v Vec, b []byte)
		}{
			"exported": {func(b []byte, v Vec) []byte { return v.AppendBytes(b) }, Vec.SetBytes},
			"portable": {appendBytes, setBytes},
		} {
			if got := twin.write(bytes.Clone(front), v); !bytes.Equal(got, want) {
				t.Errorf("%s: %x, want %x", name, got, want)
			}
			back := make(Vec, len(v))
			twin.read(back, want[len(front):])
			for i := range back {
				if math.Float32bits(back[i]) != bits[i] {
					t.Errorf("%s: element %d is %x, want %x", name, i, math.Float32bits(back[i]), bits[i])
				}
			}
		}
	})
}

func TestSetBytesWantsItsLength(t *testing.T) {
	defer func() {
		if recover() == nil {
			t.Error("7 bytes were taken for two elements")
		}
	}()
	make(Vec, 2).SetBytes(make([]byte, 7))
}

func BenchmarkBytes(b *testing.B) {
	v, buf := make(Vec, 38_424), []byte(nil)
	for name, f := range map[string]func(){
		"copied":   func() { buf = v.AppendBytes(buf[:0]); v.SetBytes(buf) },
		"portable": func() { buf = appendBytes(buf[:0], v); setBytes(v, buf) },
	} {
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(8 * len(v)))
			for b.Loop() {
				f()
			}
		})
	}
}
