package tensor

// maxPool8 pools 8*blocks channels at n positions; step, from position to position of x,
// pixel and row are in bytes. pixel is also the step of y and at.
//
//go:noescape
func maxPool8(y *float32, at *int32, x *float32, n, step, blocks, kernel, pixel, row int)

// addMaxPool8 is the transpose of maxPool8.
//
//go:noescape
func addMaxPool8(x, dy *float32, at *int32, n, step, blocks, kernel, pixel, row int)

// maxPool2 and addMaxPool2 are the two for kernels of side 2.
//
//go:noescape
func maxPool2(y *float32, at *int32, x *float32, n, step, blocks, pixel, row int)

//go:noescape
func addMaxPool2(x *float32, dy *float32, at *int32, n, step, blocks, pixel, row int)

// perCall is how many positions one call may handle; 0 if not even one.
func (w *Window) perCall() int { return 8 * longest / (w.Channels * w.Kernel * w.Kernel) }

// fastMaxPool pools one row of positions and returns the number of channels it has done.
func fastMaxPool(y []float32, at []int32, row []float32, w *Window) int {
	c, blocks, per := w.Channels, w.Channels/8, w.perCall()
	if active == portable || blocks == 0 || per == 0 {
		return 0
	}
	for j := 0; j < w.Cols; j += per {
		n := min(per, w.Cols-j)
		if w.Kernel == 2 {
			maxPool2(&y[j*c], &at[j*c], &row[j*w.Stride*c], n, 4*w.Stride*c, blocks, 4*c, 4*w.Width*c)
			continue
		}
		maxPool8(&y[j*c], &at[j*c], &row[j*w.Stride*c], n, 4*w.Stride*c, blocks, w.Kernel, 4*c, 4*w.Width*c)
	}
	return 8 * blocks
}

// fastAddMaxPool adds one row of positions and returns the number of channels it has
// done.
func fastAddMaxPool(row, dy []float32, at []int32, w *Window) int {
	c, blocks, per := w.Channels, w.Channels/8, w.perCall()
	if active == portable || blocks == 0 || per == 0 {
		return 0
	}
	for j := 0; j < w.Cols; j += per {
		n := min(per, w.Cols-j)
		if w.Kernel == 2 {
			addMaxPool2(&row[j*w.Stride*c], &dy[j*c], &at[j*c], n, 4*w.Stride*c, blocks, 4*c, 4*w.Width*c)
			continue
		}
		addMaxPool8(&row[j*w.Stride*c], &dy[j*c], &at[j*c], n, 4*w.Stride*c, blocks, w.Kernel, 4*c,
			4*w.Width*c)
	}
	return 8 * blocks
}
