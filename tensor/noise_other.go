//go:build !amd64

package tensor

func fastBoxMuller(_ []float64, _ []byte) int { return 0 }

func fastAddNoise(_ []float32, _, _, _ float64, _ []float64) int { return 0 }

func fastAddNoiseGrid(_ []float32, _ []int64, _, _, _ float64, _ []float64) int { return 0 }
