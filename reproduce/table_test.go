package reproduce

import (
	"crypto/sha256"
	"encoding/hex"
	"math"
	"testing"
)

// The hash is that of the IEEE 754 bits, written out by hand here: 1 is 3ff0000000000000,
// -2.5 is c004000000000000, least byte first.
func TestHashFigures(t *testing.T) {
	want := sha256.Sum256([]byte("\x00\x00\x00\x00\x00\x00\xf0\x3f\x00\x00\x00\x00\x00\x00\x04\xc0"))
	if got := HashFigures([]float64{1}, []float64{-2.5}); got != hex.EncodeToString(want[:]) {
		t.Errorf("hash %s, want %x", got, want)
	}
	if HashFigures([]float64{1}) == HashFigures([]float64{math.Nextafter(1, 2)}) {
		t.Error("a last bit does not change the hash")
	}
	// Settings: the first of the published vectors of SHA-256 (FIPS 180-2, B.1).
	if got := HashText("abc"); got != "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad" {
		t.Error(got)
	}
}
