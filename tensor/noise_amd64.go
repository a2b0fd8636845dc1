package tensor

// Noise kernels. Each function returns how many elements it has done; the caller does the
// rest.

// boxMuller512 and boxMuller256 are BoxMuller of 16 and 8 values for each of blocks >= 1.
//
//go:noescape
func boxMuller512(dst *float64, words *byte, blocks int)

//go:noescape
func boxMuller256(dst *float64, words *byte, blocks int)

// addNoise512 and addNoise256 are AddNoise of 8*blocks elements, blocks >= 1.
//
//go:noescape
func addNoise512(x *float32, inv, step, sigma float64, z *float64, blocks int)

//go:noescape
func addNoise256(x *float32, inv, step, sigma float64, z *float64, blocks int)

// addNoiseGrid512 and addNoiseGrid256 are AddNoiseGrid of 8*blocks elements, blocks >= 1.
//
//go:noescape
func addNoiseGrid512(x *float32, grid *int64, inv, step, sigma float64, z *float64, blocks int)

//go:noescape
func addNoiseGrid256(x *float32, grid *int64, inv, step, sigma float64, z *float64, blocks int)

// addNormals512 and addNormals256 are AddNormals of 16 and 8 elements for each of blocks
// >= 1.
//
//go:noescape
func addNormals512(x *float32, words, undecided *byte, inv, step, sigma, limit float64, blocks int)

//go:noescape
func addNormals256(x *float32, words, undecided *byte, inv, step, sigma, limit float64, blocks int)

// addNormalsWide512 and addNormalsWide256 are AddNormalsWide of 16 and 8 elements for
// each of blocks >= 1.
//
//go:noescape
func addNormalsWide512(x *float32, value *float64, words, undecided *byte, inv, step, sigma, limit float64,
	blocks int)

//go:noescape
func addNormalsWide256(x *float32, value *float64, words, undecided *byte, inv, step, sigma, limit float64,
	blocks int)

func fastAddNormals(x []float32, words, undecided []byte, inv, step, sigma float64) int {
	size := 8
	if active == avx512 {
		size = 16
	}
	done := 0
	for active != portable && done+size <= len(x) {
		blocks := min(len(x)-done, longest) / size
		if active == avx512 {
			addNormals512(&x[done], &words[8*done], &undecided[done/8], inv, step, sigma, certainty, blocks)
		} else {
			addNormals256(&x[done], &words[8*done], &undecided[done/8], inv, step, sigma, certainty, blocks)
		}
		done += size * blocks
	}
	return done
}

func fastAddNormalsWide(x []float32, value []float64, words, undecided []byte, inv, step, sigma float64) int {
	size := 8
	if active == avx512 {
		size = 16
	}
	done := 0
	for active != portable && done+size <= len(x) {
		blocks := min(len(x)-done, longest) / size
		if active == avx512 {
			addNormalsWide512(&x[done], &value[done], &words[8*done], &undecided[done/8], inv, step, sigma,
				certainty, blocks)
		} else {
			addNormalsWide256(&x[done], &value[done], &words[8*done], &undecided[done/8], inv, step, sigma,
				certainty, blocks)
		}
		done += size * blocks
	}
	return done
}

func fastBoxMuller(dst []float64, words []byte) int {
	size := 8
	if active == avx512 {
		size = 16
	}
	done := 0
	for active != portable && done+size <= len(dst) {
		blocks := min(len(dst)-done, longest) / size
		if active == avx512 {
			boxMuller512(&dst[done], &words[8*done], blocks)
		} else {
			boxMuller256(&dst[done], &words[8*done], blocks)
		}
		done += size * blocks
	}
	return done
}

func fastAddNoise(x []float32, inv, step, sigma float64, z []float64) int {
	done := 0
	for active != portable && done+8 <= len(z) {
		blocks := min(len(z)-done, longest) / 8
		if active == avx512 {
			addNoise512(&x[done], inv, step, sigma, &z[done], blocks)
		} else {
			addNoise256(&x[done], inv, step, sigma, &z[done], blocks)
		}
		done += 8 * blocks
	}
	return done
}

func fastAddNoiseGrid(x []float32, grid []int64, ratio, step, sigma float64, z []float64) int {
	done := 0
	for active != portable && done+8 <= len(z) {
		blocks := min(len(z)-done, longest) / 8
		if active == avx512 {
			addNoiseGrid512(&x[done], &grid[done], ratio, step, sigma, &z[done], blocks)
		} else {
			addNoiseGrid256(&x[done], &grid[done], ratio, step, sigma, &z[done], blocks)
		}
		done += 8 * blocks
	}
	return done
}

// addWide512 and addWide256 are AddWide of 16*blocks elements, blocks >= 1.
//
//go:noescape
func addWide512(dst *float64, x *float32, blocks int)

//go:noescape
func addWide256(dst *float64, x *float32, blocks int)

func fastAddWide(dst []float64, x []float32) int {
	done := 0
	for active != portable && done+16 <= len(x) {
		blocks := min(len(x)-done, longest) / 16
		if active == avx512 {
			addWide512(&dst[done], &x[done], blocks)
		} else {
			addWide256(&dst[done], &x[done], blocks)
		}
		done += 16 * blocks
	}
	return done
}
