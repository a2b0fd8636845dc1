package privacy

import (
	"math"
	"testing"

	"sotto/privacy/account"
	"sotto/tensor"
)

// A value that was summed in double precision is rounded to cells as it is: by way of
// single precision two values one clip apart were 1,051 cells apart where 1,024 are
// charged.
func TestTruncatedTakesDoublePrecision(t *testing.T) {
	made, err := newTruncatedLaplace(func(p any) error {
		q := p.(*TruncatedParams)
		q.Scale, q.Truncation, q.Quantise = 2, 15, true
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	m := made.(Truncated)
	const clip = .7
	r := account.Release{Parts: []account.Part{{Name: "value", Clip: clip, Shift: 1,
		Norm: account.L2, Dim: 1}}}
	whole := func(x float64) int64 {
		return m.whole(&Value{Float: make(tensor.Vec, 1), Wide: []float64{x}}, r)
	}
	per := math.Ldexp(1, m.bits)
	single := 0.
	for k := range 4096 {
		x := math.Ldexp(1, 19)*clip + float64(k)*clip/1000
		if moved := float64(whole(x+clip) - whole(x)); math.Abs(moved-per) > 1e-6*per+.5 {
			t.Fatalf("%v: one clip moves it by %v cells of clip/%v", x, moved, per)
		}
		single = max(single, float64(float32(x+clip)-float32(x))/clip*per)
	}
	if single < 1.01*per {
		t.Errorf("in single precision %v cells: this test sees nothing", single)
	}
}
