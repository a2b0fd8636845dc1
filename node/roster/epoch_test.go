package roster

import (
	"crypto/ed25519"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	"sotto/config"
	"sotto/topology"
)

// weigh gives an amendment the ring of its members.
func weigh(t testing.TB, r *Roster) {
	t.Helper()
	s, err := topology.New("ring", "metropolis", len(r.Members), 1, func(any) error { return nil })
	if err != nil {
		t.Fatal(err)
	}
	g, err := s.At(0)
	if err != nil {
		t.Fatal(err)
	}
	r.Weigh(g)
}

func newKey(t testing.TB) (id string, key ed25519.PrivateKey) {
	t.Helper()
	public, key, err := ed25519.GenerateKey(nil)
	if err != nil {
		t.Fatal(err)
	}
	return PeerID(public), key
}

// amended is an amendment of five members' roster: h1 leaves, h5 comes, h3 has a new key.
func amended(t testing.TB) (prev, next *Roster, keys []ed25519.PrivateKey, former ed25519.PrivateKey) {
	t.Helper()
	prev, keys = members(t, 5)
	for _, k := range keys {
		if _, err := prev.Sign(k); err != nil {
			t.Fatal(err)
		}
	}
	d, err := prev.Amend(40)
	if err != nil {
		t.Fatal(err)
	}
	id3, key3 := newKey(t)
	id5, key5 := newKey(t)
	if err := errors.Join(d.Remove("h1", false), d.Rekey("h3", id3, "", false),
		d.Add("h5", id5, "10.0.0.9:4000"), d.Move("h0", "10.0.0.8:4000")); err != nil {
		t.Fatal(err)
	}
	weigh(t, d.Roster)
	former = keys[3]
	return prev, d.Roster, []ed25519.PrivateKey{keys[0], keys[2], key3, keys[4], key5}, former
}

// An amendment holds when all its members have signed it, and with them each key that is
// replaced; it survives its file, and says who was who.
func TestAmendmentsAreSignedByAll(t *testing.T) {
	prev, next, keys, former := amended(t)
	for _, k := range keys {
		if err := next.Verify(); !errors.Is(err, ErrUnsigned) {
			t.Errorf("before all have signed: %v", err)
		}
		if _, err := next.Sign(k); err != nil {
			t.Fatal(err)
		}
	}
	if err := next.Verify(); !errors.Is(err, ErrUnsigned) ||
		!strings.Contains(err.Error(), "h3's former key") {
		t.Errorf("without the key that is replaced: %v", err)
	}
	if _, err := next.Sign(former); err != nil {
		t.Fatal(err)
	}
	text, err := next.Encode()
	if err != nil {
		t.Fatal(err)
	}
	back, err := Parse("next", text)
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(back.Verify(), back.Follows(prev)); err != nil {
		t.Error(err)
	}
	if was, want := back.Was(prev), []int{0, 2, 3, 4, -1}; !slices.Equal(was, want) {
		t.Errorf("members were %v, want %v", was, want)
	}
	if back.Run() != prev.Digest() || back.Seed() != prev.Seed() || back.Number() != 1 {
		t.Error("an amendment is of another run")
	}
	first := Former{Key: public(former), Until: back.Epoch.Round}
	if f := Formers([]*Roster{prev, back}, 2); !reflect.DeepEqual(f, []Former{first}) ||
		Formers([]*Roster{prev, back}, 0) != nil || Formers([]*Roster{prev}, 2) != nil {
		t.Errorf("former keys %v", f)
	}
	// a further one is of the same run
	again, err := back.Amend(80)
	if err != nil {
		t.Fatal(err)
	}
	if err := again.Follows(back); err != nil || again.Run() != prev.Digest() || again.Number() != 2 {
		t.Errorf("epoch 2: %v", err)
	}
	if f := Formers([]*Roster{prev, back, again.Roster}, 2); !reflect.DeepEqual(f, []Former{first}) {
		t.Errorf("former keys of epoch 2: %v", f)
	}
	if again.Members[2].Former != "" {
		t.Error("a former key outlives its amendment")
	}
}

