package rng

import (
	"crypto/aes"
	"encoding/hex"
	"fmt"
	"math"
	"slices"
	"testing"

	"gonum.org/v1/gonum/stat/distuv"
)

// The key stream is AES-256 of the blocks domain || counter; the block cipher is checked against the
// FIPS-197 appendix C.3 vector first, so that the reference is not this package.
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
	if s.buf != [bufferSize]byte{} || s.ctr != nil || k != (Key{}) {
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

func BenchmarkNormals(b *testing.B) {
	k := Simulated(1, 0, 0)
	s := NewStream(&k, Noise)
	x := make([]float64, 4096)
	for b.Loop() {
		s.Normals(x)
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/4096, "ns/normal")
}
