package tensor

import (
	"math"
	"sync"

	"golang.org/x/sys/cpu"
)

// Products of bfloat16 by the dot product of AVX512_BF16. One instruction does two steps
// of a chain, the upper element of each pair first, so that operands are packed with the
// earlier element above the later one: the chains are those of the float32 kernels, in
// blocks of 256, and differ from them only where subnormal numbers occur. One step is
// [fmaFlushed].

// dot512x14 adds the product of 14 packed rows of a and panels of 32 packed columns of b
// to c, or sets it; an element of a or b is a pair. ldc and step, the distance of panels,
// are in bytes; k pairs >= 1, panels >= 1.
//
//go:noescape
func dot512x14(c *float32, ldc int, a, b *float32, k, step, panels int, add bool)

// dotPairs interleaves the elements in mask, of 16, of pairs of rows lds bytes apart;
// those of second in the second row of each pair. Pairs go to rows step bytes apart.
//
//go:noescape
func dotPairs(dst *float32, step int, src *uint16, lds, pairs int, mask, second uint32)

// dotPlain copies a row of pairs, turned round, to the same row of blocks tiles, 32
// elements each, and the elements of tail to one more.
//
//go:noescape
func dotPlain(dst *float32, src *uint16, blocks int, tail uint32)

func spinDots(rounds int)

func vendor() (first, second, third uint32)

// dots says whether the processor has a dot product that is worth using, and that does
// what this package says. Intel's processors with it have AMX, or do it at half the rate
// of multiply-adds: only AMD's (Zen 4 on) use it, by name and not by measuring, so that a
// machine always gives the same bits.
var dots = sync.OnceValue(func() bool {
	b, d, c := vendor()
	amd := b == 0x68747541 && d == 0x69746e65 && c == 0x444d4163 // AuthenticAMD
	return cpu.X86.HasAVX512BF16 && amd && supported() == avx512 && dotsAreRight(dot512x14)
})

// A dotTile is dot512x14, or a test's.
type dotTile func(c *float32, ldc int, a, b *float32, k, step, panels int, add bool)

// HasDotBF16 reports whether bfloat16 products use the dot product of AVX512_BF16: there
// are no tiles, the processor is one that is faster with it, it computes what this
// package says, and AVX-512 kernels are in use.
func HasDotBF16() bool { return active == avx512 && !tiles() && dots() }

const (
	dotRows  = 14
	dotPairN = blockK / 2         // pairs of one block
	dotStep  = 32 * dotPairN      // elements of a panel of b
	dotTiles = blockK / tileDepth // tiles of a panel
)

// dotted is the memory of one product: 14 packed rows of a, 512 columns of b, 32 rows
// that are transposed, and what takes the place of c at its edges.
type dotted struct {
	a      [tileSide * dotPairN]float32
	b      [packedN / 32 * dotStep]float32
	turned [dotTiles * tileSize]float32
	c      [dotRows * 32]float32
}

var dotteds = sync.Pool{New: func() any { return new(dotted) }}

// dotProduct is productBF16 by dot products.
func dotProduct(dst Mat, a, b stridedBF16, inner int, add bool, tile dotTile) {
	d := dotteds.Get().(*dotted)
	defer dotteds.Put(d)
	for k := 0; k < inner; k += blockK {
		depth := min(blockK, inner-k)
		pairs := (depth + 1) / 2
		for n := 0; n < dst.Cols; n += packedN {
			cols := min(packedN, dst.Cols-n)
			for j := 0; j < cols; j += tileSide {
				from := b.from(k, n+j)
				d.pack(d.b[j/32*dotStep+j%32:], 32, stridedBF16{from.data, from.col, from.row},
					min(tileSide, cols-j), depth)
			}
			for m := 0; m < dst.Rows; m += dotRows {
				rows := min(dotRows, dst.Rows-m)
				d.pack(d.a[:], tileSide, a.from(m, k), rows, depth)
				d.multiply(view(dst, m, n, rows, cols), pairs, add || k > 0, tile)
			}
		}
	}
}

// pack copies at most 16 rows of x so that their pairs lie side by side, those of the
// next two elements step further on. What has no row stays as it was: it serves elements
// of the product that nobody reads.
func (d *dotted) pack(to []float32, step int, x stridedBF16, rows, depth int) {
	if x.col == 1 {
		for r := range rows {
			dotPlain(&d.turned[r*tileSide], &x.data[r*x.row], depth/tileDepth, 1<<(depth%tileDepth)-1)
		}
		for t := 0; t*tileDepth < depth; t++ {
			turnInto(to[t*tileSide*step:], step, d.turned[t*tileSize:], tileSide, tileSide, tileSide, false)
		}
		return
	}
	mask, pairs := uint32(1<<rows-1), depth/2
	if pairs > 0 {
		dotPairs(&to[0], 4*step, &x.data[0], 2*x.col, pairs, mask, mask)
	}
	if depth%2 == 1 {
		dotPairs(&to[pairs*step], 4*step, &x.data[(depth-1)*x.col], 2*x.col, 1, mask, 0)
	}
}

