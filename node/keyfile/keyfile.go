// Package keyfile reads and writes an owner's files that nobody else may read: Ed25519
// keys, in the open or under a passphrase, passphrases, and tokens.
package keyfile

import (
	"bytes"
	"crypto/ed25519"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"os"
	"strings"

	"golang.org/x/crypto/ssh"

	"sotto/config"
	"sotto/internal/atomicfile"
)

// PEM types of key files: PKCS #8 as it is, and OpenSSH's own format, which can be
// encrypted.
const (
	pemType     = "PRIVATE KEY"
	opensshType = "OPENSSH PRIVATE KEY"
)

const ownerOnly = 0o600

// ErrPassphrase: a key file is encrypted and there was no passphrase, or a wrong one.
var ErrPassphrase = errors.New("keyfile: the key is encrypted")

// A Passphrase gives the passphrase of an encrypted key file. It is called only when a
// key turns out to be encrypted.
type Passphrase func() ([]byte, error)

// New makes an Ed25519 key and writes it to a new file that only its owner may read:
// PKCS #8 in PEM. An existing file is an error that wraps fs.ErrExist; a key is never
// replaced.
func New(path string) (ed25519.PrivateKey, error) { return NewEncrypted(path, nil) }

// NewEncrypted is New with a passphrase: the file has OpenSSH's encrypted format
// (bcrypt, AES-256). An empty passphrase leaves the key in the open.
func NewEncrypted(path string, passphrase []byte) (ed25519.PrivateKey, error) {
	_, key, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		return nil, err
	}
	b, err := encodeKey(key, passphrase)
	if err != nil {
		return nil, err
	}
	return key, atomicfile.Create(path, b, ownerOnly)
}

// encodeKey is the content of a key file.
func encodeKey(key ed25519.PrivateKey, passphrase []byte) ([]byte, error) {
	if len(passphrase) > 0 {
		block, err := ssh.MarshalPrivateKeyWithPassphrase(key, "sotto", passphrase)
		if err != nil {
			return nil, err
		}
		return pem.EncodeToMemory(block), nil
	}
	der, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return nil, err
	}
	return pem.EncodeToMemory(&pem.Block{Type: pemType, Bytes: der}), nil
}

// Encrypt writes the same key into its file anew, under another passphrase; an empty
// one leaves it in the open. The file is replaced at once.
func Encrypt(path string, old Passphrase, passphrase []byte) error {
	key, err := ReadWith(path, old)
	if err != nil {
		return err
	}
	b, err := encodeKey(key, passphrase)
	if err != nil {
		return err
	}
	return atomicfile.WriteDurable(path, b, ownerOnly)
}

// Export is the content of an encrypted key file, to be kept elsewhere: that of a file
// which is encrypted as it is, else the key under a new passphrase. A config.Error: the
// key is in the open, and passphrase nil.
func Export(path string, passphrase Passphrase) ([]byte, error) {
	key, err := Read(path)
	if errors.Is(err, ErrPassphrase) {
		return readOwn(path, "a key")
	}
	if err != nil {
		return nil, err
	}
	if passphrase == nil {
		return nil, config.Bad("passphrase", "none", "one to keep a key under that lies in the open")
	}
	phrase, err := passphrase()
	if err != nil {
		return nil, err
	}
	if len(phrase) == 0 {
		return nil, fmt.Errorf("%w: an empty passphrase", ErrPassphrase)
	}
	return encodeKey(key, phrase)
}

// readOwn reads a file and refuses one that others may read.
func readOwn(path, what string) ([]byte, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if mode := info.Mode(); mode.IsRegular() && mode.Perm()&0o077 != 0 {
		return nil, &config.Error{File: path, Found: fmt.Sprintf("mode %04o", mode.Perm()),
			Allowed: "0600, " + what + " that only its owner may read (chmod 600)"}
	}
	return os.ReadFile(path)
}

