package model

import (
	"math"
	"testing"

	"sotto/tensor"
)

// The sum of a chunk's logistic losses is that of one by one, for any logits and labels.
func TestLogisticTotal(t *testing.T) {
	inf := float32(math.Inf(1))
	logits := []float32{0, 1, -1, 30, -30, 200, -200, 1e-20, inf, -inf}
	for i := range 150 {
		logits = append(logits, float32(i-75)/7)
	}
	b := &Batch{Labels: make([]int32, len(logits)+3)}
	for i := range b.Labels {
		b.Labels[i] = int32(i*i/3) % 2
	}
	check := func(n int, z []float32) {
		t.Helper()
		want := .5
		for i, v := range z {
			want += logistic([]float32{v}, b, 3+i, nil)
		}
		got := logisticTotal(.5, tensor.Mat{Rows: n, Cols: 1, Stride: 1, Data: z}, b, 3)
		if d := math.Abs(got - want); !(d <= 1e-14*want || got == want || want != want && got != got) {
			t.Errorf("%d logits: %v, one by one %v", n, got, want)
		}
	}
	finite := append(append([]float32(nil), logits[:8]...), logits[10:]...)
	for _, n := range []int{0, 1, 63, 64, 65, 130} {
		check(n, finite[:n])
	}
	check(len(logits), logits)
	check(1, []float32{float32(math.NaN())})
	b.Labels[4] = 2
	check(9, finite[:9])
}
