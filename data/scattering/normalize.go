package scattering

import (
	"math"

	"sotto/tensor"
)

// Normalize brings the channels of one record's features in equal, neighboring groups to
// mean 0 and variance 1 over their channels and points (group normalisation without
// parameters: Wu and He 2018), with variance + 1e-5 for the variance. Channels count as
// in Kymatio and in Tramer and Boneh's code: the 81 paths of the first colour, then
// those of the second. row is as [Transform.Image] writes it. groups divides channels*81.
//
// It is a function of one record and of public constants, so that it costs no privacy:
// statistics of many records would be a release. The L2 norm of what it leaves is below
// the square root of the length of row: each group's squares sum to at most its size.
func Normalize(row []float32, channels, groups int) {
	size := channels * Paths / groups
	points := len(row) / (channels * Paths)
	for at := 0; at < channels*Paths; at += size {
		var sum, squares float64
		for p := range points {
			for _, v := range row[p*channels*Paths+at:][:size] {
				sum += float64(v)
			}
		}
		mean := sum / float64(points*size)
		for p := range points {
			for _, v := range row[p*channels*Paths+at:][:size] {
				d := float64(v) - mean
				squares += float64(d * d)
			}
		}
		factor := shrink / math.Sqrt(squares/float64(points*size)+1e-5)
		for p := range points {
			group := row[p*channels*Paths+at:][:size]
			for i, v := range group {
				group[i] = float32((float64(v) - mean) * factor)
			}
		}
	}
}

// shrink is more below 1 than float32 rounds, so that bounds of norms hold.
const shrink = 1 - 1e-6

// ScaleTo scales a row to L2 norm c, from below; a row of zeros stays.
func ScaleTo(row tensor.Vec, c float64) {
	if n := row.Norm(); n > 0 {
		row.Scale(c*shrink/n, row)
	}
}
