package owner

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"sotto/live/event"
	"sotto/node"
)

// A change of members is no end, and a member that leaves has not failed: nobody has to
// mend anything.
func TestHowANodeEndsIsTold(t *testing.T) {
	for _, tc := range []struct {
		err               error
		note, state, text string
		words             string
	}{
		{node.ErrChange, "the members change after round 40", "", "",
			"the members change after round 40"},
		{fmt.Errorf("%w: at round 40", node.ErrRemoved), "", event.Done, "left after round 40",
			"left after round 40"},
		{context.Canceled, "", event.Interrupted, "start it again to go on", "goes on"},
		{errors.New("no space"), "", event.Failed, "no space", "stopped: no space"},
		{nil, "", event.Done, "", "goes on"},
	} {
		told := &teller{to: event.NewOwned(), dir: t.TempDir(), members: map[string]event.Member{},
			waits: map[string]time.Time{}, began: time.Now()}
		var note event.Note
		var last event.End
		var stand event.Standing
		told.to.Stream().Follow(func(e *event.Event) {
			switch b := e.Body.(type) {
			case *event.Note:
				note = *b
			case *event.End:
				last = *b
			case *event.Standing:
				stand = *b
			}
		})
		s := node.Status{Name: "n", Advance: node.Advance{Pace: node.InRounds, Round: 40, Rounds: 60}}
		s.Ready = true
		end(&s, tc.err, time.Now())
		if err := told.ended(&s, tc.err, time.Now()); err != nil {
			t.Error(err)
		}
		if note.Text != tc.note || last.State != tc.state || last.Text != tc.text ||
			stand.Words != tc.words || (stand.Next != "") != (tc.state == event.Failed) {
			t.Errorf("%v: %+v, %+v, %+v", tc.err, note, last, stand)
		}
	}
}

// Between the rosters a process goes on: sotto status of that moment ends with 7, not 6,
// and a probe of whether it lives finds that it does.
func TestAChangeOfMembersIsNoFailure(t *testing.T) {
	for _, tc := range []struct {
		err     error
		running bool
		why     string
	}{
		{node.ErrChange, true, "the members change"},
		{fmt.Errorf("%w: at round 40", node.ErrRemoved), false, "stopped: " + node.ErrRemoved.Error() +
			": at round 40"},
		{errors.New("no space"), false, "stopped: no space"},
	} {
		s := node.Status{Name: "n"}
		s.Ready = true
		end(&s, tc.err, time.Now())
		p := &process{Daemon: &Daemon{State: t.TempDir()}}
		p.writeStatus(s)
		l, _, err := ReadLiveness(p.State, time.Now())
		if err != nil || l.Running != tc.running || l.Why() != tc.why {
			t.Errorf("%v: running %v, %q, %v", tc.err, l.Running, l.Why(), err)
		}
	}
}
