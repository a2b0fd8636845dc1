//go:build !amd64

package tensor

func fastCopyRuns(_ []float32, _ int, _ []float32, _, _, _ int) bool { return false }

func fastAddRuns(_ []float32, _ int, _ []float32, _, _, _ int) bool { return false }

func fastCopyPatches(_ []float32, _ int, _ []float32, _, _, _, _, _ int) bool { return false }
