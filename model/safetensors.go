package model

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"

	"sotto/tensor"
)

// NamedVec is one float32 tensor of a file, row-major.
type NamedVec struct {
	Name string
	Vec  tensor.Vec
	Dims []int // their product is the length of Vec; nil: one dimension
}

// ErrSafetensors says that bytes are not a safetensors file this package reads.
var ErrSafetensors = errors.New("model: not a safetensors file of float32 vectors")

const (
	maxSafetensorsHeader = 100 << 20 // the format's own limit
	metadataKey          = "__metadata__"
)

type safetensor struct {
	DType   string    `json:"dtype"`
	Shape   []int     `json:"shape"`
	Offsets [2]uint64 `json:"data_offsets"`
}

// EncodeSafetensors returns what WriteSafetensors writes.
func EncodeSafetensors(metadata map[string]string, tensors []NamedVec) ([]byte, error) {
	var b bytes.Buffer
	err := WriteSafetensors(&b, metadata, tensors)
	return b.Bytes(), err
}

// WriteSafetensors writes the tensors in safetensors form: an 8-byte header length, a
// JSON header padded to 8 bytes, then the values, little-endian, in the given order.
// metadata may be nil. The bytes depend on the arguments alone. Names that are empty,
// come twice or are "__metadata__", and Dims of another number of values, are refused
// before anything is written; other errors are the writer's.
func WriteSafetensors(w io.Writer, metadata map[string]string, tensors []NamedVec) error {
	header := map[string]any{}
	if len(metadata) > 0 {
		header[metadataKey] = metadata
	}
	at := uint64(0)
	for _, t := range tensors {
		if _, dup := header[t.Name]; dup || t.Name == "" || t.Name == metadataKey {
			return fmt.Errorf("model: tensor name %q is empty, occurs twice or stands for metadata", t.Name)
		}
		if err := t.check(); err != nil {
			return err
		}
		end := at + 4*uint64(len(t.Vec))
		header[t.Name] = safetensor{"F32", t.shape(), [2]uint64{at, end}}
		at = end
	}
	h, err := json.Marshal(header) // sorts keys
	if err != nil {
		return err
	}
	h = append(h, bytes.Repeat([]byte{' '}, (8-len(h)%8)%8)...)
	b := binary.LittleEndian.AppendUint64(make([]byte, 0, 1<<16), uint64(len(h)))
	b = append(b, h...)
	for _, t := range tensors {
		for _, x := range t.Vec {
			if len(b) >= 1<<16 {
				if _, err := w.Write(b); err != nil {
					return err
				}
				b = b[:0]
			}
			b = binary.LittleEndian.AppendUint32(b, math.Float32bits(x))
		}
	}
	_, err = w.Write(b)
	return err
}

// DecodeSafetensors reads F32 tensors in the order of their data. Dims are nil where
// there is one dimension. Errors wrap ErrSafetensors and name what was found.
func DecodeSafetensors(b []byte) (map[string]string, []NamedVec, error) {
	if len(b) < 8 {
		return nil, nil, fmt.Errorf("%w: %d bytes", ErrSafetensors, len(b))
	}
	n := binary.LittleEndian.Uint64(b)
	if n > maxSafetensorsHeader || n > uint64(len(b)-8) {
		return nil, nil, fmt.Errorf("%w: header of %d bytes in a file of %d", ErrSafetensors, n, len(b))
	}
	var raw map[string]json.RawMessage
	if err := json.Unmarshal(b[8:8+n], &raw); err != nil {
		return nil, nil, fmt.Errorf("%w: header: %v", ErrSafetensors, err)
	}
	var meta map[string]string
	if m, ok := raw[metadataKey]; ok {
		if err := json.Unmarshal(m, &meta); err != nil {
			return nil, nil, fmt.Errorf("%w: metadata: %v", ErrSafetensors, err)
		}
		delete(raw, metadataKey)
	}
	data := b[8+n:]
	type entry struct {
		name string
		safetensor
	}
	var entries []entry
	for name, m := range raw {
		e := entry{name: name}
		if err := json.Unmarshal(m, &e.safetensor); err != nil {
			return nil, nil, fmt.Errorf("%w: tensor %q: %v", ErrSafetensors, name, err)
		}
		entries = append(entries, e)
	}
	slices.SortFunc(entries, func(a, b entry) int {
		if a.Offsets[0] != b.Offsets[0] {
			return int(min(max(int64(a.Offsets[0])-int64(b.Offsets[0]), -1), 1))
		}
		return bytes.Compare([]byte(a.name), []byte(b.name))
	})
	var out []NamedVec
	at := uint64(0)
	for _, e := range entries {
		size := uint64(4)
		for _, d := range e.Shape {
			if d < 0 || d > 0 && size > uint64(len(data))/uint64(d) {
				return nil, nil, fmt.Errorf("%w: tensor %q has shape %v", ErrSafetensors, e.name, e.Shape)
			}
			size *= uint64(d)
		}
		if e.DType != "F32" || e.Offsets[0] != at || e.Offsets[1] != at+size ||
			e.Offsets[1] > uint64(len(data)) {
			return nil, nil, fmt.Errorf("%w: tensor %q: dtype %s, shape %v, offsets %v in %d bytes of data",
				ErrSafetensors, e.name, e.DType, e.Shape, e.Offsets, len(data))
		}
		v := make(tensor.Vec, size/4)
		for i := range v {
			v[i] = math.Float32frombits(binary.LittleEndian.Uint32(data[at+4*uint64(i):]))
		}
		var dims []int
		if len(e.Shape) != 1 {
			dims = e.Shape
		}
		out = append(out, NamedVec{e.name, v, dims})
		at = e.Offsets[1]
	}
	if at != uint64(len(data)) {
		return nil, nil, fmt.Errorf("%w: %d bytes of data are in no tensor", ErrSafetensors,
			uint64(len(data))-at)
	}
	return meta, out, nil
}
