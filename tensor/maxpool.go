package tensor

// MaxPool sets y to the largest element of each patch, channel by channel, and at to its
// place: kernel row times Kernel plus kernel column. Of equal elements the first takes
// the place; a NaN wins over all numbers, and of several the last. y and at hold
// Positions x Channels elements.
func (w *Window) MaxPool(y []float32, at []int32, image []float32) {
	c := w.Channels
	y, at = y[:w.Positions()*c], at[:w.Positions()*c]
	w.check(image, Mat{}, 0, 0)
	for i := range w.Rows {
		row, to := image[i*w.Stride*w.Width*c:], i*w.Cols*c
		done := fastMaxPool(y[to:], at[to:], row, w)
		for j := range w.Cols {
			for ch := done; ch < c; ch++ {
				from := row[j*w.Stride*c+ch:]
				best, place := from[0], 0
				for k := range w.Kernel {
					for l := range w.Kernel {
						if v := from[(k*w.Width+l)*c]; v > best || v != v {
							best, place = v, k*w.Kernel+l
						}
					}
				}
				y[to+j*c+ch], at[to+j*c+ch] = best, int32(place)
			}
		}
	}
}

// AddMaxPool adds each element of dy to the place of the image that MaxPool chose for it,
// positions in order. No element of image is -0, and at is what MaxPool has written.
func (w *Window) AddMaxPool(image []float32, dy []float32, at []int32) {
	c := w.Channels
	dy, at = dy[:w.Positions()*c], at[:w.Positions()*c]
	w.check(image, Mat{}, 0, 0)
	for i := range w.Rows {
		row, to := image[i*w.Stride*w.Width*c:], i*w.Cols*c
		done := fastAddMaxPool(row, dy[to:], at[to:], w)
		for j := range w.Cols {
			for ch := done; ch < c; ch++ {
				place := int(at[to+j*c+ch])
				k, l := place/w.Kernel, place%w.Kernel
				row[(k*w.Width+j*w.Stride+l)*c+ch] += dy[to+j*c+ch]
			}
		}
	}
}
