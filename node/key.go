package node

import (
	"crypto/ed25519"
	"crypto/rand"
	"crypto/x509"
	"encoding/hex"
	"encoding/pem"
	"errors"
	"fmt"
	"io/fs"
	"os"

	"sotto/config"
)

const pemType = "PRIVATE KEY"

// NewKey makes an Ed25519 key and writes it to a new file that only its owner may read:
// PKCS #8 in PEM. An existing file is an error that wraps fs.ErrExist; a key is never
// replaced.
func NewKey(path string) (ed25519.PrivateKey, error) {
	_, key, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		return nil, err
	}
	der, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return nil, err
	}
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return nil, err
	}
	_, err = f.Write(pem.EncodeToMemory(&pem.Block{Type: pemType, Bytes: der}))
	if err == nil {
		err = f.Sync()
	}
	return key, errors.Join(err, f.Close())
}

// ReadKey reads a key file, and refuses one that others may read.
func ReadKey(path string) (ed25519.PrivateKey, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	bad := func(found, allowed string) error {
		return &config.Error{File: path, Found: found, Allowed: allowed}
	}
	if mode := info.Mode(); mode.Perm()&0o077 != 0 {
		return nil, bad(fmt.Sprintf("mode %04o", mode.Perm()),
			"0600, a key that only its owner may read (chmod 600)")
	}
	b, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	block, _ := pem.Decode(b)
	if block == nil || block.Type != pemType {
		return nil, bad("no PEM block "+pemType, "a key file that sotto keygen made")
	}
	parsed, err := x509.ParsePKCS8PrivateKey(block.Bytes)
	key, ok := parsed.(ed25519.PrivateKey)
	if err != nil || !ok {
		return nil, bad("another kind of key", "an Ed25519 key")
	}
	return key, nil
}

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

// writeFile replaces a file at once, so that a crash leaves the old one or the new one.
func writeFile(path string, b []byte, mode fs.FileMode) error {
	temp := path + ".tmp"
	if err := os.WriteFile(temp, b, mode); err != nil {
		return err
	}
	return os.Rename(temp, path)
}
