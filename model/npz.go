package model

import (
	"archive/zip"
	"bytes"
	"encoding/binary"
	"fmt"
	"math"
	"strconv"
	"strings"
)

const (
	npyMagic  = "\x93NUMPY\x01\x00" // format version 1.0
	npySuffix = ".npy"
	npyAlign  = 64 // of the values in an npy file
)

// EncodeNPZ returns the tensors as a .npz archive: an uncompressed zip of one .npy file
// (format version 1.0, '<f4', in the order of C) for each, in the given order. numpy.load
// reads it. The bytes depend on the arguments alone.
func EncodeNPZ(tensors []NamedVec) ([]byte, error) {
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	seen := map[string]bool{}
	for _, t := range tensors {
		if t.Name == "" || seen[t.Name] {
			return nil, fmt.Errorf("model: tensor name %q is empty or occurs twice", t.Name)
		}
		if err := t.check(); err != nil {
			return nil, err
		}
		seen[t.Name] = true
		w, err := z.CreateHeader(&zip.FileHeader{Name: t.Name + npySuffix, Method: zip.Store})
		if err != nil {
			return nil, err
		}
		if _, err := w.Write(appendNPY(nil, &t)); err != nil {
			return nil, err
		}
	}
	err := z.Close()
	return b.Bytes(), err
}

// appendNPY writes one array: magic, version, header length, a Python dictionary padded
// with spaces, the values.
func appendNPY(b []byte, t *NamedVec) []byte {
	header := fmt.Sprintf("{'descr': '<f4', 'fortran_order': False, 'shape': %s, }", tuple(t.shape()))
	size := len(npyMagic) + 2 + len(header) + 1
	header += strings.Repeat(" ", (npyAlign-size%npyAlign)%npyAlign) + "\n"
	b = append(b, npyMagic...)
	b = binary.LittleEndian.AppendUint16(b, uint16(len(header)))
	b = append(b, header...)
	for _, x := range t.Vec {
		b = binary.LittleEndian.AppendUint32(b, math.Float32bits(x))
	}
	return b
}

// tuple is a shape as Python writes it.
func tuple(dims []int) string {
	parts := make([]string, len(dims))
	for i, d := range dims {
		parts[i] = strconv.Itoa(d)
	}
	if len(parts) == 1 {
		return "(" + parts[0] + ",)"
	}
	return "(" + strings.Join(parts, ", ") + ")"
}
