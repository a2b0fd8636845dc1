package tensor

import (
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

func TestExp(t *testing.T) {
	var worst float64
	check := func(x float32) {
		want := math.Exp(float64(x))
		err := math.Abs(float64(Exp(x))-want) / want
		if worst = max(worst, err); err > 2e-7 {
			t.Fatalf("Exp(%v) = %v, want %v (relative error %.2g)", x, Exp(x), want, err)
		}
	}
	for x := -87.3; x < 88.7; x += 1.0 / 1024 {
		check(float32(x))
	}
	for x := -1.0; x < 1; x += 1.0 / 65536 {
		check(float32(x))
	}
	t.Logf("largest relative error %.3g", worst)
}

func TestExpEdges(t *testing.T) {
	inf := float32(math.Inf(1))
	for _, c := range []struct{ x, want float32 }{
		{0, 1}, {-inf, 0}, {inf, inf}, {89, inf}, {-104, 0}, {-88, 0},
		{float32(math.Copysign(0, -1)), 1}, {1e-45, 1}, {math.MaxFloat32, inf}, {-math.MaxFloat32, 0},
	} {
		if got := Exp(c.x); got != c.want {
			t.Errorf("Exp(%v) = %v, want %v", c.x, got, c.want)
		}
	}
	if got := Exp(float32(math.NaN())); got == got {
		t.Errorf("Exp(NaN) = %v", got)
	}
}

// mish64 is Mish and its derivative by the definition, in float64.
func mish64(x float64) (float64, float64) {
	t := math.Tanh(math.Log1p(math.Exp(x)))
	return x * t, t + x*(1-t*t)/(1+math.Exp(-x))
}

func TestMish(t *testing.T) {
	for x := -85.0; x < 30; x += 1.0 / 512 {
		y, d := Mish(float32(x))
		wy, wd := mish64(x)
		if math.Abs(float64(y)-wy) > 4e-7*math.Abs(wy)+1e-37 || math.Abs(float64(d)-wd) > 6e-7 {
			t.Fatalf("Mish(%v) = %v, %v, want %v, %v", x, y, d, wy, wd)
		}
	}
	for _, x := range []float32{25, 1e4, 1e30, math.MaxFloat32} {
		if y, d := Mish(x); y != x || math.Abs(float64(d)-1) > 1e-6 {
			t.Errorf("Mish(%v) = %v, %v, want %v, 1", x, y, d, x)
		}
	}
	for _, x := range []float32{-200, -1e30} {
		if y, d := Mish(x); y != 0 || d != 0 {
			t.Errorf("Mish(%v) = %v, %v, want 0, 0", x, y, d)
		}
	}
	if y, _ := Mish(float32(math.NaN())); y == y {
		t.Errorf("Mish(NaN) = %v", y)
	}
}

func TestTanh(t *testing.T) {
	for x := -30.0; x < 30; x += 1.0 / 512 {
		if got, want := float64(Tanh(float32(x))), math.Tanh(x); math.Abs(got-want) > 2e-7 {
			t.Fatalf("Tanh(%v) = %v, want %v", x, got, want)
		}
	}
	if got := Tanh(float32(math.NaN())); got == got {
		t.Errorf("Tanh(NaN) = %v", got)
	}
	if got := Tanh(float32(math.Inf(-1))); got != -1 {
		t.Errorf("Tanh(-Inf) = %v", got)
	}
}

func TestSumSquares(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		x := rapid.SliceOf(rapid.Float32Range(-1e15, 1e15)).Draw(t, "x")
		var want float64
		for _, v := range x {
			want += float64(v) * float64(v)
		}
		if got := SumSquares(x); math.Abs(got-want) > 1e-12*want {
			t.Fatalf("SumSquares(%v) = %v, want %v", x, got, want)
		}
	})
}

func TestScaleTowardNeverGrows(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		bits := rapid.Uint32Range(0, 0x7f7fffff).Draw(t, "bits")
		f := rapid.Float64Range(0, 1).Draw(t, "f")
		v := math.Float32frombits(bits)
		for _, s := range []float32{v, -v} {
			x := []float32{s}
			ScaleToward(x, f)
			exact := f * float64(s)
			got := float64(x[0])
			if math.Abs(got) > math.Abs(exact) || math.Abs(got-exact) > math.Abs(exact)*0x1p-23+0x1p-149 {
				t.Fatalf("ScaleToward(%v, %v) = %v, exactly %v", s, f, got, exact)
			}
		}
	})
}

// TestScaleRowsToward: a row with its own factor is ScaleToward of that row.
func TestScaleRowsToward(t *testing.T) {
	for _, cols := range []int{1, 2, 9, 40} {
		each(func(l level) {
			m, f := NewMat(5, cols+1), []float64{1, .3, 0, 1e-30, .999}
			m.Cols = cols
			for i := range m.Data {
				m.Data[i] = float32(math.Sin(float64(i + 1)))
			}
			want := slices.Clone(m.Data)
			ScaleRowsToward(m, f)
			for i, factor := range f {
				ScaleToward(want[i*m.Stride:][:cols], factor)
			}
			if !slices.Equal(m.Data, want) {
				t.Errorf("%s, %d columns: %v, want %v", levelNames[l], cols, m.Data, want)
			}
		})
	}
}

func BenchmarkMish(b *testing.B) {
	x := NewMat(1, 1024).Data
	for i := range x {
		x[i] = float32(i)/100 - 5
	}
	var sum float32
	for b.Loop() {
		for _, v := range x {
			y, d := Mish(v)
			sum += y + d
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/1024, "ns/element")
}
