package roster

import (
	"crypto/ed25519"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"sotto/agent"
	"sotto/config"
	"sotto/node/keyfile"
	"sotto/privacy"
	"sotto/privacy/account"
	"sotto/topology"
)

func TestKeyFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.key")
	key, err := keyfile.New(path)
	if err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(path)
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("mode %v, %v; want 0600", info.Mode(), err)
	}
	if got, err := keyfile.Read(path); err != nil || !got.Equal(key) {
		t.Errorf("read %v", err)
	}
	if _, err := keyfile.New(path); !errors.Is(err, fs.ErrExist) {
		t.Errorf("a key was replaced: %v", err)
	}
	os.Chmod(path, 0o644)
	if _, err := keyfile.Read(path); err == nil || !strings.Contains(err.Error(), "0644") {
		t.Errorf("a key that all may read: %v", err)
	}
	os.Chmod(path, 0o600)
	os.WriteFile(path, []byte("not a key"), 0o600)
	var bad *config.Error
	if _, err := keyfile.Read(path); !errors.As(err, &bad) || bad.File != path {
		t.Errorf("garbage: %v", err)
	}
}

// members makes a complete roster on a ring, and the members' keys.
func members(t testing.TB, n int) (*Roster, []ed25519.PrivateKey) {
	t.Helper()
	r, err := New("run.toml", []byte("rounds = 3\n"), n, nil)
	if err != nil {
		t.Fatal(err)
	}
	var keys []ed25519.PrivateKey
	for i := range n {
		seed := sha256.Sum256([]byte{byte(i)})
		keys = append(keys, ed25519.NewKeyFromSeed(seed[:]))
		if err := r.Add(fmt.Sprint("h", i), PeerID(public(keys[i])),
			fmt.Sprintf("10.0.0.%d:4000", i+1)); err != nil {
			t.Fatal(err)
		}
	}
	s, err := topology.New("ring", "metropolis", n, 1, func(any) error { return nil })
	if err != nil {
		t.Fatal(err)
	}
	g, _ := s.At(0)
	r.Weigh(g)
	return r, keys
}

// A roster has the same digest before it is written and after it is read, also that of a
// member without neighbors.
func TestDigestOfWhatIsRead(t *testing.T) {
	lone, _ := members(t, 3)
	lone.Size, lone.Members = 1, lone.Members[:1]
	g, err := topology.FromRows("complete", []float64{1}, [][]agent.Neighbor{nil})
	if err != nil {
		t.Fatal(err)
	}
	lone.Weigh(g)
	three, _ := members(t, 3)
	for _, r := range []*Roster{lone, three} {
		b, err := r.Encode()
		if err != nil {
			t.Fatal(err)
		}
		back, err := Parse("run.roster", b)
		if err != nil {
			t.Fatal(err)
		}
		if r.Digest() != back.Digest() {
			t.Errorf("%d members: %x in memory, %x of the file", r.Size, r.Digest(), back.Digest())
		}
	}
}

func TestRosterIsSignedByAll(t *testing.T) {
	r, keys := members(t, 4)
	for i, key := range keys {
		if err := r.Verify(); !errors.Is(err, ErrUnsigned) ||
			!strings.Contains(err.Error(), r.Members[3].Name) {
			t.Fatalf("with %d signatures: %v", i, err)
		}
		if self, err := r.Sign(key); err != nil || self != agent.ID(i) {
			t.Fatalf("member %d signs as %d, %v", i, self, err)
		}
	}
	if err := r.Verify(); err != nil {
		t.Fatal(err)
	}
	b, err := r.Encode()
	if err != nil {
		t.Fatal(err)
	}
	back, err := Parse("roster.toml", b)
	if err != nil || back.Verify() != nil || back.Digest() != r.Digest() || back.Seed() != r.Seed() {
		t.Fatalf("read back: %v", err)
	}
	g1, _ := r.Topology()
	g2, _ := back.Topology()
	for i := range agent.ID(4) {
		if !slices.Equal(g1.In(i), g2.In(i)) || g1.SelfWeight(i) != g2.SelfWeight(i) {
			t.Errorf("row %d is not the same", i)
		}
	}
	// A comment changes nothing; any value voids all signatures.
	if c, err := Parse("r", append([]byte("# by phone\n"), b...)); err != nil || c.Verify() != nil {
		t.Errorf("a comment: %v", err)
	}
	for _, change := range []func(r *Roster){
		func(r *Roster) { r.Experiment = strings.Repeat("0", 64) },
		func(r *Roster) { r.Members[2].Address = "10.0.0.9:4000" },
		func(r *Roster) { r.Members[2].Name = "x" },
		func(r *Roster) {
			r.Members[0].Weights = map[string]float64{"h1": r.Members[0].Weights["h1"],
				"h3": r.Members[0].Weights["h3"] * (1 - 1e-15)}
		},
	} {
		c, _ := Parse("r", b)
		change(c)
		if len(c.Unsigned()) != 4 {
			t.Errorf("after a change %v have not signed, want all", c.Unsigned())
		}
	}
	// Another member's signature is none.
	r.Members[1].Signature = r.Members[0].Signature
	if names := r.Unsigned(); !slices.Equal(names, []string{"h1"}) {
		t.Errorf("unsigned: %v", names)
	}
}

