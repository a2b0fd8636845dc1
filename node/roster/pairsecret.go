package roster

import (
	"crypto/ecdh"
	"crypto/ed25519"
	"crypto/hkdf"
	"crypto/sha256"
	"crypto/sha512"
	"math/big"
	"slices"
)

// PairSecret returns 32 bytes that two members of a run share and nobody else can know,
// the same at both ends: noise that cancels is drawn from it. It is X25519 of the
// members' Ed25519 keys, taken to the other form of the curve as RFC 7748 section 4.1
// maps them, and HKDF with SHA-256 over the roster's digest and both public keys. Every
// run has others. It panics for a public key that is no point of large order: no roster
// has one.
func PairSecret(own ed25519.PrivateKey, other ed25519.PublicKey, run [32]byte) []byte {
	scalar := sha512.Sum512(own.Seed()) // X25519 clamps it as Ed25519 does, RFC 8032 section 5.1.5
	private, err := ecdh.X25519().NewPrivateKey(scalar[:32])
	clear(scalar[:])
	if err != nil {
		panic("node: " + err.Error()) // 32 bytes are a key
	}
	point, err := montgomery(other)
	if err != nil {
		panic("node: the key of a roster's member: " + err.Error())
	}
	shared, err := private.ECDH(point)
	if err != nil {
		panic("node: the key of a roster's member: " + err.Error())
	}
	low, high := []byte(public(own)), []byte(other)
	if slices.Compare(low, high) > 0 {
		low, high = high, low
	}
	secret, err := hkdf.Key(sha256.New, shared, run[:], "sotto pair noise\n"+string(low)+string(high), 32)
	clear(shared)
	if err != nil {
		panic("node: " + err.Error()) // 32 bytes are few
	}
	return secret
}

// sharing reports whether a secret can be shared with a key: not with points of small
// order, with which everybody's is the same.
func sharing(key ed25519.PublicKey) bool {
	point, err := montgomery(key)
	if err != nil {
		return false
	}
	anybody, err := ecdh.X25519().NewPrivateKey(make([]byte, 32)) // clamped to a multiple of 8, as all are
	if err != nil {
		return false
	}
	_, err = anybody.ECDH(point)
	return err == nil
}

// fieldPrime is 2^255 - 19.
var fieldPrime = new(big.Int).Sub(new(big.Int).Lsh(big.NewInt(1), 255), big.NewInt(19))

// montgomery is the X25519 form u = (1+y)/(1-y) of an Ed25519 public key (RFC 7748
// section 4.1). Keys are public: it takes no constant time.
func montgomery(key ed25519.PublicKey) (*ecdh.PublicKey, error) {
	b := slices.Clone(key)
	b[31] &= 0x7f // the sign of x, which u does not depend on
	slices.Reverse(b)
	y := new(big.Int).SetBytes(b)
	one := big.NewInt(1)
	u := new(big.Int).Sub(one, y)
	if u.ModInverse(u.Mod(u, fieldPrime), fieldPrime) == nil {
		u = new(big.Int) // y = 1: the neutral element, which ECDH refuses
	}
	u.Mul(u, y.Add(y, one)).Mod(u, fieldPrime)
	out := u.FillBytes(make([]byte, 32))
	slices.Reverse(out)
	return ecdh.X25519().NewPublicKey(out)
}
