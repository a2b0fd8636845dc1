package node_test

import (
	"crypto/ed25519"
	"encoding/json"
	"errors"
	"path/filepath"
	"reflect"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"sotto/agent"
	"sotto/node"
	"sotto/node/mark"
	"sotto/node/nodetest"
	"sotto/privacy/account"
	"sotto/privacy/ledger"
	"sotto/privacy/ledger/ledgertest"
)

// claimOf makes a ledger of one owner with so many charges and returns what its node
// claims.
func claimOf(t testing.TB, key ed25519.PrivateKey, charges int) (*ledger.File, *mark.Attestation) {
	t.Helper()
	l, err := ledger.Create(filepath.Join(t.TempDir(), "ledger"), ledger.Genesis{
		Adjacency:  account.ZeroOut,
		Unit:       account.Record(),
		Budget:     account.Budget{Epsilon: 1e6, Delta: 1e-5},
		MinRecords: 100,
	}, ledger.Options{Key: key,
		FS: ledgertest.NewCrashFS(), Accountant: "rdp"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	for range charges {
		if _, err := l.Charge(ledgertest.Gaussian(t, 4)); err != nil {
			t.Fatal(err)
		}
	}
	return l, &mark.Attestation{Head: l.SignedHead(), Epsilon: 1.5, Delta: 1e-5}
}

// Members that have finished hold the signed heads of their neighbors' ledgers; a claim
// that somebody else signed, or that goes back, is refused, its sender named, and nobody
// is held up.
func TestClaims(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const members = 4
		var keys []ed25519.PrivateKey
		var public []ed25519.PublicKey
		var claims []*mark.Attestation
		for i := range members {
			p, k, _ := ed25519.GenerateKey(nil)
			_, c := claimOf(t, k, i)
			keys, public, claims = append(keys, k), append(public, p), append(claims, c)
		}
		_, claims[3] = claimOf(t, keys[0], 3) // signed by another member's key
		_, longer := claimOf(t, keys[2], 9)
		longer.Head.ID = claims[2].Head.ID
		var mu sync.Mutex
		heard := map[agent.ID][]agent.ID{}
		r := start(t, nodetest.Options{Factory: factory(t, "dsgd"), Change: func(i int, c *node.Config) {
			c.Keys, c.Attest = public, func() *mark.Attestation { return claims[i] }
			c.Sign = func(message []byte) []byte { return ed25519.Sign(keys[i], message) }
			c.OnAttestation = func(from agent.ID, _ *mark.Attestation) {
				mu.Lock()
				defer mu.Unlock()
				heard[agent.ID(i)] = append(heard[agent.ID(i)], from)
			}
			if i == 1 { // an earlier process has heard of more records of 2
				c.Attestations = []*mark.Attestation{nil, nil, longer, nil}
			}
		}}, openMemory)
		r.wait(t)
		r.equalsSimulator(t)
		for i, n := range r.nodes {
			for _, p := range n.Status().Peers {
				switch {
				case p.State != node.Done:
					t.Errorf("agent %d: %+v", i, p)
				case p.Name == "agent 3", i == 1 && p.Name == "agent 2":
					// the fault goes with the next frame
					if n.Status().Counts.Refused == 0 || p.Attestation != nil && p.Attestation != longer {
						t.Errorf("agent %d holds %+v of %s, %d frames refused", i, p.Attestation, p.Name,
							n.Status().Counts.Refused)
					}
				case p.Attestation == nil || p.Attestation.Epsilon != 1.5:
					t.Errorf("agent %d holds no claim of %s", i, p.Name)
				}
			}
		}
		if got := heard[0]; len(got) != 1 || got[0] != 1 {
			t.Errorf("agent 0 was told of claims of %v, want 1", got)
		}
	})
}

func TestBadClaimsAreRefused(t *testing.T) {
	public, key, _ := ed25519.GenerateKey(nil)
	_, c := claimOf(t, key, 2)
	good, err := json.Marshal(c)
	if err != nil {
		t.Fatal(err)
	}
	if got, err := mark.ParseAttestation(good, public, nil); err != nil || !reflect.DeepEqual(got, c) {
		t.Fatalf("got %+v, %v", got, err)
	}
	text := string(good)
	for name, b := range map[string]string{
		"nothing":  "",
		"more":     text + "{}",
		"unknown":  strings.Replace(text, "{", `{"x":1,`, 1),
		"negative": strings.Replace(text, "1.5", "-1.5", 1),
		"delta":    strings.Replace(text, "0.00001", "1", 1),
		"long":     strings.Replace(text, `"hash":"`, `"hash":"`+strings.Repeat("0", 1024), 1),
		"edited":   strings.Replace(text, `"seq":`, `"seq":1`, 1),
	} {
		if b == text {
			t.Fatalf("%s: the same text %s", name, text)
		}
		if _, err := mark.ParseAttestation([]byte(b), public, nil); err == nil ||
			name != "edited" && !errors.Is(err, mark.ErrMark) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func FuzzParseAttestation(f *testing.F) {
	public, key, _ := ed25519.GenerateKey(nil)
	_, c := claimOf(f, key, 1)
	good, _ := json.Marshal(c)
	f.Add(good)
	f.Add([]byte(`{"head":{},"epsilon":1,"delta":0}`))
	f.Fuzz(func(t *testing.T, b []byte) {
		got, err := mark.ParseAttestation(b, public, nil)
		if err == nil && !reflect.DeepEqual(got.Head, c.Head) {
			t.Errorf("a head that the owner did not sign: %+v", got)
		}
	})
}
