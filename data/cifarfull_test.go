package data

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"testing"
)

// The sum of records does not depend on their order, and does on all of their bytes.
func TestSortedSum(t *testing.T) {
	// SHA-256 of "a", "b", "c" begins with ca, 3e and 2e: sorted they are c, b, a.
	sorted := sha256.Sum256([]byte("cba"))
	want := hex.EncodeToString(sorted[:])
	for _, order := range []string{"abc", "cba", "bca"} {
		if got := sortedSum([]byte(order), 1); got != want {
			t.Errorf("%s: %s, want %s", order, got, want)
		}
	}
	two := []byte("aabb")
	if sum := sortedSum(two, 2); sum != sortedSum([]byte("bbaa"), 2) ||
		sum == sortedSum([]byte("abab"), 2) {
		t.Error("records of two bytes")
	}
	if sortedSum(two, 2) == sortedSum(bytes.Join([][]byte{two, {0}}, nil), 2) {
		t.Error("a rest is not seen")
	}
}
