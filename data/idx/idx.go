// Package idx reads the IDX format of LeCun, Cortes, Burges, in which MNIST and its
// successors are.
package idx

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"encoding/binary"
	"fmt"
	"io"

	"sotto/config"
)

// MaxBytes bounds what a header may announce.
const MaxBytes = 1 << 31

// File is the content of an IDX file of bytes.
type File struct {
	Dims []int // 1 to 4 sizes, the first is the number of items
	Data []byte
}

// BadByte is a fault of a binary file at a byte offset of its (uncompressed) content.
func BadByte(file string, offset int64, found any, allowed string) error {
	return &config.Error{
		File:    file,
		Key:     fmt.Sprintf("byte %d", offset),
		Found:   fmt.Sprint(found),
		Allowed: allowed,
	}
}

// Read reads a file: two zero bytes, the type 8 (unsigned byte; the other types are
// refused), the number of dimensions (1 to 4), big-endian uint32 sizes, then exactly as
// many bytes as the sizes say. gzip is recognised by its first two bytes. name is the
// file name in errors, which are *config.Error with the byte offset: wrong magic number,
// a truncated file, trailing bytes, a total above 2 GiB, broken gzip.
func Read(r io.Reader, name string) (*File, error) {
	br := bufio.NewReader(r)
	if first, _ := br.Peek(2); bytes.Equal(first, []byte{0x1f, 0x8b}) {
		zr, err := gzip.NewReader(br)
		if err != nil {
			return nil, BadByte(name, 0, err, "an intact gzip header")
		}
		defer zr.Close()
		br = bufio.NewReader(zr)
	}
	var magic [4]byte
	if n, err := io.ReadFull(br, magic[:]); err != nil {
		return nil, BadByte(name, int64(n), "the end of the file", "a header of 4 bytes")
	}
	dims := int(magic[3])
	if magic[0] != 0 || magic[1] != 0 || magic[2] != 8 || dims < 1 || dims > 4 {
		return nil, BadByte(name, 0, fmt.Sprintf("magic number %#x", magic),
			"0x0000080d with d from 1 to 4 dimensions")
	}
	x := &File{Dims: make([]int, dims)}
	total := int64(1)
	for k := range x.Dims {
		offset := int64(4 + 4*k)
		var size uint32
		if err := binary.Read(br, binary.BigEndian, &size); err != nil {
			return nil, BadByte(name, offset, "the end of the file", "a size of 4 bytes")
		}
		x.Dims[k] = int(size)
		if total *= int64(size); total > MaxBytes {
			return nil, BadByte(name, offset, size,
				fmt.Sprintf("sizes with a product of at most %d", MaxBytes))
		}
	}
	start := int64(4 + 4*dims)
	var err error
	if x.Data, err = io.ReadAll(io.LimitReader(br, total)); err != nil {
		return nil, BadByte(name, start+int64(len(x.Data)), err, "intact data")
	}
	if int64(len(x.Data)) != total {
		return nil, BadByte(name, start+int64(len(x.Data)), "the end of the file",
			fmt.Sprintf("%d bytes of data", total))
	}
	switch _, err := br.ReadByte(); err {
	case io.EOF:
		return x, nil
	case nil:
		return nil, BadByte(name, start+total, "trailing bytes",
			fmt.Sprintf("the end of the file after %d bytes of data", total))
	default:
		return nil, BadByte(name, start+total, err, "an intact end of the file")
	}
}
