//go:build !amd64

package tensor

func fastMaxPool(_ []float32, _ []int32, _ []float32, _ *Window) int { return 0 }

func fastAddMaxPool(_, _ []float32, _ []int32, _ *Window) int { return 0 }
