package rng

import (
	"crypto/aes"
	"encoding/binary"
	"math"
	"math/big"
	"testing"

	"gonum.org/v1/gonum/stat/distuv"

	"sotto/internal/long"
	"sotto/tensor"
)

// reference is the rounded sum with the pair's first 192 bits, by math/big floats of 400
// bits, another arithmetic than that of the code.
func reference(s *Stream, at uint64, words []byte, value, sigma float64, second bool) float64 {
	const prec = 400
	f := func(x float64) *big.Float { return new(big.Float).SetPrec(prec).SetFloat64(x) }
	bit := func(n int) *big.Float { return new(big.Float).SetPrec(prec).SetMantExp(f(1), n) }
	digits := func(w uint64, from int) *big.Float {
		x := new(big.Float).SetPrec(prec).SetUint64(w)
		return x.Mul(x, bit(from))
	}
	a, b := binary.LittleEndian.Uint64(words), binary.LittleEndian.Uint64(words[8:])
	u, angle := digits(a, -64), new(big.Float).SetPrec(prec).SetInt64(int64(b<<2)>>2)
	angle.Mul(angle, bit(-64))
	for k := uint32(1); k <= 2; k++ {
		c, d := s.beyond(at, k)
		u.Add(u, digits(c, -64*int(k+1)))
		angle.Add(angle, digits(d, -64*int(k+1)))
	}
	// ln u by Newton's method on exp, from the double.
	start, _ := u.Float64()
	y := f(math.Log(start))
	for range 4 { // y += u exp(-y) - 1, with the third-order term left out
		e := bigExpReal(new(big.Float).SetPrec(prec).Neg(y))
		y.Add(y, e.Sub(e.Mul(e, u), f(1)))
	}
	r := new(big.Float).SetPrec(prec).Mul(y, f(-2))
	r.Sqrt(r)
	pi, _, _ := big.ParseFloat("3.14159265358979323846264338327950288419716939937510582097494459230781640628"+
		"620899862803482534211706798214808651", 10, prec, big.ToNearestEven)
	z := angle.Mul(angle, pi)
	z.Mul(z, f(2))
	shift := second
	if b>>63 == 1 {
		shift = !shift
	}
	if shift { // sin z = -cos(z + pi/2)
		z.Add(z, new(big.Float).SetPrec(prec).Quo(pi, f(2)))
	}
	c := bigCosReal(z)
	if shift || b>>62&1 == 1 {
		c.Neg(c)
	}
	sum := c.Mul(c, r)
	sum.Mul(sum, f(sigma)).Add(sum, f(value)).Add(sum, f(.5))
	n, _ := sum.Int(nil)
	if sum.Sign() < 0 && !sum.IsInt() {
		n.Sub(n, big.NewInt(1))
	}
	out, _ := new(big.Float).SetInt(n).Float64()
	return out
}

// bigExpReal is the exponential by its series at x/2^10, squared ten times.
func bigExpReal(x *big.Float) *big.Float {
	prec := x.Prec()
	small := new(big.Float).SetPrec(prec).SetMantExp(x, -10)
	sum, term := new(big.Float).SetPrec(prec), big.NewFloat(1).SetPrec(prec)
	for k := range 60 {
		sum.Add(sum, term)
		term.Mul(term, small).Quo(term, new(big.Float).SetInt64(int64(k+1)))
	}
	for range 10 {
		sum.Mul(sum, sum)
	}
	return sum
}

// bigCosReal is the cosine by its series, |x| < 3.
func bigCosReal(x *big.Float) *big.Float {
	prec := x.Prec()
	sum, term := new(big.Float).SetPrec(prec), big.NewFloat(1).SetPrec(prec)
	square := new(big.Float).SetPrec(prec).Mul(x, x)
	for k := int64(0); k < 120; k += 2 {
		sum.Add(sum, term)
		term.Mul(term, square).Quo(term.Neg(term), new(big.Float).SetInt64((k+1)*(k+2)))
	}
	return sum
}

