package data

import (
	"bytes"
	"compress/gzip"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"io"
	"math"
	"path/filepath"
	"strings"

	"sotto/config"
	"sotto/data/idx"
	"sotto/internal/keep"
	"sotto/internal/parallel"
	"sotto/tensor"
)

// ImageParams are the parameters of image data sets.
type ImageParams struct {
	// Normalize maps pixels from [0, 1] to (x - mean)/std with the public constants of
	// the data set. Default true. Without it pixels stay in [0, 1].
	Normalize bool `toml:"normalize"`
	// Resize is the side of the square that images are resampled to, 4 to 256; 0 leaves
	// them.
	Resize int `toml:"resize"`
	// Limit and TestLimit keep the first records of each part; 0 keeps all.
	Limit     int `toml:"limit"`
	TestLimit int `toml:"test_limit"`
	// AllowAltered reads files that are not the published ones.
	AllowAltered bool `toml:"allow_altered"`
}

func (p *ImageParams) validate() error {
	if p.Resize != 0 && (p.Resize < 4 || p.Resize > 256) {
		return config.Bad("resize", p.Resize, "0 (as it is) or 4 to 256")
	}
	return limits(p.Limit, p.TestLimit)
}

// check validates p and f for images that have the given side and channels as read.
func (p *ImageParams) check(f *FeatureParams, side, channels int) error {
	if err := p.validate(); err != nil {
		return err
	}
	if p.Resize > 0 {
		side = p.Resize
	}
	return f.validate(side, channels)
}

func limits(train, test int) error {
	if train < 0 {
		return config.Bad("limit", train, "0 (all) or more")
	}
	if test < 0 {
		return config.Bad("test_limit", test, "0 (all) or more")
	}
	return nil
}

// Images holds images as bytes with their labels. Pixel (y, x) of channel c of image i is
// Pixels[((i*Height+y)*Width+x)*Channels+c].
type Images struct {
	Height, Width, Channels int
	Pixels                  []byte
	Labels                  []int32
	Coarse                  []int32 // CIFAR-100: the superclass; nil elsewhere
}

// size is the number of bytes of an image.
func (p *Images) size() int { return p.Height * p.Width * p.Channels }

// dataset converts bytes to float32: divided by 255, resampled, then normalised by
// channel with mean and std where these are not nil.
func (p *Images) dataset(name string, names []string, resize, limit int, mean, std []float64) *Dataset {
	n := len(p.Labels)
	if limit > 0 {
		n = min(n, limit)
	}
	r := p.render(resize, mean, std)
	d := &Dataset{Name: name, X: tensor.NewMat(n, r.h*r.w*p.Channels), Shape: [3]int{r.h, r.w, p.Channels},
		Labels: p.Labels[:n:n], Classes: len(names), ClassNames: names}
	each(n, func(i int, raw *[]float32) {
		if *raw == nil {
			*raw = make([]float32, p.size())
		}
		r.image(d.X.Row(i), i, *raw)
	})
	return d
}

// each calls f for images 0 to n-1, with scratch memory of a goroutine.
func each[S any](n int, f func(i int, scratch *S)) {
	const few = 100 // images that one goroutine takes at a time
	_ = parallel.With((n+few-1)/few, 0, func(k int, scratch *S) error {
		for i := few * k; i < min(n, few*k+few); i++ {
			f(i, scratch)
		}
		return nil
	})
}

// renderer turns bytes into pixels of an image of h x w.
type renderer struct {
	*Images
	h, w       int
	table      [][256]float32 // by channel
	rows, cols resampler
}

// render returns one with a table of 256 values for each channel: normalisation is
// affine, and bilinear weights sum to 1, so that normalising before resampling gives the
// same image.
func (p *Images) render(resize int, mean, std []float64) *renderer {
	r := &renderer{Images: p, h: p.Height, w: p.Width, table: make([][256]float32, p.Channels)}
	if resize > 0 {
		r.h, r.w = resize, resize
	}
	for c := range r.table {
		for v := range r.table[c] {
			x := float64(v) / 255
			if mean != nil {
				x = (x - mean[c]) / std[c]
			}
			r.table[c][v] = float32(x)
		}
	}
	r.rows, r.cols = newResampler(p.Height, r.h), newResampler(p.Width, r.w)
	return r
}

// image writes image i to dst; raw holds an image of the size that was read.
func (r *renderer) image(dst tensor.Vec, i int, raw []float32) {
	same, size := r.h == r.Height && r.w == r.Width, r.size()
	if same {
		raw = dst
	}
	for c := range r.table {
		for k := c; k < size; k += r.Channels {
			raw[k] = r.table[c][r.Pixels[i*size+k]]
		}
	}
	if !same {
		resample(dst, raw, r.rows, r.cols, r.Width, r.Channels)
	}
}

// resampler holds, for every output position, the two input positions it lies between and
// the weight of the second.
type resampler struct {
	lo, hi []int
	weight []float32
}

// newResampler maps pixel centers: output o lies at (o + 1/2)·in/out - 1/2, clamped at
// the edges; bilinear interpolation without antialiasing, "align_corners=False" in
// PyTorch.
func newResampler(in, out int) resampler {
	r := resampler{make([]int, out), make([]int, out), make([]float32, out)}
	for o := range out {
		x := max(0, (float64(o)+.5)*float64(in)/float64(out)-.5)
		lo := min(int(math.Floor(x)), in-1)
		r.lo[o], r.hi[o] = lo, min(lo+1, in-1)
		r.weight[o] = float32(x - float64(lo))
	}
	return r
}

