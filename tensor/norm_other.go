//go:build !amd64

package tensor

func fastChannelSums(_, _ []float64, _, _ []float32, _ int) int { return 0 }

func fastNormalize(_, _, _, _, _ []float32) int { return 0 }

func fastNormalizeGradient(_, _, _, _, _, _, _ []float32) int { return 0 }

func fastRowSquares(_ []float64, _ Mat) bool { return false }