// The rounding is that of the exact sum: for words of all magnitudes, and values that
// bring the sum next to a half, where double precision does not know.
func TestRoundingIsExact(t *testing.T) {
	s := stream(900)
	s.Uint64()
	chance := stream(901)
	words := make([]byte, 16)
	for i := range 400 {
		a := chance.Uint64() >> (chance.Uint64() % 64)
		if i%3 == 1 {
			a = ^a
		}
		binary.LittleEndian.PutUint64(words, a)
		binary.LittleEndian.PutUint64(words[8:], chance.Uint64())
		at, sigma := chance.Uint64()>>20, float64(1<<20)*(1+chance.Float64())
		second := i%2 == 1
		p := pair{stream: s, at: at, words: words}
		var z [2]float64
		tensor.BoxMuller(z[:], words)
		near := sigma * z[i%2]
		for _, value := range []float64{chance.Float64() * 1000, math.Floor(near) + .5 - near,
			math.Floor(near) + .5 - near + 0x1p-30} {
			got, want := p.round(value, sigma, second), reference(s, at, words, value, sigma, second)
			if got != want {
				t.Fatalf("words %x, value %v, sigma %v: %v, want %v", words, value, sigma, got, want)
			}
		}
	}
}

// What kernels settle is what exact arithmetic says, and what they leave is rare: one in
// 250,000 of uniform words; here every word pattern is an edge.
func TestKernelsSettleWhatIsCertain(t *testing.T) {
	s, chance := stream(902), stream(903)
	s.Uint64()
	n, left := 512, 0
	words, x, undecided := make([]byte, 8*n), make(tensor.Vec, n), make([]byte, n/8)
	rounds := 4
	if long.Tests {
		rounds = 100
	}
	for range rounds {
		sigma, value := float64(1<<20)*(1+chance.Float64()), make(tensor.Vec, n)
		for i := range n {
			w := chance.Uint64()
			if i%2 == 0 {
				w = [...]uint64{w, w >> (chance.Uint64() % 30), ^(w >> (chance.Uint64() % 30))}[i/2%3]
			}
			binary.LittleEndian.PutUint64(words[8*i:], w)
			value[i] = float32(chance.Float64()*100 - 50)
		}
		copy(x, value)
		tensor.AddNormals(x, words, 1, sigma, undecided)
		for i := range n {
			if undecided[i/8]>>(i%8)&1 == 1 {
				if left++; x[i] != value[i] {
					t.Fatalf("value %d is undecided, and moved from %v to %v", i, value[i], x[i])
				}
				continue
			}
			p := pair{stream: s, at: 7, words: words[16*(i/2):]}
			if want := float32(p.round(float64(value[i]), sigma, i%2 == 1)); x[i] != want {
				t.Fatalf("value %d: %v, want %v", i, x[i], want)
			}
		}
	}
	if left == 0 || left > rounds*n/4 {
		t.Errorf("%d of %d values were left", left, rounds*n)
	}
}

// The same element in two lengths of vector, in a stream that is read word by word in
// between, and on a wide: one law and, for the same words, the same bits.
func TestAddNormalsReadsPairs(t *testing.T) {
	const step, sigma = 0x1p-20, 1.5 * (1 << 20)
	whole := make(tensor.Vec, 1500)
	stream(904).AddNormals(whole, step, sigma)
	for _, n := range []int{1, 2, 3, 31, 32, 33, 511, 513, 1499} {
		part := make(tensor.Vec, n)
		stream(904).AddNormals(part, step, sigma)
		wide := make(tensor.Vec, n)
		stream(904).AddNormalsWide(wide, make([]float64, n), 1, step, sigma)
		for i := range part {
			if part[i] != whole[i] || wide[i] != whole[i] {
				t.Fatalf("value %d of %d: %v and %v, want %v", i, n, part[i], wide[i], whole[i])
			}
		}
	}
	s := stream(904)
	s.Uint64()
	shifted := make(tensor.Vec, 1000)
	s.AddNormals(shifted, step, sigma)
	if shifted[0] == whole[0] {
		t.Error("a stream that was read gives the same noise")
	}
	for _, bad := range [][3]float64{{1, 1 << 20, 0}, {1, 1<<20 - 1, 1}, {1, 1<<21 + 1, 1},
		{1, math.NaN(), 1}, {1, 1 << 20, 3}} { // step, sigma, ratio
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("step %v, sigma %v, ratio %v were accepted", bad[0], bad[1], bad[2])
				}
			}()
			stream(1).AddNormalsWide(make(tensor.Vec, 2), make([]float64, 2), bad[2], bad[0], bad[1])
		}()
	}
}

