package rng

import (
	"bytes"
	"crypto/aes"
	"crypto/cipher"
	"encoding/binary"
	"encoding/hex"
	"testing"

	"pgregory.net/rapid"
)

func needVectorAES(t *testing.T) {
	if !vectorAES {
		t.Skip("no AVX-512 with vector AES on this machine, or SOTTO_CPU forbids it")
	}
}

func unhex(t *testing.T, s string) []byte {
	b, err := hex.DecodeString(s)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// Both examples are of the key of FIPS 197, appendix A.3: its expansion there, and blocks
// of its counter mode in SP 800-38A, appendix F.5.5.
func TestVectorKeyStreamOnPublishedVectors(t *testing.T) {
	needVectorAES(t)
	key := Key(unhex(t, "603deb1015ca71be2b73aef0857d77811f352c073b6108d72d9810a30914dff4"))
	var k keyStream
	k.rekey(&key, 0xf0f1f2f3f4f5f6f7)
	k.next = 0xf8f9fafbfcfdfeff
	var got [keyUnit]byte
	k.fill(got[:])
	for at, want := range map[int]string{32: "9ba35411", 36: "8e6925af", 224: "fe4890d1", 236: "706c631e"} {
		if w := hex.EncodeToString(k.schedule[at : at+4]); w != want {
			t.Errorf("word %d of the expanded key is %s, want %s", at/4, w, want)
		}
	}
	if want := "0bdf7df1591716335e9a8b15c860c502" + "5a6e699d536119065433863c8f657b94"; hex.EncodeToString(
		got[:32]) != want {
		t.Errorf("blocks %x, want %s", got[:32], want)
	}
}

// The vector kernel's bytes are those of the standard library for any key, domain, first
// block, with carries out of every byte of the counter but the last, and any lengths.
func TestVectorKeyStreamIsTheStandardLibrarys(t *testing.T) {
	needVectorAES(t)
	rapid.Check(t, func(t *rapid.T) {
		var key Key
		copy(key[:], rapid.SliceOfN(rapid.Byte(), 32, 32).Draw(t, "key"))
		var iv [aes.BlockSize]byte
		domain := rapid.Uint64().Draw(t, "domain")
		first := uint64(1)<<rapid.IntRange(0, 63).Draw(t, "bit") - rapid.Uint64Range(0, 40).Draw(t, "before")
		first = min(first, 1<<64-1<<16) // none has more blocks
		binary.BigEndian.PutUint64(iv[:8], domain)
		binary.BigEndian.PutUint64(iv[8:], first)
		block, err := aes.NewCipher(key[:])
		if err != nil {
			t.Fatal(err)
		}
		std := cipher.NewCTR(block, iv[:])
		var k keyStream
		k.rekey(&key, Domain(domain))
		k.next = first
		for _, units := range rapid.SliceOfN(rapid.IntRange(1, 33), 1, 4).Draw(t, "lengths") {
			got, want := bytes.Repeat([]byte{0xa5}, (units+1)*keyUnit), make([]byte, units*keyUnit)
			std.XORKeyStream(want, want)
			k.fill(got[:units*keyUnit])
			if !bytes.Equal(got[:units*keyUnit], want) {
				t.Fatalf("domain %x block %x: %d units differ", domain, first, units)
			}
			if !bytes.Equal(got[units*keyUnit:], bytes.Repeat([]byte{0xa5}, keyUnit)) {
				t.Fatalf("%d units: bytes behind them are written", units)
			}
		}
	})
}

// A stream has one sequence of words and normals, whichever makes its bytes.
func TestStreamsAreTheSameWithoutVectorAES(t *testing.T) {
	needVectorAES(t)
	defer func() { vectorAES = true }()
	draw := func(vector bool) ([]uint64, []float64) {
		vectorAES = vector
		k := Simulated(5, 6, 7)
		s, words, z := NewStream(&k, Sample), make([]uint64, 3000), make([]float64, 3001)
		for i := range words {
			words[i] = s.Uint64()
		}
		s.Rekey(&k, Noise)
		s.Normals(z)
		return words, z
	}
	words, z := draw(true)
	otherWords, otherZ := draw(false)
	for i := range words {
		if words[i] != otherWords[i] || z[i] != otherZ[i] {
			t.Fatalf("word %d: %x and %x, normal: %v and %v", i, words[i], otherWords[i], z[i], otherZ[i])
		}
	}
}

func TestRefillsDoNotAllocate(t *testing.T) {
	needVectorAES(t)
	key, s, z := NewKey(), new(Stream), make([]float64, 2000)
	if n := testing.AllocsPerRun(20, func() {
		s.Rekey(&key, Noise)
		s.Normals(z)
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}
