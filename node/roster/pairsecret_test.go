package roster

import (
	"bytes"
	"crypto/ecdh"
	"crypto/ed25519"
	"crypto/sha512"
	"encoding/hex"
	"testing"
)

// Both ends of a pair have the same secret, and no other pair, run or order of two others
// has it.
func TestPairSecret(t *testing.T) {
	_, keys := members(t, 4)
	seen := map[string]string{}
	for _, run := range [][32]byte{{1}, {2}} {
		for i := range keys {
			for j := range i {
				a, b := keys[i], keys[j]
				s := PairSecret(a, public(b), run)
				if !bytes.Equal(s, PairSecret(b, public(a), run)) {
					t.Fatalf("members %d and %d do not share a secret", i, j)
				}
				if other, ok := seen[string(s)]; ok {
					t.Errorf("members %d and %d have the secret of %s", i, j, other)
				}
				seen[string(s)] = hex.EncodeToString(s)
			}
		}
	}
	if len(seen) != 12 {
		t.Errorf("%d secrets, want 12", len(seen))
	}
}

// The other form of an Ed25519 key, of the published test of libsodium's conversion
// (test/default/ed25519_convert.exp).
func TestMontgomery(t *testing.T) {
	seed, _ := hex.DecodeString("421151a459faeade3d247115f94aedae42318124095afabe4d1451a559faedee")
	const want = "f1814f0e8ff1043d8a44d25babff3cedcae6c22c3edaa48f857ae70de2baae50"
	key := ed25519.NewKeyFromSeed(seed)
	u, err := montgomery(public(key))
	if err != nil || hex.EncodeToString(u.Bytes()) != want {
		t.Errorf("%x, %v; want %s", u.Bytes(), err, want)
	}
	scalar := sha512.Sum512(seed)
	private, err := ecdh.X25519().NewPrivateKey(scalar[:32])
	if err != nil || hex.EncodeToString(private.PublicKey().Bytes()) != want {
		t.Errorf("the private key's own is %x, %v; want %s", private.PublicKey().Bytes(), err, want)
	}
}
