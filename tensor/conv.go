package tensor

import "math"

// Convolve5 computes a 5x5 convolution to 3 planes, stride 1, no padding, of an even
// number of rows of n positions, n even. Even rows go to top and odd ones to bottom, as
// pooling wants them, each with 3 planes of rows/2 x n. Row i is
//
//	bias[f] + sum over channel, r, c of x[channel*area+(i+r)*width+j+c] *
//	    filter[((channel*5+r)*5+c)*3+f]
//
// in one chain in that order. x holds channels >= 1 planes of area elements in rows of
// width. The biases follow the filters. It panics when a slice is too short.
func Convolve5(top, bottom, x []float32, rows, n, width, area, channels int, filter []float32) {
	filter = filter[:75*channels+3]
	if n%2 != 0 || rows%2 != 0 || width < n+4 {
		panic("tensor: Convolve5 needs an even number of rows and of positions, inside its image")
	}
	plane := rows / 2 * n
	top, bottom = top[:3*plane], bottom[:3*plane]
	for i := fastConvolve(top, bottom, x, rows, n, width, area, channels, filter); i < rows; i++ {
		dst := top
		if i%2 == 1 {
			dst = bottom
		}
		convolveRow(dst[i/2*n:], plane, x[i*width:], n, width, area, channels, filter)
	}
}

// convolveRow computes one row of positions of planes that are plane elements apart.
func convolveRow(dst []float32, plane int, x []float32, n, width, area, channels int, filter []float32) {
	if fastConvolveRow(dst, plane, x, n, width, area, channels, filter) {
		return
	}
	bias := (*[3]float32)(filter[75*channels:])
	for col := 0; col < n; col += 2 {
		a0, a1, a2 := bias[0], bias[1], bias[2]
		b0, b1, b2 := a0, a1, a2
		w := filter
		for ch := range channels {
			for r := range 5 {
				f := (*[15]float32)(w)
				v := (*[6]float32)(x[ch*area+r*width+col:])
				w = w[15:]
				u0, u1 := v[0], v[1]
				a0 += float32(u0 * f[0])
				a1 += float32(u0 * f[1])
				a2 += float32(u0 * f[2])
				b0 += float32(u1 * f[0])
				b1 += float32(u1 * f[1])
				b2 += float32(u1 * f[2])
				u0, u1 = u1, v[2]
				a0 += float32(u0 * f[3])
				a1 += float32(u0 * f[4])
				a2 += float32(u0 * f[5])
				b0 += float32(u1 * f[3])
				b1 += float32(u1 * f[4])
				b2 += float32(u1 * f[5])
				u0, u1 = u1, v[3]
				a0 += float32(u0 * f[6])
				a1 += float32(u0 * f[7])
				a2 += float32(u0 * f[8])
				b0 += float32(u1 * f[6])
				b1 += float32(u1 * f[7])
				b2 += float32(u1 * f[8])
				u0, u1 = u1, v[4]
				a0 += float32(u0 * f[9])
				a1 += float32(u0 * f[10])
				a2 += float32(u0 * f[11])
				b0 += float32(u1 * f[9])
				b1 += float32(u1 * f[10])
				b2 += float32(u1 * f[11])
				u0, u1 = u1, v[5]
				a0 += float32(u0 * f[12])
				a1 += float32(u0 * f[13])
				a2 += float32(u0 * f[14])
				b0 += float32(u1 * f[12])
				b1 += float32(u1 * f[13])
				b2 += float32(u1 * f[14])
			}
		}
		dst[col], dst[plane+col], dst[2*plane+col] = a0, a1, a2
		dst[col+1], dst[plane+col+1], dst[2*plane+col+1] = b0, b1, b2
	}
}

// PoolMish pools cells of 2x2 pre-activations: y[i] is the largest Mish of top[2i],
// top[2i+1], bottom[2i] and bottom[2i+1], d[i] its derivative there, and at[i] =
// columns[i]+base plus 0, 1, width or width+1, by its place. Mish falls up to -1.19 and
// rises from there, so only the largest and the smallest of the four can win. Of equal
// ones the first takes the place. A NaN among the four, or a sum of them that is not
// finite, makes y[i] NaN. All slices have the length of y, top and bottom twice that.
func PoolMish(y, d []float32, at []int32, top, bottom []float32, columns []int32, width, base int) {
	n := len(y)
	d, at, columns, top, bottom = d[:n], at[:n], columns[:n], top[:2*n], bottom[:2*n]
	place := [4]int32{int32(base), int32(base + 1), int32(base + width), int32(base + width + 1)}
	if fastPool(y, d, at, top, bottom, columns, &place) {
		return
	}
	for i := range y {
		v0, v1, v2, v3 := top[2*i], top[2*i+1], bottom[2*i], bottom[2*i+1]
		k0, k1, k2, k3 := sortable(v0), sortable(v1), sortable(v2), sortable(v3)
		most := larger(larger(k0|3, k1|2), larger(k2|1, k3))
		// A NaN or Inf that was not chosen must not go unseen: it would hide an input
		// that is not finite.
		high, from := unsorted(most)+0*(v0+v1+v2+v3), place[3-most&3]
		value, slope := Mish(high)
		if high < 0 {
			least := smaller(smaller(k0, k1|1), smaller(k2|2, k3|3))
			if other, s := Mish(unsorted(least)); other > value {
				value, slope, from = other, s, place[least&3]
			}
		}
		y[i], d[i], at[i] = value, slope, columns[i]+from
	}
}

