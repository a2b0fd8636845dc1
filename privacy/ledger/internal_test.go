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
	"sotto/privacy/account/gdp"
)

func testKey() ed25519.PrivateKey { return ed25519.NewKeyFromSeed(make([]byte, ed25519.SeedSize)) }

func testGenesis(t testing.TB) (Genesis, []byte) {
	t.Helper()
	g := Genesis{
		Adjacency:  account.ReplaceOne,
		Unit:       account.Group(3),
		Budget:     account.Budget{Epsilon: 2.5, Delta: 1e-7},
		MinRecords: 100,
	}
	if err := g.sign(testKey()); err != nil {
		t.Fatal(err)
	}
	b, err := g.encode()
	if err != nil {
		t.Fatal(err)
	}
	return g, append(b, '\n')
}

// forge writes a ledger by hand: a signed genesis, an open record, n charges of a
// Gaussian of multiplier 10 and a signed close with the given claim.
func forge(t testing.TB, dir string, n int, claim *Claim) {
	t.Helper()
	forgeEdited(t, dir, n, claim, nil)
}

// forgeEdited lets edit, unless nil, change every record, before it is hashed into the
// chain; it is called with the position from 0.
func forgeEdited(t testing.TB, dir string, n int, claim *Claim, edit func(i int, e *entry)) {
	t.Helper()
	g := Genesis{
		Adjacency:  account.AddRemove,
		Unit:       account.Record(),
		Budget:     account.Budget{Epsilon: 10, Delta: 1e-5},
		MinRecords: 1000,
	}
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
		clean := e
		if edit != nil {
			edit(int(c.records), &e)
		}
		payload := e.append(nil)
		log = appendFrame(log, payload)
		c.add(&clean, ta, payload)
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
	for name, content := range map[string][]byte{GenesisFile: append(text, '\n'), "000001.log": log} {
		if err := os.WriteFile(filepath.Join(dir, name), content, 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// Recorded epsilons are recomputed. Four answers of multiplier 10 are 0.2-GDP.
func TestVerifyRecomputesClaims(t *testing.T) {
	truth := gdp.Epsilon(0.2, 1e-5)
	for name, x := range map[string]struct {
		accountant, version string
		delta, eps          float64
		note                bool
		want                error
	}{
		"right":                       {"gdp", account.Version, 1e-5, truth, false, nil},
		"within tolerance":            {"gdp", account.Version, 1e-5, truth * (1 - 5e-7), false, nil},
		"understated":                 {"gdp", account.Version, 1e-5, truth * (1 - 2e-6), false, ErrClaim},
		"overstated":                  {"gdp", account.Version, 1e-5, truth * (1 + 2e-6), false, ErrClaim},
		"overstated by an older one":  {"gdp", "sotto/account 0", 1e-5, truth * 1.1, true, nil},
		"understated by an older one": {"gdp", "sotto/account 0", 1e-5, truth * 0.9, false, ErrClaim},
		"at another delta": {"gdp", account.Version, 1e-4, gdp.Epsilon(0.2, 1e-4),
			false, ErrClaim},
		"by an unknown accountant":     {"oracle", account.Version, 1e-5, truth, false, ErrClaim},
		"infinite without accountant":  {"none", account.Version, 1e-5, math.Inf(1), false, nil},
		"a figure without accountant":  {"none", account.Version, 1e-5, truth, false, ErrClaim},
		"infinite with an accountant":  {"gdp", account.Version, 1e-5, math.Inf(1), false, ErrClaim},
		"infinite from an older state": {"gdp", "sotto/account 0", 1e-5, math.Inf(1), true, nil},
	} {
		dir := t.TempDir()
		forge(t, dir, 4, &Claim{
			Accountant: x.accountant,
			Delta:      x.delta,
			Version:    x.version,
			Epsilon:    account.StatedInterval{Lower: x.eps, Upper: x.eps},
		})
		r, err := Verify(dir, Options{Accountant: "gdp"})
		if !errors.Is(err, x.want) || x.want == nil && err != nil || (len(r.Notes) == 1) != x.note {
			t.Errorf("%s: %v, notes %v", name, err, r.Notes)
		}
	}
}

// An owner who rewrites the ledger with one charge less, chain, checksums, claims and
// signatures included, is found by whoever holds a head.
func TestRewrittenHistory(t *testing.T) {
	dir := t.TempDir()
	claim := func(n float64) *Claim {
		e := gdp.Epsilon(math.Sqrt(n)/10, 1e-5)
		return &Claim{
			Accountant: "gdp",
			Delta:      1e-5,
			Version:    account.Version,
			Epsilon:    account.StatedInterval{Lower: e, Upper: e},
		}
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

// Records with right checksums, hashes and signatures that contradict themselves or the
// ones before. The ledger is an open, charges 1 to 4 and a close.
func TestContradictions(t *testing.T) {
	truth := gdp.Epsilon(0.2, 1e-5)
	claim := &Claim{
		Accountant: "gdp",
		Delta:      1e-5,
		Version:    account.Version,
		Epsilon:    account.StatedInterval{Lower: truth, Upper: truth},
	}
	foreign, err := account.Gaussian(10, 1)
	if err != nil {
		t.Fatal(err)
	}
	foreign.Adjacency = account.ReplaceOne
	for name, x := range map[string]struct {
		at   int
		edit func(e *entry)
	}{
		"total too small":      {2, func(e *entry) { e.Total-- }},
		"total missing":        {2, func(e *entry) { e.Total = 0 }},
		"count 0":              {2, func(e *entry) { e.Count = 0 }},
		"count beyond total":   {2, func(e *entry) { e.Count = 2 }},
		"count too large":      {2, func(e *entry) { e.Count, e.Total = 1<<60, 1<<60+1 }},
		"number skipped":       {3, func(e *entry) { e.Seq++ }},
		"number repeated":      {3, func(e *entry) { e.Seq-- }},
		"prev":                 {3, func(e *entry) { e.prev[0] ^= 1 }},
		"adjacency":            {1, func(e *entry) { e.adjacency = "zero-out" }},
		"unit":                 {1, func(e *entry) { e.unit = "owner" }},
		"overrides":            {1, func(e *entry) { e.overrides++ }},
		"data set":             {1, func(e *entry) { e.Dataset = "another" }},
		"first is no open":     {0, func(e *entry) { e.Kind = Rotated }},
		"open with an event":   {0, func(e *entry) { e.event = []byte("{}") }},
		"open with a total":    {0, func(e *entry) { e.Total = 1 }},
		"open with a count":    {0, func(e *entry) { e.Count = 2 }},
		"open with a claim":    {0, func(e *entry) { e.Claim = claim }},
		"unknown kind":         {4, func(e *entry) { e.Kind = "gift" }},
		"charge as open":       {4, func(e *entry) { e.Kind = Opened }},
		"charge without event": {4, func(e *entry) { e.event = nil }},
		"charge with a note":   {4, func(e *entry) { e.Note = "x" }},
		"charge with a digest": {4, func(e *entry) { e.Digest = "x" }},
		"no event at all":      {4, func(e *entry) { e.event = []byte(`{"type":"gift","v":1}`) }},
		"event respelt": {4, func(e *entry) {
			e.event = []byte(`{"noise_multiplier":10.0,"type":"gaussian","v":1}`)
		}},
		"foreign event":       {4, func(e *entry) { e.event = []byte(foreign.Key()) }},
		"close without claim": {5, func(e *entry) { e.Claim = nil }},
		"close unsigned":      {5, func(e *entry) { e.signature = nil }},
		"close of another":    {5, func(e *entry) { e.signature[7] ^= 1 }},
		"close as statement":  {5, func(e *entry) { e.Kind = Stated }},
		"close as rotate":     {5, func(e *entry) { e.Kind = Rotated }},
		"empty override": {5, func(e *entry) {
			*e = entry{
				Record:    Record{Seq: e.Seq, Count: 1, Kind: Override},
				adjacency: e.adjacency,
				unit:      e.unit,
				prev:      e.prev,
				overrides: 1,
			}
		}},
		"nothing": {-1, nil},
	} {
		dir := t.TempDir()
		forgeEdited(t, dir, 4, claim, func(i int, e *entry) {
			if i == x.at {
				x.edit(e)
			}
		})
		_, err := Verify(dir, Options{Accountant: "gdp"})
		if x.at < 0 && err != nil || x.at >= 0 && !errors.Is(err, ErrCorrupt) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// Other spellings of a good record are refused.
func TestRecordSpelling(t *testing.T) {
	g, content := testGenesis(t)
	e := newChain(g, sha256.Sum256(content)).entry(Stated)
	e.Claim = &Claim{
		Accountant: "pld",
		Delta:      1e-5,
		Version:    "v",
		Epsilon:    account.StatedInterval{Lower: 0.25, Upper: math.Inf(1)},
	}
	e.event, e.Note, e.Digest, e.Total, e.signature = []byte(`{"a":{"}\"":1}}`), "n", "d", 3,
		make([]byte, ed25519.SignatureSize)
	good := e.append(nil)
	if err := e.parse(good); err != nil {
		t.Fatal(err)
	}
	for _, x := range []struct{ from, to string }{
		{`"adjacency":"`, `"adjacency":`},
		{`"agent":""`, `"agent":"\u0061"`},
		{`"agent":""`, "\"agent\":\"\xff\""},
		{`"agent":""`, `"agent":"`},
		{`"lower":0.25`, `"lower":0.250`},
		{`"upper":"inf"`, `"upper":"Inf"`},
		{`"claim":{`, `"claim":{"x":1,`},
		{`"claim":{`, `"claim":[`},
		{`"count":1`, `"count":01`},
		{`"count":1`, `"count":1.0`},
		{`"count":1`, `"count":-1`},
		{`"count":1`, `"count":9223372036854775808`},
		{`"count":1`, `"count":`},
		{`"digest":"d"`, `"digest":""`},
		{`"event":{`, `"event": {`},
		{`"event":{"a"`, `"event":{{"a"`},
		{`"note":"n"`, `"note":""`},
		{`"prev":"`, `"prev":"g`},
		{`,"run":""`, ``},
		{`"signature":"00`, `"signature":"0A`},
		{`"signature":"00`, `"signature":"0x`},
		{`"total":3`, `"total":0`},
		{`"v":1}`, `"v":1} `},
		{`"v":1}`, `"v":1`},
		{`"v":1}`, `"v":3}`},
	} {
		bad := bytes.Replace(bytes.Clone(good), []byte(x.from), []byte(x.to), 1)
		if bytes.Equal(bad, good) {
			t.Fatalf("%s is not in %s", x.from, good)
		}
		if err := e.parse(bad); err == nil {
			t.Errorf("%s for %s was accepted", x.to, x.from)
		}
	}
}

// A signed record cannot be changed without its key, even with right checksums.
func TestSignatureCoversRecord(t *testing.T) {
	dir := t.TempDir()
	e := gdp.Epsilon(0.2, 1e-5)
	forge(t, dir, 4, &Claim{
		Accountant: "gdp",
		Delta:      1e-5,
		Version:    account.Version,
		Epsilon:    account.StatedInterval{Lower: e, Upper: e},
	})
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

// The signature covers every field of the genesis, and a signed genesis must make sense.
func TestGenesis(t *testing.T) {
	_, content := testGenesis(t)
	g, _, err := parseGenesis(content)
	if err != nil {
		t.Fatal(err)
	}
	if want := (account.Budget{Epsilon: 2.5, Delta: 1e-7}); g.Budget != want ||
		g.Adjacency != account.ReplaceOne || g.Unit != account.Group(3) || g.MinRecords != 100 || g.V != 1 ||
		len(g.ID) != 32 {
		t.Errorf("genesis %+v", g)
	}
	for _, x := range []struct{ from, to string }{
		{`"epsilon":2.5`, `"epsilon":3.5`},
		{`"delta":1e-7`, `"delta":1e-6`},
		{`"replace-one"`, `"zero-out"`},
		{`"min_records":100`, `"min_records":101`},
		{`"size":3`, `"size":4`},
		{`"id":"` + g.ID, `"id":"` + g.ID[:31]},
		{g.PublicKey, g.PublicKey[2:]},
		{g.Signature, g.Signature[2:]},
		{g.Signature, "x"},
		{`"v":1`, `"v":0`},
		{`{"adjacency"`, `{ "adjacency"`},
		{`{"adjacency"`, `{"x":1,"adjacency"`},
		{"\n", ""},
		{"\n", "\n\n"},
	} {
		bad := bytes.Replace(content, []byte(x.from), []byte(x.to), 1)
		if bytes.Equal(bad, content) {
			t.Fatalf("%q is not in %s", x.from, content)
		}
		if _, _, err := parseGenesis(bad); !errors.Is(err, ErrCorrupt) {
			t.Errorf("%q for %q: %v", x.to, x.from, err)
		}
	}
	g.Budget.Epsilon = -1
	if err := g.sign(testKey()); err != nil {
		t.Fatal(err)
	}
	senseless, err := g.encode()
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := parseGenesis(append(senseless, '\n')); !errors.Is(err, ErrCorrupt) {
		t.Errorf("a signed budget below 0: %v", err)
	}
}

// A create that lost its genesis but not its charges is never taken for an unfinished
// one.
func TestLostGenesis(t *testing.T) {
	dir := t.TempDir()
	forge(t, dir, 1, &Claim{Accountant: "gdp"})
	if err := os.Remove(filepath.Join(dir, GenesisFile)); err != nil {
		t.Fatal(err)
	}
	o := Options{Key: testKey(), FS: OS{AllowVolatile: true}}
	g := Genesis{
		Adjacency:  account.AddRemove,
		Unit:       account.Record(),
		Budget:     account.Budget{Epsilon: 10, Delta: 1e-5},
		MinRecords: 1000,
	}
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
