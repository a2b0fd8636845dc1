package model

import (
	"archive/zip"
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"regexp"
	"strconv"
	"strings"

	"sotto/tensor"
)

// ErrNPZ says that bytes are not a .npz archive this package reads.
var ErrNPZ = errors.New("model: not an npz archive of float32 arrays")

const (
	npyMagic  = "\x93NUMPY\x01\x00" // format version 1.0
	npySuffix = ".npy"
	npyAlign  = 64 // of the values in an npy file

	maxNPZ = 1 << 32 // bytes of all arrays together: a small archive may hold a huge one
)

// EncodeNPZ returns the tensors as a .npz archive: an uncompressed zip of one .npy file
// (format version 1.0, '<f4', one dimension) for each, in the given order. numpy.load
// reads it. The bytes depend on the arguments alone.
func EncodeNPZ(tensors []NamedVec) ([]byte, error) {
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	seen := map[string]bool{}
	for _, t := range tensors {
		if t.Name == "" || seen[t.Name] {
			return nil, fmt.Errorf("model: tensor name %q is empty or occurs twice", t.Name)
		}
		seen[t.Name] = true
		w, err := z.CreateHeader(&zip.FileHeader{Name: t.Name + npySuffix, Method: zip.Store})
		if err != nil {
			return nil, err
		}
		if _, err := w.Write(appendNPY(nil, t.Vec)); err != nil {
			return nil, err
		}
	}
	err := z.Close()
	return b.Bytes(), err
}

// appendNPY writes one array: magic, version, header length, a Python dictionary padded
// with spaces, the values.
func appendNPY(b []byte, v tensor.Vec) []byte {
	header := fmt.Sprintf("{'descr': '<f4', 'fortran_order': False, 'shape': (%d,), }", len(v))
	size := len(npyMagic) + 2 + len(header) + 1
	header += strings.Repeat(" ", (npyAlign-size%npyAlign)%npyAlign) + "\n"
	b = append(b, npyMagic...)
	b = binary.LittleEndian.AppendUint16(b, uint16(len(header)))
	b = append(b, header...)
	for _, x := range v {
		b = binary.LittleEndian.AppendUint32(b, math.Float32bits(x))
	}
	return b
}

// DecodeNPZ reads a .npz archive of float32 arrays ('<f4', C order, any number of
// dimensions), flattened, in the archive's order. Compressed members are read too, at
// most 4 GiB in all. Errors wrap ErrNPZ and name what was found.
func DecodeNPZ(b []byte) ([]NamedVec, error) {
	z, err := zip.NewReader(bytes.NewReader(b), int64(len(b)))
	if err != nil {
		return nil, fmt.Errorf("%w: %v", ErrNPZ, err)
	}
	var out []NamedVec
	seen, left := map[string]bool{}, uint64(maxNPZ)
	for _, f := range z.File {
		name, ok := strings.CutSuffix(f.Name, npySuffix)
		if !ok || name == "" || seen[name] {
			return nil, fmt.Errorf("%w: member %q: a name that is no array's, or occurs twice", ErrNPZ,
				f.Name)
		}
		seen[name] = true
		if f.UncompressedSize64 > left {
			return nil, fmt.Errorf("%w: member %q: arrays of more than %d bytes", ErrNPZ, f.Name,
				uint64(maxNPZ))
		}
		left -= f.UncompressedSize64
		raw, err := readMember(f)
		if err != nil {
			return nil, fmt.Errorf("%w: member %q: %v", ErrNPZ, f.Name, err)
		}
		v, err := decodeNPY(raw)
		if err != nil {
			return nil, fmt.Errorf("%w: member %q: %v", ErrNPZ, f.Name, err)
		}
		out = append(out, NamedVec{name, v})
	}
	return out, nil
}

// readMember reads no more than the directory promises, and grows with what is there, not
// with the promise.
func readMember(f *zip.File) ([]byte, error) {
	r, err := f.Open()
	if err != nil {
		return nil, err
	}
	defer r.Close()
	return io.ReadAll(io.LimitReader(r, int64(f.UncompressedSize64)+1))
}

// npyHeader is the dictionary that numpy writes: its three keys in any order.
var npyHeader = regexp.MustCompile(
	`^\{((?:'(?:descr|fortran_order|shape)': (?:'[^']*'|True|False|\([0-9, ]*\)),? ?){3})\} *\n$`)

var npyField = regexp.MustCompile(`'(descr|fortran_order|shape)': ('[^']*'|True|False|\([0-9, ]*\))`)

func decodeNPY(b []byte) (tensor.Vec, error) {
	head := len(npyMagic) + 2
	if len(b) < head || string(b[:len(npyMagic)]) != npyMagic {
		return nil, errors.New("no .npy file of version 1.0")
	}
	end := head + int(binary.LittleEndian.Uint16(b[head-2:]))
	if end > len(b) {
		return nil, fmt.Errorf("a header of %d bytes in %d", end-head, len(b)-head)
	}
	m := npyHeader.FindSubmatch(b[head:end])
	if m == nil {
		return nil, errors.New("a header that is no dictionary of descr, fortran_order and shape")
	}
	field := map[string]string{}
	for _, f := range npyField.FindAllSubmatch(m[1], -1) {
		field[string(f[1])] = string(f[2])
	}
	if field["descr"] != "'<f4'" {
		return nil, fmt.Errorf("descr %s, want '<f4'", field["descr"])
	}
	if field["fortran_order"] != "False" {
		return nil, fmt.Errorf("fortran_order %s, want False", field["fortran_order"])
	}
	data := b[end:]
	count, err := elements(field["shape"])
	if err != nil {
		return nil, err
	}
	if len(data) != 4*count {
		return nil, fmt.Errorf("%d bytes of values for shape %s", len(data), field["shape"])
	}
	v := make(tensor.Vec, count)
	for i := range v {
		v[i] = math.Float32frombits(binary.LittleEndian.Uint32(data[4*i:]))
	}
	return v, nil
}

// elements is the product of a shape such as (2, 3), (5,) or ().
func elements(shape string) (int, error) {
	if !strings.HasPrefix(shape, "(") {
		return 0, fmt.Errorf("shape %s, want numbers in parentheses", shape)
	}
	count, zero := 1, false
	list := strings.TrimSuffix(strings.TrimSpace(shape[1:len(shape)-1]), ",")
	for part := range strings.SplitSeq(list, ",") {
		if list == "" {
			break // a scalar
		}
		n, err := strconv.Atoi(strings.TrimSpace(part))
		if err != nil {
			return 0, fmt.Errorf("shape %s: %v", shape, err)
		}
		if n == 0 {
			zero = true
			continue
		}
		if count > maxNPZ/4/n {
			return 0, fmt.Errorf("shape %s, of more than %d values", shape, maxNPZ/4)
		}
		count *= n
	}
	if zero {
		return 0, nil
	}
	return count, nil
}
