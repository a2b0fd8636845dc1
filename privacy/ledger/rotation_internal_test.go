package ledger

import (
	"crypto/ed25519"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"sotto/privacy/account"
)

func seeded(n byte) ed25519.PrivateKey {
	seed := [ed25519.SeedSize]byte{n}
	return ed25519.NewKeyFromSeed(seed[:])
}

// fixedRotation is one with constant content.
func fixedRotation(note string) *Rotation {
	r := &Rotation{Seq: 7, Prev: strings.Repeat("ab", 32), Note: note}
	r.sign("0123456789abcdef0123456789abcdef", publicKey(seeded(1)), seeded(1), seeded(2))
	return r
}

// A record of a key is made of these bytes for good.
func TestRotationVectors(t *testing.T) {
	for note, want := range map[string]string{
		"":                   "11a4090ee9eb4ccfe7f3b09d8506faba3e81cf0dea7b27008703afa6083febff",
		lostNote + "stolen!": "30adfb10413ec652ff49a0b04832c95f4ed801375b647dd87314cb9ab1ac81ad",
	} {
		r := fixedRotation(note)
		if err := r.check("0123456789abcdef0123456789abcdef"); err != nil {
			t.Error(err)
		}
		e := entry{Record: Record{Seq: r.Seq, Kind: Rekeyed, Count: 1, Note: note}, adjacency: "zero-out",
			unit: "record"}
		hex.Decode(e.prev[:], []byte(r.Prev))
		e.Rotation = r
		payload := e.append(nil)
		if got := digest(payload); got != want {
			t.Errorf("record %s with digest %s, want %s", payload, got, want)
		}
		var back entry
		if err := back.parse(payload); err != nil {
			t.Error(err)
		}
	}
}

