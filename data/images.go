package data

import (
	"fmt"
	"math"

	"sotto/config"
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

// dataset converts bytes to float32: divided by 255, resampled, then normalised by
// channel with mean and std where these are not nil.
func (p *Images) dataset(name string, names []string, resize, limit int, mean, std []float64) *Dataset {
	n := len(p.Labels)
	if limit > 0 {
		n = min(n, limit)
	}
	h, w := p.Height, p.Width
	if resize > 0 {
		h, w = resize, resize
	}
	d := &Dataset{Name: name, X: tensor.NewMat(n, h*w*p.Channels), Shape: [3]int{h, w, p.Channels},
		Labels: p.Labels[:n:n], Classes: len(names), ClassNames: names}
	// One table of 256 values for each channel: normalisation is affine, and bilinear
	// weights sum to 1, so that normalising before resampling gives the same image.
	table := make([][256]float32, p.Channels)
	for c := range table {
		for v := range table[c] {
			x := float64(v) / 255
			if mean != nil {
				x = (x - mean[c]) / std[c]
			}
			table[c][v] = float32(x)
		}
	}
	size := p.Height * p.Width * p.Channels
	image := make([]float32, size)
	rows, cols := newResampler(p.Height, h), newResampler(p.Width, w)
	for i := range n {
		for k, v := range p.Pixels[i*size : (i+1)*size] {
			image[k] = table[k%p.Channels][v]
		}
		resample(d.X.Row(i), image, rows, cols, p.Width, p.Channels)
	}
	return d
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
	k := 0
	for y := range rows.lo {
		top, bottom := image[rows.lo[y]*width*channels:], image[rows.hi[y]*width*channels:]
		v := rows.weight[y]
		for x := range cols.lo {
			a, b, u := cols.lo[x]*channels, cols.hi[x]*channels, cols.weight[x]
			for c := range channels {
				t := top[a+c] + float32(u*(top[b+c]-top[a+c]))
				s := bottom[a+c] + float32(u*(bottom[b+c]-bottom[a+c]))
				dst[k] = t + float32(v*(s-t))
				k++
			}
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

func idxSet(name string, classes []string, mean, std float64, decode func(any) error, src Source) (*Split,
	error) {
	p := ImageParams{Normalize: true}
	if err := decode(&p); err != nil {
		return nil, err
	}
	if err := p.validate(); err != nil {
		return nil, err
	}
	st := &store{dir: src.Dir, any: p.AllowAltered}
	var parts [2]*Dataset
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
			return nil, badByte(imageFile, 8, fmt.Sprintf("%d x %d pixels", px.Height, px.Width),
				"images of at least one pixel")
		}
		var m, s []float64
		if p.Normalize {
			m, s = []float64{mean}, []float64{std}
		}
		parts[k] = px.dataset(name, classes, p.Resize, []int{p.Limit, p.TestLimit}[k], m, s)
	}
	split := &Split{Train: parts[0], Test: parts[1]}
	return split.seal(p, 0, st.sums), nil
}

func (s *store) idx(set, name string) (*IDX, string, error) {
	b, at, err := s.open(set + "/" + name)
	if err != nil {
		return nil, "", err
	}
	x, err := ReadIDX(b, at)
	return x, at, err
}
