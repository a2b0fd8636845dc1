package data

import (
	"fmt"

	"sotto/data/idx"
)

// labelled pairs IDX images (n x height x width) with IDX labels (n) below classes.
func labelled(images, labels *idx.File, imageFile, labelFile string, classes int) (*Images, error) {
	if len(images.Dims) != 3 {
		return nil, idx.BadByte(imageFile, 3, fmt.Sprintf("%d dimensions", len(images.Dims)),
			"3 dimensions for images")
	}
	if len(labels.Dims) != 1 || labels.Dims[0] != images.Dims[0] {
		return nil, idx.BadByte(labelFile, 4, fmt.Sprintf("sizes %v", labels.Dims),
			fmt.Sprintf("one label for each of %d images", images.Dims[0]))
	}
	p := &Images{Height: images.Dims[1], Width: images.Dims[2], Channels: 1, Pixels: images.Data,
		Labels: make([]int32, len(labels.Data))}
	for i, l := range labels.Data {
		if int(l) >= classes {
			return nil, idx.BadByte(labelFile, int64(8+i), l, fmt.Sprintf("labels 0 to %d", classes-1))
		}
		p.Labels[i] = int32(l)
	}
	return p, nil
}
