//go:build !amd64

package tensor

func fastAddTruncated(_ []int64, _ []float32, _ float64) int { return 0 }
