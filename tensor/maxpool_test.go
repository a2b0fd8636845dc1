package tensor

import (
	"testing"

	"pgregory.net/rapid"
)

// TestMaxPool compares every set of kernels with the definition.
func TestMaxPool(t *testing.T) { rapid.Check(t, maxPool) }

func FuzzMaxPool(f *testing.F) { f.Fuzz(rapid.MakeFuzz(maxPool)) }

func maxPool(t *rapid.T) {
	w := drawWindow(t)
	image := numbers(t, w.Height*w.Width*w.Channels, 1, "image")
	if rapid.Bool().Draw(t, "ties") {
		for i, v := range image {
			image[i] = float32(int(2 * v))
		}
	}
	n := w.Positions() * w.Channels
	dy := numbers(t, n, 1, "dy")
	each(func(l level) {
		y, at, dx, want := make([]float32, n), make([]int32, n), make([]float32, len(image)),
			make([]float32, len(image))
		w.MaxPool(y, at, image)
		w.AddMaxPool(dx, dy, at)
		for i := range n {
			best, place := image[w.place(i/w.Channels, i%w.Channels)], 0
			for tap := range w.Kernel * w.Kernel {
				v := image[w.place(i/w.Channels, tap*w.Channels+i%w.Channels)]
				if v > best || v != v {
					best, place = v, tap
				}
			}
			if !sameBits(y[i], best) || at[i] != int32(place) {
				t.Fatalf("%s %+v element %d: %v at %d, want %v at %d", levelNames[l], w, i, y[i], at[i], best,
					place)
			}
			want[w.place(i/w.Channels, place*w.Channels+i%w.Channels)] += dy[i]
		}
		for i := range want {
			if !sameBits(dx[i], want[i]) {
				t.Fatalf("%s %+v: gradient %d: %v, want %v", levelNames[l], w, i, dx[i], want[i])
			}
		}
	})
}
