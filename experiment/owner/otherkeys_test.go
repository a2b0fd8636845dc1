package owner

import (
	"crypto/ed25519"
	"errors"
	"fmt"
	"reflect"
	"testing"

	"sotto/node/roster"
)

// A member is known by the keys that rosters before and after the present one give it, by
// none that it has lost, and by none of a roster that its members have not signed.
func TestOtherKeys(t *testing.T) {
	key := func() ed25519.PublicKey {
		public, _, err := ed25519.GenerateKey(nil)
		if err != nil {
			t.Fatal(err)
		}
		return public
	}
	first, err := roster.New("run.toml", []byte("rounds = 9\n"), 4, nil)
	if err != nil {
		t.Fatal(err)
	}
	keys := map[string][]ed25519.PublicKey{}
	for i := range 4 {
		name := fmt.Sprint("m", i)
		keys[name] = append(keys[name], key())
		if err := first.Add(name, roster.PeerID(keys[name][0]), fmt.Sprint("host:", i+1)); err != nil {
			t.Fatal(err)
		}
	}
	next := func(r *roster.Roster, round uint64, name string, lost bool) *roster.Roster {
		d, err := r.Amend(round)
		keys[name] = append(keys[name], key())
		err = errors.Join(err, d.Rekey(name, roster.PeerID(keys[name][len(keys[name])-1]), "", lost))
		if err != nil {
			t.Fatal(err)
		}
		return d.Roster
	}
	second := next(first, 3, "m1", false)
	third := next(second, 5, "m2", true)
	fourth := next(third, 7, "m1", false)
	m := &Membership{Roster: third, history: lineage{now: 2, given: next(fourth, 8, "m0", false),
		rosters: []*roster.Roster{first, second, third, fourth}}}
	want := [][]ed25519.PublicKey{nil, {keys["m1"][0], keys["m1"][2]}, nil, nil}
	var got [][]ed25519.PublicKey
	for i, all := range m.OtherKeys() {
		var other []ed25519.PublicKey
		for _, k := range all {
			if !k.Equal(third.Keys()[i]) {
				other = append(other, k)
			}
		}
		got = append(got, other)
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("other keys %x, want %x", got, want)
	}
}