// sortable maps floats to integers in the same order, with two free bits at the end; -0
// comes before 0. Comparing such integers without branches finds the largest and its
// place: branches on them are hardly predictable.
func sortable(x float32) int64 {
	b := int32(math.Float32bits(x))
	return int64(b^(b>>31&math.MaxInt32)) << 2
}

// unsorted is the inverse of sortable, whatever the last two bits.
func unsorted(k int64) float32 {
	b := int32(k >> 2)
	return math.Float32frombits(uint32(b ^ (b >> 31 & math.MaxInt32)))
}

func larger(a, b int64) int64 {
	d := a - b
	return a - d&(d>>63)
}

func smaller(a, b int64) int64 {
	d := a - b
	return b + d&(d>>63)
}

// PatchGradients5 sums g times 5x5 patches of x, for 3 planes of cells each, one after
// the other in g and at: over the cells i of plane f in ascending order, sums[f][8r+c] is
// the sum of g[i]*x[at[i]+r*width+c] for r, c < 5, and sums[f][40] that of g[i]; the
// other sums are undefined. at has the length of g, a multiple of 3. It panics when a
// patch is not inside x.
func PatchGradients5(sums *[3][41]float32, x []float32, width int, g []float32, at []int32) {
	*sums = [3][41]float32{}
	at = at[:len(g)]
	n := len(g) / 3
	if len(g) != 3*n {
		panic("tensor: PatchGradients5 needs 3 planes")
	}
	if n == 0 {
		return
	}
	last := len(x) - 4*width - 5
	if width < 5 || last < 0 || int64(largestUnsigned(at)) > int64(last) {
		panic("tensor: a patch is outside its image")
	}
	if fastPatches(sums, x, width, g, at, n) {
		return
	}
	for f := range sums {
		patchGradient(&sums[f], x, width, g[f*n:][:n], at[f*n:][:n])
	}
}

// largestUnsigned returns the largest of at read as unsigned numbers, so that negative
// ones are large.
func largestUnsigned(at []int32) uint32 {
	most, done := fastLargest(at)
	for _, v := range at[done:] {
		most = max(most, uint32(v))
	}
	return most
}

func patchGradient(sums *[41]float32, x []float32, width int, g []float32, at []int32) {
	for r := range 5 {
		in := x[r*width:]
		var s0, s1, s2, s3, s4 float32
		for i, b := range g {
			v := (*[5]float32)(in[at[i]:])
			s0 += float32(b * v[0])
			s1 += float32(b * v[1])
			s2 += float32(b * v[2])
			s3 += float32(b * v[3])
			s4 += float32(b * v[4])
		}
		to := sums[8*r:]
		to[0], to[1], to[2], to[3], to[4] = s0, s1, s2, s3, s4
	}
	for _, b := range g {
		sums[40] += b
	}
}

// Interleave3 brings 3 planes, one after the other in src, together: dst[3i+f] =
// src[f*n+i] with n = len(dst)/3. src has the length of dst, a multiple of 3.
func Interleave3(dst, src []float32) {
	n := len(dst) / 3
	src = src[:3*n]
	a, b, c := src[:n], src[n:2*n], src[2*n:]
	for i := fastInterleave(dst, src, n); i < n; i++ {
		to := (*[3]float32)(dst[3*i:])
		to[0], to[1], to[2] = a[i], b[i], c[i]
	}
}

// MultiplyPlanes3 multiplies 3 planes with interleaved elements: dst[f*n+i] *= src[3i+f]
// with n = len(dst)/3. src has the length of dst, a multiple of 3.
func MultiplyPlanes3(dst, src []float32) {
	n := len(dst) / 3
	src = src[:3*n]
	a, b, c := dst[:n], dst[n:2*n], dst[2*n:3*n]
	for i := fastMultiplyPlanes(dst, src, n); i < n; i++ {
		v := (*[3]float32)(src[3*i:])
		a[i] *= v[0]
		b[i] *= v[1]
		c[i] *= v[2]
	}
}
