package tensor

import (
	"testing"

	"pgregory.net/rapid"
)

func TestGather(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		cols, count := rapid.IntRange(0, 70).Draw(t, "columns"), rapid.IntRange(1, 20).Draw(t, "records")
		rows := rapid.SliceOfN(rapid.Int32Range(0, int32(count-1)), 0, 40).Draw(t, "rows")
		src := draw(t, count, cols, "src")
		each(func(l level) {
			dst := NewMat(len(rows), cols+3) // with padding, which stays
			dst.Cols = cols
			for i := range dst.Data {
				dst.Data[i] = -7
			}
			Gather(dst, src, rows)
			for i, r := range rows {
				for j := range cols {
					if got, want := dst.Data[i*dst.Stride+j],
						src.Data[int(r)*src.Stride+j]; !sameBits(got, want) {
						t.Fatalf("%s: row %d, column %d is %v, want %v", levelNames[l], i, j, got, want)
					}
				}
				for j := cols; j < dst.Stride; j++ {
					if dst.Data[i*dst.Stride+j] != -7 {
						t.Fatalf("%s: the padding of row %d is written", levelNames[l], i)
					}
				}
			}
		})
	})
}

func TestGatherRefuses(t *testing.T) {
	for name, f := range map[string]func(){
		"count":         func() { Gather(NewMat(2, 3), NewMat(4, 3), []int32{1}) },
		"columns":       func() { Gather(NewMat(1, 2), NewMat(4, 3), []int32{1}) },
		"out of range":  func() { Gather(NewMat(1, 3), NewMat(4, 3), []int32{4}) },
		"behind a view": func() { Gather(NewMat(1, 3), NewMat(4, 3).Slice(0, 2), []int32{3}) },
		"negative":      func() { Gather(NewMat(1, 3), NewMat(4, 3), []int32{-1}) },
	} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%s: no panic", name)
				}
			}()
			f()
		}()
	}
}

// BenchmarkGather takes 256 random rows of 64 MB.
func BenchmarkGather(b *testing.B) {
	for _, cols := range []int{100, 784} {
		src, dst := NewMat(16<<20/cols, cols), NewMat(256, cols)
		rows, seed := make([]int32, 256), uint64(1)
		for i := range src.Data {
			src.Data[i] = 1 // otherwise all pages are one
		}
		next := func() {
			for i := range rows {
				seed = seed*6364136223846793005 + 1442695040888963407
				rows[i] = int32((seed >> 33) % uint64(src.Rows))
			}
		}
		b.Run("gather", func(b *testing.B) {
			b.SetBytes(int64(256 * 4 * cols))
			for b.Loop() {
				next()
				Gather(dst, src, rows)
			}
		})
		b.Run("copy", func(b *testing.B) {
			b.SetBytes(int64(256 * 4 * cols))
			for b.Loop() {
				next()
				for i, r := range rows {
					copy(dst.Row(i), src.Row(int(r)))
				}
			}
		})
	}
}