// The digest from its definition: the canonical JSON is written out here.
func TestRosterDigest(t *testing.T) {
	r := &Roster{
		Version:    1,
		Experiment: strings.Repeat("ab", 32),
		RunFile:    "x.toml",
		Graph:      "path",
		Size:       2,
		Members: []Member{
			{Name: "a", ID: strings.Repeat("01", 32), Address: "a:1", SelfWeight: .5,
				Weights: map[string]float64{"b": .5}, Signature: "x"},
			{Name: "b", ID: strings.Repeat("02", 32), Address: "b:2", SelfWeight: .5,
				Weights: map[string]float64{"a": .5}},
		},
	}
	text := `{"version":1,"experiment":"` + strings.Repeat("ab", 32) +
		`","run_file":"x.toml","graph":"path","size":2,"members":[` +
		`{"name":"a","id":"` + strings.Repeat("01", 32) +
		`","address":"a:1","self_weight":0.5,"weights":{"b":0.5}},` +
		`{"name":"b","id":"` + strings.Repeat("02", 32) +
		`","address":"b:2","self_weight":0.5,"weights":{"a":0.5}}]}`
	if want := sha256.Sum256([]byte(text)); r.Digest() != want {
		t.Errorf("digest %x, want %x", r.Digest(), want)
	}
	if err := r.validate(); err != nil {
		t.Error(err)
	}
}

func TestBadRostersAreRefused(t *testing.T) {
	good, keys := members(t, 3)
	b, _ := good.Encode()
	text := string(b)
	for name, tc := range map[string]struct{ text, want string }{
		"unknown key": {"colour = 1\n" + text, "roster.toml:1: colour"},
		"not TOML":    {"= =", "roster.toml:1"},
		"version":     {strings.Replace(text, "version = 1", "version = 2", 1), "found 2, allowed: 1"},
		"experiment":  {strings.Replace(text, good.Experiment, "zz", 1), "experiment: found \"zz\""},
		"run file": {strings.Replace(text, "run_file = 'run.toml'", "run_file = '../run.toml'", 1),
			"run_file"},
		"size": {strings.Replace(text, "size = 3", "size = 2", 1), "found 3, allowed: at most 2"},
		"id":   {strings.Replace(text, good.Members[1].ID, "1234", 1), "member[1].id"},
		// y = 0: a point of order 4
		"zero": {strings.Replace(text, good.Members[1].ID, strings.Repeat("0", 64), 1), "everybody"},
		"neutral": {strings.Replace(text, good.Members[1].ID, "01"+strings.Repeat("0", 62), 1),
			"everybody"},
		"order two": {strings.Replace(text, good.Members[1].ID, "ec"+strings.Repeat("f", 60)+"7f", 1),
			"everybody"},
		"same id": {strings.Replace(text, good.Members[1].ID, good.Members[0].ID, 1), "no other member"},
		"address": {strings.Replace(text, "10.0.0.2:4000", "10.0.0.2", 1), "member[1].address"},
		"port":    {strings.Replace(text, "10.0.0.2:4000", "10.0.0.2:0", 1), "member[1].address"},
		"name":    {strings.Replace(text, "name = 'h1'", "name = 'h 1'", 1), "member[1].name"},
		"weight":  {strings.Replace(text, "self_weight = 0.3", "self_weight = nan\n#", 1), "self_weight"},
	} {
		var bad *config.Error
		_, err := Parse("roster.toml", []byte(tc.text))
		if !errors.As(err, &bad) || bad.File != "roster.toml" || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%s: got %v, want %q", name, err, tc.want)
		}
	}
	half, _ := members(t, 3)
	half.Members = half.Members[:2]
	if _, err := half.Sign(keys[0]); err == nil {
		t.Error("a roster that is not complete was signed")
	}
	leaky, _ := members(t, 3)
	leaky.Members[0].SelfWeight = .9
	if _, err := leaky.Sign(keys[0]); err == nil {
		t.Error("a roster whose weights do not sum to 1 was signed")
	}
	_, stranger, _ := ed25519.GenerateKey(nil)
	if _, err := good.Sign(stranger); err == nil {
		t.Error("a stranger has signed")
	}
}

