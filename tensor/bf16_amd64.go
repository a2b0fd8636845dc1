package tensor

import (
	"sync"

	"golang.org/x/sys/cpu"
)

// roundBF16, truncateBF16 and widenBF16 handle 16*blocks elements, blocks >= 1.
//
//go:noescape
func roundBF16(dst *uint16, src *float32, blocks int)

//go:noescape
func truncateBF16(dst *uint16, src *float32, blocks int)

//go:noescape
func widenBF16(dst *float32, src *uint16, blocks int)

// amxTiles adds the product of two panels of A and 2*count panels of B to 32 rows and
// 32*count columns of C, or sets it. ldc and panel, the size of a panel, are in bytes; a
// panel has steps >= 1 tiles. Where rows are given, A is not packed but 32 rows in place,
// row bytes apart.
//
//go:noescape
func amxTiles(c *float32, ldc int, a *float32, rows *uint16, row int, b *float32, panel, steps, count int,
	add bool)

// plainRow copies a row to the same row of blocks tiles, 32 elements each, and the
// elements of tail to one more.
//
//go:noescape
func plainRow(dst *float32, src *uint16, blocks int, tail uint32)

// pairRows interleaves the elements in mask, of 32, of pairs of rows lds bytes apart;
// those of second in the second row of each pair. The upper 16 go to another panel, panel
// bytes further on.
//
//go:noescape
func pairRows(dst *float32, panel int, src *uint16, lds, pairs int, mask, second uint32)

func spinTiles(rounds int)

// SpinBF16 is SpinFMA for bfloat16 products.
func SpinBF16(rounds int) int {
	switch {
	case HasAMX():
		spinTiles(rounds)
		return rounds * 4 * 16 * 16 * 32 * 2
	case HasDotBF16():
		spinDots(rounds)
		return rounds * 24 * 16 * 4
	}
	return SpinFMA(rounds)
}

func fastRoundBF16(dst []uint16, x []float32) int {
	done := 0
	for active != portable && done+16 <= len(dst) {
		blocks := min(len(dst)-done, longest) / 16
		roundBF16(&dst[done], &x[done], blocks)
		done += 16 * blocks
	}
	return done
}

func fastTruncateBF16(dst []uint16, x []float32) int {
	if active == portable || len(dst) < 16 {
		return 0
	}
	truncateBF16(&dst[0], &x[0], len(dst)/16)
	return len(dst) &^ 15
}

func fastWidenBF16(dst []float32, x []uint16) int {
	done := 0
	for active != portable && done+16 <= len(dst) {
		blocks := min(len(dst)-done, longest) / 16
		widenBF16(&dst[done], &x[done], blocks)
		done += 16 * blocks
	}
	return done
}

// tiles asks the operating system for tiles, once.
var tiles = sync.OnceValue(func() bool {
	return cpu.X86.HasAMXTile && cpu.X86.HasAMXBF16 && permitTiles()
})

const (
	tileSide  = 16                    // rows of a tile
	tileDepth = 32                    // bfloat16 in a row of a tile
	tileSize  = tileSide * tileSide   // float32 of a tile: one holds a pair of bfloat16
	blockBF16 = 768                   // inner indices of one block
	tileSteps = blockBF16 / tileDepth // tiles of a panel
)

// tiled is the memory of one product by tiles: two panels of A, those of 256 columns of
// B, two that are transposed, and what takes the place of C at its edges.
type tiled struct {
	a      [2 * tileSteps * tileSize]float32
	b      [blockN / tileSide * tileSteps * tileSize]float32
	turned [2 * tileSteps * tileSize]float32
	c      [4 * tileSize]float32
}

var tileds = sync.Pool{New: func() any { return new(tiled) }}

