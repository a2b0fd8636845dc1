//go:build !amd64

package tensor

func fastRectify(_, _ []float32, _ float32) int { return 0 }

func fastRectifyGradient(_, _, _ []float32, _ float32) int { return 0 }

func fastMul(_, _, _ []float32) int { return 0 }

func fastTanh(_, _, _ []float32) int { return 0 }

func fastSigmoid(_, _, _ []float32) int { return 0 }

func fastGELU(_, _, _ []float32) int { return 0 }
