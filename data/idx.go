package data

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"encoding/binary"
	"fmt"
	"io"

	"sotto/config"
)

// maxBytes bounds what a header may announce.
const maxBytes = 1 << 31

// IDX is the content of an IDX file of bytes.
type IDX struct {
	Dims []int // 1 to 4 sizes, the first is the number of items
	Data []byte
}

// badByte is a fault of a binary file at a byte offset of its (uncompressed) content.
func badByte(file string, offset int64, found any, allowed string) error {
	return &config.Error{
		File:    file,
		Key:     fmt.Sprintf("byte %d", offset),
		Found:   fmt.Sprint(found),
		Allowed: allowed,
	}
}

// ReadIDX reads the IDX format of LeCun, Cortes, Burges (MNIST): two zero bytes, the type
// 8 (unsigned byte; the other types are refused), the number of dimensions (1 to 4),
// big-endian uint32 sizes, then exactly as many bytes as the sizes say. gzip is
// recognised by its first two bytes. name is the file name in errors, which are
// *config.Error with the byte offset: wrong magic number, a truncated file, trailing
// bytes, a total above 2 GiB, broken gzip.
func ReadIDX(r io.Reader, name string) (*IDX, error) {
	br := bufio.NewReader(r)
	if first, _ := br.Peek(2); bytes.Equal(first, []byte{0x1f, 0x8b}) {
		zr, err := gzip.NewReader(br)
		if err != nil {
			return nil, badByte(name, 0, err, "an intact gzip header")
		}
		defer zr.Close()
		br = bufio.NewReader(zr)
	}
	var magic [4]byte
	if n, err := io.ReadFull(br, magic[:]); err != nil {
		return nil, badByte(name, int64(n), "the end of the file", "a header of 4 bytes")
	}
	dims := int(magic[3])
	if magic[0] != 0 || magic[1] != 0 || magic[2] != 8 || dims < 1 || dims > 4 {
		return nil, badByte(name, 0, fmt.Sprintf("magic number %#x", magic),
			"0x0000080d with d from 1 to 4 dimensions")
	}
	x := &IDX{Dims: make([]int, dims)}
	total := int64(1)
	for k := range x.Dims {
		offset := int64(4 + 4*k)
		var size uint32
		if err := binary.Read(br, binary.BigEndian, &size); err != nil {
			return nil, badByte(name, offset, "the end of the file", "a size of 4 bytes")
		}
		x.Dims[k] = int(size)
		if total *= int64(size); total > maxBytes {
			return nil, badByte(name, offset, size,
				fmt.Sprintf("sizes with a product of at most %d", maxBytes))
		}
	}
	start := int64(4 + 4*dims)
	var err error
	if x.Data, err = io.ReadAll(io.LimitReader(br, total)); err != nil {
		return nil, badByte(name, start+int64(len(x.Data)), err, "intact data")
	}
	if int64(len(x.Data)) != total {
		return nil, badByte(name, start+int64(len(x.Data)), "the end of the file",
			fmt.Sprintf("%d bytes of data", total))
	}
	switch _, err := br.ReadByte(); err {
	case io.EOF:
		return x, nil
	case nil:
		return nil, badByte(name, start+total, "trailing bytes",
			fmt.Sprintf("the end of the file after %d bytes of data", total))
	default:
		return nil, badByte(name, start+total, err, "an intact end of the file")
	}
}

// labelled pairs IDX images (n x height x width) with IDX labels (n) below classes.
func labelled(images, labels *IDX, imageFile, labelFile string, classes int) (*Images, error) {
	if len(images.Dims) != 3 {
		return nil, badByte(imageFile, 3, fmt.Sprintf("%d dimensions", len(images.Dims)),
			"3 dimensions for images")
	}
	if len(labels.Dims) != 1 || labels.Dims[0] != images.Dims[0] {
		return nil, badByte(labelFile, 4, fmt.Sprintf("sizes %v", labels.Dims),
			fmt.Sprintf("one label for each of %d images", images.Dims[0]))
	}
	p := &Images{
		Height:   images.Dims[1],
		Width:    images.Dims[2],
		Channels: 1,
		Pixels:   images.Data,
		Labels:   make([]int32, len(labels.Data)),
	}
	for i, l := range labels.Data {
		if int(l) >= classes {
			return nil, badByte(labelFile, int64(8+i), l, fmt.Sprintf("labels 0 to %d", classes-1))
		}
		p.Labels[i] = int32(l)
	}
	return p, nil
}
