package tensor

import "unsafe"

// Window is the geometry of a convolution or pooling over one image of Height x Width x
// Channels in that order (padding, if any, is part of the image). Position (i, j) of Rows
// x Cols sees the patch of Kernel x Kernel pixels whose first one is (i*Stride,
// j*Stride); a patch has the order kernel row, kernel column, channel. Methods that read
// or write an image panic where a patch would reach outside it.
type Window struct {
	Height, Width, Channels int
	Kernel, Stride          int
	Rows, Cols              int
}

// Taps returns the number of elements of a patch.
func (w *Window) Taps() int { return w.Kernel * w.Kernel * w.Channels }

// Positions returns the number of patches.
func (w *Window) Positions() int { return w.Rows * w.Cols }

// check panics where a patch would reach outside the image.
func (w *Window) check(image []float32, m Mat, first, lo int) {
	w.checkSizes(len(image), m.Rows, m.Cols, first, lo, m.complete())
}

func (w *Window) checkSizes(image, rows, cols, first, lo int, complete bool) {
	if w.Kernel < 1 || w.Stride < 1 || w.Channels < 1 || (w.Rows-1)*w.Stride+w.Kernel > w.Height ||
		(w.Cols-1)*w.Stride+w.Kernel > w.Width {
		panic("tensor: a window reaches outside its image")
	}
	if image < w.Height*w.Width*w.Channels || first < 0 || first+rows > w.Positions() || lo < 0 ||
		lo+cols > w.Taps() || !complete {
		panic("tensor: patches do not fit their window")
	}
}

// run is a strip of patches: n positions of one output row meet the same part of one
// kernel row.
type run struct {
	row, col  int // of the first position, in the matrix of patches
	image     int // where in the image that part begins
	n, length int
}

// runs calls f for the strips of a matrix of patches, positions outermost.
func (w *Window) runs(rows, cols, first, lo int, f func(r run, step int)) {
	line := w.Kernel * w.Channels
	for row := 0; row < rows; {
		at := first + row
		i, j := at/w.Cols, at%w.Cols
		n := min(w.Cols-j, rows-row)
		for tap := lo; tap < lo+cols; {
			k, off := tap/line, tap%line
			length := min(line-off, lo+cols-tap)
			pixel := (i*w.Stride+k)*w.Width + j*w.Stride
			f(run{row, tap - lo, pixel*w.Channels + off, n, length}, w.Stride*w.Channels)
			tap += length
		}
		row += n
	}
}

// Patches copies patches of the image to the rows of dst, from position first on:
// elements lo to lo+dst.Cols of each.
func (w *Window) Patches(dst Mat, image []float32, first, lo int) {
	w.check(image, dst, first, lo)
	line := w.Kernel * w.Channels
	if lo%line != 0 || dst.Cols%line != 0 || dst.Cols == 0 {
		w.runs(dst.Rows, dst.Cols, first, lo, func(r run, step int) {
			CopyRuns(dst.Data[r.row*dst.Stride+r.col:], dst.Stride, image[r.image:], step, r.n, r.length)
		})
		return
	}
	// Whole kernel rows: they are the runs of one position.
	for row := 0; row < dst.Rows; {
		at := first + row
		i, j := at/w.Cols, at%w.Cols
		n := min(w.Cols-j, dst.Rows-row)
		from := ((i*w.Stride+lo/line)*w.Width + j*w.Stride) * w.Channels
		copyPatches(dst.Data[row*dst.Stride:], dst.Stride, image[from:], w.Stride*w.Channels,
			w.Width*w.Channels, n, dst.Cols/line, line)
		row += n
	}
}

// Patches16 is Patches of bfloat16.
func (w *Window) Patches16(dst MatBF16, image []uint16, first, lo int) {
	if even(w.Channels, lo, dst.Cols, dst.Stride) {
		half := *w
		half.Channels /= 2
		half.Patches(Mat{dst.Rows, dst.Cols / 2, dst.Stride / 2, pairs(dst.Data)}, pairs(image), first, lo/2)
		return
	}
	w.checkSizes(len(image), dst.Rows, dst.Cols, first, lo, dst.complete())
	w.runs(dst.Rows, dst.Cols, first, lo, func(r run, step int) {
		CopyRuns16(dst.Data[r.row*dst.Stride+r.col:], dst.Stride, image[r.image:], step, r.n, r.length)
	})
}

// copyPatches copies n patches: each is kernel runs of length elements, one after the
// other in dst and pitch apart in src.
func copyPatches(dst []float32, to int, src []float32, from, pitch, n, kernel, length int) {
	_, _ = dst[(n-1)*to+kernel*length-1], src[(n-1)*from+(kernel-1)*pitch+length-1]
	if fastCopyPatches(dst, to, src, from, pitch, n, kernel, length) {
		return
	}
	for i := range n {
		for k := range kernel {
			copy(dst[i*to+k*length:][:length], src[i*from+k*pitch:])
		}
	}
}

// AddPatches is the transpose of Patches: it adds the rows of src to the places of the
// image that Patches reads, positions in order.
func (w *Window) AddPatches(image []float32, src Mat, first, lo int) {
	w.check(image, src, first, lo)
	w.runs(src.Rows, src.Cols, first, lo, func(r run, step int) {
		addRuns(image[r.image:], step, src.Data[r.row*src.Stride+r.col:], src.Stride, r.n, r.length)
	})
}

// CopyRuns copies n runs of length elements: run i from src[i*from:] to dst[i*to:]. Runs
// of dst do not overlap src. With from = 0 it repeats one run; without runs, or elements,
// it does nothing. It panics where a slice is too short.
func CopyRuns(dst []float32, to int, src []float32, from, n, length int) {
	if n < 1 || length < 1 {
		return
	}
	dst, src = dst[:(n-1)*to+length], src[:(n-1)*from+length]
	if fastCopyRuns(dst, to, src, from, n, length) {
		return
	}
	for i := range n {
		copy(dst[i*to:][:length], src[i*from:])
	}
}

// CopyRuns16 is CopyRuns of bfloat16.
func CopyRuns16(dst []uint16, to int, src []uint16, from, n, length int) {
	if even(to, from, length) {
		CopyRuns(pairs(dst), to/2, pairs(src), from/2, n, length/2)
		return
	}
	for i := range n {
		copy(dst[i*to:][:length], src[i*from:][:length])
	}
}

// pairs is x two by two, for kernels that only copy: any 32 bits are a float32.
func pairs(x []uint16) []float32 {
	return unsafe.Slice((*float32)(unsafe.Pointer(unsafe.SliceData(x))), len(x)/2)
}

func even(sizes ...int) bool {
	odd := 0
	for _, n := range sizes {
		odd |= n
	}
	return odd&1 == 0
}

// addRuns adds n runs of length elements, one after the other; those of dst may overlap
// each other.
func addRuns(dst []float32, to int, src []float32, from, n, length int) {
	dst, src = dst[:(n-1)*to+length], src[:(n-1)*from+length]
	if fastAddRuns(dst, to, src, from, n, length) {
		return
	}
	for i := range n {
		d := dst[i*to:][:length]
		for j, v := range src[i*from:][:length] {
			d[j] += v
		}
	}
}
