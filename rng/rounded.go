package rng

import (
	"encoding/binary"
	"math"
	"math/bits"

	"sotto/tensor"
)

// MinNormalSigma and MaxNormalSigma bound the standard deviation of AddNormals in steps.
const (
	MinNormalSigma = 1 << 20
	MaxNormalSigma = 1 << 21
)

// AddNormals sets x[i] = step round(x[i]/step + sigma N[i]), where N[i] are independent
// and normal: not doubles near the normal law but real numbers of that law, each made of
// two uniform numbers with infinitely many bits (Box, Muller 1958), of which as many are
// read as decide the rounding, mostly the 64 that [Stream.Normals] uses. Given uniform
// bits, the law of x is therefore that of rounding x/step plus an ideal normal vector,
// without any assumption on arithmetic: docs/exact.md has the proof. The bits are the
// same with all kernels.
//
// step is a power of two; sigma, in steps, lies between MinNormalSigma and
// MaxNormalSigma; it panics for others. x must be finite. How long it takes depends on
// the noise, and on x no more than the arithmetic of floats does.
func (s *Stream) AddNormals(x tensor.Vec, step, sigma float64) {
	s.addNormals(x, nil, 1/step, step, sigma)
}

// AddNormalsWide sets x[i] = step round(ratio value[i] + sigma N[i]): AddNormals for
// values in double precision, ratio, a power of two, being their unit over step, which
// need be none here. It panics if value is shorter than x.
func (s *Stream) AddNormalsWide(x tensor.Vec, value []float64, ratio, step, sigma float64) {
	s.addNormals(x, value[:len(x):len(x)], ratio, step, sigma)
}

// powerOfTwo leaves out what might not be normal.
func powerOfTwo(x float64) bool {
	f, _ := math.Frexp(x)
	return f == .5 && x >= 0x1p-1000 && x <= 0x1p1000
}

// addNormals is AddNormalsWide where there are wide values, else AddNormals.
func (s *Stream) addNormals(x tensor.Vec, wide []float64, ratio, step, sigma float64) {
	if !powerOfTwo(ratio) || !(sigma >= MinNormalSigma && sigma <= MaxNormalSigma) {
		panic("rng: AddNormals needs powers of two, and a sigma from 2^20 to 2^21 steps")
	}
	n := settler{s, ratio, step, sigma}
	for len(x) > 1 {
		if s.off == s.end {
			s.refill()
		}
		at, k := s.position(), min(len(x), (s.end-s.off)/8)&^1
		if k == 0 { // a pair of which one word is left
			k = 2
			var words [16]byte
			binary.LittleEndian.PutUint64(words[:8], s.Uint64())
			binary.LittleEndian.PutUint64(words[8:], s.Uint64())
			n.run(x[:k], wide, words[:], at)
			clear(words[:])
		} else {
			n.run(x[:k], wide, s.buf[s.off:s.off+8*k], at)
			s.off += 8 * k
		}
		if x = x[k:]; wide != nil {
			wide = wide[k:]
		}
	}
	if len(x) == 1 { // the second value of a pair is not used
		two, value := tensor.Vec{x[0], 0}, wide
		if wide != nil {
			value = []float64{wide[0], 0}
		}
		s.addNormals(two, value, ratio, step, sigma)
		x[0] = two[0]
		two.Zero()
	}
}

// settler adds noise of one standard deviation to values of one unit.
type settler struct {
	stream             *Stream
	ratio, step, sigma float64
}

// run adds the noise of words, which stand at byte at of the key stream.
func (n settler) run(x tensor.Vec, wide []float64, words []byte, at uint64) {
	var undecided [bufferSize / 64]byte
	if wide != nil {
		tensor.AddNormalsWide(x, wide, words, n.ratio, n.step, n.sigma, undecided[:])
	} else {
		tensor.AddNormals(x, words, n.step, n.sigma, undecided[:])
	}
	for i := 0; 64*i < len(x); i++ {
		for any := binary.LittleEndian.Uint64(undecided[8*i:]); any != 0; any &= any - 1 {
			k := 64*i + bits.TrailingZeros64(any)
			value := float64(x[k]) * n.ratio
			if wide != nil {
				value = wide[k] * n.ratio
			}
			p := pair{stream: n.stream, at: at + 16*uint64(k/2), words: words[16*(k/2):]}
			x[k] = float32(p.round(value, n.sigma, k%2 == 1) * n.step)
		}
	}
}
