package owner_test

import (
	"context"
	"crypto/ed25519"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"sotto/agent"
	"sotto/experiment/owner"
	"sotto/live/event"
	"sotto/node"
	"sotto/node/wire"
)

// trained has members train to the end, and returns where their state directories are, by
// name.
func trained(t *testing.T, members [3]owner.Files) (states string) {
	t.Helper()
	states = t.TempDir()
	var net *wire.Memory
	var daemons [3]owner.Daemon
	for i := range members {
		m, err := owner.Join(members[i], chosen())
		if err != nil {
			t.Fatal(err)
		}
		if net == nil {
			net = wire.NewMemory(3, node.MaxPayload(m.Node.Dim))
		}
		daemons[i] = owner.Daemon{Membership: m, State: filepath.Join(states, m.Name()), Baseline: true,
			Overrides: owner.Overrides{Volatile: true},
			Dial: func(ed25519.PrivateKey, int) (node.Transport, error) {
				return net.Open(agent.ID(i)), nil
			}}
	}
	var all sync.WaitGroup
	for i := range daemons {
		all.Go(func() {
			if _, err := daemons[i].Run(context.Background()); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	return states
}

// told runs three owners and returns what the first one's public stream has come to: the
// last event of each kind, of each member, without times, keys and places.
func told(t *testing.T, members [3]owner.Files) map[string]any {
	t.Helper()
	states := trained(t, members)
	read := func(name string) []*event.Event {
		path := filepath.Join(states, "m0", name)
		b, err := os.ReadFile(path)
		all, n, err2 := event.DecodeAll(b)
		info, err3 := os.Stat(path)
		if err = errors.Join(err, err2, err3); err != nil || n != len(b) || info.Mode().Perm() != 0o600 {
			t.Fatalf("%s: %v, %d of %d bytes, mode %v", name, err, n, len(b), info.Mode())
		}
		return all
	}
	last := map[string]any{}
	for _, e := range read(event.File) {
		if e.Scope != event.Public {
			t.Errorf("a node has told a %s of scope %s", e.Kind, e.Scope)
		}
		b, err := json.Marshal(e.Body)
		var body map[string]any
		if err = errors.Join(err, json.Unmarshal(b, &body)); err != nil {
			t.Fatal(err)
		}
		key := e.Kind
		if name, ok := body["name"].(string); ok {
			key += " " + name
		}
		for _, other := range []string{"since", "dir", "disk_free", "left"} { // of the clock and the machine
			delete(body, other)
		}
		for _, key := range []string{"claim", "ledger"} {
			if c, ok := body[key].(map[string]any); ok {
				delete(c, "head") // a hash over this ledger's random id
			}
		}
		last[key] = body
	}
	own := read(event.LocalFile)
	if len(own) != 1 || own[0].Scope != event.Local || own[0].Kind != "own" {
		t.Errorf("the local stream has %d events, %+v", len(own), own)
	}
	return last
}

// The stream of a node does not depend on the owner's records but by what is released and
// charged: of neighboring data sets, and of quite different ones, it says the same, while
// what it says of its own records, in the local stream, is another. The statement is
// about
// all that is said, so that it needs no statistics: the times of steps are not in it.
func TestStreamDependsOnNoRecord(t *testing.T) {
	members := team(t)
	path := members[0].Data.Path
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	rows := strings.Split(strings.TrimSpace(string(whole)), "\n")
	one := slices.Clone(rows) // one record is another
	one[7] = "99,1,no"
	other := slices.Clone(rows) // all are
	for i := range other[1:] {
		other[1+i] = "1,99,yes"
	}
	var first map[string]any
	for k, data := range [][]string{rows, one, other} {
		m := team(t) // keys and ledgers of their own
		if err := os.WriteFile(m[0].Data.Path, []byte(strings.Join(data, "\n")+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		now := told(t, m)
		if k == 0 {
			first = now
			want := []string{"begin m0", "end", "machine", "member m1", "member m2", "progress", "setup",
				"standing"}
			if got := slices.Sorted(maps.Keys(now)); !slices.Equal(got, want) {
				t.Errorf("kinds %q, want %q", got, want)
			}
			continue
		}
		for key := range first {
			if !reflect.DeepEqual(first[key], now[key]) {
				t.Errorf("data set %d: %s is %v, was %v", k, key, now[key], first[key])
			}
		}
	}
}

// Members are named in words, with what can be done, by what the node has seen of them.
func TestMembersInWords(t *testing.T) {
	now := time.Now()
	s := node.Status{Name: "north", Advance: node.Advance{Pace: node.InRounds, Round: 211, Rounds: 300},
		Peers: []node.PeerStatus{
			{Name: "va", State: node.Gone, Since: now.Add(-41 * time.Second), Awaited: true,
				Fault: "connection refused"},
			{Name: "south", State: node.Late, Awaited: true},
			{Name: "east", State: node.Here, Awaited: true},
			{Name: "west", State: node.Here},
			{Name: "new", State: node.Unknown},
			{Name: "old", State: node.Done},
			{Name: "early", State: node.Here, ClockAhead: 75},
			{Name: "slow", State: node.Here, ClockAhead: -3 * 24 * 3600},
			{Name: "liar", State: node.Here, Doubts: node.Doubts{TwoContents: true}},
		}}
	said := owner.InWords(&s, now.Add(-5*time.Second), now)
	for name, want := range map[string][3]string{
		"va":    {"gone", "no connection from this side in round 212: connection refused", "address"},
		"south": {"late", "its frame of round 212 has not come by the deadline", "sotto status"},
		"east":  {"awaited", "its frame of round 212 has not come", "slow"},
		"west":  {"here", "takes part", ""},
		"new":   {"unknown", "not heard since this process began", "roster"},
		"old":   {"done", "has finished", ""},
		"early": {"here", "takes part; its clock is 1m15s ahead of that of this machine", ""},
		"slow":  {"here", "takes part; its clock is 3 days behind that of this machine", ""},
		"liar":  {"here", "has said two different things in one round", "stop"},
	} {
		m := said[name]
		if m.State != want[0] || m.Words != want[1] || !strings.Contains(m.Next, want[2]) {
			t.Errorf("%s: %+v, want %q", name, m, want)
		}
	}
}

// A clock that differs from those of all neighbors is the one to be set; a single
// neighbor, or neighbors that differ among each other, do not tell whose is wrong.
func TestWhoseClockIsWrong(t *testing.T) {
	for _, tc := range []struct {
		ahead []float64
		want  string
	}{
		{[]float64{60, 61}, "the clock of this machine is behind those of all neighbors: set it"},
		{[]float64{-60, -60, -61}, "the clock of this machine is ahead of those of all neighbors: set it"},
		{[]float64{60}, ""}, {[]float64{60, 0}, ""}, {[]float64{60, -60}, ""}, {[]float64{0, 0}, ""},
	} {
		var s node.Status
		for _, a := range tc.ahead {
			s.Peers = append(s.Peers, node.PeerStatus{ClockAhead: a})
		}
		if got := owner.OtherClocks(&s); got != tc.want {
			t.Errorf("%v: %q, want %q", tc.ahead, got, tc.want)
		}
	}
}

// Two signed amendments for one epoch ended in "start it again to go on", which does not
// help, without the name of the one or the other.
func TestTwoRostersAreNamed(t *testing.T) {
	s := &node.Status{Advance: node.Advance{Pace: node.InRounds, Round: 60, Change: 70}}
	s.Peers = []node.PeerStatus{
		{Name: "a", Doubts: node.Doubts{Fork: "41eba3e2"}}, {Name: "b"},
		{Name: "c", Doubts: node.Doubts{Fork: "d7ca100b"}}, {Name: "d", Doubts: node.Doubts{Fork: "another"}}}
	want := "roster for epoch 1: a follows 41eba3e2, c follows d7ca100b, d follows another one. Whoever"
	if got := owner.Forked(s); !strings.Contains(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
	err := owner.SplitBy(fmt.Errorf("%w: start it again", node.ErrStalled), s)
	if !errors.Is(err, node.ErrStalled) || !strings.Contains(err.Error(), want) ||
		strings.Contains(err.Error(), "again") {
		t.Errorf("the error of who has waited too long: %v", err)
	}
	if err := owner.SplitBy(context.Canceled, s); err != nil {
		t.Errorf("who did not wait too long: %v", err)
	}
	now := time.Now()
	if m := owner.InWords(s, now, now)["a"]; !strings.Contains(m.Words, "another roster") || m.Next == "" {
		t.Errorf("in words: %+v", m)
	}
	// One of a run's members merely had another roster, and was told of two amendments.
	s.Change = 0
	got := owner.Forked(s)
	want = "roster: a follows 41eba3e2, c follows d7ca100b, d follows another one. Compare digests"
	if strings.Contains(got, "mendment") || strings.Contains(got, "epoch") || !strings.Contains(got, want) {
		t.Errorf("before any amendment: %q, want %q", got, want)
	}
	s.Peers = s.Peers[1:2]
	if got := owner.Forked(s); got != "" {
		t.Errorf("of nobody: %q", got)
	}
}