// The law of rounded noise: cells of equal probability, four moments and the last bits;
// 10^8 draws with the tag long. Each check rejects a right sampler with probability 1e-6.
func TestAddNormalsLaw(t *testing.T) {
	n := 2_000_000
	if long.Tests {
		n = 50_000_000 // 10^8 in all
	}
	for i, sigma := range []float64{1 << 20, 1.7 * (1 << 20)} {
		s := stream(uint64(910 + i))
		c, broad := normalCells(n, 1000, sigma), normalCells(n, 1000, 1.01*sigma)
		count, low := make([]float64, len(c.upto)), make([]float64, 16)
		others := make([]float64, len(broad.upto))
		var sum [9]float64
		x, wide := make(tensor.Vec, 4096), make([]float64, 4096)
		var values []int64
		for done := 0; done < n; done += len(x) {
			x = x[:min(len(x), n-done)]
			s.AddNormalsWide(x, wide, 1, 1, sigma)
			values = values[:0]
			for _, v := range x {
				values = append(values, int64(v))
				low[int64(v)&15]++
				p := 1.
				for k := range sum {
					sum[k] += p / float64(n)
					p *= float64(v) / sigma
				}
			}
			c.count(values, count)
			broad.count(values, others)
		}
		if p := c.pValue(count); p < limit {
			t.Errorf("sigma %v, %d cells: p-value %g", sigma, len(count), p)
		}
		chi := 0.
		for _, v := range low {
			e := float64(n) / 16
			chi += (v - e) * (v - e) / e
		}
		if p := (distuv.ChiSquared{K: 15}).Survival(chi); p < limit {
			t.Errorf("sigma %v, last four bits: p-value %g", sigma, p)
		}
		// E (N + rounding)^2 = 1 + 1/(12 sigma^2), which is 1 to 1e-13.
		for k, want := range []float64{1, 0, 1, 0, 3} {
			se := math.Sqrt((sum[2*k] - sum[k]*sum[k]) / float64(n))
			if k > 0 && math.Abs(sum[k]-want) > 4.9*se {
				t.Errorf("sigma %v, moment %d: %v, want %v (standard error %g)", sigma, k, sum[k], want, se)
			}
		}
		if power := broad.pValue(others); power > limit {
			t.Errorf("the test has no power: p-value %g at 1.01 sigma", power)
		}
	}
}

func BenchmarkAddNormals(b *testing.B) {
	s, x := stream(1), make(tensor.Vec, 50_000)
	b.Run("exact", func(b *testing.B) {
		for b.Loop() {
			s.AddNormals(x, 0x1p-20, 1.3*(1<<20))
		}
		b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(len(x)), "ns/value")
	})
	b.Run("double", func(b *testing.B) {
		var z [512]float64
		for b.Loop() {
			for lo := 0; lo < len(x); lo += len(z) {
				n := z[:min(len(z), len(x)-lo)]
				s.Normals(n)
				tensor.AddNoise(x[lo:], 0x1p-20, 1.3*(1<<20), n)
			}
		}
		b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(len(x)), "ns/value")
	})
	b.Run("slow", func(b *testing.B) {
		words := make([]byte, 16)
		for i := range words {
			words[i] = byte(37 * i)
		}
		s.Uint64()
		p := pair{stream: s, at: 1, words: words}
		for b.Loop() {
			p.round(.3, 1<<20, true)
		}
	})
}

// Further bits of a pair are blocks of the same cipher, of domains that no stream has.
func TestFurtherBitsAreBlocksOfTheCipher(t *testing.T) {
	key := Simulated(2024, 0, 905)
	block, err := aes.NewCipher(key[:])
	if err != nil {
		t.Fatal(err)
	}
	s := NewStream(&key, Noise)
	s.Uint64()
	for k := uint32(1); k < 5; k++ {
		for _, at := range []uint64{0, 16, 1 << 40} {
			var in, out [16]byte
			binary.BigEndian.PutUint32(in[:4], k)
			binary.BigEndian.PutUint32(in[4:8], uint32(Noise))
			binary.BigEndian.PutUint64(in[8:], at)
			block.Encrypt(out[:], in[:])
			a, b := s.beyond(at, k)
			if a != binary.LittleEndian.Uint64(out[:8]) || b != binary.LittleEndian.Uint64(out[8:]) {
				t.Errorf("words %d of byte %d: %#x and %#x, want % x", k, at, a, b, out)
			}
		}
	}
}
