package ledger

import (
	"bytes"
	"crypto/ed25519"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"math"
	"testing"

	"sotto/privacy/account"
)

// FuzzRecord: parsing never panics, and what parses is canonical.
func FuzzRecord(f *testing.F) {
	g, content := testGenesis(f)
	c := newChain(g, sha256.Sum256(content))
	e := c.entry(Opened)
	e.Note, e.Run, e.Agent = "a <note> \u2028", "run", "é"
	f.Add(e.append(nil))
	e = c.entry(Charge)
	e.event, e.Total = []byte(`{"noise_multiplier":1.1,"type":"gaussian","v":1}`), 7
	f.Add(e.append(nil))
	e = c.entry(Stated)
	e.Claim = &Claim{
		Accountant: "pld",
		Delta:      1e-5,
		Version:    "v",
		Epsilon:    account.StatedInterval{Lower: 0.25, Upper: math.Inf(1)},
	}
	e.Digest, e.signature = digest(nil), make([]byte, ed25519.SignatureSize)
	f.Add(e.append(nil))
	for _, note := range []string{"", lostNote + "lost"} {
		e = c.entry(Rekeyed)
		e.Note = note
		e.Rotation = &Rotation{Seq: e.Seq, Prev: hex.EncodeToString(e.prev[:]), Note: note}
		e.Rotation.sign(g.ID, c.key, testKey(), seeded(2))
		f.Add(e.append(nil))
	}
	f.Add([]byte(`{"adjacency":"`))
	f.Fuzz(func(t *testing.T, payload []byte) {
		var e entry
		if e.parse(payload) != nil {
			newer(payload)
			return
		}
		if back := e.append(nil); !bytes.Equal(back, payload) {
			t.Errorf("%s reads as %s", payload, back)
		}
		if e.event != nil {
			c.find(e.event)
		}
		c.check(&e)
	})
}

// FuzzRotations: checking the rotations of a head never panics, and what passes leads to
// its signer from every key in it after the last one that was lost.
func FuzzRotations(f *testing.F) {
	for _, note := range []string{"", lostNote + "lost"} {
		h := SignedHead{ID: "0123456789abcdef0123456789abcdef", Seq: 9, Hash: "h"}
		h.Rotations = []Rotation{*fixedRotation(""), {Seq: 8, Prev: "00", Note: note}}
		h.Rotations[1].sign(h.ID, publicKey(seeded(2)), seeded(2), seeded(3))
		h.PublicKey = h.Rotations[1].NewKey
		h.Signature = hex.EncodeToString(ed25519.Sign(seeded(3), h.message()))
		b, err := json.Marshal(&h)
		if err != nil || h.Verify(publicKey(seeded(3)), nil) != nil {
			f.Fatal(err, h.Verify(publicKey(seeded(3)), nil))
		}
		f.Add(b)
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		var h SignedHead
		if json.Unmarshal(b, &h) != nil {
			return
		}
		signer, err := parseKey(h.PublicKey)
		if err != nil || h.Verify(signer, nil) != nil {
			h.Verify(publicKey(seeded(1)), &h)
			return
		}
		whole := true
		for i := len(h.Rotations) - 1; i >= 0; i-- {
			r := h.Rotations[i]
			whole = whole && !r.Lost()
			from, err := parseKey(r.OldKey)
			if err != nil || (h.Verify(from, nil) == nil) != whole {
				t.Errorf("from %s: %v, want %t", r.OldKey, h.Verify(from, nil), whole)
			}
		}
	})
}

// FuzzFrames: the frame reader and the rule for torn tails never panic, and an intact
// frame is never torn.
func FuzzFrames(f *testing.F) {
	f.Add(appendFrame(nil, []byte("payload")), 3)
	f.Add(appendFrame(appendFrame(nil, []byte("one")), []byte("two")), 1)
	f.Add([]byte{0, 0, 0, 0, 0, 0, 0, 0}, 0)
	f.Fuzz(func(t *testing.T, b []byte, cut int) {
		payload, ok := cutFrame(b)
		if ok && !bytes.Equal(appendFrame(nil, payload), b[:frameHeader+len(payload)]) {
			t.Error("a frame reads as another one")
		}
		if torn(append([]byte{1}, appendFrame(nil, []byte("x"))...)) {
			t.Error("what an intact frame follows is torn")
		}
		if len(b) == 0 || len(b) > maxPayload {
			return
		}
		whole := appendFrame(nil, b)
		if n := 1 + (cut&math.MaxInt)%(len(whole)-1); !torn(whole[:n]) && !holdsFrame(b) {
			t.Errorf("%d of %d bytes of a record are not torn", n, len(whole))
		}
	})
}

// holdsFrame says that some part of b is a frame: then a torn record that holds b may
// look like damage.
func holdsFrame(b []byte) bool {
	for i := range b {
		if _, ok := cutFrame(b[i:]); ok {
			return true
		}
	}
	return false
}

// FuzzGenesis: parsing never panics, and what parses encodes to the same bytes.
func FuzzGenesis(f *testing.F) {
	_, content := testGenesis(f)
	f.Add(content)
	f.Add(bytes.Replace(content, []byte(`"v":1`), []byte(`"v":2`), 1))
	f.Add([]byte("{}\n"))
	f.Fuzz(func(t *testing.T, b []byte) {
		g, hash, err := parseGenesis(b)
		if err != nil {
			if !errors.Is(err, ErrCorrupt) && !errors.Is(err, ErrVersion) {
				t.Errorf("error without a name: %v", err)
			}
			return
		}
		text, err := g.encode()
		if err != nil || !bytes.Equal(append(text, '\n'), b) || sha256.Sum256(text) != hash {
			t.Errorf("%s reads as %s, %v", b, text, err)
		}
	})
}

// FuzzFingerprint: parsing never panics, and what parses encodes to the same bytes.
func FuzzFingerprint(f *testing.F) {
	p := &Fingerprint{digests: []recordDigest{{1}, {2}, {3}}}
	f.Add(p.encode())
	f.Add((&Fingerprint{digests: []recordDigest{{2}, {1}}}).encode())
	f.Add((&Fingerprint{}).encode())
	f.Fuzz(func(t *testing.T, b []byte) {
		p, err := parseFingerprint(b)
		if err == nil && !bytes.Equal(p.encode(), b) {
			t.Error("a fingerprint reads as another one")
		}
	})
}
