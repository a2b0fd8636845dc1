package tensor

import (
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// drawWindow draws a geometry with a few spare pixels that no patch sees.
func drawWindow(t *rapid.T) Window {
	small := func(name string, most int) int { return rapid.IntRange(1, most).Draw(t, name) }
	w := Window{
		Kernel:   small("kernel", 5),
		Stride:   small("stride", 4),
		Channels: small("channels", 19),
		Rows:     small("rows", 6),
		Cols:     small("cols", 6),
	}
	w.Height = (w.Rows-1)*w.Stride + w.Kernel + rapid.IntRange(0, 2).Draw(t, "below")
	w.Width = (w.Cols-1)*w.Stride + w.Kernel + rapid.IntRange(0, 2).Draw(t, "right")
	return w
}

// place is where in the image element tap of the patch at a position lies, by the
// definition.
func (w *Window) place(position, tap int) int {
	i, j := position/w.Cols*w.Stride, position%w.Cols*w.Stride
	k, l, c := tap/w.Channels/w.Kernel, tap/w.Channels%w.Kernel, tap%w.Channels
	return ((i+k)*w.Width+j+l)*w.Channels + c
}

// TestPatches compares every set of kernels with the definition; what is not written
// stays.
func TestPatches(t *testing.T) { rapid.Check(t, patches) }

func patches(t *rapid.T) {
	w := drawWindow(t)
	image := numbers(t, w.Height*w.Width*w.Channels, 1, "image")
	first := rapid.IntRange(0, w.Positions()-1).Draw(t, "first")
	lo := rapid.IntRange(0, w.Taps()-1).Draw(t, "lo")
	rows, cols := rapid.IntRange(0, w.Positions()-first).Draw(t, "n"),
		rapid.IntRange(0, w.Taps()-lo).Draw(t, "length")
	stride := cols + rapid.IntRange(0, 3).Draw(t, "padding")
	start := numbers(t, rows*stride+1, 1, "dst")
	each(func(l level) {
		dst := Mat{Rows: rows, Cols: cols, Stride: stride, Data: slices.Clone(start)}
		w.Patches(dst, image, first, lo)
		back, want := slices.Clone(image), slices.Clone(image)
		w.AddPatches(back, dst, first, lo)
		for i := range rows {
			for j := range stride {
				expect := start[i*stride+j]
				if j < cols {
					expect = image[w.place(first+i, lo+j)]
					want[w.place(first+i, lo+j)] += expect
				}
				if got := dst.Data[i*stride+j]; !sameBits(got, expect) {
					t.Fatalf("%s %+v: patch %d element %d: %v, want %v", levelNames[l], w, first+i, lo+j, got,
						expect)
				}
			}
		}
		for i := range want {
			if !sameBits(back[i], want[i]) {
				t.Fatalf("%s %+v: sum at %d: %v, want %v", levelNames[l], w, i, back[i], want[i])
			}
		}
	})
}

func TestPatchesStayInside(t *testing.T) {
	w := Window{Height: 3, Width: 3, Channels: 1, Kernel: 2, Stride: 1, Rows: 2, Cols: 2}
	for name, call := range map[string]func(){
		"image":     func() { w.Patches(NewMat(4, 4), make([]float32, 8), 0, 0) },
		"positions": func() { w.Patches(NewMat(4, 4), make([]float32, 9), 1, 0) },
		"taps":      func() { w.AddPatches(make([]float32, 9), NewMat(4, 4), 0, 1) },
		"window": func() {
			large := w
			large.Rows = 3
			large.Patches(NewMat(1, 1), make([]float32, 9), 0, 0)
		},
	} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%s: a wrong shape is accepted", name)
				}
			}()
			call()
		}()
	}
}

func FuzzPatches(f *testing.F) { f.Fuzz(rapid.MakeFuzz(patches)) }

// TestPatches16 compares patches and runs of bfloat16 with the definition, for even and
// odd sizes; what is not written stays.
func TestPatches16(t *testing.T) { rapid.Check(t, patches16) }

func patches16(t *rapid.T) {
	w := drawWindow(t)
	first := rapid.IntRange(0, w.Positions()-1).Draw(t, "first")
	lo := rapid.IntRange(0, w.Taps()-1).Draw(t, "lo")
	rows, cols := rapid.IntRange(0, w.Positions()-first).Draw(t, "n"),
		rapid.IntRange(0, w.Taps()-lo).Draw(t, "length")
	stride := cols + rapid.IntRange(0, 3).Draw(t, "padding")
	from := rapid.IntRange(1, 4).Draw(t, "from")
	image := make([]uint16, w.Height*w.Width*w.Channels)
	for i := range image {
		image[i] = uint16(i + 1)
	}
	each(func(l level) {
		dst, runs := newMatBF16(rows, stride), newMatBF16(rows, stride)
		dst.Cols = cols
		w.Patches16(dst, image, first, lo)
		CopyRuns16(runs.Data, stride, image[lo:], from, min(rows, (len(image)-lo-cols)/from+1), cols)
		for i := range rows {
			for j := range stride {
				var patch, run uint16
				if j < cols {
					patch = image[w.place(first+i, lo+j)]
				}
				if j < cols && lo+i*from+cols <= len(image) {
					run = image[lo+i*from+j]
				}
				if got := dst.Data[i*stride+j]; got != patch {
					t.Fatalf("%s %+v: patch %d element %d: %v, want %v", levelNames[l], w, first+i, lo+j, got,
						patch)
				}
				if got := runs.Data[i*stride+j]; got != run {
					t.Fatalf("%s: run %d element %d: %v, want %v", levelNames[l], i, j, got, run)
				}
			}
		}
	})
}
