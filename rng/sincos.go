package rng

import "math"

// sincosTurns is math.Sincos(2 pi n/2^53) for n < 2^53, bit for bit: the same reduction by octants and the
// same polynomials (Moshier, Cephes), without the cases that an angle in [0, 2 pi) never meets.
func sincosTurns(n uint64) (sin, cos float64) {
	const (
		pi4A = 7.85398125648498535156e-1 // pi/4 in three parts
		pi4B = 3.77489470793079817668e-8
		pi4C = 2.69515142907905952645e-15
	)
	x := 2 * math.Pi * (float64(n) * 0x1p-53)
	j := uint64(x * (4 / math.Pi))
	j += j & 1
	y := float64(j)
	z := ((x - y*pi4A) - y*pi4B) - y*pi4C
	zz := z * z
	cos = 1.0 - 0.5*zz + zz*zz*((((((-1.13585365213876817300e-11*zz)+2.08757008419747316778e-9)*zz-2.75573141792967388112e-7)*zz+2.48015872888517045348e-5)*zz-1.38888888888730564116e-3)*zz+4.16666666666665929218e-2)
	sin = z + z*zz*((((((1.58962301576546568060e-10*zz)-2.50507477628578072866e-8)*zz+2.75573136213857245213e-6)*zz-1.98412698295895385996e-4)*zz+8.33333333332211858878e-3)*zz-1.66666666666666307295e-1)
	switch j & 7 {
	case 2:
		sin, cos = cos, -sin
	case 4:
		sin, cos = -sin, -cos
	case 6:
		sin, cos = -cos, sin
	}
	return sin, cos
}