func FuzzParseRoster(f *testing.F) {
	r, _ := members(f, 3)
	b, _ := r.Encode()
	f.Add(b)
	f.Add([]byte("version = 1\n[[member]]\nweights = {a = inf}"))
	f.Fuzz(func(t *testing.T, b []byte) {
		r, err := Parse("f", b)
		if err != nil {
			var bad *config.Error
			if !errors.As(err, &bad) {
				t.Fatalf("unnamed error %v", err)
			}
			return
		}
		text, err := r.Encode()
		if err != nil {
			t.Fatal(err)
		}
		back, err := Parse("f", text)
		if err != nil || back.Digest() != r.Digest() {
			t.Fatalf("written and read again: %v", err)
		}
		r.Topology()
	})
}

const policyText = `version = 1
ledger = "ledger"
algorithms = ["dsgd"]
peers = ["%s"]
minimum_batch = 16
[[dataset]]
name = "heart-disease"
lifetime_epsilon = 2.0
lifetime_delta = 1e-4
min_records = 200
`

func TestPolicyOverridesTheExperiment(t *testing.T) {
	_, keys := members(t, 3)
	p, err := ParsePolicy("policy.toml", fmt.Appendf(nil, policyText, PeerID(public(keys[1]))))
	if err != nil {
		t.Fatal(err)
	}
	event := func(noise float64) account.Event {
		m := privacy.Gaussian{NoiseMultiplier: noise}
		ev, err := m.Event(account.Release{Oracle: "grad", Adjacency: account.ZeroOut, Unit: account.Record(),
			Sampler: account.Sampler{Kind: account.Poisson, SampleRate: .1},
			Parts:   []account.Part{{Name: "g", Clip: 1, Shift: 1, Norm: account.L2, Dim: 3}}, Scale: 1})
		if err != nil {
			t.Fatal(err)
		}
		return ev
	}
	ask := Request{Algorithm: "dsgd", Dataset: "heart-disease", ExpectedBatchSize: 16, Self: public(keys[0]),
		Members: []ed25519.PublicKey{public(keys[0]), public(keys[1])}, Provenance: privacy.Proved,
		Events: []account.Event{event(2)}}
	if d, err := p.Allow(ask); err != nil || d.LifetimeEpsilon != 2 || d.MinRecords != 200 {
		t.Fatalf("got %+v, %v", d, err)
	}
	for name, change := range map[string]func(r *Request){
		"algorithms":    func(r *Request) { r.Algorithm = "dsgt" },
		"dataset":       func(r *Request) { r.Dataset = "mnist" },
		"minimum_batch": func(r *Request) { r.ExpectedBatchSize = 15 },
		"peers":         func(r *Request) { r.Members = append(slices.Clone(r.Members), public(keys[2])) },
		"mechanism":     func(r *Request) { r.Provenance = privacy.Claimed },
		// of a policy that does not say: all neighbors
		"curious":          func(r *Request) { r.Curious = "one" },
		"lifetime_epsilon": func(r *Request) { r.Events = []account.Event{event(2), event(.2)} },
	} {
		r := ask
		change(&r)
		if _, err := p.Allow(r); !errors.Is(err, privacy.ErrRefused) ||
			!strings.Contains(err.Error(), name+":") {
			t.Errorf("%s: got %v, want a refusal that names it", name, err)
		}
	}
	for own, most := range map[string]string{"neighbors": "neighbors", "one": "one", "none": "none"} {
		p.Curious = own
		for _, asked := range []string{"none", "one", "neighbors"} {
			r := ask
			r.Curious = asked
			if _, err := p.Allow(r); (err == nil) != (suspects(asked) >= suspects(most)) {
				t.Errorf("policy %s, experiment %s: %v", own, asked, err)
			}
		}
	}
	r := ask
	r.Events = []account.Event{account.NonPrivate("test")}
	if _, err := p.Allow(r); !errors.Is(err, privacy.ErrRefused) {
		t.Errorf("an event without a price: %v", err)
	}
}

