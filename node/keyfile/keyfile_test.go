package keyfile

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"sotto/config"
)

// A key could only lie in the open.
func TestEncryptedKey(t *testing.T) {
	path := filepath.Join(t.TempDir(), "key")
	say := func(s string) Passphrase { return func() ([]byte, error) { return []byte(s), nil } }
	key, err := NewEncrypted(path, []byte("one"))
	if err != nil {
		t.Fatal(err)
	}
	b, err := os.ReadFile(path)
	if err != nil || !strings.HasPrefix(string(b), "-----BEGIN OPENSSH PRIVATE KEY-----\n") {
		t.Errorf("key file %q, %v", b, err)
	}
	for name, p := range map[string]Passphrase{"none": nil, "wrong": say("two"), "empty": say(""),
		"unknown": func() ([]byte, error) { return nil, errors.New("no terminal") }} {
		if _, err := ReadWith(path, p); !errors.Is(err, ErrPassphrase) ||
			!strings.Contains(err.Error(), path) {
			t.Errorf("passphrase %s: %v", name, err)
		}
	}
	check := func(p Passphrase, encrypted bool) {
		t.Helper()
		got, err := ReadWith(path, p)
		if err != nil || !got.Equal(key) {
			t.Errorf("the key is another one: %v", err)
		}
		if is, err := Encrypted(path); err != nil || is != encrypted {
			t.Errorf("encrypted: %t, %v", is, err)
		}
		if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("mode %v, %v", info.Mode(), err)
		}
	}
	check(say("one"), true)
	if err := Encrypt(path, say("two"), []byte("three")); !errors.Is(err, ErrPassphrase) {
		t.Errorf("changed with a wrong passphrase: %v", err)
	}
	if err := Encrypt(path, say("one"), []byte("three")); err != nil {
		t.Fatal(err)
	}
	check(say("three"), true)
	if err := Encrypt(path, say("three"), nil); err != nil {
		t.Fatal(err)
	}
	check(nil, false)
	if b, err := os.ReadFile(path); err != nil ||
		!strings.HasPrefix(string(b), "-----BEGIN PRIVATE KEY-----\n") {
		t.Errorf("key file %q, %v", b, err)
	}
}

const token = "0123456789abcdef"

// A key in the open without a passphrase to keep it under was a panic.
func TestExportWithoutAPassphrase(t *testing.T) {
	dir := t.TempDir()
	if _, err := New(filepath.Join(dir, "key")); err != nil {
		t.Fatal(err)
	}
	var bad *config.Error
	if _, err := Export(filepath.Join(dir, "key"), nil); !errors.As(err, &bad) || bad.Key != "passphrase" {
		t.Errorf("a key in the open: %v", err)
	}
	if _, err := NewEncrypted(filepath.Join(dir, "other"), []byte("one")); err != nil {
		t.Fatal(err)
	}
	if b, err := Export(filepath.Join(dir, "other"), nil); err != nil || len(b) == 0 {
		t.Errorf("an encrypted key: %d bytes, %v", len(b), err)
	}
}

func TestReadToken(t *testing.T) {
	path := filepath.Join(t.TempDir(), "token")
	for _, tc := range []struct {
		content string
		mode    os.FileMode
		ok      bool
	}{{token + "\n", 0o600, true}, {"short\n", 0o600, false}, {"\n" + token, 0o600, false},
		{token, 0o644, false}} {
		os.Remove(path)
		if err := os.WriteFile(path, []byte(tc.content), tc.mode); err != nil {
			t.Fatal(err)
		}
		if got, err := ReadToken(path); (err == nil) != tc.ok || tc.ok && got != token {
			t.Errorf("%q, mode %v: %q, %v", tc.content, tc.mode, got, err)
		}
	}
}