// tileProduct is productBF16 by AMX. Operands go through panels of tiles, padded with
// zeros: rows of 32 elements of A, where they are not in place, and pairs of rows of B,
// interleaved. Sums stay in tiles for 768 inner indices and then in dst.
func tileProduct(dst Mat, a, b stridedBF16, inner int, add bool) {
	t := tileds.Get().(*tiled)
	defer tileds.Put(t)
	for k := 0; k < inner; k += blockBF16 {
		depth := min(blockBF16, inner-k)
		steps := (depth + tileDepth - 1) / tileDepth
		panel := steps * tileSize
		for n := 0; n < dst.Cols; n += blockN {
			cols := min(blockN, dst.Cols-n)
			for j := 0; j < cols; j += 2 * tileSide {
				t.packB(t.b[j/tileSide*panel:][:2*panel], b.from(k, n+j), depth, min(2*tileSide, cols-j))
			}
			for m := 0; m < dst.Rows; m += 2 * tileSide {
				rows := min(2*tileSide, dst.Rows-m)
				var inPlace *uint16
				if a.col == 1 && rows == 2*tileSide && depth%tileDepth == 0 {
					inPlace = &a.from(m, k).data[0]
				} else {
					t.packA(t.a[:2*panel], a.from(m, k), rows, depth)
				}
				t.multiply(view(dst, m, n, rows, cols), inPlace, 2*a.row, panel, steps, add || k > 0)
			}
		}
	}
}

// packA packs at most 32 rows of A into two panels.
func (t *tiled) packA(to []float32, a stridedBF16, rows, depth int) {
	if a.col == 1 {
		packPlain(to, a.data, a.row, rows, depth)
		return
	}
	packPairs(t.turned[:len(to)], a.data, a.col, rows, depth)
	turnTiles(to, t.turned[:])
}

// packB packs at most 32 columns of B into two panels.
func (t *tiled) packB(to []float32, b stridedBF16, depth, cols int) {
	if b.col == 1 {
		packPairs(to, b.data, b.row, cols, depth)
		return
	}
	packPlain(t.turned[:len(to)], b.data, b.col, cols, depth)
	turnTiles(to, t.turned[:])
}

// packPlain packs rows that are contiguous along the inner index, lds elements apart.
func packPlain(to []float32, src []uint16, lds, rows, depth int) {
	if rows < 2*tileSide || depth%tileDepth != 0 {
		clear(to)
	}
	panel := len(to) / 2
	for r := range rows {
		plainRow(&to[r/tileSide*panel+r%tileSide*tileSide], &src[r*lds], depth/tileDepth,
			1<<(depth%tileDepth)-1)
	}
}

// packPairs packs columns; the inner index takes steps of lds elements.
func packPairs(to []float32, src []uint16, lds, cols, depth int) {
	panel := len(to) / 2
	if depth%tileDepth != 0 {
		clear(to[panel-tileSize : panel])
		clear(to[2*panel-tileSize:])
	}
	mask, pairs := uint32(1<<cols-1), depth/2
	if pairs > 0 {
		pairRows(&to[0], 4*panel, &src[0], 2*lds, pairs, mask, mask)
	}
	if depth%2 == 1 {
		pairRows(&to[pairs*tileSide], 4*panel, &src[(depth-1)*lds], 2*lds, 1, mask, 0)
	}
}

// turnTiles transposes each tile as 16x16 pairs, which makes panels of A from panels of B
// and the other way round.
func turnTiles(to, from []float32) {
	for i := 0; i < len(to); i += tileSize {
		turnInto(to[i:], tileSide, from[i:], tileSide, tileSide, tileSide, false)
	}
}

// multiply computes at most 32 rows and 256 columns; the rows of A are packed, or in
// place and row bytes apart.
func (t *tiled) multiply(dst Mat, inPlace *uint16, row, panel, steps int, add bool) {
	const side = 2 * tileSide
	n := 0
	if full := dst.Cols / side; dst.Rows == side && full > 0 {
		amxTiles(&dst.Data[0], 4*dst.Stride, &t.a[0], inPlace, row, &t.b[0], 4*panel, steps, full, add)
		n = full * side
	}
	edge := Mat{Rows: side, Cols: side, Stride: side, Data: t.c[:]}
	for ; n < dst.Cols; n += side {
		part := view(dst, 0, n, dst.Rows, min(side, dst.Cols-n))
		for i := 0; add && i < part.Rows; i++ {
			copy(edge.Row(i), part.Row(i))
		}
		amxTiles(&t.c[0], 4*side, &t.a[0], inPlace, row, &t.b[n/tileSide*panel], 4*panel, steps, 1, add)
		for i := range part.Rows {
			copy(part.Row(i), edge.Row(i))
		}
	}
}
