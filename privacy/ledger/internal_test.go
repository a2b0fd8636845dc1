package ledger

import (
	"bytes"
	"crypto/ed25519"
	"crypto/sha256"
	"errors"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"testing"

	"sotto/privacy/account"
)

func testKey() ed25519.PrivateKey { return ed25519.NewKeyFromSeed(make([]byte, ed25519.SeedSize)) }

func testGenesis(t testing.TB) (Genesis, []byte) {
	t.Helper()
	g := Genesis{Adjacency: account.ReplaceOne, Unit: account.Group(3), Budget: account.Budget{Epsilon: 2.5, Delta: 1e-7}, MinRecords: 100}
	if err := g.sign(testKey()); err != nil {
		t.Fatal(err)
	}
	b, err := g.encode()
	if err != nil {
		t.Fatal(err)
	}
	return g, append(b, '\n')
}

// forge writes a ledger by hand: a signed genesis, an open record, n charges of a Gaussian of multiplier 10 and a
// signed close with the given claim.
func forge(t testing.TB, dir string, n int, claim *Claim) {
	t.Helper()
	g := Genesis{Adjacency: account.AddRemove, Unit: account.Record(), Budget: account.Budget{Epsilon: 10, Delta: 1e-5}, MinRecords: 1000}
	if err := g.sign(testKey()); err != nil {
		t.Fatal(err)
	}
	text, err := g.encode()
	if err != nil {
		t.Fatal(err)
	}
	ev, err := account.Gaussian(10, 1)
	if err != nil {
		t.Fatal(err)
	}
	c := newChain(g, sha256.Sum256(text))
	var log []byte
	add := func(kind Kind, complete func(e *entry) *tally) {
		e := c.entry(kind)
		ta := complete(&e)
		payload := e.append(nil)
		log = appendFrame(log, payload)
		c.add(&e, ta, payload)
	}
	add(Opened, func(*entry) *tally { return nil })
	for range n {
		add(Charge, func(e *entry) *tally {
			ta, err := c.tally(ev)
			if err != nil {
				t.Fatal(err)
			}
			e.event, e.Total = ta.text, ta.total+1
			return ta
		})
	}
	add(Closed, func(e *entry) *tally {
		e.Claim = claim
		e.signature = ed25519.Sign(testKey(), e.unsigned())
		return nil
	})
	for name, content := range map[string][]byte{genesisFile: append(text, '\n'), "000001.log": log} {
		if err := os.WriteFile(filepath.Join(dir, name), content, 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// Recorded epsilons are recomputed. Four answers of multiplier 10 are 0.2-GDP.
func TestVerifyRecomputesClaims(t *testing.T) {
	truth := account.GaussianEpsilon(0.2, 1e-5)
	for name, x := range map[string]struct {
		accountant, version string
		delta, eps          float64
		note                bool
		want                error
	}{
		"right":                        {"gdp", account.Version, 1e-5, truth, false, nil},
		"within tolerance":             {"gdp", account.Version, 1e-5, truth * (1 - 5e-7), false, nil},
		"understated":                  {"gdp", account.Version, 1e-5, truth * (1 - 2e-6), false, ErrClaim},
		"overstated":                   {"gdp", account.Version, 1e-5, truth * (1 + 2e-6), false, ErrClaim},
		"overstated by an older one":   {"gdp", "sotto/account 0", 1e-5, truth * 1.1, true, nil},
		"understated by an older one":  {"gdp", "sotto/account 0", 1e-5, truth * 0.9, false, ErrClaim},
		"at another delta":             {"gdp", account.Version, 1e-4, account.GaussianEpsilon(0.2, 1e-4), false, ErrClaim},
		"by an unknown accountant":     {"oracle", account.Version, 1e-5, truth, false, ErrClaim},
		"infinite without accountant":  {"none", account.Version, 1e-5, math.Inf(1), false, nil},
		"a figure without accountant":  {"none", account.Version, 1e-5, truth, false, ErrClaim},
		"infinite with an accountant":  {"gdp", account.Version, 1e-5, math.Inf(1), false, ErrClaim},
		"infinite from an older state": {"gdp", "sotto/account 0", 1e-5, math.Inf(1), true, nil},
	} {
		dir := t.TempDir()
		forge(t, dir, 4, &Claim{Accountant: x.accountant, Delta: x.delta, Version: x.version, Epsilon: account.StatedInterval{Lower: x.eps, Upper: x.eps}})
		r, err := Verify(dir, Options{Accountant: "gdp"})
		if !errors.Is(err, x.want) || x.want == nil && err != nil || (len(r.Notes) == 1) != x.note {
			t.Errorf("%s: %v, notes %v", name, err, r.Notes)
		}
	}
}

// An owner who rewrites the ledger with one charge less, chain, checksums, claims and signatures included, is found
// by whoever holds a head.
func TestRewrittenHistory(t *testing.T) {
	dir := t.TempDir()
	claim := func(n float64) *Claim {
		e := account.GaussianEpsilon(math.Sqrt(n)/10, 1e-5)
		return &Claim{Accountant: "gdp", Delta: 1e-5, Version: account.Version, Epsilon: account.StatedInterval{Lower: e, Upper: e}}
	}
	forge(t, dir, 5, claim(5))
	r, err := Verify(dir, Options{Accountant: "gdp"})
	if err != nil {
		t.Fatal(err)
	}
	held := Head{Seq: r.LastSeq - 2} // of the fourth charge
	for rec, err := range History(dir, Options{}) {
		if err != nil {
			t.Fatal(err)
		}
		if rec.Seq == held.Seq+1 { // its prev is the head wanted
			b, _ := os.ReadFile(filepath.Join(dir, "000001.log"))
			for at := 0; at < len(b); {
				p, _ := cutFrame(b[at:])
				at += frameHeader + len(p)
				var e entry
				if err := e.parse(p); err != nil {
					t.Fatal(err)
				}
				if e.Seq == held.Seq {
					held.Hash = sha256.Sum256(p)
				}
			}
		}
	}
	if _, err := Verify(dir, Options{Accountant: "gdp", KnownHead: held}); err != nil {
		t.Fatal(err)
	}
	forge(t, dir, 4, claim(4))
	if _, err := Verify(dir, Options{Accountant: "gdp"}); err != nil {
		t.Fatal("the forgery must be perfect: ", err)
	}
	if _, err := Verify(dir, Options{Accountant: "gdp", KnownHead: held}); !errors.Is(err, ErrRollback) {
		t.Errorf("a forged history under a known head: %v", err)
	}
}

// A signed record cannot be changed without its key, even with right checksums.
func TestSignatureCoversRecord(t *testing.T) {
	dir := t.TempDir()
	e := account.GaussianEpsilon(0.2, 1e-5)
	forge(t, dir, 4, &Claim{Accountant: "gdp", Delta: 1e-5, Version: account.Version, Epsilon: account.StatedInterval{Lower: e, Upper: e}})
	name := filepath.Join(dir, "000001.log")
	b, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	var at, last int
	for at < len(b) {
		p, _ := cutFrame(b[at:])
		last, at = at, at+frameHeader+len(p)
	}
	p, _ := cutFrame(b[last:])
	edited := bytes.Replace(bytes.Clone(p), []byte(`"round":0`), []byte(`"round":1`), 1)
	if err := os.WriteFile(name, appendFrame(b[:last:last], edited), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Verify(dir, Options{}); !errors.Is(err, ErrCorrupt) {
		t.Errorf("an edited close: %v", err)
	}
}

// A create that lost its genesis but not its charges is never taken for an unfinished one.
func TestLostGenesis(t *testing.T) {
	dir := t.TempDir()
	forge(t, dir, 1, &Claim{Accountant: "gdp"})
	if err := os.Remove(filepath.Join(dir, genesisFile)); err != nil {
		t.Fatal(err)
	}
	o := Options{Key: testKey(), FS: OS{AllowVolatile: true}}
	g := Genesis{Adjacency: account.AddRemove, Unit: account.Record(), Budget: account.Budget{Epsilon: 10, Delta: 1e-5}, MinRecords: 1000}
	if _, err := Create(dir, g, o); !errors.Is(err, ErrCorrupt) {
		t.Errorf("create over charges: %v", err)
	}
	if _, err := Open(dir, o); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("open without genesis: %v", err)
	}
	if err := os.Rename(filepath.Join(dir, "000001.log"), filepath.Join(dir, "000002.log")); err != nil {
		t.Fatal(err)
	}
	if _, err := Create(dir, g, o); !errors.Is(err, ErrCorrupt) {
		t.Errorf("create beside a segment: %v", err)
	}
}

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
	e.Claim = &Claim{Accountant: "pld", Delta: 1e-5, Version: "v", Epsilon: account.StatedInterval{Lower: 0.25, Upper: math.Inf(1)}}
	e.Digest, e.signature = digest(nil), make([]byte, ed25519.SignatureSize)
	f.Add(e.append(nil))
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
			c.resolve(&e)
		}
		c.check(&e)
	})
}

// FuzzFrames: the frame reader and the rule for torn tails never panic, and an intact frame is never torn.
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

// holdsFrame says that some part of b is a frame: then a torn record that holds b may look like damage.
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

func TestFingerprintDamage(t *testing.T) {
	b := (&Fingerprint{digests: []recordDigest{{1}, {2}}}).encode()
	if _, err := parseFingerprint(b); err != nil {
		t.Fatal(err)
	}
	for i := range b {
		if _, err := parseFingerprint(b[:i]); !errors.Is(err, ErrCorrupt) {
			t.Errorf("cut at %d: %v", i, err)
		}
		c := bytes.Clone(b)
		c[i] ^= 1
		if _, err := parseFingerprint(c); !errors.Is(err, ErrCorrupt) {
			t.Errorf("byte %d changed: %v", i, err)
		}
	}
	for name, d := range map[string][]recordDigest{"empty": {}, "unsorted": {{2}, {1}}, "twice": {{1}, {1}}} {
		if _, err := parseFingerprint((&Fingerprint{digests: d}).encode()); !errors.Is(err, ErrCorrupt) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