// Ledgers whose key was never rotated have the bytes that they had before there were
// rotations.
func TestNoRotationNoChange(t *testing.T) {
	g, _ := testGenesis(t)
	g.ID = strings.Repeat("0", 32)
	c := newChain(g, sha256.Sum256(nil))
	sum, err := c.seal([]sealedSegment{{1, 2, "3"}}).text()
	if err != nil {
		t.Fatal(err)
	}
	s := SignedStatement{LedgerID: "id", Dataset: "d", PublicKey: "k"}
	s.Statement.Adjacency = account.AddRemove
	text, err := s.text()
	if err != nil {
		t.Fatal(err)
	}
	at := strings.Index(string(text), `,"ledger_id"`)
	head, err := json.Marshal(SignedHead{ID: "id", Seq: 1, Hash: "h", PublicKey: "k", Signature: "s"})
	if err != nil {
		t.Fatal(err)
	}
	for got, want := range map[string]string{
		string(sum): `{"v":1,"origin":"e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",` +
			`"segments":[{"size":1,"next":2,"hash":"3"}],"records":0,"dataset":"","overrides":null,` +
			`"evidence":null,"events":null,"runs":null}`,
		string(text[at:]): `,"ledger_id":"id","dataset":"d","public_key":"k"}`,
		string(head):      `{"id":"id","seq":1,"hash":"h","public_key":"k","signature":"s"}`,
	} {
		if got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
}

// forgeKey writes a ledger by hand: open, a record of a key that edit may
// change, and a close by the new key.
func forgeKey(t testing.TB, dir, note string, edit func(id string, e *entry)) {
	t.Helper()
	g, _ := testGenesis(t)
	text, err := g.encode()
	if err != nil {
		t.Fatal(err)
	}
	c := newChain(g, sha256.Sum256(text))
	var log []byte
	put := func(e *entry) {
		payload := e.append(nil)
		log = appendFrame(log, payload)
		c.add(e, nil, payload)
	}
	e := c.entry(Opened)
	put(&e)
	e = c.entry(Rekeyed)
	e.Note = note
	e.Rotation = &Rotation{Seq: e.Seq, Prev: hex.EncodeToString(e.prev[:]), Note: note}
	e.Rotation.sign(g.ID, c.key, testKey(), seeded(2))
	if note != "" {
		e.overrides++
	}
	edit(g.ID, &e)
	payload := e.append(nil)
	log = appendFrame(log, payload)
	c.prev, c.next = sha256.Sum256(payload), c.next+1
	if note != "" {
		c.overrides = []string{note}
	}
	e = c.entry(Closed)
	e.Claim = &Claim{Accountant: noAccountant, Delta: g.Budget.Delta, Version: account.Version,
		Epsilon: account.StatedInterval{Lower: math.Inf(1), Upper: math.Inf(1)}}
	e.signature = ed25519.Sign(seeded(2), e.unsigned())
	log = appendFrame(log, e.append(nil))
	for name, content := range map[string][]byte{GenesisFile: append(text, '\n'), "000001.log": log} {
		if err := os.WriteFile(filepath.Join(dir, name), content, 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// Forged rotations with right hashes and checksums are refused.
func TestForgedRotations(t *testing.T) {
	sign := func(e *entry, id string, from ed25519.PublicKey, before, next ed25519.PrivateKey) {
		e.Rotation.sign(id, from, before, next)
	}
	var id string
	for name, x := range map[string]struct {
		note string
		edit func(e *entry)
		good bool
	}{
		"right":      {"", nil, true},
		"right lost": {lostNote + "lost", nil, true},
		"swapped signatures": {"", func(e *entry) {
			e.Rotation.OldSignature, e.Rotation.NewSignature = e.Rotation.NewSignature,
				e.Rotation.OldSignature
		}, false},
		"old key's signature forged": {"", func(e *entry) {
			sign(e, id, publicKey(testKey()), seeded(2), seeded(2))
		}, false},
		"new key's signature forged": {"", func(e *entry) {
			e.Rotation.NewSignature = e.Rotation.OldSignature
		}, false},
		"of another ledger": {"", func(e *entry) {
			sign(e, strings.Repeat("0", 32), publicKey(testKey()), testKey(), seeded(2))
		}, false},
		"of another record": {"", func(e *entry) {
			e.Rotation.Seq++
			sign(e, id, publicKey(testKey()), testKey(), seeded(2))
		}, false},
		"after another record": {"", func(e *entry) {
			e.Rotation.Prev = strings.Repeat("0", 64)
			sign(e, id, publicKey(testKey()), testKey(), seeded(2))
		}, false},
		"from a key that does not hold": {"", func(e *entry) {
			sign(e, id, publicKey(seeded(3)), seeded(3), seeded(2))
		}, false},
		"to the same key": {"", func(e *entry) {
			sign(e, id, publicKey(testKey()), testKey(), testKey())
		}, false},
		"without the old signature": {"", func(e *entry) { e.Rotation.OldSignature = "" }, false},
		"a note beside the old signature": {"", func(e *entry) {
			e.Note = lostNote + "lost"
			e.overrides++
		}, false},
		"lost made from a whole one": {"", func(e *entry) {
			e.Note = lostNote + "lost"
			e.Rotation.OldSignature = ""
			e.overrides++
		}, false},
		"lost without an override": {lostNote + "lost", func(e *entry) { e.overrides-- }, false},
		"lost for another reason":  {lostNote + "lost", func(e *entry) { e.Note = lostNote + "sold" }, false},
		"lost with a free note": {"gone", func(e *entry) {
			sign(e, id, publicKey(testKey()), nil, seeded(2))
		}, false},
		"with a digest":           {"", func(e *entry) { e.Digest = "x" }, false},
		"with a count":            {"", func(e *entry) { e.Count = 2 }, false},
		"with another data set":   {"", func(e *entry) { e.Dataset = "x" }, false},
		"as another kind":         {"", func(e *entry) { e.Kind = Override }, false},
		"a key without a new one": {"", func(e *entry) { e.Rotation = nil }, false},
	} {
		dir := t.TempDir()
		forgeKey(t, dir, x.note, func(of string, e *entry) {
			if id = of; x.edit != nil {
				x.edit(e)
			}
		})
		r, err := Verify(dir, Options{Accountant: "gdp"})
		if x.good != (err == nil) || !x.good && !errors.Is(err, ErrCorrupt) {
			t.Errorf("%s: %v", name, err)
		}
		if x.good && len(r.Keys) != 2 {
			t.Errorf("%s: %+v", name, r)
		}
	}
}
