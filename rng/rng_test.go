package rng

import (
	"crypto/aes"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"math"
	"slices"
	"testing"

	"gonum.org/v1/gonum/stat/distuv"

	"sotto/tensor"
)

// The key stream is AES-256 of the blocks domain || counter; the block cipher is checked
// against the FIPS-197 appendix C.3 vector first, so that the reference is not this
// package.
func TestKeyStreamIsAESCTR(t *testing.T) {
	var key Key
	for i := range key {
		key[i] = byte(i)
	}
	block, err := aes.NewCipher(key[:])
	if err != nil {
		t.Fatal(err)
	}
	in, _ := hex.DecodeString("00112233445566778899aabbccddeeff")
	out := make([]byte, 16)
	block.Encrypt(out, in)
	if got := hex.EncodeToString(out); got != "8ea2b7ca516745bfeafc49904b496089" {
		t.Fatalf("AES-256 vector: got %s", got)
	}
	s := NewStream(&key, Noise)
	for i := range uint64(1000) { // crosses both refill sizes
		var ctr [16]byte
		ctr[7] = byte(Noise)
		ctr[15], ctr[14] = byte(i/2), byte(i/2>>8)
		block.Encrypt(out, ctr[:])
		want := uint64(0)
		for b := 7; b >= 0; b-- {
			want = want<<8 | uint64(out[8*(i%2)+uint64(b)])
		}
		if got := s.Uint64(); got != want {
			t.Fatalf("word %d: got %x, want %x", i, got, want)
		}
	}
}

func TestDomainsKeysAndIndicesDiffer(t *testing.T) {
	seen := map[uint64]string{}
	add := func(name string, s *Stream) {
		for range 64 {
			v := s.Uint64()
			if old, ok := seen[v]; ok {
				t.Fatalf("%s and %s share a word", name, old)
			}
			seen[v] = name
		}
	}
	k := Simulated(1, 2, 3)
	add("sample", NewStream(&k, Sample))
	add("noise", NewStream(&k, Noise))
	for i, k := range []Key{Simulated(1, 3, 2), Simulated(2, 2, 3), Simulated(1, 2, 4), NewKey(), NewKey()} {
		add(fmt.Sprint("key ", i), NewStream(&k, Noise))
	}
	add("public", Public(1, "init"))
	add("public 0", Public(1, "init", 0))
	add("public faults", Public(1, "faults", 0))
}

func TestEraseLeavesNothing(t *testing.T) {
	k := NewKey()
	s := NewStream(&k, Noise)
	s.Uint64()
	s.Erase()
	k.Erase()
	if s.buf != [bufferSize]byte{} || s.keys != (keyStream{}) || k != (Key{}) {
		t.Fatal("key stream or key still in memory after Erase")
	}
}

// One-sample Kolmogorov-Smirnov at a false-reject rate of 1e-6: sqrt(n) D < 2.694.
func ks(x []float64, cdf func(float64) float64) float64 {
	d := 0.0
	for i, v := range x {
		c := cdf(v)
		d = max(d, c-float64(i)/float64(len(x)), float64(i+1)/float64(len(x))-c)
	}
	return d * math.Sqrt(float64(len(x)))
}

func TestNormalsFollowTheNormalLaw(t *testing.T) {
	k := Simulated(7, 0, 0)
	x := make([]float64, 200_001)
	NewStream(&k, Noise).Normals(x)
	sum, sq := 0.0, 0.0
	for _, v := range x {
		sum, sq = sum+v, sq+v*v
	}
	n := float64(len(x))
	// Mean and variance each within 4.9 standard errors (false-reject rate 1e-6).
	if math.Abs(sum/n) > 4.9/math.Sqrt(n) || math.Abs(sq/n-1) > 4.9*math.Sqrt(2/n) {
		t.Errorf("mean %g, second moment %g", sum/n, sq/n)
	}
	slices.Sort(x)
	if d := ks(x, distuv.UnitNormal.CDF); d > 2.694 {
		t.Errorf("Kolmogorov-Smirnov %g against the normal law", d)
	}
	// Power: the same test must reject a law with 3 percent more spread.
	wide := distuv.Normal{Mu: 0, Sigma: 1.03}
	if d := ks(x, wide.CDF); d < 2.694 {
		t.Errorf("the test cannot tell sigma 1 from 1.03 (%g)", d)
	}
}