// multiply computes at most 14 rows and 512 columns.
func (d *dotted) multiply(dst Mat, pairs int, add bool, tile dotTile) {
	n := 0
	if full := dst.Cols / 32; dst.Rows == dotRows && full > 0 {
		tile(&dst.Data[0], 4*dst.Stride, &d.a[0], &d.b[0], pairs, 4*dotStep, full, add)
		n = 32 * full
	}
	edge := Mat{Rows: dotRows, Cols: 32, Stride: 32, Data: d.c[:]}
	for ; n < dst.Cols; n += 32 {
		part := view(dst, 0, n, dst.Rows, min(32, dst.Cols-n))
		for i := 0; add && i < part.Rows; i++ {
			copy(edge.Row(i), part.Row(i))
		}
		tile(&d.c[0], 4*32, &d.a[0], &d.b[n/32*dotStep], pairs, 4*dotStep, 1, add)
		for i := range part.Rows {
			copy(part.Row(i), edge.Row(i))
		}
	}
}

// fmaFlushed is one step: a*b+c rounded to nearest once, where subnormal operands and
// results are zeros with their sign (Intel SDM volume 2, VDPBF16PS).
func fmaFlushed(a, b, c float32) float32 {
	p, q := float64(flush(a))*float64(flush(b)), float64(flush(c)) // of 16 bits: exact
	s := p + q
	v := s - p
	e := (p - (s - v)) + (q - v)
	// Rounded to odd, so that the second rounding is the only one (Boldo and Melquiond
	// 2008).
	if bits := math.Float64bits(s); e != 0 && e == e && bits&1 == 0 {
		if (e > 0) == (s > 0) {
			s = math.Float64frombits(bits + 1)
		} else {
			s = math.Float64frombits(bits - 1)
		}
	}
	return flush(float32(s))
}

func flush(x float32) float32 {
	if b := math.Float32bits(x); b>>23&0xff == 0 {
		return math.Float32frombits(b & (1 << 31))
	}
	return x
}

// dotsAreRight compares a tile with its definition, bit for bit, on pseudo-random
// operands of every size: near each other, far apart, subnormal, with subnormal and with
// infinite results. It takes a few milliseconds, once, at the first product.
func dotsAreRight(tile dotTile) bool {
	const pairs = 7 // a round of the tile's loop, and a rest
	var a [tileSide * pairs]float32
	var b [32 * pairs]float32
	var got, want [dotRows * 32]float32
	seed := uint64(1)
	next := func() uint32 {
		seed = seed*6364136223846793005 + 1442695040888963407
		return uint32(seed >> 32)
	}
	for round := range 40 {
		// Exponents are spread around a middle that goes through all of them.
		spread, middle := [...]uint32{3, 12, 60, 255}[round%4], uint32(round*255/39)
		element := func() uint32 {
			exponent := min(254, max(middle, spread/2)-spread/2+next()%(spread+1))
			if next()%16 == 0 {
				exponent = 0
			}
			return next()%2<<15 | exponent<<7 | next()%128
		}
		for i := range a {
			a[i] = math.Float32frombits(element()<<16 | element())
		}
		if round%8 >= 4 { // the other factor brings products near 1
			middle = 254 - middle
		}
		for i := range b {
			b[i] = math.Float32frombits(element()<<16 | element())
		}
		for i := range got {
			got[i] = math.Float32frombits(next()%2<<31 | (100+next()%50)<<23 | next()>>9)
		}
		want = got
		add := round%3 > 0
		dotsDefinition(&want, a[:], b[:], pairs, add)
		tile(&got[0], 4*32, &a[0], &b[0], pairs, 0, 1, add)
		for i := range got {
			if x, y := got[i], want[i]; math.Float32bits(x) != math.Float32bits(y) && (x == x || y == y) {
				return false
			}
		}
	}
	return true
}

// dotsDefinition is a tile of one panel, element by element.
func dotsDefinition(c *[dotRows * 32]float32, a, b []float32, pairs int, add bool) {
	upper := func(x float32) float32 { return math.Float32frombits(math.Float32bits(x) &^ 0xffff) }
	lower := func(x float32) float32 { return math.Float32frombits(math.Float32bits(x) << 16) }
	for r := range dotRows {
		for j := range 32 {
			var s float32
			for k := range pairs {
				x, y := a[k*tileSide+r], b[k*32+j]
				s = fmaFlushed(upper(x), upper(y), s)
				s = fmaFlushed(lower(x), lower(y), s)
			}
			if add {
				s += c[r*32+j]
			}
			c[r*32+j] = s
		}
	}
}