// ReadPassphrase reads a passphrase: the first line of a file that only its owner may
// read, or of a pipe. An empty one is refused.
func ReadPassphrase(path string) ([]byte, error) {
	b, err := readOwn(path, "a passphrase")
	if err != nil {
		return nil, err
	}
	line, _, _ := bytes.Cut(b, []byte("\n"))
	if line = bytes.TrimSuffix(line, []byte("\r")); len(line) == 0 {
		return nil, &config.Error{File: path, Found: "an empty first line", Allowed: "a passphrase"}
	}
	return line, nil
}

// Read reads a key file, and refuses one that others may read. ErrPassphrase: it is
// encrypted.
func Read(path string) (ed25519.PrivateKey, error) { return ReadWith(path, nil) }

// ReadWith is Read with the passphrase of an encrypted file; nil: there is none.
func ReadWith(path string, passphrase Passphrase) (ed25519.PrivateKey, error) {
	b, err := readOwn(path, "a key")
	if err != nil {
		return nil, err
	}
	key, err := parseKey(b, passphrase)
	var bad *config.Error
	switch {
	case errors.As(err, &bad):
		bad.File = path
	case err != nil:
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return key, err
}

// parseKey reads the content of a key file, in either format.
func parseKey(b []byte, passphrase Passphrase) (ed25519.PrivateKey, error) {
	bad := func(found, allowed string) error { return &config.Error{Found: found, Allowed: allowed} }
	block, _ := pem.Decode(b)
	if block == nil || block.Type != pemType && block.Type != opensshType {
		return nil, bad("no PEM block "+pemType+" or "+opensshType, "a key file that sotto keygen made")
	}
	var parsed any
	var err error
	if block.Type == pemType {
		parsed, err = x509.ParsePKCS8PrivateKey(block.Bytes)
	} else {
		parsed, err = parseOpenSSH(b, passphrase)
	}
	if errors.Is(err, ErrPassphrase) {
		return nil, err
	}
	if p, ok := parsed.(*ed25519.PrivateKey); ok {
		parsed = *p
	}
	key, ok := parsed.(ed25519.PrivateKey)
	if err != nil || !ok {
		return nil, bad("another kind of key", "an Ed25519 key")
	}
	return key, nil
}

// parseOpenSSH reads OpenSSH's format, and asks for a passphrase if it is encrypted.
func parseOpenSSH(b []byte, passphrase Passphrase) (any, error) {
	parsed, err := ssh.ParseRawPrivateKey(b)
	var missing *ssh.PassphraseMissingError
	if !errors.As(err, &missing) {
		return parsed, err
	}
	if passphrase == nil {
		return nil, fmt.Errorf("%w, and there is no passphrase", ErrPassphrase)
	}
	phrase, err := passphrase()
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrPassphrase, err)
	}
	parsed, err = ssh.ParseRawPrivateKeyWithPassphrase(b, phrase)
	if len(phrase) == 0 || errors.Is(err, x509.IncorrectPasswordError) {
		err = fmt.Errorf("%w: wrong passphrase", ErrPassphrase)
	}
	return parsed, err
}

// Encrypted reports whether a key file needs a passphrase.
func Encrypted(path string) (bool, error) {
	_, err := Read(path)
	if errors.Is(err, ErrPassphrase) {
		return true, nil
	}
	return false, err
}

// minToken is the shortest token in bytes.
const minToken = 16

// ReadToken reads the token of an endpoint: the first line of a file that only its owner
// may read, of 16 bytes or more.
func ReadToken(path string) (string, error) {
	b, err := readOwn(path, "a token")
	if err != nil {
		return "", err
	}
	line, _, _ := bytes.Cut(b, []byte("\n"))
	token := strings.TrimSpace(string(line))
	if len(token) < minToken {
		return "", &config.Error{File: path, Found: fmt.Sprintf("%d bytes", len(token)),
			Allowed: fmt.Sprintf("a first line of at least %d bytes", minToken)}
	}
	return token, nil
}
