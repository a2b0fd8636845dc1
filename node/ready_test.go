package node

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"sotto/config"
	"sotto/topology"
)

// A node that hung was as healthy as one that trained.
func TestReadiness(t *testing.T) {
	began := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	for _, tc := range []struct {
		name   string
		edit   func(n *Node, s *Status)
		since  time.Duration // since the process began
		reason string        // its beginning; "": ready
	}{
		{"just begun", func(*Node, *Status) {}, time.Second, ""},
		{"no round for two deadlines", func(n *Node, _ *Status) { n.order[1].state = Late }, 25 * time.Second,
			"no round was completed for 25s, more than 20s: waits for 2"},
		{"a round a moment ago", func(n *Node, _ *Status) { n.last = began.Add(20 * time.Second) },
			25 * time.Second, ""},
		{"slow rounds", func(n *Node, _ *Status) { n.progress.Told = time.Minute }, 9 * time.Minute, ""},
		{"slower than slow rounds", func(n *Node, _ *Status) { n.progress.Told = time.Minute },
			11 * time.Minute,
			"no round was completed for 11m0s"},
		{"a neighbor gone that is waited for", func(n *Node, _ *Status) { n.order[0].state = Gone },
			time.Second,
			"cannot reach 1"},
		{"a neighbor gone that is not waited for", func(n *Node, _ *Status) {
			n.cfg.Missing, n.order[0].state = Proceed, Gone
		}, time.Second, ""},
		{"all gone", func(n *Node, _ *Status) {
			n.cfg.Missing, n.order[0].state, n.order[1].state = Proceed, Gone, Gone
		}, time.Second, "cannot reach 1, 2"},
		{"finished long ago", func(_ *Node, s *Status) { s.Finished = true }, time.Hour, ""},
		{"failed", func(_ *Node, s *Status) { s.Failure = "no room" }, time.Second, "stopped: no room"},
	} {
		every, err := topology.New("complete", "metropolis", 3, 1, func(any) error { return nil })
		if err != nil {
			t.Fatal(err)
		}
		g, err := every.At(0)
		if err != nil {
			t.Fatal(err)
		}
		n := &Node{
			cfg: Config{Pace: Pace{Graph: g, Missing: Wait}, Timing: Timing{Deadline: 10 * time.Second}},
		}
		n.connect()
		n.pace = newBarrier(n)
		s := Status{Advance: Advance{Pace: InRounds}, Process: Process{Began: began},
			Peers: []PeerStatus{{Name: "1"}, {Name: "2"}}}
		for _, l := range n.order {
			l.state = Here
		}
		tc.edit(n, &s)
		got := readiness(n, &s, began.Add(tc.since))
		if got.Ready != (tc.reason == "") || !strings.HasPrefix(got.Reason, tc.reason) {
			t.Errorf("%s: %+v, want %q", tc.name, got, tc.reason)
		}
	}
}

// A state beyond the list is told as one, and not written.
func TestStateBeyondTheList(t *testing.T) {
	var bad *config.Error
	if b, err := json.Marshal(PeerStatus{State: 9}); !errors.As(err, &bad) || bad.Key != "state" {
		t.Errorf("%s, %v, want a config.Error on state", b, err)
	}
	if s := PeerState(9).String(); s != "PeerState(9)" {
		t.Errorf("%q", s)
	}
	if b, err := json.Marshal(PeerStatus{State: Done}); err != nil || !strings.Contains(string(b), `"done"`) {
		t.Errorf("%s, %v", b, err)
	}
}
