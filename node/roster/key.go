package roster

import (
	"crypto/ed25519"
	"encoding/hex"
	"fmt"

	"sotto/config"
)

// PeerID names a member by its public key, in 64 hexadecimal digits.
func PeerID(key ed25519.PublicKey) string { return hex.EncodeToString(key) }

// ParsePeerID reads what PeerID writes.
func ParsePeerID(s string) (ed25519.PublicKey, error) {
	b, err := hex.DecodeString(s)
	if err != nil || len(b) != ed25519.PublicKeySize {
		return nil, config.Bad("id", s, fmt.Sprintf("%d hexadecimal digits, as sotto keygen prints them",
			2*ed25519.PublicKeySize))
	}
	return b, nil
}

func public(key ed25519.PrivateKey) ed25519.PublicKey { return key.Public().(ed25519.PublicKey) }
