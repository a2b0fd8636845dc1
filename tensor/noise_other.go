//go:build !amd64

package tensor

func fastBoxMuller(_ []float64, _ []byte) int { return 0 }

func fastAddNoise(_ []float32, _, _, _ float64, _ []float64) int { return 0 }

func fastAddNoiseGrid(_ []float32, _ []int64, _, _, _ float64, _ []float64) int { return 0 }

func fastAddNormals(_ []float32, _, _ []byte, _, _, _ float64) int { return 0 }

func fastAddNormalsWide(_ []float32, _ []float64, _, _ []byte, _, _, _ float64) int { return 0 }

func fastAddWide(_ []float64, _ []float32) int { return 0 }