// resample writes the image with width columns and the given channels to dst.
func resample(dst tensor.Vec, image []float32, rows, cols resampler, width, channels int) {
	wide := len(cols.lo) * channels
	stretched := func(y int, out []float32) {
		row, k := image[y*width*channels:][:width*channels], 0
		for x, u := range cols.weight {
			a, b := cols.lo[x]*channels, cols.hi[x]*channels
			for c := range channels {
				t := row[a+c]
				out[k] = t + float32(u*(row[b+c]-t))
				k++
			}
		}
	}
	top, bottom := make([]float32, wide), make([]float32, wide)
	at, below := -1, -1 // the rows that top and bottom are of
	for y, v := range rows.weight {
		if rows.lo[y] == below {
			top, bottom, at, below = bottom, top, below, at
		}
		if rows.lo[y] != at {
			at = rows.lo[y]
			stretched(at, top)
		}
		if rows.hi[y] != below {
			below = rows.hi[y]
			stretched(below, bottom)
		}
		out := dst[y*wide:][:wide]
		for k, t := range top {
			out[k] = t + float32(v*(bottom[k]-t))
		}
	}
}

var digits = []string{"0", "1", "2", "3", "4", "5", "6", "7", "8", "9"}

// mnist loads MNIST (LeCun, Cortes, Burges 1998): 60,000 and 10,000 digits of 28x28;
// normalised with mean .1307 and standard deviation .3081.
func mnist(decode func(any) error, src Source) (*Split, error) {
	return idxSet("mnist", digits, .1307, .3081, decode, src)
}

// fashionMNIST loads Fashion-MNIST (Xiao, Rasul, Vollgraf 2017) in the form of MNIST;
// .2860 and .3530.
func fashionMNIST(decode func(any) error, src Source) (*Split, error) {
	classes := []string{"t-shirt", "trouser", "pullover", "dress", "coat", "sandal", "shirt", "sneaker",
		"bag", "ankle boot"}
	return idxSet("fashion-mnist", classes, .2860, .3530, decode, src)
}

// idxParams are the parameters of image data sets in IDX files. Digests hold the first
// part as it is.
type idxParams struct {
	ImageParams
	FeatureParams
}

func idxSet(name string, classes []string, mean, std float64, decode func(any) error, src Source) (*Split,
	error) {
	p := idxParams{ImageParams: ImageParams{Normalize: true}}
	if err := decode(&p); err != nil {
		return nil, err
	}
	if err := p.check(&p.FeatureParams, 28, 1); err != nil {
		return nil, err
	}
	m := &imaging{name: name, classes: classes, resize: p.Resize, FeatureParams: p.FeatureParams}
	if p.Normalize {
		m.mean, m.std = []float64{mean}, []float64{std}
	}
	st := &store{dir: src.Dir, any: p.AllowAltered}
	var parts [2]*Images
	for k, prefix := range []string{"train", "t10k"} {
		images, imageFile, err := st.idx(name, prefix+"-images-idx3-ubyte.gz")
		if err != nil {
			return nil, err
		}
		labels, labelFile, err := st.idx(name, prefix+"-labels-idx1-ubyte.gz")
		if err != nil {
			return nil, err
		}
		px, err := labelled(images, labels, imageFile, labelFile, len(classes))
		if err != nil {
			return nil, err
		}
		if px.Height == 0 || px.Width == 0 {
			return nil, idx.BadByte(imageFile, 8, fmt.Sprintf("%d x %d pixels", px.Height, px.Width),
				"images of at least one pixel")
		}
		parts[k] = px
	}
	return m.split(parts[0], parts[1], [2]int{p.Limit, p.TestLimit}, p.ImageParams, st.sums)
}

// idx reads a published IDX file, from what was unpacked before where that is there.
func (s *store) idx(set, name string) (*idx.File, string, error) {
	at := filepath.Join(s.dir, set, name)
	b, err := s.read(set + "/" + name)
	if err != nil {
		return nil, "", err
	}
	x, err := idx.Read(bytes.NewReader(s.unpacked(published(set+"/"+name), b)), at)
	return x, at, err
}

// unpacked returns what is in b, a published file that has been read, or b itself where
// that is no .gz that is as published. What it unpacks it keeps in the folder for caches:
// nothing else that is read from files is ever copied there.
func (s *store) unpacked(f File, b []byte) []byte {
	dir, ok := keep.Dir()
	n := len(b) // of which the last 8 bytes are a checksum and the length of what is in it
	if !ok || s.sums[len(s.sums)-1] != f.SHA256 || !strings.HasSuffix(f.Path, ".gz") || n < 8 {
		return b
	}
	check, size := binary.LittleEndian.Uint32(b[n-8:]), binary.LittleEndian.Uint32(b[n-4:])
	at, version := filepath.Join(dir, "data", f.SHA256), "unpacked "+f.SHA256
	if raw, ok := keep.Read(at, version, idx.MaxBytes); ok && crc32.ChecksumIEEE(raw) == check &&
		len(raw) == int(size) {
		return raw
	}
	zr, err := gzip.NewReader(bytes.NewReader(b))
	if err != nil {
		return b
	}
	raw := make([]byte, size)
	if _, err := io.ReadFull(zr, raw); err != nil || crc32.ChecksumIEEE(raw) != check {
		return b
	}
	_ = keep.Write(at, version, raw) // it saves time the next time, and nothing depends on it
	return raw
}