func TestThresholdNeverExceedsTheRate(t *testing.T) {
	for _, p := range []float64{0, 1e-300, 1e-12, .01, 1. / 3, .5, 1 - 0x1p-53} {
		th, all := Threshold(p)
		if all || float64(th)*0x1p-64 > p || p-float64(th)*0x1p-64 > 0x1p-52 {
			t.Errorf("Threshold(%g) = %d, %v", p, th, all)
		}
	}
	for _, p := range []float64{1, 1.5, math.Inf(1)} {
		if _, all := Threshold(p); !all {
			t.Errorf("Threshold(%g) must always hit", p)
		}
	}
	if th, all := Threshold(math.NaN()); th != 0 || all {
		t.Error("NaN must never hit")
	}
	// Frequency within 4.9 standard errors (false-reject rate 1e-6).
	k, n, hits := Simulated(3, 0, 0), 100_000, 0
	s := NewStream(&k, Sample)
	th, _ := Threshold(.04)
	for range n {
		if s.Hit(th) {
			hits++
		}
	}
	if math.Abs(float64(hits)-.04*float64(n)) > 4.9*math.Sqrt(float64(n)*.04*.96) {
		t.Errorf("%d hits of %d at rate .04", hits, n)
	}
}

// Every element is kept at the stated rate and independently of the next, whether the
// first eight bits decide (rates of many 256ths) or never do (below 1/256). Each of eight
// bounds is 5.4 standard errors: a false-reject rate of 8 x 7e-8.
func TestSelectKeepsAtItsRate(t *testing.T) {
	const n = 400_000
	k := Simulated(4, 0, 0)
	s := NewStream(&k, Sample)
	index := make([]int32, n)
	for i := range index {
		index[i] = int32(i)
	}
	for _, p := range []float64{.001, .0427, 1. / 3, .998} {
		th, _ := Threshold(p)
		got := s.Select(nil, index, th)
		pairs := 0.
		for i, r := range got {
			if i > 0 && r <= got[i-1] {
				t.Fatalf("element %d comes after %d", r, got[i-1])
			} else if i > 0 && r == got[i-1]+1 {
				pairs++
			}
		}
		if d := float64(len(got)) - p*n; math.Abs(d) > 5.4*math.Sqrt(n*p*(1-p)) {
			t.Errorf("rate %g keeps %d of %d", p, len(got), n)
		}
		// Var of the count of adjacent pairs: n (p²(1-p²) + 2 (p³ - p⁴)).
		q := p * p
		if d := pairs - q*n; math.Abs(d) > 5.4*math.Sqrt(n*(q*(1-q)+2*q*p*(1-p))) {
			t.Errorf("rate %g keeps %g adjacent pairs, want %g", p, pairs, q*n)
		}
	}
	if got := s.Select([]int32{7}, index, 0); len(got) != 1 || got[0] != 7 {
		t.Errorf("rate 0 keeps %d elements", len(got)-1)
	}
}

// The eight bits and the 56 after them make one comparison of 64: the kept elements are
// those whose word, put together from the stream, is below the threshold.
func TestSelectComparesWholeWords(t *testing.T) {
	k := Simulated(5, 0, 0)
	s, words := NewStream(&k, Sample), NewStream(&k, Sample)
	index := make([]int32, 5003)
	for i := range index {
		index[i] = int32(i)
	}
	for _, th := range []uint64{0x2a << 56, 0x2a_ffffffffffffff, 0x80<<56 | 1<<55, 1 << 50, ^uint64(0)} {
		var want []int32
		for at := 0; at < len(index); at += 8 {
			first := words.Uint64()
			for i := at; i < min(at+8, len(index)); i++ {
				word := first >> (8 * (i - at)) << 56
				if word>>56 == th>>56 {
					word |= words.Uint64() >> 8
				}
				if word < th {
					want = append(want, index[i])
				}
			}
		}
		if got := s.Select(nil, index, th); !slices.Equal(got, want) {
			t.Errorf("threshold %#x keeps %d elements, want %d", th, len(got), len(want))
		}
	}
}

func TestBelowIsUniform(t *testing.T) {
	s := Public(5, "below")
	counts := make([]float64, 7)
	const n = 70_000
	for range n {
		counts[s.Below(7)]++
	}
	chi := 0.0
	for _, c := range counts {
		chi += (c - n/7) * (c - n/7) / (n / 7)
	}
	if q := (distuv.ChiSquared{K: 6}).Survival(chi); q < 1e-6 {
		t.Errorf("chi-square %g, p-value %g", chi, q)
	}
}

func ExamplePublic() {
	a, b := Public(1331, "init", 0), Public(1331, "init", 0)
	fmt.Println(a.Uint64() == b.Uint64(), a.Uint64() == Public(1331, "init", 1).Uint64())
	// Output: true false
}