// Amendments that do not follow a roster are refused, each by the place of its fault.
func TestBadAmendmentsAreRefused(t *testing.T) {
	id, _ := newKey(t)
	for name, tc := range map[string]struct {
		change func(prev, next *Roster)
		key    string
	}{
		"another run":      {func(_, n *Roster) { n.Epoch.Run = strings.Repeat("0", 64) }, "epoch.run"},
		"another before":   {func(p, _ *Roster) { p.Graph = "x" }, "epoch.previous"},
		"a skipped number": {func(_, n *Roster) { n.Epoch.Number = 3 }, "epoch.number"},
		"no epoch":         {func(_, n *Roster) { n.Epoch = nil }, "epoch"},
		"a name that was another's": {func(_, n *Roster) { n.Members[4].Name = "h1" },
			"member[4].name"},
		"another name":     {func(_, n *Roster) { n.Members[0].Name = "h9" }, "member[0].name"},
		"a key of nobody":  {func(_, n *Roster) { n.Members[4].Former = id }, "member[4].former"},
		"gone and here":    {func(_, n *Roster) { n.Epoch.Gone = []string{"h0"} }, "epoch.gone"},
		"gone and unknown": {func(_, n *Roster) { n.Epoch.Gone = []string{"h7"} }, "epoch.gone"},
		"another experiment": {func(_, n *Roster) { n.Experiment = strings.Repeat("0", 64) },
			"experiment"},
		"half of them stay": {func(p, n *Roster) {
			d := Draft{n}
			if err := errors.Join(d.Remove("h2", false), d.Remove("h4", true)); err != nil {
				t.Fatal(err)
			}
		}, "member"},
		"nobody stays": {func(_, n *Roster) {
			for i := range n.Members {
				n.Members[i].ID, _ = newKey(t)
				n.Members[i].Name, n.Members[i].Former = fmt.Sprint("n", i), ""
			}
		}, "member"},
	} {
		prev, next, _, _ := amended(t)
		tc.change(prev, next)
		var bad *config.Error
		if err := next.Follows(prev); !errors.As(err, &bad) || bad.Key != tc.key {
			t.Errorf("%s: %v, want an error at %s", name, err, tc.key)
		}
	}
	// what a file says of itself
	for name, tc := range map[string]struct {
		change func(r *Roster)
		key    string
	}{
		"round 0":       {func(r *Roster) { r.Epoch.Round = 0 }, "epoch.round"},
		"number 0":      {func(r *Roster) { r.Epoch.Number = 0 }, "epoch.number"},
		"digest":        {func(r *Roster) { r.Epoch.Previous = "x" }, "epoch.previous"},
		"first":         {func(r *Roster) { r.Epoch.Run = strings.Repeat("0", 64) }, "epoch.run"},
		"former":        {func(r *Roster) { r.Members[0].Former = "x" }, "member[0].former"},
		"former is own": {func(r *Roster) { r.Members[0].Former = r.Members[1].ID }, "member[0].former"},
		"lost nothing":  {func(r *Roster) { r.Members[0].FormerLost = true }, "member[0].former"},
	} {
		_, next, _, _ := amended(t)
		tc.change(next)
		text, err := next.Encode()
		if err != nil {
			t.Fatal(err)
		}
		var bad *config.Error
		if _, err := Parse("next", text); !errors.As(err, &bad) || bad.Key != tc.key {
			t.Errorf("%s: %v, want an error at %s", name, err, tc.key)
		}
	}
}

// More than half of the members sign an amendment with keys of the roster before: whoever
// signs with new keys of others, said to have lost theirs, changes nothing.
func TestLostKeysAreNoMajority(t *testing.T) {
	for _, tc := range []struct {
		lost int
		ok   bool
	}{{1, true}, {2, false}, {3, false}, {4, false}} {
		prev, _ := members(t, 4)
		next, err := prev.Amend(40)
		if err != nil {
			t.Fatal(err)
		}
		for i := range tc.lost {
			id, _ := newKey(t)
			if err := next.Rekey(prev.Members[i].Name, id, "", true); err != nil {
				t.Fatal(err)
			}
		}
		weigh(t, next.Roster)
		if err := next.Follows(prev); (err == nil) != tc.ok {
			t.Errorf("%d of 4 keys lost: %v", tc.lost, err)
		}
	}
}

// What all members sign covers every part of an amendment but signatures.
func TestAmendmentsDigest(t *testing.T) {
	_, next, _, _ := amended(t)
	digest := next.Digest()
	for name, change := range map[string]func(r *Roster){
		"round":  func(r *Roster) { r.Epoch.Round++ },
		"gone":   func(r *Roster) { r.Epoch.Gone = []string{"h1"} },
		"former": func(r *Roster) { r.Members[2].Former = r.Members[2].ID },
		"lost":   func(r *Roster) { r.Members[2].FormerLost = true },
	} {
		_, other, _, _ := amended(t)
		// keys are drawn anew: those of next
		other.Members, other.Epoch = slices.Clone(next.Members), &Epoch{}
		*other.Epoch = *next.Epoch
		if other.Digest() != digest {
			t.Fatal("equal rosters differ")
		}
		if change(other); other.Digest() == digest {
			t.Errorf("%s is not signed", name)
		}
	}
}
