package oracle

import (
	"fmt"

	"sotto/config"
	"sotto/model"
	"sotto/rng"
)

// Augmentation draws views of image records: a record's gradient is the mean over its
// views, clipped once, so that views cost no privacy (augmentation multiplicity: De,
// Berrada, Hayes, Smith, Balle 2022, "Unlocking High-Accuracy Differentially Private
// Image Classification through Scale"). The zero value takes records as they are.
//
// All choices come from the secret sample stream of the charge, after the batch is drawn:
// for each drawn record in order, for each view, down, right (uniform in -s .. s), flip,
// as far as they are asked for. What is drawn does not depend on any record's values.
type Augmentation struct {
	// Views is the number of views of each image whose gradients are averaged, 1 to 32; 0
	// means 1.
	Views int `toml:"augmentations,omitempty"`
	// Shift moves each view by at most so many pixels in each direction; pixels that move
	// in are 0.
	Shift int `toml:"augment_shift,omitempty"`
	// Crop takes each view from the image padded by so many pixels on each side, which
	// mirror its border: below height and width, and one of Shift and Crop is 0.
	Crop int  `toml:"augment_crop,omitempty"`
	Flip bool `toml:"augment_flip,omitempty"` // mirrors each view left to right with probability 1/2
}

const maxViews = 32

// Validate names the first key that cannot be used with records of this shape (height,
// width, channels) and m.
func (a *Augmentation) Validate(shape [3]int, m model.Model) error {
	least := min(shape[0], shape[1])
	switch {
	case a.Views < 0 || a.Views > maxViews:
		return config.Bad("augmentations", a.Views, fmt.Sprintf("1 to %d", maxViews))
	case *a == Augmentation{} || *a == Augmentation{Views: 1}:
		return nil
	case least < 2:
		return config.Bad("augmentations", a.Views,
			"no value: only images have views, these records are rows of a table")
	case a.Shift < 0 || a.Shift >= least:
		return config.Bad("augment_shift", a.Shift, fmt.Sprintf("0 to %d", least-1))
	case a.Crop < 0 || a.Crop >= least:
		return config.Bad("augment_crop", a.Crop, fmt.Sprintf("0 to %d", least-1))
	case a.Crop > 0 && a.Shift > 0:
		return config.Bad("augment_crop", a.Crop, "0 with augment_shift: both move the image")
	case !a.changes():
		return config.Bad("augmentations", a.Views,
			"1 without augment_shift, augment_crop or augment_flip: all views would be equal")
	case a.Views > 1 && model.Explain(m) == nil:
		return config.Bad("augmentations", a.Views, "1: this model does not average views")
	}
	return nil
}

// changes says that views differ from their record.
func (a *Augmentation) changes() bool { return a.Shift > 0 || a.Crop > 0 || a.Flip }

// views is the number of rows of one record.
func (a *Augmentation) views() int {
	if !a.changes() {
		return 1
	}
	return max(a.Views, 1)
}

// view writes one view of src, of the given shape, to dst. columns is scratch.
func (a *Augmentation) view(dst, src []float32, shape [3]int, sample *rng.Stream, columns []int) {
	height, width, channels := shape[0], shape[1], shape[2]
	down, right, flip := 0, 0, false
	if s := max(a.Shift, a.Crop); s > 0 {
		down = int(sample.Below(uint64(2*s+1))) - s
		right = int(sample.Below(uint64(2*s+1))) - s
	}
	if a.Flip {
		flip = sample.Uint64()>>63 == 1
	}
	columns = columns[:width]
	for x := range columns {
		columns[x] = a.place(x-right, width)
		if flip {
			columns[x] = a.place(width-1-x-right, width)
		}
	}
	for y := range height {
		row := dst[y*width*channels : (y+1)*width*channels]
		from := a.place(y-down, height)
		if from < 0 {
			clear(row)
			continue
		}
		line := src[from*width*channels : (from+1)*width*channels]
		for x, c := range columns {
			pixel := row[x*channels : (x+1)*channels]
			if c < 0 {
				clear(pixel)
				continue
			}
			for k := range pixel {
				pixel[k] = line[c*channels+k]
			}
		}
	}
}

// place is where position i of a padded line of n lies in the line: mirrored for a crop,
// -1 for what is empty.
func (a *Augmentation) place(i, n int) int {
	switch {
	case i >= 0 && i < n:
		return i
	case a.Crop == 0:
		return -1
	case i < 0:
		return -i
	}
	return 2*(n-1) - i
}