// Normals takes two words a pair in the order of the stream, wherever refills fall and
// whatever was drawn before.
func TestNormalsConsumeTheStreamInOrder(t *testing.T) {
	k := Simulated(9, 0, 0)
	for _, before := range []int{0, 1, 2, 31, 33} {
		s, words := NewStream(&k, Noise), NewStream(&k, Noise)
		for range before {
			s.Uint64()
			words.Uint64()
		}
		for _, n := range []int{0, 1, 2, 3, 8, 30, 100, 511, 512, 1025} {
			got, want := make([]float64, n), make([]float64, n+n%2)
			s.Normals(got)
			b := make([]byte, 8*len(want))
			for i := range want {
				binary.LittleEndian.PutUint64(b[8*i:], words.Uint64())
			}
			tensor.BoxMuller(want, b)
			if !slices.Equal(got, want[:n]) {
				t.Fatalf("%d values after %d words are not those of the stream", n, before)
			}
		}
		if s.Uint64() != words.Uint64() {
			t.Fatalf("after %d words: the streams have parted", before)
		}
	}
}

// Moments up to the fourth, tails, and what ties the two values of a pair, over four
// million values: each statistic within 5.6 standard errors of its value under the normal
// law. There are 15 statistics, so that the test rejects a true normal law with a rate
// below 15 x 2.2e-8 < 1e-6; tails of few values are compared with the Poisson law at the
// same rate.
func TestNormalMomentsAndTails(t *testing.T) {
	k := Simulated(11, 0, 0)
	s := NewStream(&k, Noise)
	const n = 1 << 22
	var m1, m2, m3, m4, xy, xxyy float64
	tail := []float64{1, 2, 3, 4, 4.5}
	var above, below [5]float64
	x := make([]float64, 4096)
	for range n / len(x) {
		s.Normals(x)
		for i, v := range x {
			sq := v * v
			m1, m2, m3, m4 = m1+v, m2+sq, m3+v*sq, m4+sq*sq
			if i%2 == 1 {
				xy += v * x[i-1]
				xxyy += (sq - 1) * (x[i-1]*x[i-1] - 1)
			}
			for j, q := range tail {
				if v > q {
					above[j]++
				} else if v < -q {
					below[j]++
				}
			}
		}
	}
	near := func(name string, got, want, variance float64) {
		if math.Abs(got-want) > 5.6*math.Sqrt(variance) {
			t.Errorf("%s is %g, want %g within %g", name, got, want, 5.6*math.Sqrt(variance))
		}
	}
	near("mean", m1/n, 0, 1./n)
	near("second moment", m2/n, 1, 2./n)
	near("third moment", m3/n, 0, 15./n)
	near("fourth moment", m4/n, 3, 96./n)
	near("pair product", xy/(n/2), 0, 2./n)
	near("pair product of squares", xxyy/(n/2), 0, 4*2./n)
	for j, q := range tail {
		want := n * distuv.UnitNormal.Survival(q)
		for _, got := range []float64{above[j], below[j]} {
			if want > 1000 {
				near(fmt.Sprint("tail beyond ", q), got, want, want)
				continue
			}
			p := distuv.Poisson{Lambda: want}
			if p.CDF(got) < 1e-8 || 1-p.CDF(got-1) < 1e-8 {
				t.Errorf("%g values beyond %g, want about %g", got, q, want)
			}
		}
	}
}

func BenchmarkKeyStream(b *testing.B) {
	k := Simulated(1, 0, 0)
	s := NewStream(&k, Noise)
	s.refill()
	b.SetBytes(bufferSize)
	for b.Loop() {
		s.refill()
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/(bufferSize/8), "ns/word")
}

func BenchmarkNormals(b *testing.B) {
	k := Simulated(1, 0, 0)
	s := NewStream(&k, Noise)
	x := make([]float64, 4096)
	for b.Loop() {
		s.Normals(x)
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/4096, "ns/normal")
}

// A derived stream is the same each time, and another one for another secret, purpose or
// index; indices do not run into each other.
func TestDerived(t *testing.T) {
	a, b := Key{1}, Key{2}
	seen := map[uint64]string{}
	for name, s := range map[string]*Stream{
		"a": Derived(&a, "x"), "b": Derived(&b, "x"), "purpose": Derived(&a, "y"),
		"1": Derived(&a, "x", 1), "2": Derived(&a, "x", 2), "1, 2": Derived(&a, "x", 1, 2),
		"public": Public(1, "x", 1),
	} {
		v := s.Uint64()
		if other, two := seen[v]; two {
			t.Errorf("%s and %s are the same stream", name, other)
		}
		seen[v] = name
	}
	again := Derived(&a, "x", 1).Uint64()
	if Derived(&a, "x", 1).Uint64() != again || a != (Key{1}) {
		t.Error("a stream is not made again from its secret, or the secret was overwritten")
	}
}