func TestBadPoliciesAreRefused(t *testing.T) {
	good := fmt.Sprintf(policyText, hex.EncodeToString(make([]byte, 32)))
	for old, new := range map[string]string{
		"version = 1":            "version = 3",
		`ledger = "ledger"`:      `ledger = ""`,
		`algorithms = ["dsgd"]`:  `algorithms = []`,
		"minimum_batch = 16":     "minimum_batch = -1",
		"lifetime_epsilon = 2.0": "lifetime_epsilon = inf",
		"lifetime_delta = 1e-4":  "lifetime_delta = 0.005",
		"min_records = 200":      "min_records = 0",
		`name = "heart-disease"`: `name = ""`,
		`peers = ["`:             `peers = ["0`,
		"[[dataset]]":            "curious = \"two\"\n[[dataset]]",
	} {
		var bad *config.Error
		if _, err := ParsePolicy("p", []byte(strings.Replace(good, old, new, 1))); !errors.As(err, &bad) {
			t.Errorf("%s: got %v, want a config.Error", new, err)
		}
	}
	if _, err := ParsePolicy("p", []byte(good+"budget = 3\n")); err == nil ||
		!strings.Contains(err.Error(), "p:11: ") {
		t.Errorf("an unknown key: %v", err)
	}
	dir := t.TempDir()
	path := filepath.Join(dir, "policy.toml")
	os.WriteFile(path, []byte(good), 0o600)
	if p, err := ReadPolicy(path); err != nil || p.Ledger != filepath.Join(dir, "ledger") {
		t.Errorf("ledger %v, %v", p, err)
	}
}

func FuzzParsePolicy(f *testing.F) {
	f.Add(fmt.Appendf(nil, policyText, strings.Repeat("00", 32)))
	f.Add([]byte("version = 1\n[[dataset]]"))
	f.Fuzz(func(t *testing.T, b []byte) {
		if _, err := ParsePolicy("f", b); err != nil {
			var bad *config.Error
			if !errors.As(err, &bad) {
				t.Fatalf("unnamed error %v", err)
			}
		}
	})
}

func TestSeedsAreNobodysChoice(t *testing.T) {
	a, _ := members(t, 3)
	b, _ := members(t, 3)
	if a.Seed() != b.Seed() || a.MembersSeed() != b.MembersSeed() {
		t.Error("equal rosters have other seeds")
	}
	b.Members[2].Address = "10.1.1.1:5"
	if a.Seed() == b.Seed() || a.MembersSeed() != b.MembersSeed() {
		t.Error("the model's seed must follow from all values, the graph's from experiment and keys")
	}
	b.Members[2].ID = strings.Repeat("0", 64)
	if a.MembersSeed() == b.MembersSeed() {
		t.Error("another member, the same graph")
	}
}

// The schema is part of what members sign, letter by letter, and of all epochs.
func TestSchemaIsSigned(t *testing.T) {
	r, _ := members(t, 3)
	before := r.Digest()
	r.Schema = "name = \"a \\\\ b\"\n'''\n\"\"\"\ttab\r\nend"
	signed := r.Digest()
	if signed == before {
		t.Error("the schema does not count in the digest")
	}
	b, err := r.Encode()
	if err != nil {
		t.Fatal(err)
	}
	again, err := Parse("roster.toml", b)
	if err != nil || again.Schema != r.Schema || again.Digest() != signed {
		t.Fatalf("%v, %q", err, again.Schema)
	}
	next, err := r.Amend(2)
	if err != nil {
		t.Fatal(err)
	}
	if err := next.Follows(r); err != nil {
		t.Error(err)
	}
	next.Schema = "other"
	if err := next.Follows(r); err == nil || !strings.Contains(err.Error(), "schema") {
		t.Errorf("another schema in the next epoch: %v", err)
	}
}
