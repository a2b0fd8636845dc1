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
