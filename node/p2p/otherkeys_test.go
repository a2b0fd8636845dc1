package p2p

import (
	"context"
	"crypto/ed25519"
	"errors"
	"slices"
	"testing"
	"time"

	"sotto/agent"
	"sotto/node/frame"
	"sotto/node/nodetest"
)

// Member 1 has another key under the next roster, which member 0 follows already. Frames
// go both ways, whoever connects, directly and by a relay that knows both keys. By a key
// that nobody names for it nothing goes, nor does somebody else take its place.
func TestMembersOfTwoRosters(t *testing.T) {
	later, _, err := ed25519.GenerateKey(nil)
	if err != nil {
		t.Fatal(err)
	}
	raw := frame.Append(nil, &frame.Frame{Kind: frame.Messages, Payload: []byte("hello")})
	reach := func(open func(i agent.ID) *Transport, first agent.ID) error {
		a, b := open(0), open(1)
		defer a.Close()
		defer b.Close()
		var errs []error
		for i, tr := range []*Transport{a, b} {
			tr.Serve(func(from agent.ID, _ []byte) error {
				if from != agent.ID(1-i) {
					t.Errorf("member %d hears member %d", i, from)
				}
				return nil
			})
		}
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
		defer cancel()
		for _, i := range []agent.ID{first, 1 - first} {
			tr := []*Transport{a, b}[i]
			err := tr.Send(ctx, 1-i, raw)
			for wait := 0; err != nil && wait < 10 && tr.cfg.Relays != nil; wait++ {
				time.Sleep(100 * time.Millisecond) // its place is not kept yet
				err = tr.Send(ctx, 1-i, raw)
			}
			errs = append(errs, err)
		}
		return errors.Join(errs...)
	}
	rosters := func(members []Member, named bool) (next []Member) {
		next = slices.Clone(members)
		next[1].Key = later
		if named {
			next[1].Others = []ed25519.PublicKey{members[1].Key}
		}
		return next
	}
	for _, named := range []bool{true, false} {
		for _, first := range []agent.ID{0, 1} {
			l := openLoopback(t, 2, nodetest.MaxPayload)
			now, next := l.members, rosters(l.members, named)
			err := reach(func(i agent.ID) *Transport {
				l.members = [][]Member{next, now}[i]
				return l.Open(t, i).(*Transport)
			}, first)
			if (err == nil) != named {
				t.Errorf("named %v, member %d connects: %v", named, first, err)
			}
		}
	}
	h := openHidden(t, 2, nodetest.MaxPayload, nil)
	now, next := h.members, rosters(h.members, true)
	if err := reach(func(i agent.ID) *Transport {
		h.members = [][]Member{next, now}[i]
		return h.Open(t, i).(*Transport)
	}, 0); err != nil {
		t.Errorf("by a relay: %v", err)
	}
	// the key of another member is that one's
	l := openLoopback(t, 2, nodetest.MaxPayload)
	l.members[0].Others = []ed25519.PublicKey{l.members[1].Key, later}
	tr := l.Open(t, 1).(*Transport)
	defer tr.Close()
	if len(tr.peers[0]) != 2 || len(tr.peers[1]) != 1 || tr.self != 1 {
		t.Errorf("keys of members: %v", tr.peers)
	}
}

// Somebody has a key that a member had before, and stands in for it. When the member is
// there, all that is sent to it goes to its own key.
func TestAMembersOwnKeyComesFirst(t *testing.T) {
	later, key, err := ed25519.GenerateKey(nil)
	if err != nil {
		t.Fatal(err)
	}
	l := openLoopback(t, 2, nodetest.MaxPayload)
	before := l.members
	l.members = slices.Clone(before)
	l.members[1] = Member{Key: later, Address: anyPort, Others: []ed25519.PublicKey{before[1].Key}}
	heard := make(chan string, 4)
	open := func(name string, i agent.ID) *Transport {
		tr := l.Open(t, i).(*Transport)
		t.Cleanup(func() { tr.Close() })
		tr.Serve(func(agent.ID, []byte) error { heard <- name; return nil })
		return tr
	}
	send := func(from *Transport, to agent.ID, want string) {
		t.Helper()
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
		defer cancel()
		err := from.Send(ctx, to, frame.Append(nil, &frame.Frame{Kind: frame.Messages}))
		if err != nil {
			t.Fatal(err)
		}
		if got := <-heard; got != want {
			t.Errorf("%s hears it, want %s", got, want)
		}
	}
	other := open("the other", 0)
	now := l.members
	l.members = before
	thief := open("the thief", 1)
	l.members, l.keys[1] = now, key
	send(thief, 0, "the other")
	send(other, 1, "the thief")
	member := open("the member", 1)
	send(member, 0, "the other")
	send(other, 1, "the member")
	send(thief, 0, "the other")
	send(other, 1, "the member")
}
