package mailbox_test

import (
	"testing"

	"sotto/agent"
	"sotto/node/mailbox"
)

// Round 5 is present. Each case is a box that some rounds have come to, and what becomes
// of the next frame.
func TestVerdicts(t *testing.T) {
	const barrier, free, nearest = "barrier", "free", "nearest"
	for _, tc := range []struct {
		rule  string
		had   []uint64
		round uint64
		want  mailbox.Verdict
	}{
		{barrier, nil, 4, mailbox.Stale},
		{barrier, nil, 5, mailbox.Take},
		{barrier, nil, 6, mailbox.Take},
		{barrier, nil, 7, mailbox.Ahead},
		{barrier, []uint64{5}, 5, mailbox.Replayed},
		{barrier, []uint64{6}, 6, mailbox.Replayed},
		{barrier, []uint64{6}, 5, mailbox.Take},
		{free, nil, 9, mailbox.Take},
		{free, []uint64{9}, 8, mailbox.Stale},
		{free, []uint64{9}, 12, mailbox.Take},
		{free, []uint64{9}, 5, mailbox.Take},
		{nearest, nil, 9, mailbox.Take},
		{nearest, []uint64{9}, 12, mailbox.Ahead},
		{nearest, []uint64{9}, 8, mailbox.Take},
		{nearest, []uint64{9}, 9, mailbox.Replayed},
		{nearest, []uint64{9}, 4, mailbox.Stale},
	} {
		var b mailbox.Box
		for _, round := range tc.had {
			b.Put(round, 5)
		}
		got := b.Nearest(tc.round, 5)
		if tc.rule != nearest {
			got = b.Judge(tc.round, 5, tc.rule == barrier)
		}
		if got != tc.want {
			t.Errorf("%s, after %d: round %d has verdict %d, want %d", tc.rule, tc.had, tc.round, got,
				tc.want)
		}
	}
}

// What has come for a later round is there when that round is present, and not before.
func TestWhatCameEarlyStays(t *testing.T) {
	var b mailbox.Box
	put := func(from agent.ID, round, present uint64) {
		b.Spare = append(b.Spare[:0], agent.Message{From: from})
		b.Put(round, present)
	}
	put(6, 6, 5)
	if !b.Lacks() || b.Now.Full {
		t.Error("round 5 is there, of which nothing came")
	}
	put(5, 5, 5)
	if b.Lacks() || b.Now.Messages[0].From != 5 {
		t.Errorf("round 5 has %+v", b.Now)
	}
	b.Advance(6)
	if !b.Now.Full || b.Now.Messages[0].From != 6 || b.Later.Full && b.Later.Round == 6 {
		t.Errorf("round 6 has %+v, and later %+v", b.Now, b.Later)
	}
	b.Advance(6)
	if !b.Now.Full {
		t.Error("round 6 is gone, which is the present one")
	}
	b.Advance(7)
	if b.Now.Full {
		t.Errorf("round 7 has %+v, of which nothing came", b.Now)
	}
	put(8, 8, 7)
	b.Advance(10) // rounds are skipped
	if b.Lacks() || b.Later.Full {
		t.Errorf("in round 10 something later is there: %+v", b.Later)
	}
	put(19, 19, 17)
	if b.Newest(); !b.Now.Full || b.Now.Round != 19 || b.Later.Full {
		t.Errorf("the newest is %+v", b.Now)
	}
}
