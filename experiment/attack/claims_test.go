package attack

import (
	"context"
	"math"
	"reflect"
	"strings"
	"testing"

	"sotto/experiment/replication"
	"sotto/privacy"
)

// Every switch of [replication] and every mechanism whose guarantee is only claimed has a
// row.
func TestClaimsCoverAllSwitches(t *testing.T) {
	keys, families := map[string]bool{}, map[string]bool{}
	for _, c := range publishedClaims() {
		families[c.family] = true
		for _, k := range c.keys {
			name, _, _ := strings.Cut(k, "=")
			keys[name] = true
			keys[k] = true
		}
		if (c.attack == nil) != (c.verdict == unaffected) {
			t.Errorf("%s, %v: no attack, and no reason", c.id, c.keys)
		}
	}
	for _, f := range reflect.VisibleFields(reflect.TypeFor[replication.Params]()) {
		if key, _, _ := strings.Cut(f.Tag.Get("toml"), ","); !f.Anonymous && !keys[key] {
			t.Errorf("switch %s is in no row", key)
		}
	}
	for _, noise := range replication.Noises() {
		if !keys["noise="+noise] {
			t.Errorf("noise = %s is in no row", noise)
		}
	}
	for name := range privacy.Mechanisms {
		m, err := privacy.New(name, claimable)
		if err != nil || m.Provenance() != privacy.Claimed {
			continue
		}
		if !families[name] {
			t.Errorf("mechanism %s is only claimed and in no row", name)
		}
	}
}

// claimable fills in parameters of the mechanisms for replication.
func claimable(p any) error {
	switch p := p.(type) {
	case *privacy.DataDependent:
		p.NoiseMultiplier = 1
	case *privacy.PaperNoise:
		p.Family, p.Epsilon, p.Delta, p.Sensitivity = "laplace", 1, 1e-3, 1
	}
	return nil
}

// What the accountant says of each claim, from privacy.md 17.5 and the ledger of claims.
func TestTrueEpsilonOfClaims(t *testing.T) {
	want := map[string]struct {
		epsilon, within float64
	}{"C1": {82.31, .1}, "C2": {14.20, .02}, "C4": {1.934, .01}, "C29": {3.58, .01}, "EQ3": {21.2, .1},
		"C15": {10, 0}, "C22": {math.Inf(1), 0}}
	for _, c := range publishedClaims() {
		w, ok := want[c.id]
		if !ok {
			continue
		}
		got, err := c.truth()
		if err != nil || got != w.epsilon && math.Abs(got-w.epsilon) > w.within {
			t.Errorf("%s: true epsilon %v, %v; want %v", c.id, got, err, w.epsilon)
		}
	}
}

// At smoke scale observations refute every claim that releases something, and no bound
// exceeds the truth. The latter happens by chance with probability 1e-3 a row.
func TestClaims(t *testing.T) {
	if testing.Short() {
		t.Skip("many observations on one goroutine: the race detector, which asks for short, has nothing " +
			"to find")
	}
	r, err := Claims(context.Background(), "smoke", 1, 1e-3)
	if err != nil {
		t.Fatal(err)
	}
	var text strings.Builder
	if err := r.WriteText(&text); err != nil {
		t.Fatal(err)
	}
	t.Log(text.String())
	for _, c := range r.Claims {
		if c.Verdict == unaffected {
			continue
		}
		if c.Verdict != refuted && c.Verdict != everyFinite {
			t.Errorf("%s, %v: %s: observed %v, published %v", c.Claim, c.Switches, c.Verdict, c.Lower,
				c.Published)
		}
	}
	if err := r.Err(); err != nil {
		t.Error(err)
	}
}
